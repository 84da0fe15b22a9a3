//! Commands that always need a person. They are recognized in the parsed words and not in the text:
//! a quoted mention is not a command.

mod stream;

use std::borrow::Cow;
use std::collections::HashMap;
use std::ops::Range;

use crate::facts::access::{self, Access};
use crate::facts::paths;
use crate::facts::programs::arguments::Arguments;
use crate::facts::programs::description::Program;
use crate::facts::programs::sensitive::{self, NOWHERE};
use crate::facts::programs::{self, condition};
use crate::facts::working_directory::{WorkingDirectory, after_cd, written_out};
use crate::facts::wrappers::{Effort, Inner, Unwrapped, base, behind, unwrap};
use crate::shell::{Command, PipePosition, Redirect, RedirectOp, Scan, Via, Word, scan_as};

/// The reason why a text is critical, and the position.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CriticalMatch {
    /// A short clause: "deletes a home directory recursively".
    pub reason: Cow<'static, str>,
    /// Byte range in the source.
    pub span: Range<usize>,
}

impl CriticalMatch {
    /// Returns the reason as a sentence.
    pub(crate) fn sentence(&self) -> String {
        format!("This {}. It always needs a person.", self.reason)
    }
}

/// A built-in reason with its position.
pub(crate) type BuiltInMatch = (&'static str, Range<usize>);

/// Depth limit for literal scripts inside each other.
const MAX_DEPTH: u32 = 4;
const TOO_MANY: &str = "runs more commands behind commands than can be followed";

/// Returns the first critical command of a text, including those behind wrappers and in literal
/// scripts.
#[must_use]
pub fn critical(scan: &Scan<'_>) -> Option<CriticalMatch> {
    among(scan, &behind(&scan.commands))
}

/// Does the same when the commands behind each command are known already.
pub(crate) fn among<'s, 'a>(
    scan: &'s Scan<'a>,
    behind: &[Option<Unwrapped<'s, 'a>>],
) -> Option<CriticalMatch> {
    // Matching the raw text would also fire on `grep 'rm -rf /' Dockerfile`.
    let found = examine(scan, behind, 0);
    found.map(|(reason, span)| CriticalMatch { reason: reason.into(), span })
}

fn examine<'s, 'a>(
    scan: &'s Scan<'a>,
    behind: &[Option<Unwrapped<'s, 'a>>],
    depth: u32,
) -> Option<BuiltInMatch> {
    all(scan, behind, depth).next()
}

/// Iterates over every critical command of a text, in order.
pub(crate) fn all<'s, 'a>(
    scan: &'s Scan<'a>,
    behind: &[Option<Unwrapped<'s, 'a>>],
    depth: u32,
) -> impl Iterator<Item = BuiltInMatch> {
    let bomb = fork_bomb(scan).map(|span| ("starts copies of itself without end", span));
    let mut stream = stream::Stream::default();
    // A guess reads quoted text as commands; a critical match of one would be noise.
    let seen = scan.commands.iter().zip(behind).filter(|(command, _)| command.via != Via::Guess);
    let critical = seen.filter_map(move |(command, behind)| {
        let behind = behind.as_ref();
        let reason = command.redirects.iter().find_map(redirect).or_else(|| {
            argv(&command.argv, behind, command, depth, &Effort::of(&command.argv))
                .or_else(|| stream.see(command, behind))
                .or_else(|| elsewhere(scan, command, depth))
        });
        reason.map(|reason| (reason, span(command)))
    });
    bomb.into_iter().chain(critical)
}

/// Checks one argument vector, then what runs behind it.
fn argv(
    words: &[Word<'_>],
    behind: Option<&Unwrapped<'_, '_>>,
    command: &Command<'_>,
    depth: u32,
    effort: &Effort,
) -> Option<&'static str> {
    let (first, args) = words.split_first()?;
    if depth > MAX_DEPTH {
        return Some("runs commands inside commands inside commands");
    }
    if !effort.spend(words) {
        return Some(TOO_MANY);
    }
    if let Some(path) = first.literal() {
        let reason = programs::of(base(path))
            .and_then(|program| described(program, args, command))
            .or_else(|| touched(words));
        if reason.is_some() {
            return reason;
        }
    }
    let behind = behind?;
    let found = behind.inner.iter().find_map(|inner| match inner {
        Inner::Argv { argv: words, .. } => {
            argv(words, unwrap(words).as_ref(), command, depth + 1, effort)
        }
        Inner::Script { text, dialect } => script(text, *dialect, depth),
        Inner::Input(dialect) => {
            let body = command
                .redirects
                .iter()
                .rev()
                .find(|r| matches!(r.op, RedirectOp::HereDocument | RedirectOp::HereString))?;
            script(body.target.literal()?, *dialect, depth)
        }
        Inner::File | Inner::Unknown => None,
    });
    // One of the commands that were left out may be critical.
    found.or_else(|| behind.is_cut().then_some(TOO_MANY))
}

fn script(text: &str, dialect: crate::shell::Dialect, depth: u32) -> Option<&'static str> {
    if depth >= MAX_DEPTH {
        return Some("runs commands inside commands inside commands");
    }
    let scan = scan_as(text, dialect);
    examine(&scan, &behind(&scan.commands), depth + 1).map(|(reason, _)| reason)
}

/// Checks a command behind a `cd` to a known directory, with its relative paths made absolute.
fn elsewhere(scan: &Scan<'_>, command: &Command<'_>, depth: u32) -> Option<&'static str> {
    let WorkingDirectory::To(directory) = after_cd(&scan.commands, command)? else { return None };
    // A relative directory does not tell whether the file is a critical one.
    if !directory.starts_with(['/', '~']) {
        return None;
    }
    let mut written = command.redirects.iter().filter(|redirect| redirect.op.writes());
    written.find_map(|redirect| target(&written_out(&redirect.target, &directory))).or_else(|| {
        let words = command.argv.iter().map(|word| written_out(word, &directory));
        let words: Vec<Word<'_>> = words.collect();
        argv(&words, unwrap(&words).as_ref(), command, depth, &Effort::of(&words))
    })
}

/// Returns what a program's description calls critical.
fn described(program: &Program, args: &[Word<'_>], command: &Command<'_>) -> Option<&'static str> {
    if program.critical.is_empty() {
        return None;
    }
    let redirects = &command.redirects;
    condition::why(program.critical, &Arguments { redirects, ..Arguments::of(program, args) })
}

/// Detects writes to files that take effect later, by any program.
fn touched(words: &[Word<'_>]) -> Option<&'static str> {
    access::of_command(words).into_iter().find_map(|(access, word)| match access {
        Access::Write | Access::Delete | Access::Move => target(&word),
        Access::Read | Access::Rights => None,
    })
}

fn redirect(redirect: &Redirect<'_>) -> Option<&'static str> {
    let text = &*redirect.target.text;
    // bash opens these paths as connections. In a here-document they are mere text.
    if redirect.op != RedirectOp::HereDocument
        && redirect.op != RedirectOp::HereString
        && (text.starts_with("/dev/tcp/") || text.starts_with("/dev/udp/"))
    {
        return Some("opens a connection to another host");
    }
    if redirect.op.writes() { target(&redirect.target) } else { None }
}

/// Returns why changing this file is critical.
pub(crate) fn target(word: &Word<'_>) -> Option<&'static str> {
    // Fast path: most words are plain relative paths without dot files.
    let text = &*word.text;
    let names = ["permissions.jsonc", "countersign.toml", "authorized_keys"];
    let plain = text.starts_with(|c: char| c.is_ascii_alphanumeric()) && !text.contains("/.");
    if plain && !text.starts_with("of=") && !names.iter().any(|name| text.ends_with(name)) {
        return None;
    }
    let path = paths::of_word(word, NOWHERE)?;
    let path = path.strip_prefix("of=").unwrap_or(&path);
    let clean = crate::facts::paths::clean(path, NOWHERE);
    if sensitive::raw_device(&clean) {
        return Some("writes to a raw device");
    }
    if clean.starts_with("/proc/") || clean.starts_with("/sys/") {
        return Some("writes into the kernel");
    }
    if paths::startup(path, NOWHERE) {
        return Some("changes a file that logins, shells or the system obey");
    }
    let hooks = clean.contains(".git/hooks/") || clean.contains(".git/config");
    if hooks || clean.ends_with("permissions.jsonc") || clean.ends_with("countersign.toml") {
        return Some("changes a file that decides what is run or allowed");
    }
    let programs = [
        "/usr/bin",
        "/bin",
        "/sbin",
        "/usr/sbin",
        "/boot",
        "/lib",
        "/lib64",
        "/usr/lib",
        "/System",
    ];
    programs.iter().any(|dir| paths::within(&clean, dir)).then_some("changes the operating system")
}

/// Detects a function that calls itself into a pipe or the background, or an endless loop that only
/// starts processes.
fn fork_bomb(scan: &Scan<'_>) -> Option<Range<usize>> {
    if let Some(bred) = scan.breeding.and_then(|at| scan.commands.get(at)) {
        return Some(span(bred));
    }
    if scan.functions.is_empty() {
        return None;
    }
    let mut calls: HashMap<&str, Calls<'_, '_>> = HashMap::new();
    for command in scan.commands.iter().filter(|command| command.via == Via::Function) {
        let Some(name) = command.argv.first().and_then(Word::literal) else { continue };
        let calls = calls.entry(name).or_insert(Calls { first: command, piped: 0 });
        calls.piped += usize::from(command.pipe != PipePosition::Alone);
    }
    let called = scan.functions.iter().filter_map(|function| calls.get(function));
    // The shape of `:(){ :|:& };:`: two calls of itself in a pipe, or one that goes to the
    // background.
    let mut breeds = called.filter(|calls| calls.piped >= 2 || scan.background);
    breeds.next().map(|calls| span(calls.first))
}

/// The calls of a name in the bodies of functions.
struct Calls<'s, 'a> {
    first: &'s Command<'a>,
    piped: usize,
}

pub(crate) fn span(command: &Command<'_>) -> Range<usize> {
    let words = command.argv.iter().map(|w| &w.span);
    let mut spans = words.chain(command.redirects.iter().map(|r| &r.target.span));
    let Some(first) = spans.next() else { return 0..0 };
    let end = spans.map(|s| s.end).max().unwrap_or(first.end);
    first.start..end.max(first.end)
}

#[cfg(test)]
mod tests;
