//! Programs whose operands or options hold a command (`docker exec`, `find -exec`, `fd -x`).

use super::inner::{Inner, Unwrapped, guesses};
use super::options::fills;
use crate::facts::programs;
use crate::facts::programs::description::Role;
use crate::facts::programs::name::base;
use crate::facts::programs::runs::Passage;
use crate::facts::programs::words::listed;
use crate::shell::Word;

/// Looks behind `docker exec C CMD` and `npx CMD`. Rules name the outer command, but a shell asks.
pub(super) fn elsewhere<'w, 'a>(rest: &'w [Word<'a>]) -> Unwrapped<'w, 'a> {
    let is_shell = |word: &Word<'_>| {
        programs::exact(base(&word.text)).is_some_and(|program| program.is(Role::Shell))
    };
    let shell = rest.iter().any(is_shell);
    let passage = if shell { Passage::DenyOnly } else { Passage::Outer };
    Unwrapped::of(passage, guesses(rest))
}

/// Looks behind `countersign host SYSTEM -- ENGINE`.
// SECURITY: the engine starts without an ask, whichever program it is. `run` asks on its own.
pub(super) fn hosted<'w, 'a>(subs: &str, args: &'w [Word<'a>]) -> Option<Unwrapped<'w, 'a>> {
    let at = args.iter().position(|word| word.literal() == Some("--"))?;
    args.get(..at)?.iter().find(|word| word.literal().is_some_and(|sub| listed(subs, sub)))?;
    let argv = args.get(at + 1..).unwrap_or_default();
    (!argv.is_empty())
        .then(|| Unwrapped::of(Passage::Both, vec![Inner::Argv { argv, open: false }]))
}

/// Looks behind `find … -exec CMD ;`.
pub(super) fn up_to<'w, 'a>(options: &str, args: &'w [Word<'a>]) -> Option<Unwrapped<'w, 'a>> {
    let mut inner = Vec::new();
    let mut rest = args;
    while let Some((word, more)) = rest.split_first() {
        rest = more;
        if !listed(options, &word.text) {
            continue;
        }
        let ends = |w: &Word<'_>| matches!(&*w.text, ";" | "+");
        // Without an end, everything that follows is the command.
        let length = more.iter().position(ends).unwrap_or(more.len());
        match more.get(..length) {
            Some(argv) if !argv.is_empty() => {
                inner.push(Inner::Argv { argv, open: false });
                if fills(argv, "{}") {
                    inner.push(Inner::Unknown);
                }
            }
            _ => inner.push(Inner::Unknown),
        }
        rest = more.get(length..).unwrap_or_default();
    }
    (!inner.is_empty()).then(|| Unwrapped::of(Passage::Both, inner))
}

/// Looks behind `fd … -x CMD`.
pub(super) fn last<'w, 'a>(
    long: &str,
    short: &str,
    args: &'w [Word<'a>],
) -> Option<Unwrapped<'w, 'a>> {
    let is = |w: &Word<'_>| {
        let text = &*w.text;
        text.starts_with(long)
            || (!text.starts_with("--")
                && text.starts_with('-')
                && text.contains(|c| short.contains(c)))
    };
    let at = args.iter().position(is)?;
    let argv = args.get(at + 1..).unwrap_or_default();
    let glued = args
        .get(at)
        .is_some_and(|w| w.text.contains('=') || (!w.text.starts_with("--") && w.text.len() > 2));
    // An attached value (`-xrm`, `--exec=rm`) hides where the command starts.
    let inner = if argv.is_empty() || glued {
        let mut inner = guesses(argv);
        inner.push(Inner::Unknown);
        inner
    } else {
        vec![Inner::Argv { argv, open: true }]
    };
    let inner =
        if fills(argv, "{") { inner.into_iter().chain([Inner::Unknown]).collect() } else { inner };
    Some(Unwrapped::of(Passage::Both, inner))
}
