//! The words of a command that name files, and the access that the command makes of each. The
//! critical patterns and the effects share this.

use std::borrow::Cow;

use crate::facts::programs::arguments::Arguments;
pub use crate::facts::programs::description::Access;
use crate::facts::programs::description::{Files, Program};
use crate::facts::programs::getopt::OptionValue;
use crate::facts::programs::known::listing;
use crate::facts::programs::{self, base};
use crate::shell::Word;

/// A path and the access to it. The value of an option may be a part of its word.
pub type Touched<'w, 'a> = (Access, Cow<'w, Word<'a>>);

/// Returns the paths that a simple command names, without its wrappers.
#[must_use]
pub fn of_command<'w, 'a>(argv: &'w [Word<'a>]) -> Vec<Touched<'w, 'a>> {
    let Some((first, words)) = argv.split_first() else { return Vec::new() };
    let program = first.literal().map(base).and_then(programs::exact);
    program.map_or_else(Vec::new, |program| touched(program, &Arguments::of(program, words)))
}

fn touched<'w, 'a>(program: &Program, args: &Arguments<'w, 'a>) -> Vec<Touched<'w, 'a>> {
    let all = |access: Access, skip: usize, values: &str| {
        let operands = args.operands(values).into_iter().skip(skip);
        operands.map(|word| (access, Cow::Borrowed(word))).collect::<Vec<_>>()
    };
    match program.files {
        Files::Unknown => Vec::new(),
        Files::As(sub) if args.words.first().and_then(Word::literal) == Some(sub) => {
            of_command(args.words)
        }
        Files::As(_) => Vec::new(),
        Files::Each { access, skip, values } => all(access, skip, values),
        Files::Edited => {
            let edits = args.flag("i") || args.long("--in-place");
            // Without `-e` or `-f` the first operand is the script and not a file.
            let script = !args.given(SCRIPTS).is_empty();
            let access = if edits { Access::Write } else { Access::Read };
            all(access, usize::from(!script), SCRIPTS)
        }
        Files::Transfer(access) => transfer(args, access),
        Files::Assigned => args.words.iter().filter_map(assigned).collect(),
        Files::Behind(options) => behind(args, options),
        Files::Searched => {
            let access = searched(args.words);
            let starts = listing::starts(args.words).iter();
            starts.map(|word| (access, Cow::Borrowed(word))).collect()
        }
        Files::Archive => all(Access::Read, usize::from(!dashed(args.words)), "-f -C"),
    }
}

/// Returns the path that a simple command touches without naming it, and the access to it.
#[must_use]
pub fn implied(argv: &[Word<'_>]) -> Option<(Access, &'static str)> {
    let (first, args) = argv.split_first()?;
    let program = first.literal().map(base).and_then(programs::exact)?;
    let here = matches!(program.files, Files::Searched) && listing::starts(args).is_empty();
    here.then(|| (searched(args), "."))
}

fn searched(args: &[Word<'_>]) -> Access {
    if listing::removes(args) { Access::Delete } else { Access::Read }
}

/// The options of sed that give a script.
const SCRIPTS: &str = "-e -f --expression --file";

/// Reads `if=file` and `of=file`.
fn assigned<'w, 'a>(word: &'w Word<'a>) -> Option<Touched<'w, 'a>> {
    match word.text.split_once('=')?.0 {
        "of" => Some((Access::Write, Cow::Borrowed(word))),
        "if" => Some((Access::Read, Cow::Borrowed(word))),
        _ => None,
    }
}

/// Returns the operands of a copy or move: the last is written, the others are read or moved.
fn transfer<'w, 'a>(args: &Arguments<'w, 'a>, from: Access) -> Vec<Touched<'w, 'a>> {
    // With `-t DIR` the target comes first and every operand is a source.
    let mut found = behind(args, "-t --target-directory");
    let mut words = args.operands("-t --target-directory -m -o -g -S -e --rsh");
    if found.is_empty()
        && words.len() > 1
        && let Some(to) = words.pop()
    {
        found.push((Access::Write, Cow::Borrowed(to)));
    }
    found.extend(words.into_iter().map(|word| (from, Cow::Borrowed(word))));
    found
}

/// Returns the values of options that name a file to write.
fn behind<'w, 'a>(args: &Arguments<'w, 'a>, options: &str) -> Vec<Touched<'w, 'a>> {
    let word = |value: OptionValue<'w, 'a>| {
        if value.text.len() == value.word.text.len() {
            Cow::Borrowed(value.word)
        } else {
            let text = Cow::Owned(value.text.to_owned());
            Cow::Owned(Word { text, ..value.word.clone() })
        }
    };
    args.given(options).into_iter().map(|value| (Access::Write, word(value))).collect()
}

fn dashed(args: &[Word<'_>]) -> bool {
    args.first().is_some_and(|w| w.text.starts_with('-'))
}
