//! Data that flows from one command to the next: fetched text into a shell, secrets to another
//! host.

use crate::facts::programs::arguments::{Arguments, operands};
use crate::facts::programs::condition::{DROPS, When};
use crate::facts::programs::description::Role;
use crate::facts::programs::input::{has_role, is_interpreter, reads_program};
use crate::facts::programs::known::databases::destroys;
use crate::facts::programs::sensitive::{NOWHERE, secret_word};
use crate::facts::programs::{self, FETCHED, LEAKS, REMOTE};
use crate::facts::wrappers::{Inner, Unwrapped, base, unwrap};
use crate::facts::{access, paths};
use crate::shell::{Command, PipePosition, Word};

/// Follows the commands of a text in order.
#[derive(Default)]
pub(super) struct Stream<'s, 'a> {
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
}

impl<'s, 'a> Stream<'s, 'a> {
    /// Takes the next command; returns a reason when it completes a pattern.
    pub(super) fn see(
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
        self.destroys |= program.is(Role::Says) && args.texts().any(destroys);
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
