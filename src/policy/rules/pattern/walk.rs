//! Compares the exact words of a rule with the words of a command.

use super::coverage::Coverage;
use crate::facts::wrappers::base;
use crate::shell::{Word, WordKind};

/// Limit on the words of a walk, which has a bit for each; longer patterns are matched as text.
pub(super) const MOST_WORDS: usize = 120;

/// Returns true when the command starts with exactly these words.
pub(super) fn starts_with(argv: &[Word<'_>], words: &[Box<str>]) -> bool {
    argv.iter().zip(words).all(|(word, wanted)| word.literal() == Some(&**wanted))
}

/// Compares `words` with `argv`, stepping over options that the pattern does not name.
pub(super) fn walk(argv: &[Word<'_>], words: &[Box<str>], exact: bool) -> Coverage {
    let (Some((name, args)), Some((wanted, rest))) = (argv.split_first(), words.split_first())
    else {
        return Coverage::No;
    };
    let named = match name.kind {
        WordKind::Literal | WordKind::Home => {
            *name.text == **wanted || base(&name.text) == base(wanted) && !wanted.contains('/')
        }
        WordKind::Glob | WordKind::Dynamic => return Coverage::Maybe,
    };
    if named { step(args, rest, exact) } else { Coverage::No }
}

/// Tracks every position in `words` as a bit, because an option may or may not take a value.
fn step(args: &[Word<'_>], words: &[Box<str>], exact: bool) -> Coverage {
    // `git -C x push` must not escape a deny for `git push`. Without knowing that `-C` takes a
    // value, both readings are followed: `after` holds the positions where the next word is a
    // value.
    let done = 1_u128 << words.len();
    let (mut now, mut after) = (1_u128, 0_u128);
    let mut maybe = false;
    for word in args {
        // A prefix needs one word more than it names, and here is one.
        if !exact && now & done != 0 {
            return Coverage::Yes;
        }
        // This word may become the next one of the pattern.
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
        (true, _) => Coverage::Yes,
        (false, true) => Coverage::Maybe,
        (false, false) => Coverage::No,
    }
}
