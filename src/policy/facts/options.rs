//! Options and operands with which a program executes, writes or sends more than a plain `name *`
//! grant covers. Sources: the programs' manuals, GTFOBins and published advisories of similar
//! products.

use crate::facts::obeyed;
use crate::facts::paths::{self, Directories};
use crate::facts::programs::arguments::Arguments;
use crate::facts::programs::condition::why;
use crate::facts::programs::description::{Access, Files, Program, Role, Runs};
use crate::facts::programs::getopt::Syntax;
use crate::facts::programs::{self, Words, base, begins, listed};
use crate::shell::{Word, WordKind};

/// Returns why this command goes beyond a plain grant of its name; `None` when it does not. `open`
/// is true when unknown words follow (`xargs`).
#[must_use]
pub fn exceeds(argv: &[Word<'_>], open: bool, dirs: Directories<'_>) -> Option<&'static str> {
    let (first, words) = argv.split_first()?;
    let program = programs::exact(base(first.literal()?));
    let described = program.and_then(|program| described(program, words, open, dirs));
    described.or_else(|| undescribed(program, words, dirs))
}

/// Returns why this command goes beyond a plain grant, by the description of its program.
fn described(
    program: &Program,
    words: &[Word<'_>],
    open: bool,
    dirs: Directories<'_>,
) -> Option<&'static str> {
    let args = Arguments { open, dirs, ..Arguments::of(program, words) };
    // Without options to skip, the words behind the name are the sub-command's already.
    if program.plain.is_empty() {
        return why(program.beyond, &args);
    }
    behind_options(program, args)
}

/// Checks a program that options before its sub-command may point elsewhere.
fn behind_options(program: &Program, args: Arguments<'_, '_>) -> Option<&'static str> {
    let mut rest = args.words;
    while let Some((word, more)) = rest.split_first() {
        match &*word.text {
            // `git -C x push`: an option in front may choose another repository or program. Only
            // options known to change nothing are skipped.
            text if !text.starts_with('-') => break,
            text if listed(program.plain, text) || listed("--version --help", text) => rest = more,
            _ => {
                return Some("an option in front of its sub-command changes what it runs or where");
            }
        }
    }
    let (sub, words) = rest.split_first()?;
    let Some(sub) = sub.literal() else {
        return Some("which of its commands it is will only show when it runs");
    };
    why(program.beyond, &Arguments { words, sub, ..args })
}

// What holds for every program: a wildcard ends at the project, and an option whose name says that
// it runs something does.

const LEAVES: &str = "an option of it names a file outside the project";
const NAMES_OUTSIDE: &str = "it names a file outside the project";
const RUNS: &str = "an option of it runs another program";
const WRITES: &str = "an option of it writes a file that others run or obey";
const OUTPUTS: Words = "o out output outfile outdir dest destination save write";
const RUNNING: Words = "\
    exec execute executable command cmd program shell editor pager viewer browser preload loader \
    launcher interpreter hook hooks rsh plugin plugins compiler linker";

/// Checks the options of a program for what no description has to name.
fn undescribed(
    program: Option<&Program>,
    words: &[Word<'_>],
    dirs: Directories<'_>,
) -> Option<&'static str> {
    if program.is_some_and(|program| reads_anything(program) || runs_words(program)) {
        return None;
    }
    let elsewhere = match program.map(|program| program.runs) {
        Some(Runs::Elsewhere(subs)) => subs,
        _ => "",
    };
    let prose = program.map_or("", |program| program.prose);
    // The word behind an option may be an operand, of which the description knows more.
    let is_known = |program: &Program| !matches!(program.files, Files::Unknown | Files::As(_));
    let known = program.is_some_and(is_known);
    let (mut before, mut operands): (Option<&str>, Vec<&str>) = (None, Vec::new());
    for word in words {
        let text = &*word.text;
        let Some(option) = text.strip_prefix('-').filter(|option| !option.is_empty()) else {
            // Behind `docker exec`, the words are those of a command in a container.
            if matches!(*operands, [] | ["compose" | "container"]) && listed(elsewhere, text) {
                return None;
            }
            match before.take() {
                Some(option) if !known && !listed(prose, option) && leaves(word, text, dirs) => {
                    return Some(LEAVES);
                }
                Some(option) if !known && writes(option.trim_start_matches('-'), text) => {
                    return Some(WRITES);
                }
                Some(_) => {}
                None if !known && climbs(word, dirs) => return Some(NAMES_OUTSIDE),
                None => operands.push(text),
            }
            continue;
        };
        let (name, value) = option.split_once('=').unzip();
        let name = name.unwrap_or(option).trim_start_matches('-');
        // `-DCMAKE_C_COMPILER_LAUNCHER=x` too.
        let mut parts = name.split(['-', '_']);
        let runs = |part: &str| listed(RUNNING, &part.to_ascii_lowercase());
        if !name.starts_with("no-") && parts.any(runs) {
            return Some(RUNS);
        }
        let short = option.split_at_checked(1).filter(|_| !option.starts_with('-'));
        let attached = value.or(short.map(|(_, value)| value)).unwrap_or_default();
        if leaves(word, attached, dirs) {
            return Some(LEAVES);
        }
        let written = if value.is_some() { name } else { short.map_or("", |(letter, _)| letter) };
        if writes(written, attached) {
            return Some(WRITES);
        }
        before = value.is_none().then_some(text);
    }
    None
}

/// Returns true for an operand that leads out of the project by its looks. One that begins with a
/// slash may be an address or a name.
fn climbs(word: &Word<'_>, dirs: Directories<'_>) -> bool {
    let text = &*word.text;
    let looks = text.starts_with('~') || text.split('/').any(|part| part == "..");
    looks && !text.contains(|c: char| c.is_whitespace() || c == ':') && paths::outside(text, dirs)
}

/// Keys of `--output type=local,dest=/x`.
const PLACES: Words = "\
    dest dst destination src source path file output target device go-template-file \
    jsonpath-file custom-columns-file";

/// Returns true for a path outside the project, as the value of an option. Prose of several words is
/// none, and neither is the socket of a service.
fn leaves(word: &Word<'_>, value: &str, dirs: Directories<'_>) -> bool {
    if value.contains(char::is_whitespace) {
        return false;
    }
    let leaves = |part: &str| {
        let named = part.split_once('=').filter(|(key, _)| listed(PLACES, key));
        let path = named.map_or(part, |(_, path)| path);
        let looks = path.starts_with(['/', '~']) || path.split('/').any(|part| part == "..");
        let plain = paths::sink(path) || paths::source(path);
        looks && !plain && !begins("// /run/ /var/run/", path) && paths::outside(path, dirs)
    };
    word.kind == WordKind::Dynamic && begins("$HOME ${HOME}", value) || value.split(',').any(leaves)
}

/// Returns true for an option that names what the program writes, and a value that others run or
/// obey.
fn writes(option: &str, value: &str) -> bool {
    let is_output = |part: &str| listed(OUTPUTS, &part.to_ascii_lowercase());
    option.split(['-', '_']).any(is_output) && !value.is_empty() && obeyed::is_obeyed(value)
}

/// Returns true for a program that opens files only to read them, wherever they are, or whose
/// options are described one by one.
fn reads_anything(program: &Program) -> bool {
    let only_reads = !program.reads.is_empty() && !program.is(Role::Many);
    let reads_files = matches!(program.files, Files::Each { access: Access::Read, .. });
    only_reads
        || reads_files
        || matches!(program.files, Files::Searched)
        || matches!(program.syntax, Syntax::Getopt(_))
        || program.is(Role::KnownPaths)
        || program.is(Role::Fetches)
}

/// Returns true for a program whose words belong to another one, or to its own language.
fn runs_words(program: &Program) -> bool {
    let runs = !matches!(program.runs, Runs::Nothing | Runs::Elsewhere(_) | Runs::Parts(_));
    let roles = [Role::Shell, Role::Interpreter, Role::Recipes, Role::Says, Role::Quiet];
    runs || roles.iter().any(|role| program.is(*role))
}

#[cfg(test)]
mod tests;
