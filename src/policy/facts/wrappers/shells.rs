//! Shells, and programs that pass a text to a shell.

use std::borrow::Cow;

use crate::facts::programs::arguments::Arguments;
use crate::facts::programs::description::Passage;
use crate::facts::programs::{Words, listed};
use crate::facts::wrappers::{Inner, Unwrapped, unknown};
use crate::shell::{Dialect, Word, WordKind};

/// Looks behind `bash -c TEXT`, `sh script`, and `sh` with commands on its input.
pub(super) fn shell<'w, 'a>(name: &str, args: &'w [Word<'a>]) -> Option<Unwrapped<'w, 'a>> {
    let dialect = if matches!(name, "bash" | "rbash") { Dialect::Bash } else { Dialect::Posix };
    let mut passage = Passage::Inner;
    let mut text = false;
    let mut input = false;
    let mut traces = false;
    let mut rest = args;
    while let Some((word, more)) = rest.split_first() {
        let Some(option) = word.literal() else { break };
        let Some(flags) = option.strip_prefix(['-', '+']) else { break };
        rest = more;
        if matches!(flags, "" | "-") {
            break;
        }
        let long = flags.strip_prefix('-').unwrap_or(flags);
        // bash reads `-rcfile` as `--rcfile`.
        if listed(LONGS, long) || listed(VALUED, long) {
            match long {
                "version" | "help" => return None,
                "norc" | "noprofile" | "posix" | "noediting" => {}
                // Start-up files would run first.
                _ => passage = Passage::DenyOnly,
            }
            rest = rest.get(usize::from(listed(VALUED, long))..).unwrap_or_default();
            continue;
        }
        // FAIL-CLOSED: with an option that is not known, what follows is not known either.
        if !flags.chars().all(|flag| FLAGS.contains(flag)) {
            return Some(unknown(args));
        }
        text |= flags.contains('c');
        input |= flags.contains('s');
        // `-i` reads start-up files, `-O` changes how the text is parsed.
        if flags.contains(['i', 'O']) {
            passage = Passage::DenyOnly;
        }
        // Each `o` and `O` takes a word.
        let values = flags.matches(['o', 'O']).count();
        let named = rest.get(..values).unwrap_or_default();
        traces |= flags.contains('x') || named.iter().any(|word| word.text == "xtrace");
        rest = rest.get(values..).unwrap_or_default();
    }
    Some(match rest.first() {
        Some(word) if text => match word.literal() {
            // `sh -c TEXT` hid the inner command from the rules of opencode (its issue 16724).
            Some(script) => {
                let text = Cow::Borrowed(script);
                // SECURITY: `-x` prints the values of variables, whatever the text does with them.
                if traces && script.contains('$') {
                    passage = Passage::DenyOnly;
                }
                Unwrapped::of(passage, vec![Inner::Script { text, dialect }])
            }
            None => Unwrapped::of(Passage::DenyOnly, vec![Inner::Unknown]),
        },
        None if text => Unwrapped::of(Passage::DenyOnly, vec![Inner::Unknown]),
        Some(word) if !input && !is_input(word) => match (word.literal(), passage) {
            (Some(_), Passage::Inner) => Unwrapped::of(Passage::Outer, vec![Inner::File]),
            (Some(_), _) => Unwrapped::of(Passage::DenyOnly, vec![Inner::File]),
            (None, _) => Unwrapped::of(Passage::DenyOnly, vec![Inner::Unknown]),
        },
        _ => Unwrapped::of(Passage::DenyOnly, vec![Inner::Input(dialect)]),
    })
}

/// Long options of bash, and those of which the next word is the value.
const LONGS: Words = "\
    version help norc noprofile posix noediting login restricted verbose debug debugger \
    dump-strings dump-po-strings pretty-print";
const VALUED: Words = "rcfile init-file";

/// Short options of bash and dash.
const FLAGS: &str = "abcefhiklmnoprstuvxBCDEHIOPTV";

/// Returns true for a script that is the input: `bash /dev/stdin`.
fn is_input(word: &Word<'_>) -> bool {
    word.text == "-" || word.text.starts_with("/dev/") || word.text.starts_with("/proc/")
}

/// Looks behind `source FILE`.
pub(super) fn sourced<'w, 'a>(args: &'w [Word<'a>]) -> Unwrapped<'w, 'a> {
    let inner = match args.iter().find(|word| word.text != "--") {
        Some(word) if is_input(word) => Inner::Input(Dialect::Bash),
        Some(word) if word.literal().is_some() || word.kind == WordKind::Home => Inner::File,
        _ => Inner::Unknown,
    };
    Unwrapped::of(Passage::DenyOnly, vec![inner])
}

/// Looks behind `at`, which runs its input or a file later.
pub(super) fn queued<'w, 'a>(args: &'w [Word<'a>]) -> Option<Unwrapped<'w, 'a>> {
    let args = Arguments::new(args);
    if args.has("-l -c -V -r -d") {
        return None;
    }
    let inner = match args.given("-f").first() {
        Some(file) if !is_input(file.word) => match file.word.literal() {
            Some(_) => Inner::File,
            None => Inner::Unknown,
        },
        _ => Inner::Input(Dialect::Posix),
    };
    Some(Unwrapped::of(Passage::DenyOnly, vec![inner]))
}

/// Looks behind shells with another grammar; the text is read for deny rules only.
pub(super) fn foreign<'w, 'a>(args: &'w [Word<'a>]) -> Option<Unwrapped<'w, 'a>> {
    if args.iter().any(|w| matches!(&*w.text, "--version" | "--help")) {
        return None;
    }
    // Every operand may be the text.
    let operands = args.iter().filter(|word| !word.text.starts_with('-'));
    let mut inner: Vec<_> = operands.map(script).collect();
    inner.push(if inner.is_empty() { Inner::Input(Dialect::Bash) } else { Inner::File });
    Some(Unwrapped::of(Passage::DenyOnly, inner))
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
    if inner.is_empty() { unknown(args) } else { Unwrapped::of(Passage::DenyOnly, inner) }
}

/// Looks behind `ssh [options] HOST [options] TEXT…`.
pub(super) fn remote<'w, 'a>(args: &'w [Word<'a>]) -> Unwrapped<'w, 'a> {
    const VALUES: &str = "BbcDEeFIiJLlmOopPQRSWw";
    let mut rest = args;
    let mut inner = Vec::new();
    let mut host = None;
    while let Some((word, more)) = rest.split_first() {
        let Some(flags) = word.text.strip_prefix('-') else {
            if host.is_some() {
                break;
            }
            (host, rest) = (Some(word), more);
            continue;
        };
        rest = more;
        // Behind the host, `--` is the end of the options.
        if flags == "-" && host.is_some() {
            break;
        }
        // `-o ProxyCommand=…` and `-o "ProxyCommand …"` run on this machine.
        let local = |text: &'w str| {
            let (_, command) = text.split_once(['=', ' '])?;
            Some(Inner::Script { text: Cow::Borrowed(command), dialect: Dialect::Posix })
        };
        inner.extend(local(&word.text));
        if flags.len() == 1 && VALUES.contains(flags) {
            inner.extend(more.first().and_then(|word| local(&word.text)));
            rest = more.get(1..).unwrap_or_default();
        }
    }
    // Without a command, ssh opens a shell there.
    inner.push(if rest.is_empty() { Inner::Input(Dialect::Bash) } else { join(rest) });
    Unwrapped::of(Passage::DenyOnly, inner)
}

fn script<'w, 'a>(word: &'w Word<'a>) -> Inner<'w, 'a> {
    match word.literal() {
        Some(text) => Inner::Script { text: Cow::Borrowed(text), dialect: Dialect::Bash },
        None => Inner::Unknown,
    }
}

/// Reads the words as the one text to which `eval` and `ssh` join them.
pub(super) fn join<'w, 'a>(words: &'w [Word<'a>]) -> Inner<'w, 'a> {
    if let [word] = words {
        return script(word);
    }
    let literals: Option<Vec<&str>> = words.iter().map(Word::literal).collect();
    match literals {
        Some(words) => Inner::Script { text: Cow::Owned(words.join(" ")), dialect: Dialect::Bash },
        None => Inner::Unknown,
    }
}
