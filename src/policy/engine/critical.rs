//! Commands that always need a person. They are recognized in the parsed words and not in the text:
//! a quoted mention is not a command.

use std::borrow::Cow;
use std::collections::HashMap;
use std::ops::Range;

use crate::facts::access::{self, Access};
use crate::facts::effects::user_of;
use crate::facts::paths;
use crate::facts::programs::arguments::{Arguments, operands};
use crate::facts::programs::condition::{self, DROPS, When};
use crate::facts::programs::description::{Files, Program, Role};
use crate::facts::programs::input::{has_role, is_interpreter, reads_program};
use crate::facts::programs::known::databases::destroys_as_input;
use crate::facts::programs::known::{UNDESCRIBED, listing};
use crate::facts::programs::sensitive::{self, NOWHERE, secret_word};
use crate::facts::programs::{self, FETCHED, LEAKS, REMOTE};
use crate::facts::working_directory::{known, written_out};
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
        format!("{THIS}{}{ALWAYS}", self.reason)
    }
}

const THIS: &str = "This ";
const ALWAYS: &str = ". It always needs a person.";

/// Returns what a critical call does, of the sentence that says why it asks: "deletes a home
/// directory recursively".
#[must_use]
pub fn clause(why: &str) -> Option<&str> {
    why.strip_prefix(THIS)?.strip_suffix(ALWAYS)
}

/// A built-in reason with its position.
pub(crate) type BuiltInMatch = (&'static str, Range<usize>);

/// Depth limit for literal scripts inside each other.
const MAX_DEPTH: u32 = 4;
const TOO_MANY: &str = "runs more commands behind commands than can be followed";

/// Returns the worst critical command of a text, including those behind wrappers and in literal
/// scripts; of equal ones the first.
#[must_use]
pub fn critical(scan: &Scan<'_>) -> Option<CriticalMatch> {
    among(scan, &behind(&scan.commands))
}

/// Does the same when the commands behind each command are known already.
pub(super) fn among<'s, 'a>(
    scan: &'s Scan<'a>,
    behind: &[Option<Unwrapped<'s, 'a>>],
) -> Option<CriticalMatch> {
    // Matching the raw text would also fire on `grep 'rm -rf /' Dockerfile`.
    let (reason, span) = examine(scan, behind, 0)?;
    let command = scan.commands.iter().find(|command| self::span(command) == span);
    let user = command.and_then(|command| {
        let name = command.argv.first()?.literal()?;
        user_of(base(name), &command.argv)
    });
    let reason = match user {
        Some(user) => format!("{reason}, as {user}").into(),
        None => reason.into(),
    };
    Some(CriticalMatch { reason, span })
}

fn examine<'s, 'a>(
    scan: &'s Scan<'a>,
    behind: &[Option<Unwrapped<'s, 'a>>],
    depth: u32,
) -> Option<BuiltInMatch> {
    all(scan, behind, depth).min_by_key(|(reason, _)| severity(reason))
}

/// How the worst reasons begin, the worst first; all others are milder. A person who reads one
/// reason only must read the one that cannot be undone.
const WORST: &[&[&str]] = &[
    &["deletes the whole system", "erases", "overwrites a raw", "writes to a raw"],
    &["deletes", "starts copies"],
    &["destroys", "drops", "removes what the system needs", "moves away"],
    &[REMOTE, LEAKS, FETCHED],
];

fn severity(reason: &str) -> usize {
    let begins = |rank: &&[&str]| rank.iter().any(|start| reason.starts_with(start));
    WORST.iter().position(begins).unwrap_or(WORST.len())
}

/// Iterates over every critical command of a text, in order.
pub(super) fn all<'s, 'a>(
    scan: &'s Scan<'a>,
    behind: &[Option<Unwrapped<'s, 'a>>],
    depth: u32,
) -> impl Iterator<Item = BuiltInMatch> {
    let bomb = fork_bomb(scan).map(|span| ("starts copies of itself without end", span));
    let mut stream = Stream::default();
    // A guess reads quoted text as commands; a critical match of one would be noise.
    let seen = scan.commands.iter().zip(behind).filter(|(command, _)| command.via != Via::Guess);
    let critical = seen.filter_map(move |(command, behind)| {
        let behind = behind.as_ref();
        let written = command.redirects.iter().find_map(redirect);
        let whole = Words { argv: &command.argv, open: false };
        let run = argv(whole, behind, command, depth, &Effort::of(&command.argv));
        let found = [written, run, stream.see(command, behind)];
        let worst = found.into_iter().flatten().min_by_key(|reason| severity(reason));
        let reason = worst.or_else(|| elsewhere(scan, command, depth));
        reason.map(|reason| (reason, span(command)))
    });
    bomb.into_iter().chain(critical)
}

/// The words of a command; unknown ones follow if it is `open` (`xargs`).
#[derive(Clone, Copy)]
struct Words<'w, 'a> {
    argv: &'w [Word<'a>],
    open: bool,
}

/// Checks one argument vector, then what runs behind it.
fn argv(
    Words { argv: words, open }: Words<'_, '_>,
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
        let name = base(path);
        let reason = match programs::of(name).or_else(|| programs::in_capitals(name)) {
            Some(program) => described(program, args, open, command),
            None => condition::why(UNDESCRIBED, &Arguments::new(args)),
        };
        let reason = reason.or_else(|| touched(words));
        if reason.is_some() {
            return reason;
        }
    }
    let behind = behind?;
    let found = behind.inner.iter().find_map(|inner| match inner {
        Inner::Argv { argv: words, open: more } => {
            let inner = Words { argv: words, open: open || *more };
            argv(inner, unwrap(words).as_ref(), command, depth + 1, effort)
        }
        Inner::Script { text, dialect } => script(text, *dialect, depth),
        Inner::Input(dialect) => script(command.here_text()?, *dialect, depth),
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
    let places = known(scan, command).into_iter();
    // A relative directory does not tell whether the file is a critical one.
    let mut rooted = places.filter(|place| place.starts_with(['/', '~']));
    rooted.find_map(|place| at(&place, command, depth))
}

/// Checks a command as it would run in a directory.
fn at(directory: &str, command: &Command<'_>, depth: u32) -> Option<&'static str> {
    let mut written = command.redirects.iter().filter(|redirect| redirect.op.writes());
    written.find_map(|redirect| target(&written_out(&redirect.target, directory))).or_else(|| {
        let words = command.argv.iter().map(|word| written_out(word, directory));
        let words: Vec<Word<'_>> = words.collect();
        let whole = Words { argv: &words, open: false };
        argv(whole, unwrap(&words).as_ref(), command, depth, &Effort::of(&words))
    })
}

/// Returns what a program's description calls critical.
fn described(
    program: &Program,
    args: &[Word<'_>],
    open: bool,
    command: &Command<'_>,
) -> Option<&'static str> {
    if program.critical.is_empty() {
        return None;
    }
    let redirects = &command.redirects;
    condition::why(program.critical, &Arguments { redirects, open, ..Arguments::of(program, args) })
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
pub(super) fn target(word: &Word<'_>) -> Option<&'static str> {
    // Fast path: most words are plain relative paths without dot files.
    let text = &*word.text;
    let names = ["permissions.jsonc", "countersign.toml", "authorized_keys"];
    let plain = text.starts_with(|c: char| c.is_ascii_alphanumeric()) && !text.contains("/.");
    if plain && !text.starts_with("of=") && !names.iter().any(|name| text.ends_with(name)) {
        return None;
    }
    let path = paths::of_word(word, NOWHERE)?;
    let path = path.strip_prefix("of=").unwrap_or(&path);
    let clean = paths::clean(path, NOWHERE);
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
    let mut programs =
        "/usr/bin /bin /sbin /usr/sbin /boot /lib /lib64 /usr/lib /System".split(' ');
    programs.any(|dir| paths::within(&clean, dir)).then_some("changes the operating system")
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

pub(super) fn span(command: &Command<'_>) -> Range<usize> {
    let words = command.argv.iter().map(|w| &w.span);
    let mut spans = words.chain(command.redirects.iter().map(|r| &r.target.span));
    let Some(first) = spans.next() else { return 0..0 };
    let end = spans.map(|s| s.end).max().unwrap_or(first.end);
    first.start..end.max(first.end)
}

// Data that flows from one command to the next: fetched text into a shell, secrets to another
// host.

/// Follows the commands of a text in order.
#[derive(Default)]
struct Stream<'s, 'a> {
    /// Commands of the current pipeline that are not evaluated yet.
    unasked: Vec<&'s [Word<'a>]>,
    upstream: Upstream,
    /// Files that earlier commands of the text downloaded.
    files: Vec<String>,
}

/// The data that earlier commands of a pipeline may pass on.
#[derive(Default)]
struct Upstream {
    fetched: bool,
    secret: bool,
    shell: bool,
    destroys: bool,
    endless: bool,
    /// It names all that is below a folder that matters.
    everything: bool,
}

impl<'s, 'a> Stream<'s, 'a> {
    /// Takes the next command; returns a reason when it completes a pattern.
    fn see(
        &mut self,
        command: &'s Command<'a>,
        behind: Option<&Unwrapped<'s, 'a>>,
    ) -> Option<&'static str> {
        // A new pipeline: nothing flows in from the last one.
        if matches!(command.pipe, PipePosition::Alone | PipePosition::First) {
            self.unasked.clear();
            self.upstream = Upstream::default();
        }
        let words = innermost(&command.argv, behind);
        let (first, args) = words.split_first()?;
        let name = base(first.literal()?);
        let reason = if command.pipe.reads() { self.takes(name, args, command) } else { None };
        if reason.is_some() {
            return reason;
        }
        if self.runs_file(first, name, args) {
            return Some(FETCHED);
        }
        if has_role(name, Role::Fetches) {
            self.keep_files(command, words);
        }
        if command.pipe != PipePosition::Alone {
            self.unasked.push(words);
        }
        None
    }

    /// Checks a command that reads from a pipe.
    fn takes(
        &mut self,
        name: &str,
        args: &[Word<'_>],
        command: &Command<'_>,
    ) -> Option<&'static str> {
        let program = programs::of(name);
        let is = |role: Role| program.is_some_and(|program| program.is(role));
        if is(Role::Database) && self.upstream().destroys {
            return Some(DROPS);
        }
        if reads_program(name, args) && (is(Role::Shell) || self.upstream().fetched) {
            return Some(FETCHED);
        }
        // `yes | xargs …` starts a process per line, without end.
        if base(&command.argv.first()?.text) == "xargs" && self.upstream().endless {
            return Some("starts copies of itself without end");
        }
        if hands_on(&command.argv) && self.upstream().fetched {
            return Some(FETCHED);
        }
        let deletes = program.is_some_and(|program| {
            matches!(program.files, Files::Each { access: Access::Delete, .. })
        });
        // `find . | xargs rm`
        if deletes && self.upstream().everything {
            return Some(listing::DELETES_FOUND);
        }
        if program.is_some_and(|program| program.pipe.sends.holds(&Arguments::of(program, args))) {
            return match self.upstream() {
                Upstream { secret: true, .. } => Some(LEAKS),
                Upstream { shell: true, .. } => Some(REMOTE),
                _ => None,
            };
        }
        None
    }

    /// Returns what comes down the pipe, evaluated only when a command cares, because few do.
    fn upstream(&mut self) -> &Upstream {
        for words in self.unasked.drain(..) {
            self.upstream.add(words);
        }
        &self.upstream
    }

    fn runs_file(&self, first: &Word<'_>, name: &str, args: &[Word<'_>]) -> bool {
        if self.files.is_empty() {
            return false;
        }
        let is = |text: &str| {
            let path = paths::clean(text, NOWHERE);
            self.files.iter().any(|file| *file == path)
        };
        let script = operands(args, "-m").first().is_some_and(|w| is(&w.text));
        (is_interpreter(name) || matches!(name, "source" | ".")) && script
            || first.text.contains('/') && is(&first.text)
    }

    /// Records the files that a download writes.
    fn keep_files(&mut self, command: &Command<'_>, words: &[Word<'_>]) {
        let Some((first, args)) = words.split_first() else { return };
        let given = access::of_command(words).into_iter().map(|(_, w)| w.text.to_string());
        let redirected =
            command.redirects.iter().filter(|r| r.op.writes()).map(|r| r.target.text.to_string());
        let by_name = operands(args, "-o -O -H -d -A -u -X").into_iter().filter_map(|w| {
            let last = w.text.rsplit('/').next()?.split(['?', '#']).next()?.to_owned();
            (w.text.contains('/') && !last.is_empty()).then_some(last)
        });
        // curl names a file after the address only with `-O`; wget always does.
        let keeps = base(&first.text) != "curl" || Arguments::new(args).flag("O");
        let named: Vec<String> = if keeps { by_name.collect() } else { Vec::new() };
        let files = given.chain(redirected).chain(named);
        self.files.extend(files.map(|file| paths::clean(&file, NOWHERE).into_owned()));
    }
}

impl Upstream {
    fn add(&mut self, words: &[Word<'_>]) {
        let Some((first, args)) = words.split_first() else { return };
        let name = base(&first.text);
        // An unknown program may print what it is given.
        let Some(program) = programs::of(name) else {
            self.secret |= args.iter().any(secret_word);
            return;
        };
        let args = Arguments::of(program, args);
        self.fetched |= program.is(Role::Fetches) || program.pipe.decodes.holds(&args);
        self.shell |= program.is(Role::Shell);
        self.endless |= program.is(Role::Endless);
        self.secret |= program.pipe.tells.unwrap_or(When::Secret).holds(&args);
        self.destroys |= program.is(Role::Says) && args.texts().any(destroys_as_input);
        let searches = matches!(program.files, Files::Searched);
        self.everything |= searches && listing::finds_everything(&args);
    }
}

/// Returns the command behind wrappers.
fn innermost<'w, 'a>(argv: &'w [Word<'a>], behind: Option<&Unwrapped<'w, 'a>>) -> &'w [Word<'a>] {
    let mut argv = argv;
    let first = |found: &Unwrapped<'w, 'a>| match found.inner.first() {
        Some(Inner::Argv { argv, .. }) => Some(*argv),
        _ => None,
    };
    let mut inner = behind.and_then(first);
    // A limit, because wrappers nest as deep as a text is long.
    for _ in 0..4 {
        let Some(next) = inner else { break };
        argv = next;
        inner = unwrap(argv).as_ref().and_then(first);
    }
    argv
}

/// Returns true for `| xargs sh -c`, `| sudo bash` and the like.
fn hands_on(argv: &[Word<'_>]) -> bool {
    let is = |word: &Word<'_>, role: Role| has_role(base(&word.text), role);
    argv.first().is_some_and(|first| is(first, Role::HandsOn))
        && argv.iter().any(|word| is(word, Role::Shell))
}

#[cfg(test)]
mod tests;
