//! The use that programs make of the paths they are given, as far as the guardrail needs it.

use crate::facts::programs::arguments::Arguments;
use crate::facts::programs::description::{Depth, Program};
use crate::facts::programs::{self, base, listed};
use crate::shell::Word;

/// The use that a program makes of a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Usage {
    /// Prints its name only.
    Names,
    /// Opens that file or folder, and nothing below it.
    Opens,
    /// May go through everything below.
    Walks,
}

/// Returns the use of a command's operands, and whether the program walks through the working
/// directory without an operand.
pub(crate) fn usage(argv: &[Word<'_>]) -> (Usage, bool) {
    let words = argv.get(1..).unwrap_or_default();
    // An unknown program may go through everything.
    let Some(program) = described(argv) else { return (Usage::Walks, false) };
    match program.depth {
        Depth::Names => (Usage::Names, false),
        Depth::Opens => (Usage::Opens, false),
        Depth::Walks => (Usage::Walks, false),
        Depth::WalksHere => (Usage::Walks, true),
        Depth::WalksWith { letters, longs, here } => {
            let args = Arguments::of(program, words);
            match args.flag(letters) || args.long(longs) {
                true => (Usage::Walks, here),
                false => (Usage::Opens, false),
            }
        }
        Depth::WalksHereWith(list) => {
            (Usage::Walks, words.iter().any(|word| listed(list, &word.text)))
        }
    }
}

fn described(argv: &[Word<'_>]) -> Option<&'static Program> {
    argv.first().and_then(Word::literal).map(base).and_then(programs::exact)
}

/// Returns true when the word is prose and not a path (`commit -m TEXT`).
pub(super) fn is_prose(argv: &[Word<'_>], at: usize) -> bool {
    let before = at.checked_sub(1).and_then(|before| argv.get(before));
    before.filter(|option| option.text.starts_with('-')).is_some_and(|option| {
        described(argv).is_some_and(|program| listed(program.prose, &option.text))
    })
}
