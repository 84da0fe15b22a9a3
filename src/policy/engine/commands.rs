//! Decides a shell text: every command in it, what runs behind wrappers, redirects and variables.

use std::borrow::Cow;
use std::cell::{Cell, OnceCell};

use crate::engine::evaluation::{PartDecision, quote};
use crate::engine::stack::{CommandText, Hit, Stack};
use crate::facts::access::{self, Access};
use crate::facts::builtins::{Builtin, builtin, is_program};
use crate::facts::effects::user_of;
use crate::facts::links::Links;
use crate::facts::paths::{self, Directories};
use crate::facts::programs::description::Files::Transfer;
use crate::facts::programs::description::Role;
use crate::facts::tools::Kind;
use crate::facts::values::Value;
use crate::facts::working_directory::{
    WorkingDirectory, below, is_relative, possible, written_out,
};
use crate::facts::wrappers::{self, Effort, Inner, Passage, Unwrapped, base, unwrap};
use crate::facts::{obeyed, options, programs, reads, shorten};
use crate::glob::opened;
use crate::rules::Rules;
use crate::rules::verdict::Verdict;
use crate::shell::{
    self, Command, Dialect, PipePosition, Redirect, RedirectOp, Scan, Via, Word, WordKind,
    environment,
};

/// The part of a decision that can still change.
// Ordered: once an ask is found, its reason is fixed; once nothing can be read, only a deny is of
// interest. Longer texts thus build no sentences that nobody reads.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Care {
    /// A deny: the whole is already an ask, and blind.
    Denies,
    /// The verdict: an ask with its reason is already found.
    Verdicts,
    /// The reason as well.
    Reasons,
}

/// The rules for a shell call and for the files of its redirects.
pub(crate) struct Judge<'r, 'c> {
    care: Cell<Care>,
    commands: Stack<'r>,
    files: FileRules<'r, 'c>,
    /// Some rule allows the class of reading calls.
    reading: bool,
    dirs: Directories<'c>,
    links: &'c Links,
}

/// The context of an argument vector.
#[derive(Clone, Copy)]
struct At<'e, 'a> {
    /// The text that contains the words; only for the command itself.
    source: Option<&'e str>,
    /// The command itself, or the command that it is behind.
    command: &'e Command<'a>,
    depth: u32,
    effort: &'e Effort,
    /// The directories in which the command may run, where the text changes it.
    places: &'e [WorkingDirectory],
}

impl<'r, 'c> Judge<'r, 'c> {
    pub(crate) fn new(
        commands: Stack<'r>,
        layers: &'c [&'r Rules],
        now_ms: i64,
        dirs: Directories<'c>,
        links: &'c Links,
    ) -> Self {
        let files = FileRules::new(layers, now_ms);
        let reading = layers.iter().any(|layer| layer.allows_reading());
        Self { care: Cell::new(Care::Reasons), commands, files, reading, dirs, links }
    }

    /// Returns an ask; builds the sentence only if someone will read it.
    fn ask(&self, reason: impl FnOnce() -> String) -> PartDecision<'r> {
        match self.care.get() {
            Care::Reasons => PartDecision::ask(reason()),
            Care::Verdicts | Care::Denies => PartDecision::ask(""),
        }
    }

    /// Returns the decision of a rule, with the sentence as in [`Self::ask`].
    fn part(&self, hit: Hit<'r>, subject: impl FnOnce() -> String) -> PartDecision<'r> {
        if hit.verdict == Verdict::Ask && self.care.get() < Care::Reasons {
            return PartDecision::ask("");
        }
        PartDecision::of(hit, subject)
    }
}

impl<'r> Judge<'r, '_> {
    /// Returns the strictest decision on any command of the text.
    pub(crate) fn text(
        &self,
        source: &str,
        scan: &Scan<'_>,
        behind: &[Option<Unwrapped<'_, '_>>],
    ) -> PartDecision<'r> {
        let found = self.scan(source, scan, behind, &[], 0);
        // "Always, exactly this" stores the whole text as one rule, which no single command
        // matches.
        if found.verdict == Verdict::Ask
            && scan.understood()
            && let Some(entry) = self.commands.whole_text(source)
        {
            return PartDecision::allow(Some(entry));
        }
        found
    }

    fn scan(
        &self,
        source: &str,
        scan: &Scan<'_>,
        behind: &[Option<Unwrapped<'_, '_>>],
        outer: &[WorkingDirectory],
        depth: u32,
    ) -> PartDecision<'r> {
        let before = self.care.get();
        let found = self.commands_of(source, scan, behind, outer, depth);
        self.care.set(before);
        match (&scan.refusal, found) {
            (_, Some(found)) if found.verdict == Verdict::Deny => found,
            // A rule that denies every call covers an unreadable text, whatever it does.
            (Some(_), _) if depth == 0 && self.commands.denies_every().is_some() => {
                self.no_command()
            }
            (Some(_), _) if before < Care::Reasons => PartDecision::blind(""),
            (Some(_), _) if scan.read_whole() => PartDecision::blind(format!(
                "It runs {} commands: more than 50 always ask.",
                scan.commands.len()
            )),
            (Some(refusal), _) => {
                PartDecision::blind(format!("Could not fully analyse this command: {refusal}."))
            }
            (None, Some(found)) => found,
            // opencode ran a text without any recognized command unchecked (its issue 39931).
            (None, None) if depth == 0 => self.no_command(),
            (None, None) => PartDecision::ask("The text contains no command."),
        }
    }

    /// Decides a text without any command, such as an empty one. A rule that denies every call
    /// denies this one too.
    fn no_command(&self) -> PartDecision<'r> {
        let every = self.commands.every_search(Kind::Shell, self.dirs);
        match every.verdict {
            Verdict::Deny => PartDecision::of(every, || "an empty command".to_owned()),
            Verdict::Allow | Verdict::Ask => PartDecision::ask("The text contains no command."),
        }
    }

    fn commands_of(
        &self,
        source: &str,
        scan: &Scan<'_>,
        behind: &[Option<Unwrapped<'_, '_>>],
        outer: &[WorkingDirectory],
        depth: u32,
    ) -> Option<PartDecision<'r>> {
        // The text is an ask already. What could be read, and the guesses, can only deny.
        if scan.refusal.is_some() {
            self.care.set(Care::Denies);
        }
        let mut strictest: Option<PartDecision<'r>> = None;
        for (command, behind) in scan.commands.iter().zip(behind) {
            if self.care.get() == Care::Denies && self.cannot_be_denied(command, behind.as_ref()) {
                continue;
            }
            let places = below(outer, possible(scan, command));
            let part = self.command(command, behind.as_ref(), &places, source, depth);
            // FAIL-CLOSED: a guess counts only when it denies.
            if command.via == Via::Guess && part.verdict != Verdict::Deny {
                continue;
            }
            // Nothing is stricter, so the first deny gives the reason.
            if part.verdict == Verdict::Deny {
                return Some(part);
            }
            if part.verdict == Verdict::Ask {
                self.care.set(self.care.get().min(Care::Verdicts));
            }
            strictest = Some(match strictest {
                Some(before) => before.max(part),
                None => part,
            });
        }
        strictest
    }

    /// Returns true when no rule can deny a command of that name, and it touches and runs nothing
    /// else. In a long text most commands are like that.
    fn cannot_be_denied(&self, command: &Command<'_>, behind: Option<&Unwrapped<'_, '_>>) -> bool {
        behind.is_none() && command.redirects.is_empty() && !self.commands.may_deny(&command.argv)
    }
}

// Decides one simple command: its words, redirects and assignments.

impl<'r> Judge<'r, '_> {
    fn command(
        &self,
        command: &Command<'_>,
        behind: Option<&Unwrapped<'_, '_>>,
        places: &[WorkingDirectory],
        source: &str,
        depth: u32,
    ) -> PartDecision<'r> {
        let (hit, found) = if command.argv.is_empty() {
            // Without words there is no name to match, so only rules for every call apply.
            let hit = self.commands.every_call();
            let denied = hit.verdict == Verdict::Deny;
            let found = if denied {
                self.part(hit, || "An assignment or redirect".to_owned())
            } else {
                PartDecision::allow(None)
            };
            (hit, found)
        } else {
            let effort = &Effort::of(&command.argv);
            let at = At { source: Some(source), command, depth, effort, places };
            self.argv(&command.argv, behind, false, at)
        };
        if found.verdict == Verdict::Deny {
            return found;
        }
        let found = found.max(self.redirects(command, &hit));
        let found = places
            .iter()
            .fold(found, |found, place| found.max(self.elsewhere(command, behind, place, &hit)));
        if self.care.get() == Care::Denies || found.verdict == Verdict::Deny {
            return found;
        }
        // A rule for the command does not cover files that others run, unless it names the command
        // exactly.
        let found = match found.verdict {
            Verdict::Allow if !hit.allows_exactly() => {
                found.max(self.obeyed_files(command, behind, places))
            }
            _ => found,
        };
        // An allow for every call covers every variable too.
        if hit.allows_all() {
            return found;
        }
        let shown = self.shows(command, &found);
        let found = found.max(shown);
        found.max(changed_by(assigned(command))).max(self.lists(command))
    }

    /// Asks where a loop goes through names of files outside the project.
    fn lists(&self, command: &Command<'_>) -> PartDecision<'r> {
        let is_outside = |word: &Word<'_>| {
            matches!(word.kind, WordKind::Glob | WordKind::Dynamic)
                && word.text.contains(['*', '?', '['])
                && paths::outside(&paths::expand_home(&word.text, self.dirs.home), self.dirs)
        };
        match command.assigns.iter().find(|assign| is_outside(&assign.value)) {
            Some(assign) => self.ask(|| {
                ["Lists ", &shorten(&assign.value.text, 60), ", outside the project."].concat()
            }),
            None => PartDecision::allow(None),
        }
    }

    /// Asks for a variable of the environment, unless a rule names the command that uses it.
    // SECURITY: what only reads may print it, and so may the shell, in an error or a trace.
    fn shows(&self, command: &Command<'_>, found: &PartDecision<'r>) -> PartDecision<'r> {
        let unnamed = found.rule.is_none_or(|rule| rule.pattern.is_reads());
        match command.environment.filter(|_| self.reading && unnamed) {
            Some(name) if found.verdict == Verdict::Allow => {
                self.ask(|| ["$", &shorten(name, 40), " may hold a secret."].concat())
            }
            _ => PartDecision::allow(None),
        }
    }
}

// Decides one argument vector: the rule for its words, and how far that rule goes.

const TOO_MANY_WAYS: &str =
    "Could not fully analyse this command: it may run others in too many ways.";
const INNER_REPOSITORY: &str =
    " runs in a repository inside another one, whose settings may name programs to run.";
const CAPITALS: &str = " runs a program that is known by its name in lower case.";
const NOT_COVERED: &str = " does not cover that.";

impl<'r> Judge<'r, '_> {
    /// Decides one argument vector: its own rule first, then what it runs.
    fn argv(
        &self,
        argv: &[Word<'_>],
        behind: Option<&Unwrapped<'_, '_>>,
        open: bool,
        at: At<'_, '_>,
    ) -> (Hit<'r>, PartDecision<'r>) {
        if !at.effort.spend(argv) {
            return (Hit::NONE, PartDecision::blind(TOO_MANY_WAYS));
        }
        let written = at.source.map(|source| (source, at.command));
        // The whole is an ask by now, so only a deny could still change it. Most commands have no
        // rule that could deny them.
        let hit = if self.care.get() == Care::Denies && !self.commands.may_deny(argv) {
            Hit::NONE
        } else if open {
            // An unknown last word makes rules with more words than are known match as "maybe".
            let mut more = argv.to_vec();
            more.push(Word::made("…", WordKind::Dynamic));
            self.commands.command(&more, &CommandText::new(&more, written, self.dirs))
        } else {
            self.commands.command(argv, &CommandText::new(argv, written, self.dirs))
        };
        // A deny of the outer command wins before anything behind it is looked at.
        if hit.verdict == Verdict::Deny {
            return (hit, self.part(hit, || quote(argv)));
        }
        let inner = behind.map(|behind| self.behind(behind, at));
        if let Some(inner) = inner.as_ref().filter(|inner| inner.verdict == Verdict::Deny) {
            return (hit, inner.clone());
        }
        if self.care.get() == Care::Denies {
            return (hit, PartDecision::allow(None));
        }
        // An exact allow names every word, so no wrapper or builtin in it was overlooked by its
        // author.
        if hit.allows_exactly() && !open {
            return (hit, PartDecision::allow(hit.entry));
        }
        // SECURITY: where file names ignore case, it is a program that rules know by another name.
        let name = argv.first().and_then(Word::literal).map(base);
        if name.and_then(programs::in_capitals).is_some() {
            return (hit, self.ask(|| [&quote(argv), CAPITALS].concat()));
        }
        let blind = inner.as_ref().is_some_and(|inner| inner.blind);
        if hit.allows_all() {
            // `*: allow` also covers what cannot be read, unless some rule guards a part of the
            // tool.
            let unseen = blind && self.commands.guarded();
            let held =
                inner.filter(|inner| unseen || inner.verdict == Verdict::Ask && !inner.blind);
            return (hit, held.unwrap_or_else(|| PartDecision::allow(hit.entry)));
        }
        // A deliberate ask is not lifted by a harmless builtin or by what runs behind.
        if hit.asks_on_purpose() {
            return (hit, self.part(hit, || quote(argv)));
        }
        // SECURITY: behind a wrapper it is a program of that name, which some systems have:
        // `env jobs -x rm x` runs `rm x`.
        let builtin = builtin(argv)
            .filter(|it| at.source.is_some() || *it != Builtin::Harmless || is_program(argv));
        let found = match (builtin, behind, inner) {
            (Some(Builtin::Poison(why)), ..) => self.ask(|| [&quote(argv), " ", why, "."].concat()),
            (Some(Builtin::Harmless), None, _) => PartDecision::allow(None),
            (None, None, _) if self.changes_directory(argv) => PartDecision::allow(None),
            (_, Some(behind), Some(inner)) => match behind.passage {
                Passage::Inner => {
                    let kept = self.keeps_output(argv, &inner, at);
                    inner.max(changed_by(given(behind))).max(kept)
                }
                Passage::Both => self.plain(hit, argv, open, at.places).max(inner),
                Passage::Outer => self.plain(hit, argv, open, at.places),
                Passage::DenyOnly => PartDecision {
                    blind: inner.blind,
                    ..self.ask(|| [&quote(argv), " ", runs_out_of_sight(argv), "."].concat())
                },
            },
            _ => self.plain(hit, argv, open, at.places),
        };
        (hit, found)
    }

    /// Asks where output may end in a file of the wrapper's own: the class of reading calls does not
    /// cover that.
    fn keeps_output(
        &self,
        argv: &[Word<'_>],
        inner: &PartDecision<'r>,
        at: At<'_, '_>,
    ) -> PartDecision<'r> {
        let command = at.command;
        let unnamed = inner.rule.is_none_or(|rule| rule.pattern.is_reads());
        let piped = matches!(command.pipe, PipePosition::First | PipePosition::Middle);
        let is_output = |redirect: &Redirect<'_>| {
            redirect.op.writes() && redirect.fd.is_none_or(|descriptor| descriptor == 1)
        };
        if programs::is(argv, Role::KeepsOutput)
            && unnamed
            && !piped
            && !command.redirects.iter().any(is_output)
        {
            self.ask(|| [&quote(argv), " may write nohup.out."].concat())
        } else {
            PartDecision::allow(None)
        }
    }

    /// Decides by the command's own rule, as far as it goes.
    fn plain(
        &self,
        hit: Hit<'r>,
        argv: &[Word<'_>],
        open: bool,
        places: &[WorkingDirectory],
    ) -> PartDecision<'r> {
        if hit.verdict == Verdict::Allow
            && let Some(why) = self.exceeds(argv, open)
            && !self.named(hit, argv, why)
        {
            let rule = hit.entry.map_or("", |entry| &*entry.label);
            let mut found =
                self.ask(|| [&quote(argv), ": ", why, ". The rule ", rule, NOT_COVERED].concat());
            found.rule = hit.entry;
            return found;
        }
        // SECURITY: a repository that came with the project may name programs in its settings.
        let inner = self.links.is_in_inner_repository();
        if hit.allows_reading() && inner && programs::is(argv, Role::ObeysFolder) {
            return self.ask(|| [&quote(argv), INNER_REPOSITORY].concat());
        }
        if hit.allows_reading()
            && let Some(denied) = self.denied_to_read(argv, places)
        {
            return denied;
        }
        let found = self.part(hit, || quote(argv));
        if hit.allows_reading() {
            return places
                .iter()
                .fold(found, |found, place| found.max(self.reads_elsewhere(argv, place)));
        }
        found
    }

    /// Asks where a command that only reads shows a file that a rule for reading files denies: the
    /// class of such commands does not cover it.
    fn denied_to_read(
        &self,
        argv: &[Word<'_>],
        places: &[WorkingDirectory],
    ) -> Option<PartDecision<'r>> {
        if !self.files.may_deny(true) {
            return None;
        }
        let read = access::of_command(argv).into_iter().filter_map(|(access, word)| {
            let text = match word.kind {
                WordKind::Literal => word.text.to_string(),
                WordKind::Glob => opened(&word.text),
                WordKind::Dynamic | WordKind::Home => return None,
            };
            (access == Access::Read).then(|| (word.text.to_string(), text))
        });
        let shown = reads::shown(argv).into_iter().map(|file| (file.clone(), opened(&file)));
        read.chain(shown).find_map(|(file, open)| {
            let there = places.iter().filter_map(|place| match place {
                WorkingDirectory::To(place) => Some([place, "/", &open].concat()),
                WorkingDirectory::Unknown => None,
            });
            // Where file names ignore case, `PRIVATE/x` is `private/x`; rules do not.
            let folded = paths::folded(&open).into_owned();
            let folded = Some(folded).filter(|folded| *folded != open);
            let mut texts = there.chain([open.clone()]).chain(folded);
            let entry =
                texts.find_map(|text| self.files.reads().denies_reading(&text, self.dirs))?;
            let says = if file == open { " denies reading " } else { " may name " };
            let file = shorten(&file, 60);
            Some(self.ask(|| ["The rule ", &entry.label, says, &file, "."].concat()))
        })
    }

    /// Returns why a command goes beyond a plain grant of its name, by our descriptions or the
    /// operator's.
    fn exceeds(&self, argv: &[Word<'_>], open: bool) -> Option<&str> {
        options::exceeds(argv, open, self.dirs).or_else(|| self.commands.exceeds(argv, open))
    }

    /// Returns true when the rule itself names the reason. `kubectl delete *` names the sub-command
    /// that goes beyond `kubectl *`, and the words after it must be no reason of their own.
    fn named(&self, hit: Hit<'r>, argv: &[Word<'_>], why: &str) -> bool {
        let words = hit.entry.map_or(0, |entry| entry.pattern.words());
        let (Some(named), Some(more)) = (argv.get(..words), argv.get(words..)) else {
            return false;
        };
        let many = |first: &&Word<'_>| {
            let program = first.literal().map(base).and_then(programs::exact);
            program.is_some_and(|program| program.is(Role::Many))
        };
        let Some(first) = named.first().filter(|first| !many(first)) else { return false };
        // The rest is checked again behind a neutral word, so that only the words after the named
        // ones can raise a reason.
        let nameless = Word::made("x", WordKind::Literal);
        let rest: Vec<Word<'_>> =
            [first.clone(), nameless].into_iter().chain(more.iter().cloned()).collect();
        // A rule of one word names no sub-command.
        words > 1
            && more.iter().all(|word| word.literal().is_some())
            && self.exceeds(named, false) == Some(why)
            && (more.iter().all(|word| !word.text.starts_with('-'))
                || self.exceeds(&rest, false).is_none())
    }

    /// Returns true for `cd` to a plain directory of the workspace.
    fn changes_directory(&self, argv: &[Word<'_>]) -> bool {
        let [name, to] = argv else { return false };
        name.literal() == Some("cd")
            && to.literal().is_some_and(|to| {
                !to.is_empty()
                    && !to.starts_with('-')
                    && !paths::outside(to, self.dirs)
                    && !paths::keeps_secrets(to, self.dirs)
                    // A hidden folder is often one that tools obey, such as `.git`.
                    && !to.split('/').any(|part| part.starts_with('.') && part != ".")
            })
    }
}

/// Describes a command behind which no rule allows anything.
fn runs_out_of_sight(argv: &[Word<'_>]) -> &'static str {
    let program = argv.first().and_then(Word::literal).map(base).and_then(programs::exact);
    if !program.is_some_and(|program| program.is(Role::Privilege)) {
        return "runs other commands, which could not be fully analysed";
    }
    let name = argv.first().and_then(Word::literal).map(base).unwrap_or_default();
    match (name, user_of(name, argv)) {
        ("sudo", Some(_)) => "runs as root (sudo)",
        ("doas", Some(_)) => "runs as root (doas)",
        _ => "runs as another user",
    }
}

// Decides what runs behind a wrapper: other commands and scripts.

/// Depth limit for scripts inside scripts.
const MAX_DEPTH: u32 = 4;
const TOO_DEEP: &str = "Could not fully analyse this command: it is nested too deeply.";
const UNSEEN: &str = "Could not fully analyse this command: a shell reads commands from elsewhere.";
const UNKNOWN: &str = "What the command runs is only known when it runs.";

impl<'r> Judge<'r, '_> {
    /// Decides everything that runs behind a wrapper; the strictest part counts.
    fn behind(&self, behind: &Unwrapped<'_, '_>, at: At<'_, '_>) -> PartDecision<'r> {
        if at.depth >= MAX_DEPTH {
            return PartDecision::blind(TOO_DEEP);
        }
        behind
            .inner
            .iter()
            .map(|inner| match inner {
                Inner::Argv { argv, open } => {
                    let at = At { source: None, depth: at.depth + 1, ..at };
                    self.argv(argv, unwrap(argv).as_ref(), *open, at).1
                }
                Inner::Script { text, dialect } => self.script(text, *dialect, at),
                Inner::Input(dialect) => match script_input(at.command) {
                    Some(text) => self.script(text, *dialect, at),
                    None => PartDecision::blind(UNSEEN),
                },
                Inner::File | Inner::Unknown => PartDecision::blind(UNKNOWN),
            })
            .reduce(PartDecision::max)
            .unwrap_or_else(|| PartDecision::blind(UNKNOWN))
    }

    fn script(&self, text: &str, dialect: Dialect, at: At<'_, '_>) -> PartDecision<'r> {
        let scan = shell::scan_as(text, dialect);
        self.scan(text, &scan, &wrappers::behind(&scan.commands), at.places, at.depth + 1)
    }
}

/// Returns the here-document or here-string from which a shell reads its commands.
fn script_input<'c>(command: &'c Command<'_>) -> Option<&'c str> {
    // Of several redirects the last one is the shell's input.
    let redirect = command.redirects.iter().rev().find(|redirect| {
        matches!(redirect.op, RedirectOp::HereDocument | RedirectOp::HereString | RedirectOp::Read)
    })?;
    // `bash < file`: the commands are not in the text.
    (redirect.op != RedirectOp::Read).then(|| redirect.target.literal()).flatten()
}

/// Iterates over the commands behind a wrapper that are words of the text.
fn inner<'c, 'a>(behind: Option<&Unwrapped<'c, 'a>>) -> impl Iterator<Item = &'c [Word<'a>]> {
    behind.into_iter().flat_map(|behind| &behind.inner).filter_map(|inner| match inner {
        Inner::Argv { argv, .. } => Some(*argv),
        _ => None,
    })
}

// Decides a command behind a `cd`: its relative paths refer to another directory.

impl<'r> Judge<'r, '_> {
    /// Decides the files that a command behind a `cd` changes.
    fn elsewhere(
        &self,
        command: &Command<'_>,
        behind: Option<&Unwrapped<'_, '_>>,
        cwd: &WorkingDirectory,
        hit: &Hit<'r>,
    ) -> PartDecision<'r> {
        let WorkingDirectory::To(directory) = cwd else {
            // FAIL-CLOSED: it may be any directory.
            let unseen = !hit.allows_all() && changed(command, behind).next().is_some();
            return if unseen {
                self.ask(|| "Changes files of a folder that is only known when it runs.".into())
            } else {
                PartDecision::allow(None)
            };
        };
        let relative = command.redirects.iter().filter(|redirect| is_relative(&redirect.target));
        let found = relative
            .map(|redirect| {
                let target = written_out(&redirect.target, directory);
                self.redirect(&Redirect { target, ..redirect.clone() }, hit)
            })
            .fold(PartDecision::allow(None), PartDecision::max);
        if hit.allows_all() || hit.allows_exactly() || found.verdict != Verdict::Allow {
            return found;
        }
        let mut paths =
            changed(command, behind).map(|(access, word)| (access, written_out(&word, directory)));
        let outside = paths.find(|(access, path)| {
            // Temporary files may be deleted, as `rm` may do with an absolute path.
            let removed = *access == Access::Delete && paths::scratch(&path.text);
            paths::outside(&path.text, self.dirs) && !paths::sink(&path.text) && !removed
        });
        match outside {
            Some((_, path)) => self.ask(|| {
                ["Changes ", &shorten(&path.text, 60), ", outside the project folder."].concat()
            }),
            None => found,
        }
    }

    /// Decides a command that only reads, in a directory that the text may have changed to.
    fn reads_elsewhere(&self, argv: &[Word<'_>], cwd: &WorkingDirectory) -> PartDecision<'r> {
        let WorkingDirectory::To(directory) = cwd else {
            return self.ask(|| "Reads a folder that is only known when it runs.".into());
        };
        let to = paths::clean(directory, self.dirs);
        let home = self.dirs.cwd.is_some_and(|cwd| paths::clean(cwd, Default::default()) == to);
        // SECURITY: a folder below may be a repository of its own, whose settings name programs.
        let obeys = programs::is(argv, Role::ObeysFolder);
        if paths::outside(directory, self.dirs) || obeys && !home {
            self.ask(|| ["Reads in ", &shorten(directory, 60), "."].concat())
        } else {
            PartDecision::allow(None)
        }
    }
}

/// Iterates over the relative paths that a command changes.
fn changed<'c, 'a>(
    command: &'c Command<'a>,
    behind: Option<&Unwrapped<'c, 'a>>,
) -> impl Iterator<Item = access::Touched<'c, 'a>> {
    let all: Vec<&'c [Word<'a>]> = std::iter::once(&*command.argv).chain(inner(behind)).collect();
    let deeds = all.into_iter().flat_map(access::of_command);
    let changes =
        deeds.filter(|(access, _)| matches!(access, Access::Write | Access::Delete | Access::Move));
    let written = command.redirects.iter().filter(|redirect| redirect.op.writes());
    changes
        .chain(written.map(|redirect| (Access::Write, Cow::Borrowed(&redirect.target))))
        .filter(|(_, word)| is_relative(word))
}

// Files that a command touches by its redirects.

impl<'r> Judge<'r, '_> {
    /// Decides the files that a command's redirects name.
    fn redirects(&self, command: &Command<'_>, hit: &Hit<'r>) -> PartDecision<'r> {
        command
            .redirects
            .iter()
            .map(|redirect| self.redirect(redirect, hit))
            .fold(PartDecision::allow(None), PartDecision::max)
    }

    fn redirect(&self, redirect: &Redirect<'_>, hit: &Hit<'r>) -> PartDecision<'r> {
        // opencode let `cargo check > ~/.zshrc` pass under a rule for cargo (its issue 5330).
        let written = || self.opened(redirect, Kind::Write, hit);
        let read = || self.opened(redirect, Kind::Read, hit);
        match redirect.op {
            RedirectOp::Read => read(),
            RedirectOp::ReadWrite => written().max(read()),
            op if op.writes() => written(),
            _ => PartDecision::allow(None),
        }
    }

    /// Decides the file that a redirect opens to read or to write.
    fn opened(&self, redirect: &Redirect<'_>, kind: Kind, hit: &Hit<'r>) -> PartDecision<'r> {
        let reads = kind == Kind::Read;
        // A rule that names the command covers its input too; the class of reading calls does not.
        let unnamed = hit.verdict != Verdict::Allow || hit.allows_reading();
        let is_known = matches!(redirect.target.kind, WordKind::Literal | WordKind::Home);
        let path = paths::of_word(&redirect.target, self.dirs);
        let Some(path) = path.filter(|_| is_known || !reads || !unnamed) else {
            return match hit.allows_all() || reads && !unnamed {
                true => PartDecision::allow(None),
                false if reads => {
                    PartDecision::ask("Reads a file that is only known when it runs.")
                }
                false => PartDecision::ask("Writes a file that is only known when it runs."),
            };
        };
        let plain = if reads { paths::source(&path) } else { paths::sink(&path) };
        if plain {
            return PartDecision::allow(None);
        }
        if self.care.get() == Care::Denies && !self.files.may_deny(reads) {
            return PartDecision::allow(None);
        }
        let value = Value { text: path.to_string(), is_path: true, is_leaf: false, access: None };
        let files = if reads { self.files.reads() } else { self.files.writes() };
        let rule = files.value(kind, &value, self.dirs);
        // A deny that names files applies to redirects as well.
        if rule.verdict == Verdict::Deny && rule.entry.is_some_and(|e| !e.pattern.is_all()) {
            return self.part(rule, || format!("the redirect to {path}"));
        }
        if self.care.get() == Care::Denies {
            return PartDecision::allow(None);
        }
        // Before the allow for every command below: such a file needs a rule that names it.
        if !reads && rule.leaves_to_a_person(&path, self.dirs) {
            return self.obeyed(&path);
        }
        if hit.allows_all() {
            return PartDecision::allow(None);
        }
        if reads {
            let odd = unnamed && paths::outside(&path, self.dirs)
                || paths::secret(&path, self.dirs)
                || paths::system(&path)
                || path.starts_with("/dev/")
                || path.starts_with("/proc/");
            return if odd {
                self.ask(|| ["Reads ", &shorten(&path, 60), self.place(&path)].concat())
            } else {
                PartDecision::allow(None)
            };
        }
        // Only a literal target is certain to be the file that the rule allows.
        let plain = redirect.target.kind == WordKind::Literal && !paths::outside(&path, self.dirs);
        if plain && rule.verdict == Verdict::Allow {
            PartDecision::allow(rule.entry)
        } else {
            self.ask(|| ["Writes ", &shorten(&path, 60), self.place(&path)].concat())
        }
    }

    /// Ends a sentence about a file with where it is.
    fn place(&self, path: &str) -> &'static str {
        if paths::outside(path, self.dirs) { ", outside the project folder." } else { "." }
    }
}

/// The rules for files, collected when a redirect first needs them.
struct FileRules<'r, 'c> {
    layers: &'c [&'r Rules],
    now_ms: i64,
    reads: OnceCell<Stack<'r>>,
    writes: OnceCell<Stack<'r>>,
}

impl<'r, 'c> FileRules<'r, 'c> {
    fn new(layers: &'c [&'r Rules], now_ms: i64) -> Self {
        Self { layers, now_ms, reads: OnceCell::new(), writes: OnceCell::new() }
    }

    fn reads(&self) -> &Stack<'r> {
        self.reads.get_or_init(|| self.stack("read_file"))
    }

    fn writes(&self) -> &Stack<'r> {
        self.writes.get_or_init(|| self.stack("write_file"))
    }

    fn may_deny(&self, reads: bool) -> bool {
        if reads { self.reads() } else { self.writes() }.may_deny(&[])
    }

    fn stack(&self, tool: &str) -> Stack<'r> {
        Stack::new(tool, tool, self.now_ms, self.layers)
    }
}

// Files that others run or obey, among those that a command writes.

impl<'r> Judge<'r, '_> {
    /// Asks when a command writes, or gives permissions to, a file that others run or obey. No rule
    /// for the command covers such a file.
    fn obeyed_files(
        &self,
        command: &Command<'_>,
        behind: Option<&Unwrapped<'_, '_>>,
        places: &[WorkingDirectory],
    ) -> PartDecision<'r> {
        let all = std::iter::once(&*command.argv).chain(inner(behind));
        // Behind a `cd .github`, `workflows/x.yml` is another file.
        let there = |path: String| -> Vec<String> {
            let below = places.iter().filter_map(|place| match place {
                WorkingDirectory::To(place) if !path.starts_with(['/', '~', '$']) => {
                    Some([place, "/", &path].concat())
                }
                _ => None,
            });
            let below: Vec<String> = below.collect();
            if below.is_empty() { vec![path] } else { below }
        };
        let obeyed = |path: &String| obeyed::is_obeyed_or_hidden(path, self.dirs);
        let mut paths = all.flat_map(written).flat_map(there).filter(obeyed);
        // A rule that names the file without a wildcard covers it.
        let unnamed = |path: &String| {
            let value = Value { text: path.clone(), is_path: true, is_leaf: false, access: None };
            let rule = self.files.writes().value(Kind::Write, &value, self.dirs);
            rule.leaves_to_a_person(path, self.dirs)
        };
        match paths.find(unnamed).or_else(|| pattern_of_obeyed(command, behind)) {
            Some(path) => self.obeyed(&path),
            None => PartDecision::allow(None),
        }
    }

    fn obeyed(&self, path: &str) -> PartDecision<'r> {
        self.ask(|| obeyed::sentence(path))
    }
}

/// Returns a pattern among the words of files to write that may stand for one that others obey.
fn pattern_of_obeyed(command: &Command<'_>, behind: Option<&Unwrapped<'_, '_>>) -> Option<String> {
    let all = std::iter::once(&*command.argv).chain(inner(behind));
    let written = all.flat_map(access::of_command).filter(|(access, word)| {
        let braces = word.kind == WordKind::Dynamic && word.text.contains(['{', '[']);
        *access == Access::Write && (word.kind == WordKind::Glob || braces)
    });
    let mut patterns = written.map(|(_, word)| word.text.to_string());
    patterns.find(|pattern| obeyed::may_be_obeyed(pattern))
}

/// Returns the paths that a command writes or gives permissions to. A file copied into a folder
/// counts under its name there.
pub(super) fn written(argv: &[Word<'_>]) -> Vec<String> {
    let all = access::of_command(argv);
    let text = |word: &Word<'_>| word.text.strip_prefix("of=").unwrap_or(&word.text).to_owned();
    let targets: Vec<String> = all
        .iter()
        .filter(|(access, _)| matches!(access, Access::Write | Access::Rights))
        .map(|(_, word)| text(word))
        .collect();
    let sources = all.iter().filter(|(access, _)| matches!(access, Access::Read | Access::Move));
    let (Some(to), Some(name)) = (targets.first(), argv.first()) else { return targets };
    let program = programs::exact(base(&name.text));
    if !program.is_some_and(|program| matches!(program.files, Transfer(_))) {
        return targets;
    }
    // `cp evil.js .husky` writes `.husky/evil.js`; `cp Makefile sub` writes `sub/Makefile`.
    let within = sources.map(|(_, word)| format!("{to}/{}", base(&word.text)));
    let within: Vec<String> = within.collect();
    targets.into_iter().chain(within).collect()
}

/// Returns a variable before a command that may turn it into another one.
pub(super) fn assigned<'a>(command: &Command<'a>) -> Option<&'a str> {
    let name = command.argv.first().map(|word| word.literal().unwrap_or_default());
    command.assigns.iter().map(|it| it.name).find(|it| !environment::harmless(it, name))
}

/// Returns such a variable among the words of `env` and `sudo`.
pub(super) fn given<'w>(behind: &'w Unwrapped<'_, '_>) -> Option<&'w str> {
    let mut names = behind.assigns.iter().filter_map(|word| word.text.split('=').next());
    names.find(|name| !environment::harmless(name, Some("")))
}

/// Asks for such a variable.
fn changed_by<'r>(name: Option<&str>) -> PartDecision<'r> {
    match name {
        Some(name) => {
            PartDecision::ask(format!("Setting {name} may change what the command runs."))
        }
        None => PartDecision::allow(None),
    }
}
