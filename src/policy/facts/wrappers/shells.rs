//! Shells, and programs that pass a text to a shell.

use std::borrow::Cow;

use super::inner::{Inner, Unwrapped, guesses};
use crate::facts::programs::runs::Passage;
use crate::shell::{Dialect, Word};

/// Looks behind `bash -c TEXT`, `sh script`, and `sh` with commands on its input.
pub(super) fn shell<'w, 'a>(name: &str, args: &'w [Word<'a>]) -> Option<Unwrapped<'w, 'a>> {
    let dialect = if matches!(name, "bash" | "rbash") { Dialect::Bash } else { Dialect::Posix };
    let mut passage = Passage::Inner;
    let (mut text, mut input) = (false, false);
    let mut rest = args;
    while let Some((word, more)) = rest.split_first() {
        let Some(option) = word.literal() else { break };
        let Some(flags) = option.strip_prefix(['-', '+']).filter(|f| !f.is_empty()) else { break };
        rest = more;
        if flags == "-" {
            break;
        }
        if let Some(long) = flags.strip_prefix('-') {
            match long {
                "version" | "help" => return None,
                "norc" | "noprofile" | "posix" | "noediting" => {}
                // Start-up files would run first.
                _ => passage = Passage::DenyOnly,
            }
            if matches!(long, "rcfile" | "init-file") {
                rest = more.get(1..).unwrap_or_default();
            }
            continue;
        }
        text |= flags.contains('c');
        input |= flags.contains('s');
        // `-i` reads start-up files, `-O` changes how the text is parsed.
        if flags.contains(['i', 'O']) {
            passage = Passage::DenyOnly;
        }
        // `-o` and `-O` take the next word.
        if flags.ends_with(['o', 'O']) {
            rest = rest.get(1..).unwrap_or_default();
        }
    }
    Some(match rest.first() {
        Some(word) if text => match word.literal() {
            // `sh -c TEXT` hid the inner command from the rules of opencode (its issue 16724).
            Some(script) => {
                let text = Cow::Borrowed(script);
                Unwrapped::of(passage, vec![Inner::Script { text, dialect }])
            }
            None => Unwrapped::of(Passage::DenyOnly, vec![Inner::Unknown]),
        },
        None if text => Unwrapped::of(Passage::DenyOnly, vec![Inner::Unknown]),
        // `bash /dev/stdin` reads its input, not a script.
        Some(word) if !input && word.text != "-" && !word.text.starts_with("/dev/") => {
            let known = word.literal().is_some() && passage == Passage::Inner;
            let passage = if known { Passage::Outer } else { Passage::DenyOnly };
            Unwrapped::of(passage, vec![Inner::Unknown])
        }
        _ => Unwrapped::of(Passage::DenyOnly, vec![Inner::Input(dialect)]),
    })
}

/// Looks behind shells with another grammar; the text is read for deny rules only.
pub(super) fn foreign<'w, 'a>(args: &'w [Word<'a>]) -> Option<Unwrapped<'w, 'a>> {
    if args.iter().any(|w| matches!(&*w.text, "--version" | "--help")) {
        return None;
    }
    let mut inner = scripts(args);
    inner.push(Inner::Unknown);
    Some(Unwrapped::of(Passage::DenyOnly, inner))
}

/// Looks behind `eval`, which joins its words and reads them again.
pub(super) fn eval<'w, 'a>(args: &'w [Word<'a>]) -> Unwrapped<'w, 'a> {
    Unwrapped::of(Passage::DenyOnly, vec![join(args)])
}

/// Looks behind `trap TEXT SIGNAL…`.
pub(super) fn trap<'w, 'a>(args: &'w [Word<'a>]) -> Option<Unwrapped<'w, 'a>> {
    let action = args.iter().find(|w| w.text != "--")?;
    if action.text.is_empty() || matches!(&*action.text, "-" | "-l" | "-p") {
        return None;
    }
    Some(Unwrapped::of(Passage::DenyOnly, vec![script(action)]))
}

/// Looks behind `su -c TEXT`.
pub(super) fn su<'w, 'a>(args: &'w [Word<'a>]) -> Unwrapped<'w, 'a> {
    let mut inner = Vec::new();
    for pair in args.windows(2) {
        let [option, value] = pair else { continue };
        if option.text == "--command"
            || (option.text.starts_with('-') && option.text.ends_with('c'))
        {
            inner.push(script(value));
        }
    }
    // Without `-c`, `su` opens a shell or passes the words on to one.
    if inner.is_empty() {
        inner = guesses(args);
        inner.push(Inner::Unknown);
    }
    Unwrapped::of(Passage::DenyOnly, inner)
}

/// Looks behind `ssh [options] HOST TEXT…`.
pub(super) fn remote<'w, 'a>(args: &'w [Word<'a>]) -> Unwrapped<'w, 'a> {
    const VALUES: &str = "BbcDEeFIiJLlmOopPQRSWw";
    let mut rest = args;
    let mut inner = Vec::new();
    while let Some((word, more)) = rest.split_first() {
        rest = more;
        let Some(flags) = word.text.strip_prefix('-') else { break };
        // `-o ProxyCommand=…` runs on this machine.
        if let Some((_, command)) = word.text.split_once('=') {
            inner.push(Inner::Script { text: Cow::Borrowed(command), dialect: Dialect::Posix });
        }
        if flags.len() == 1 && VALUES.contains(flags) {
            if let Some((_, command)) = more.first().and_then(|w| w.text.split_once('=')) {
                inner.push(Inner::Script { text: Cow::Borrowed(command), dialect: Dialect::Posix });
            }
            rest = more.get(1..).unwrap_or_default();
        }
    }
    inner.push(if rest.is_empty() { Inner::Unknown } else { join(rest) });
    Unwrapped::of(Passage::DenyOnly, inner)
}

/// Looks behind a wrapper that joins its operands and passes them to a shell (`watch`).
pub(super) fn joined<'w, 'a>(args: &'w [Word<'a>], values: &str) -> Unwrapped<'w, 'a> {
    let mut rest = args;
    while let Some((word, more)) = rest.split_first() {
        let Some(flags) = word.text.strip_prefix('-') else { break };
        let value = flags.len() == 1 && values.contains(flags);
        rest = if value { more.get(1..).unwrap_or_default() } else { more };
    }
    let inner = if rest.is_empty() { Inner::Unknown } else { join(rest) };
    Unwrapped::of(Passage::DenyOnly, vec![inner])
}

/// Reads every operand as a shell text.
pub(super) fn scripts<'w, 'a>(args: &'w [Word<'a>]) -> Vec<Inner<'w, 'a>> {
    args.iter().filter(|w| !w.text.starts_with('-')).map(script).collect()
}

fn script<'w, 'a>(word: &'w Word<'a>) -> Inner<'w, 'a> {
    match word.literal() {
        Some(text) => Inner::Script { text: Cow::Borrowed(text), dialect: Dialect::Bash },
        None => Inner::Unknown,
    }
}

fn join<'w, 'a>(words: &'w [Word<'a>]) -> Inner<'w, 'a> {
    if let [word] = words {
        return script(word);
    }
    let literals: Option<Vec<&str>> = words.iter().map(Word::literal).collect();
    match literals {
        Some(words) => Inner::Script { text: Cow::Owned(words.join(" ")), dialect: Dialect::Bash },
        None => Inner::Unknown,
    }
}
