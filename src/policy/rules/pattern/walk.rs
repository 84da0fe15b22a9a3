//! Exact words of a rule along the words of a command.

use super::coverage::Reach;
use crate::facts::wrappers::base;
use crate::shell::{Word, WordKind};

/// More words than a walk has bits for are matched as text.
pub(super) const MOST_WORDS: usize = 120;

/// The command begins with these very words.
pub(super) fn starts_with(argv: &[Word<'_>], words: &[Box<str>]) -> bool {
    argv.iter().zip(words).all(|(word, wanted)| word.literal() == Some(&**wanted))
}

/// Walks along `words`, stepping over options in `argv` that the pattern does not name.
pub(super) fn walk(argv: &[Word<'_>], words: &[Box<str>], exact: bool) -> Reach {
    let (Some((name, args)), Some((wanted, rest))) = (argv.split_first(), words.split_first())
    else {
        return Reach::No;
    };
    let named = match name.kind {
        WordKind::Literal | WordKind::Home => {
            *name.text == **wanted || base(&name.text) == base(wanted) && !wanted.contains('/')
        }
        WordKind::Glob | WordKind::Dynamic => return Reach::Maybe,
    };
    if named { step(args, rest, exact) } else { Reach::No }
}

/// Every place in `words` where the walk can be is a bit; an option may or may not have a value.
fn step(args: &[Word<'_>], words: &[Box<str>], exact: bool) -> Reach {
    let done = 1_u128 << words.len();
    let (mut now, mut after) = (1_u128, 0_u128);
    let mut maybe = false;
    for word in args {
        if !exact && now & done != 0 {
            return Reach::Yes;
        }
        if word.kind == WordKind::Dynamic && now & (done - 1) != 0 {
            maybe = true;
        }
        let mut next = after;
        after = 0;
        for (at, wanted) in words.iter().enumerate() {
            if now & (1 << at) != 0 && *word.text == **wanted {
                next |= 1 << (at + 1);
            }
        }
        if word.text.starts_with('-') {
            next |= now;
            after = now;
        }
        now = next;
        if now == 0 && after == 0 {
            break;
        }
    }
    match (now & done != 0, maybe) {
        (true, _) => Reach::Yes,
        (false, true) => Reach::Maybe,
        (false, false) => Reach::No,
    }
}
