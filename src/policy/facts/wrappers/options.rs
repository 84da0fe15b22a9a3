//! Wrappers whose options are known (`timeout`, `env`, `sudo`).

use super::inner::{Inner, Unwrapped, guesses};
use crate::facts::programs::runs::{Passage, Wrapper};
use crate::facts::programs::words::listed;
use crate::shell::Word;

/// Skips a wrapper's own options and operands.
pub(super) fn by_table<'w, 'a>(spec: &Wrapper, args: &'w [Word<'a>]) -> Option<Unwrapped<'w, 'a>> {
    if args.first().is_some_and(|word| listed(spec.tells, &word.text)) {
        return None;
    }
    let mut passage = spec.passage;
    let mut assigns = Vec::new();
    let mut operands = spec.operands;
    let mut rest = args;
    while let Some((word, more)) = rest.split_first() {
        let Some(text) = word.literal() else {
            // The command of `timeout $x rm` is unknown; deny rules look at every word.
            let mut found = Unwrapped::of(Passage::DenyOnly, guesses(args));
            found.inner.push(Inner::Unknown);
            return Some(found);
        };
        if text == "--" && operands == spec.operands {
            rest = more;
            break;
        }
        // Behind the first operand, an option belongs to the command that runs.
        if text.len() > 1 && text.starts_with(['-', '+']) && operands == spec.operands {
            if is_opaque(spec, text) {
                passage = Passage::DenyOnly;
            }
            let value = takes_value(spec, text);
            rest = if value { more.get(1..).unwrap_or_default() } else { more };
        } else if spec.assigns && is_assignment(text) {
            assigns.push(word);
            rest = more;
        // `env -` empties the environment; the command follows.
        } else if text == "-" && spec.assigns {
            rest = more;
        } else if operands > 0 {
            operands -= 1;
            rest = more;
        } else {
            break;
        }
    }
    if rest.is_empty() {
        // `env` alone prints, `xargs` alone echoes; `sudo -i` is a shell.
        if !spec.opens_shell && passage == spec.passage {
            return None;
        }
        let inner = vec![Inner::Unknown];
        return Some(Unwrapped { inner, passage: Passage::DenyOnly, assigns });
    }
    let mut inner = vec![Inner::Argv { argv: rest, open: spec.open }];
    // An opaque option may shift where the command starts, so deny rules see every possible start.
    if passage != spec.passage {
        inner.extend(guesses(args));
    }
    Some(Unwrapped { inner, passage, assigns })
}

/// Returns true when the next word belongs to this option.
fn takes_value(spec: &Wrapper, option: &str) -> bool {
    if let Some(long) = option.strip_prefix("--") {
        return listed(spec.longs, long);
    }
    let flags = option.get(1..).unwrap_or_default();
    match flags.find(|c| spec.shorts.contains(c)) {
        Some(at) => at + 1 == flags.len(),
        None => false,
    }
}

/// Returns true when allowing the inner command is not enough with this option.
fn is_opaque(spec: &Wrapper, option: &str) -> bool {
    spec.opaque.split(' ').filter(|opaque| !opaque.is_empty()).any(|opaque| {
        match opaque.strip_prefix("--") {
            // Long options may be abbreviated.
            Some(_) => {
                let name = option.split('=').next().unwrap_or(option);
                name.len() > 3 && opaque.starts_with(name)
            }
            None => {
                let letter = opaque.trim_start_matches('-');
                !option.starts_with("--") && option.contains(letter)
            }
        }
    })
}

/// Returns true for `NAME=value`.
fn is_assignment(text: &str) -> bool {
    text.split_once('=').is_some_and(|(name, _)| {
        !name.is_empty()
            && !name.starts_with(|c: char| c.is_ascii_digit())
            && name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_')
    })
}
