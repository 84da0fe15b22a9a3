//! Wrappers whose options are known (`timeout`, `env`, `sudo`).

use std::borrow::Cow;

use crate::facts::programs;
use crate::facts::programs::getopt::{Arg, OptionReader, Syntax, Valued};
use crate::facts::programs::name::base;
use crate::facts::programs::runs::{Passage, Runs, Wrapper};
use crate::facts::wrappers::inner::{Inner, Unwrapped, guesses};
use crate::facts::wrappers::shells;
use crate::shell::{Dialect, Word};

/// Skips a wrapper's own options and operands.
pub(super) fn behind<'w, 'a>(
    wrapper: &Wrapper,
    name: &str,
    syntax: Syntax,
    args: &'w [Word<'a>],
) -> Option<Unwrapped<'w, 'a>> {
    let mut passage = wrapper.passage;
    let (mut is_emptied, mut filled) = (false, None);
    let mut options = OptionReader::new(syntax, args, Valued::default());
    let mut rest = args;
    loop {
        let arg = options.next();
        // The first operand ends the options of every wrapper.
        let Some(arg) = arg.filter(|arg| !matches!(arg, Arg::Operand(_))) else { break };
        if arg.may_be(syntax, wrapper.tells) {
            return None;
        }
        // FAIL-CLOSED: behind an option that is unknown or ambiguous, any word may be the command.
        let value = arg.value().map(|value| value.text);
        let read = args.get(..args.len() - options.rest.len()).unwrap_or_default();
        let is_known = !matches!(arg, Arg::Unclear(_)) && read.iter().all(is_literal);
        if !is_known {
            return Some(unknown(args));
        }
        if arg.may_be(syntax, wrapper.splits) {
            return Some(split(name, value.unwrap_or_default(), options.rest, args));
        }
        if arg.may_be(syntax, wrapper.opaque) {
            passage = Passage::DenyOnly;
        }
        if arg.may_be(syntax, wrapper.fills) {
            filled = Some(value.unwrap_or("{}"));
        }
        rest = options.rest;
    }
    // A `--` may stand in front of the first operand.
    if let Some(left) = options.behind_end {
        rest = args.get(args.len() - left..).unwrap_or_default();
    }
    let mut assigns = Vec::new();
    let mut operands = wrapper.operands;
    while let Some((word, more)) = rest.split_first() {
        let Some(text) = word.literal() else { return Some(unknown(args)) };
        if wrapper.assigns && text.contains('=') {
            assigns.push(word);
        } else if wrapper.assigns && text == "-" && assigns.is_empty() && !is_emptied {
            // `env -` empties the environment; the command follows.
            is_emptied = true;
        } else if operands > 0 {
            operands -= 1;
        } else {
            break;
        }
        rest = more;
    }
    if rest.is_empty() {
        // `env` alone prints, `xargs` alone echoes; `sudo -i` is a shell.
        if !wrapper.opens_shell && passage == wrapper.passage {
            return None;
        }
        let inner = vec![Inner::Unknown];
        return Some(Unwrapped { inner, passage: Passage::DenyOnly, assigns });
    }
    let mut inner = vec![Inner::Argv { argv: rest, open: wrapper.open }];
    if filled.is_some_and(|it| fills(rest, it)) {
        passage = Passage::DenyOnly;
        inner.push(Inner::Unknown);
    }
    Some(Unwrapped { inner, passage, assigns })
}

fn is_literal(word: &Word<'_>) -> bool {
    word.literal().is_some()
}

/// Returns what is certain when it is not known which word is the command: deny rules look at all.
fn unknown<'w, 'a>(args: &'w [Word<'a>]) -> Unwrapped<'w, 'a> {
    let mut found = Unwrapped::of(Passage::DenyOnly, guesses(args));
    found.inner.push(Inner::Unknown);
    found
}

/// Looks behind `env -S TEXT WORD…`: the words of the text come first, and may be options of `env`.
fn split<'w, 'a>(
    name: &str,
    text: &str,
    rest: &'w [Word<'a>],
    args: &'w [Word<'a>],
) -> Unwrapped<'w, 'a> {
    let mut found = Unwrapped::of(Passage::DenyOnly, Vec::new());
    let mut whole = [name, " ", text].concat();
    for word in rest {
        match word.literal() {
            Some(word) => whole += &[" '", &word.replace('\'', r"'\''"), "'"].concat(),
            None => found.inner.push(Inner::Unknown),
        }
    }
    // Its escapes are not those of a shell: `\_` is a blank.
    if text.contains('\\') {
        found.inner.push(Inner::Unknown);
    }
    let dialect = Dialect::Bash;
    found.inner.push(Inner::Script { text: Cow::Owned(whole), dialect });
    found.inner.extend(guesses(args));
    found
}

/// Returns true when a placeholder decides what runs (`xargs -I{} {}`, `find -exec sh -c {} ;`). It
/// may as soon as it stands behind a program that runs others, but for a shell's operands.
pub(super) fn fills(argv: &[Word<'_>], placeholder: &str) -> bool {
    let holds = |word: &Word<'_>| word.text.contains(placeholder);
    let Some((first, args)) = argv.split_first() else { return false };
    let Some(program) = first.literal().map(base).and_then(programs::of) else {
        return holds(first);
    };
    let script = |args| match shells::shell(base(&first.text), args)?.inner.first()? {
        Inner::Script { text, .. } => Some(text.contains(placeholder)),
        // The options of a shell may be in the way of its script.
        _ => Some(args.iter().take(2).any(holds)),
    };
    holds(first)
        || match program.runs {
            Runs::Nothing => false,
            Runs::Shell => script(args).unwrap_or_default(),
            _ => args.iter().any(holds),
        }
}
