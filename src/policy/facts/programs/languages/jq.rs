//! Filters of jq.

use crate::facts::programs::description::{Operands, Reading, reading};
use crate::facts::programs::languages::ScriptText;
use crate::facts::programs::{Words, listed};

/// Options that neither read a filter or a value from a file nor load modules.
pub(crate) const FORM: Reading = reading("acCejMnrRsS", "", &[OPTIONS], Operands::Jq);
const OPTIONS: Words = "\
    compact-output raw-output join-output ascii-output sort-keys tab indent= null-input slurp \
    raw-input exit-status color-output monochrome-output seq stream arg== argjson==";

/// Words and functions that see nothing but the input. Missing: `env`, `input_filename`, `def`,
/// and all that read modules.
const WORDS: Words = "\
    if then elif else end and or not as reduce foreach try catch label break null true false \
    empty error select map map_values keys keys_unsorted values length utf8bytelength has in \
    contains inside startswith endswith ltrimstr rtrimstr trim ltrim rtrim split splits join \
    ascii ascii_downcase ascii_upcase explode implode test match capture scan sub gsub index \
    rindex indices add any all flatten range floor ceil round sqrt pow log log10 log2 exp exp10 \
    exp2 abs toarray tostring tonumber tojson fromjson type arrays objects iterables booleans \
    numbers strings nulls scalars normals finites infinite nan isnan isinfinite isnormal sort \
    sort_by group_by min max min_by max_by unique unique_by reverse first last nth limit until \
    while repeat recurse recurse_down walk transpose combinations IN INDEX path paths leaf_paths \
    getpath setpath delpaths del pick to_entries from_entries with_entries tostream fromstream \
    truncate_stream input inputs input_line_number debug now date dateadd datesub todate \
    fromdate todateiso8601 fromdateiso8601 strftime strptime strflocaltime mktime gmtime \
    localtime isvalid";

/// Limit on strings inside strings.
const MOST_NESTED: u32 = 8;

/// Returns true when a filter of jq reads nothing but its input.
pub(crate) fn reads(filter: &str) -> bool {
    tokens(&mut ScriptText(filter), 0).is_some()
}

/// Reads a filter to its end; in a string, to the `)` behind it.
fn tokens(rest: &mut ScriptText<'_>, depth: u32) -> Option<()> {
    // Open brackets, and `i` for `if`.
    let mut open = Vec::new();
    let mut before = ' ';
    loop {
        let number = rest.take(|c| c.is_ascii_digit());
        let name = if number.is_empty() { rest.name() } else { "" };
        if !number.is_empty() {
            rest.take(|c| c == '.' || c.is_ascii_digit());
            before = '0';
            continue;
        }
        if !name.is_empty() {
            // `{name, env: 1}`
            let key = open.last() == Some(&'{') && matches!(before, '{' | ',');
            match name {
                _ if key => {}
                "if" => open.push('i'),
                "end" => open.pop().map(drop)?,
                _ => listed(WORDS, name).then_some(())?,
            }
            before = 'a';
            continue;
        }
        let Some(c) = rest.next() else { return (depth == 0).then_some(()) };
        match c {
            ' ' | '\t' | '\n' => continue,
            '"' => string(rest, depth)?,
            // `..` is an operator of its own; a name behind it is no field.
            '.' if rest.eat(".") => {}
            '.' if rest.peek().is_some_and(|c| c.is_ascii_digit()) => {}
            '.' | '@' => drop(rest.name()),
            '$' => {
                let name = rest.name();
                if matches!(name, "" | "ENV") || name.starts_with("__") {
                    return None;
                }
            }
            '(' | '[' | '{' => open.push(c),
            ')' if open.is_empty() && depth > 0 => return Some(()),
            ')' | ']' | '}' => open.pop().map(drop)?,
            '|' | ',' | ':' | ';' | '?' | '+' | '-' | '*' | '/' | '%' | '=' | '<' | '>' | '!' => {}
            _ => return None,
        }
        before = c;
    }
}

/// Reads a string behind its first quote; `\(…)` in it is a filter.
fn string(rest: &mut ScriptText<'_>, depth: u32) -> Option<()> {
    loop {
        match rest.next()? {
            '"' => return Some(()),
            '\\' if rest.eat("(") => {
                (depth < MOST_NESTED).then_some(())?;
                tokens(rest, depth + 1)?;
            }
            '\\' => rest.escaped()?,
            _ => {}
        }
    }
}
