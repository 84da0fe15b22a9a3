//! Splits a shell text into the pieces that molf's rules are matched with.
//!
//! molf reads a text with tree-sitter's grammar of bash, we with [`countersign_policy::shell`]. What
//! tree-sitter reads otherwise than bash is not followed: such a text needs a rule for every call,
//! and is asked about even then.
//!
//! | text | molf's pieces | ours |
//! |---|---|---|
//! | what our scanner doubts or gives up on (`ls $((x))`, `echo 'a`) | `ls $((x))`, `echo` | every run of words, and any |
//! | `echo $()`, `! ! ls`, `time { ls; }` | an empty one, `! ls`, `}` | every run of words, and any |
//! | two here-documents, one without its end | parts of them | every run of words, and any |
//! | `cat <<E`, its lines, `ls` | `cat` up to the document's end | `cat` up to the text's end |

use countersign_policy::shell::{self, Command, RedirectOp, Scan, Via, Word, WordKind};
use countersign_policy::{always, call::Call, rules::Rule};
use serde_json::Value;

/// A part of a call that rules are matched with.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Piece {
    /// The text that the patterns of rules are matched with.
    pub text: String,
    /// The pattern that Always stores for it; empty where Always must not be offered.
    pub always: String,
}

/// Returns every command of the text, in the order in which the commands start; the whole text where
/// there is none.
#[must_use]
pub fn pieces(text: &str) -> Vec<Piece> {
    let scan = shell::scan(text);
    let read = scan.commands.iter().filter(|command| command.via != Via::Guess);
    let mut found: Vec<(usize, Piece)> =
        read.filter_map(|command| Reading { command, text }.piece()).collect();
    found.sort_by_key(|(start, _)| *start);
    let mut pieces: Vec<Piece> = found.into_iter().map(|(_, piece)| piece).collect();
    if pieces.is_empty() {
        pieces.push(whole(text.trim()));
    }
    if is_odd(&scan, text) {
        let timed = text.match_indices("time ").filter_map(|(at, _)| text.get(at..));
        let timed = timed.filter_map(|behind| runs(behind, "\n;&|").next()).take(MOST_TIMED);
        let runs = ["\n;&|", "\n;&|(`", "\n;&|(){}`$"].into_iter().flat_map(|at| runs(text, at));
        pieces.extend(runs.chain(timed).map(unnamed));
        // FAIL-CLOSED: only a rule for every call covers the first of these, and none the second.
        pieces.extend(["*", ""].map(unnamed));
    }
    pieces
}

/// Limits on the runs of an odd text, which is never allowed, and on those behind `time`.
const MOST_RUNS: usize = 4096;
const MOST_TIMED: usize = 16;

/// Returns what stands between separators, quoted or not.
fn runs<'t>(text: &'t str, separators: &'static str) -> impl Iterator<Item = &'t str> {
    let runs = text.split(move |c| separators.contains(c)).map(str::trim);
    runs.filter(|run| !run.is_empty()).take(MOST_RUNS)
}

/// Returns a piece that Always stores no pattern for.
fn unnamed(text: &str) -> Piece {
    Piece { text: text.to_owned(), always: String::new() }
}

/// Returns the texts of the pieces, for people.
#[must_use]
pub fn shown(pieces: &[Piece]) -> Vec<String> {
    let named = pieces.iter().filter(|piece| !piece.always.is_empty());
    named.map(|piece| piece.text.clone()).collect()
}

/// Returns what Always stores for the pieces; nothing where one of them has no pattern.
pub(super) fn remembered(pieces: &[Piece], rule: impl Fn(&str) -> Rule) -> Vec<Rule> {
    let mut rules: Vec<Rule> = Vec::new();
    for piece in pieces {
        if piece.always.is_empty() {
            return Vec::new();
        }
        let rule = rule(&piece.always);
        if !rules.contains(&rule) {
            rules.push(rule);
        }
    }
    rules
}

/// Words that open a command which is more than a program's name.
const OPENERS: [&str; 9] =
    ["!", "time", "function", "for", "if", "case", "while", "until", "select"];

/// Returns true for a text of which tree-sitter may have made anything.
fn is_odd(scan: &Scan<'_>, text: &str) -> bool {
    let mut tokens = text.split_whitespace().peekable();
    let mut prefixed = false;
    while let Some(token) = tokens.next() {
        let then = tokens.peek().copied().unwrap_or_default();
        let opens = OPENERS.contains(&then)
            || then.contains(['{', '>', '<'])
            || ["()", "=("].iter().any(|odd| then.contains(odd));
        prefixed |= match token.rsplit(['(', '`', '"']).next() {
            Some("!") => opens || then.contains('=') || then != "[" && NO_COMMANDS.contains(&then),
            Some("time") => opens || then.starts_with(['(', '[']),
            _ => false,
        };
    }
    scan.refusal.is_some()
        || prefixed
        || text.contains("=~ `")
        || text.trim() == "()"
        || scan.commands.iter().any(|command| {
            has_odd_redirect(command, text) || command.argv.iter().any(|word| is_empty(word, text))
        })
}

/// Returns true for a word with a substitution that runs nothing.
fn is_empty(word: &Word<'_>, text: &str) -> bool {
    let raw = text.get(word.span.clone()).unwrap_or_default();
    let dense: String = raw.split_whitespace().collect();
    let empty = ["$()", "<()", ">()", "``", "`#", "$((&"];
    word.kind == WordKind::Dynamic && empty.iter().any(|odd| dense.contains(odd))
}

/// Returns true for a redirect between words, and unless every here-document of a text ends in a line
/// of its own, and only there.
fn has_odd_redirect(command: &Command<'_>, text: &str) -> bool {
    let redirects = command.redirects.iter();
    let words = command.argv.first().zip(command.argv.last());
    let inside = words.is_some_and(|(first, last)| {
        let mut between = redirects.clone().map(|redirect| redirect.target.span.start);
        between.any(|at| first.span.start < at && at < last.span.start)
    });
    let mut documents = redirects.filter(|redirect| redirect.op == RedirectOp::HereDocument);
    let Some(document) = documents.next() else { return inside };
    let word = text.get(document.target.span.clone()).unwrap_or_default();
    let end = word.trim_matches(['"', '\'', '\\']);
    let mut ends = text.lines().filter(|line| line.trim_start().starts_with(end)).peekable();
    inside
        || documents.next().is_some()
        || command.argv.is_empty()
        || ends.peek().is_none()
        || ends.any(|line| line.trim_start_matches('\t') != end)
}

/// Treats a text as one piece.
fn whole(text: &str) -> Piece {
    let mut tokens: Vec<&str> = text.split_whitespace().collect();
    if tokens.is_empty() {
        tokens.push("");
    }
    Piece { text: text.to_owned(), always: pattern(&tokens) }
}

/// What molf takes for no command: they change or test the shell itself.
const NO_COMMANDS: [&str; 7] = ["declare", "export", "local", "readonly", "typeset", "unset", "["];

/// A command and the text that it stands in.
struct Reading<'a> {
    command: &'a Command<'a>,
    text: &'a str,
}

impl Reading<'_> {
    /// Returns the piece of the command with the offset at which it starts.
    fn piece(&self) -> Option<(usize, Piece)> {
        let (first, arguments) = self.command.argv.split_first()?;
        if NO_COMMANDS.contains(&&*first.text) {
            return None;
        }
        let start = self.start(first.span.start);
        let end = self.end(arguments.last().unwrap_or(first).span.end, start);
        // `time` is a command to molf, and what it measures are its arguments.
        let timed = self.timed(start);
        let written = |word: &Word<'_>| self.text.get(word.span.clone());
        let mut tokens: Vec<&str> = match timed {
            Some(time) => self.text.get(time..first.span.start)?.split_whitespace().collect(),
            None => Vec::new(),
        };
        tokens.extend(written(first));
        let arguments = arguments.iter().filter_map(written);
        tokens.extend(arguments.filter(|word| !is_substitution(word)).map(unquoted));
        let start = timed.unwrap_or(start);
        let text = self.text.get(start..end)?.trim().to_owned();
        Some((start, Piece { text, always: pattern(&tokens) }))
    }

    /// Returns the offset of the command's first assignment, redirect or word.
    fn start(&self, first: usize) -> usize {
        let assigned = self.command.assigns.iter().map(|assign| assign.value.span.start);
        let redirects = self.command.redirects.iter().map(|redirect| redirect.target.span.start);
        let Some(value) = assigned.chain(redirects).filter(|at| *at < first).min() else {
            return first;
        };
        // The span of a value leaves out the name or the operator before it.
        let before = self.text.get(..value).unwrap_or_default().trim_end_matches([' ', '\t']);
        let before = before.trim_end_matches(">|").trim_end_matches(['<', '>', '&', '=', '+']);
        before.trim_end_matches(|c: char| c.is_alphanumeric() || "_[]".contains(c)).len()
    }

    /// Returns the end of the command with its redirects. Behind `&&`, `||`, `|` and `!` they are
    /// lost, as in molf, which takes them for those of the whole list.
    fn end(&self, words: usize, start: usize) -> usize {
        let before = self.text.get(..start).unwrap_or_default().trim_end();
        let joined = ["&&", "|", "|&", "!"].iter().any(|operator| before.ends_with(operator));
        let redirects = self.command.redirects.iter();
        let mut own = redirects
            .filter(|redirect| !joined || redirect.op == RedirectOp::HereString)
            .peekable();
        if own.peek().is_none() {
            return words;
        }
        own.fold(words, |end, redirect| match redirect.op {
            RedirectOp::HereDocument => self.text.len(),
            _ => end.max(redirect.target.span.end),
        })
    }

    /// Returns the offset of a `time` before the command.
    fn timed(&self, start: usize) -> Option<usize> {
        let blank = [' ', '\t'];
        let before = self.text.get(..start)?.strip_suffix(blank)?.trim_end_matches(blank);
        let before = before.strip_suffix(" -p").map_or(before, |time| time.trim_end_matches(blank));
        let before = before.strip_suffix("time")?;
        let word = |c: char| !c.is_whitespace() && !";&|(){`!".contains(c);
        (!before.ends_with(word)).then_some(before.len())
    }
}

/// Returns true for a word that is nothing but a substitution; molf drops those from its patterns.
fn is_substitution(word: &str) -> bool {
    ["$(", "<(", ">("].iter().any(|open| word.starts_with(open)) && word.ends_with(')')
        || word.starts_with('`')
}

fn unquoted(token: &str) -> &str {
    // Only quotes around the whole token are removed, as in molf.
    let between = |quote| token.strip_prefix(quote).and_then(|rest| rest.strip_suffix(quote));
    between('"').or_else(|| between('\'')).unwrap_or(token)
}

/// Returns `git push *`: the words that name the action, and any more.
fn pattern(tokens: &[&str]) -> String {
    // Options count as words, so molf offers `git -C *`.
    let named = always::molf_prefix(tokens);
    let more = if tokens.len() > named.len() { " *" } else { "" };
    named.join(" ") + more
}

/// Returns the parts of a call that rules are matched with; none for tools that only their name
/// decides.
#[must_use]
pub fn pieces_of_call(call: &Call) -> Vec<Piece> {
    let text = |key: &str| call.args.get(key).and_then(Value::as_str);
    // The first key that is present counts, whatever its value.
    let first = |keys: [&str; 2]| {
        let key = keys.into_iter().find(|key| call.args.get(key).is_some_and(|v| !v.is_null()));
        key.and_then(text)
    };
    let value = match call.canonical_tool() {
        "shell_exec" => return call.command().map(pieces).unwrap_or_default(),
        "read_file" | "write_file" | "edit_file" => first(["path", "file_path"]),
        "glob" => first(["pattern", "path"]),
        "grep" => text("path"),
        "skill" => text("name"),
        // Only names of the older form carry a value; for others Always stores nothing in molf.
        _ if call.tool.starts_with("mcp:") => Some(call.tool.as_str()),
        _ => None,
    };
    let piece = |value: &str| Piece { text: value.to_owned(), always: value.to_owned() };
    value.map(piece).into_iter().collect()
}

#[cfg(test)]
mod tests {
    use crate::molf::commands::pieces;

    fn texts(text: &str) -> Vec<String> {
        pieces(text).into_iter().map(|piece| piece.text).collect()
    }

    #[test]
    fn pieces_are_spelled_as_molf_spells_them() {
        for (text, wanted) in [
            ("time -p ls x", &["time -p ls x"] as &[&str]),
            ("ls | sort 2>&1 > f", &["ls", "sort"]),
            ("ls 2>&1 | cat", &["ls 2>&1", "cat"]),
            ("export A=1; ls", &["ls"]),
            ("[ -f x ] && A=1 ls", &["A=1 ls"]),
            ("a;2>git b", &["a", "2>git b"]),
            ("x; >|git b", &["x", ">|git b"]),
            ("ls && cat > f <<E\nx\nE", &["ls", "cat"]),
            ("ls; cat > f <<'E'\nx\nE", &["ls", "cat > f <<'E'\nx\nE"]),
        ] {
            assert_eq!(texts(text), wanted, "{text}");
        }
    }

    #[test]
    fn an_odd_text_needs_a_rule_for_every_call_and_is_asked_about_even_then() {
        for text in [
            "ls; echo 'a; b",
            "ls $((x))",
            "echo $( )",
            "! ! ls",
            "a \"$(time { ls; })\"",
            "cat <<E",
            "cat <<A <<B\nA\nB",
            "cat <<A\n A\nA",
        ] {
            let odd = pieces(text).into_iter().filter(|piece| piece.always.is_empty());
            let odd: Vec<String> = odd.map(|piece| piece.text).collect();
            assert!(odd.ends_with(&["*".to_owned(), String::new()]), "{text}: {odd:?}");
        }
        let mut runs = texts("ls; $(a 'b");
        runs.sort();
        runs.dedup();
        assert_eq!(runs, ["", "$", "$(a 'b", "*", "a 'b", "ls", "ls; $(a 'b"]);
    }

    #[test]
    fn a_very_deep_text_is_taken_apart_without_a_deep_stack() {
        let deep = format!("{}ls{}", "$(".repeat(20_000), ")".repeat(20_000));
        assert!(!pieces(&deep).is_empty());
    }
}
