//! Calls that only read, inside the workspace and without secrets: the class that `@reads` in a
//! rule covers.
//!
//! FAIL-CLOSED: a program, sub-command, option or word that the tables do not list does not count
//! as reading.

mod names;
mod operands;
pub(crate) mod scripts;
pub(crate) mod words;

use crate::facts::paths::{self, Directories, PatternOf};
use crate::facts::programs;
use crate::facts::programs::name::base;
use crate::facts::programs::own::OperatorProgram;
use crate::facts::programs::reading::{Operands, Reading};
use crate::facts::programs::words::{each, listed};
use crate::facts::tools::Kind;
use crate::facts::values::Value;
use crate::shell::Word;

/// The name of the class in rules.
pub const CLASS: &str = "@reads";

/// The folders of the system's own programs.
const SYSTEM_PROGRAMS: &[&str] = &["/usr/bin/", "/bin/"];

/// Returns the project that a call works in. Returns `None` when it is unknown or not a project:
/// the home folder or one above it, a folder of the system, or one that every user may write to.
#[must_use]
pub fn workspace<'p>(dirs: Directories<'p>) -> Option<std::borrow::Cow<'p, str>> {
    let nowhere = Directories::default();
    let cwd = dirs.cwd.filter(|cwd| cwd.starts_with('/'))?;
    let cwd = paths::clean(cwd, nowhere);
    let above_home = dirs
        .home
        .filter(|home| home.starts_with('/'))
        .is_some_and(|home| paths::within(&paths::clean(home, nowhere), &cwd));
    (!above_home && paths::workspace(dirs).is_some()).then_some(cwd)
}

/// Returns true when a simple command only reads. `open` is true when unknown words follow.
pub(crate) fn command(argv: &[Word<'_>], open: bool, dirs: Directories<'_>) -> bool {
    let Some((first, args)) = argv.split_first() else { return false };
    let Some(path) = first.literal() else { return false };
    let name = base(path);
    // `./ls` is some program of the workspace, not the system's `ls`.
    let of_the_system = SYSTEM_PROGRAMS.iter().any(|dir| path.strip_prefix(dir) == Some(name));
    if open || path.contains('/') && !of_the_system || workspace(dirs).is_none() {
        return false;
    }
    let Some(program) = programs::exact(name) else { return false };
    let plain = |word: &&Word<'_>| {
        word.text.starts_with('-') && word.literal().is_some_and(|t| listed(program.plain, t))
    };
    let from = if program.plain.is_empty() { 0 } else { args.iter().take_while(plain).count() };
    let args = args.get(from..).unwrap_or_default();
    // `--version` alone prints and exits.
    let tells = matches!(args, [one] if one.literal().is_some_and(|t| listed(program.versions, t)));
    tells
        || program
            .reads
            .iter()
            .any(|form| behind_sub(form, args).is_some_and(|args| reads(form, args, dirs)))
}

/// Returns the words behind the sub-command of a form.
fn behind_sub<'w, 'a>(form: &Reading, args: &'w [Word<'a>]) -> Option<&'w [Word<'a>]> {
    let mut rest = args;
    for sub in each(form.sub) {
        let (word, more) = rest.split_first()?;
        word.literal().filter(|text| text.as_bytes() == sub)?;
        rest = more;
    }
    Some(rest)
}

/// Returns true when a program that the operator describes only reads: a known form of it, called
/// by its bare name, that names nothing outside the project and no secret.
pub(crate) fn own(program: &OperatorProgram, argv: &[Word<'_>], dirs: Directories<'_>) -> bool {
    let Some((first, args)) = argv.split_first() else { return false };
    let readable = |text: &&str| names::opened(text, dirs);
    first.literal() == Some(&program.name)
        && workspace(dirs).is_some()
        && program
            .reads
            .iter()
            .any(|form| form.operands(args).is_some_and(|operands| operands.iter().all(readable)))
}

/// Returns true when a file tool only reads what it names, for whatever it takes the name.
pub(crate) fn value(kind: Kind, value: &Value, dirs: Directories<'_>) -> bool {
    let readable = |path: &str| match kind {
        Kind::Read => names::selects(path, PatternOf::Files, dirs),
        Kind::Grep => names::selects(path, PatternOf::Search, dirs),
        Kind::Glob => names::readable(path, false, dirs),
        _ => false,
    };
    value.is_path && workspace(dirs).is_some() && value.readings(dirs).iter().all(|it| readable(it))
}

/// Returns true when a search without a folder stays in the workspace.
pub(crate) fn every_value(kind: Kind, dirs: Directories<'_>) -> bool {
    matches!(kind, Kind::Glob | Kind::Grep) && workspace(dirs).is_some()
}

/// Returns true when all words behind a program's name or sub-command are known to read.
fn reads(form: &Reading, args: &[Word<'_>], dirs: Directories<'_>) -> bool {
    match form.operands {
        Operands::Words => args.iter().all(|word| names::said(word, dirs)),
        Operands::Find => scripts::find(args, dirs),
        Operands::Ps => scripts::ps(args),
        operands => words::SortedWords::of(form, args)
            .is_some_and(|words| operands::read(operands, &words, dirs)),
    }
}
