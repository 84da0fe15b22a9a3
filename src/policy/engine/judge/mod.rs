//! Judges a shell text: every command in it, what runs behind wrappers, and what surrounds it.

mod files;

use std::cell::Cell;

use crate::engine::finding::{Finding, quote};
use crate::engine::stack::{Hit, Spelling, Stack};
use crate::facts::builtins::{Builtin, builtin};
use crate::facts::environment;
use crate::facts::options;
use crate::facts::paths::{self, Directories};
use crate::facts::working_directory::{WorkingDirectory, after_cd};
use crate::facts::wrappers::{self, Effort, Inner, Passage, Unwrapped, base, unwrap};
use crate::rules::verdict::Verdict;
use crate::shell::{self, Command, Dialect, RedirectOp, Scan, Via, Word, WordKind};
pub(crate) use files::Files;

/// Scripts inside scripts are followed this deep.
const MAX_DEPTH: u32 = 4;
const TOO_MANY_WAYS: &str = "It may run commands behind commands in more ways than are followed.";

/// Where an argument vector stands.
#[derive(Clone, Copy)]
struct At<'e, 'a> {
    /// The text in which it is written out, for the command itself.
    source: Option<&'e str>,
    /// The command that it is, or that it stands behind.
    command: &'e Command<'a>,
    depth: u32,
    effort: &'e Effort,
}

/// What of a finding still matters.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Care {
    /// A deny: the whole is an ask already, and blind.
    Denies,
    /// The verdict: an ask with its reason is in hand already.
    Verdicts,
    /// The reason too.
    Reasons,
}

/// The rules for a shell call, and for the files that its redirects touch.
pub(crate) struct Judge<'r, 'c> {
    pub(crate) care: Cell<Care>,
    pub(crate) commands: Stack<'r>,
    pub(crate) files: Files<'r, 'c>,
    pub(crate) dirs: Directories<'c>,
}

impl<'r> Judge<'r, '_> {
    /// The strictest finding on any command of the text.
    pub(crate) fn text(
        &self,
        source: &str,
        scan: &Scan<'_>,
        behind: &[Option<Unwrapped<'_, '_>>],
    ) -> Finding<'r> {
        let found = self.scan(source, scan, behind, 0);
        if found.verdict == Verdict::Ask
            && scan.understood()
            && let Some(entry) = self.commands.whole_text(source)
        {
            return Finding::allow(Some(entry));
        }
        found
    }

    fn scan(
        &self,
        source: &str,
        scan: &Scan<'_>,
        behind: &[Option<Unwrapped<'_, '_>>],
        depth: u32,
    ) -> Finding<'r> {
        let before = self.care.get();
        let found = self.commands_of(source, scan, behind, depth);
        self.care.set(before);
        match (&scan.refusal, found) {
            (_, Some(found)) if found.verdict == Verdict::Deny => found,
            (Some(_), _) if before < Care::Reasons => Finding::blind(""),
            (Some(refusal), _) => Finding::blind(format!(
                "The command text cannot be read with certainty: {refusal}."
            )),
            (None, Some(found)) => found,
            (None, None) => Finding::ask("There is no command in the text."),
        }
    }

    fn commands_of(
        &self,
        source: &str,
        scan: &Scan<'_>,
        behind: &[Option<Unwrapped<'_, '_>>],
        depth: u32,
    ) -> Option<Finding<'r>> {
        if scan.refusal.is_some() {
            self.care.set(Care::Denies);
        }
        let mut strictest: Option<Finding<'r>> = None;
        for (command, behind) in scan.commands.iter().zip(behind) {
            if self.care.get() == Care::Denies && self.cannot_be_denied(command, behind.as_ref()) {
                continue;
            }
            let cwd = after_cd(&scan.commands, command);
            let finding = self.command(command, behind.as_ref(), cwd.as_ref(), source, depth);
            // FAIL-CLOSED: a guess counts only when it denies.
            if command.via == Via::Guess && finding.verdict != Verdict::Deny {
                continue;
            }
            if finding.verdict == Verdict::Deny {
                return Some(finding);
            }
            if finding.verdict == Verdict::Ask {
                self.care.set(self.care.get().min(Care::Verdicts));
            }
            strictest = Some(match strictest {
                Some(before) => before.max(finding),
                None => finding,
            });
        }
        strictest
    }

    /// No rule can forbid a command of that name, and it touches and runs nothing
    /// else: in a long text most are such.
    fn cannot_be_denied(&self, command: &Command<'_>, behind: Option<&Unwrapped<'_, '_>>) -> bool {
        behind.is_none() && command.redirects.is_empty() && !self.commands.may_deny(&command.argv)
    }

    /// An ask, put into words only where somebody will read them.
    fn ask(&self, reason: impl FnOnce() -> String) -> Finding<'r> {
        match self.care.get() {
            Care::Reasons => Finding::ask(reason()),
            Care::Verdicts | Care::Denies => Finding::ask(""),
        }
    }

    /// What the rule says, an ask in words as above.
    fn finding(&self, hit: Hit<'r>, subject: impl FnOnce() -> String) -> Finding<'r> {
        if hit.verdict == Verdict::Ask && self.care.get() < Care::Reasons {
            return Finding::ask("");
        }
        Finding::of(hit, subject)
    }

    fn command(
        &self,
        command: &Command<'_>,
        behind: Option<&Unwrapped<'_, '_>>,
        cwd: Option<&WorkingDirectory>,
        source: &str,
        depth: u32,
    ) -> Finding<'r> {
        let (hit, found) = if command.argv.is_empty() {
            let hit = self.commands.every_call();
            let denied = hit.verdict == Verdict::Deny;
            let found = if denied {
                self.finding(hit, || "An assignment or redirect".to_owned())
            } else {
                Finding::allow(None)
            };
            (hit, found)
        } else {
            let at =
                At { source: Some(source), command, depth, effort: &Effort::of(&command.argv) };
            self.argv(&command.argv, behind, false, at)
        };
        if found.verdict == Verdict::Deny {
            return found;
        }
        let found = found.max(self.redirects(command, &hit));
        let found = match cwd {
            Some(cwd) if hit.allows_reading() => found.max(self.reads_elsewhere(command, cwd)),
            Some(cwd) => found.max(self.elsewhere(command, behind, cwd, &hit)),
            None => found,
        };
        if self.care.get() == Care::Denies || found.verdict == Verdict::Deny {
            return found;
        }
        let found = match found.verdict {
            Verdict::Allow if !hit.allows_exactly() => {
                found.max(self.obeyed_files(command, behind))
            }
            _ => found,
        };
        if hit.allows_all() {
            return found;
        }
        found.max(assigns(command))
    }

    /// One argument vector: its own rule, then what it runs.
    fn argv(
        &self,
        argv: &[Word<'_>],
        behind: Option<&Unwrapped<'_, '_>>,
        open: bool,
        at: At<'_, '_>,
    ) -> (Hit<'r>, Finding<'r>) {
        if !at.effort.spend(argv) {
            return (Hit::NONE, Finding::blind(TOO_MANY_WAYS));
        }
        let written = at.source.map(|source| (source, at.command));
        let hit = if self.care.get() == Care::Denies && !self.commands.may_deny(argv) {
            Hit::NONE
        } else if open {
            let mut more = argv.to_vec();
            more.push(unknown_word());
            self.commands.command(&more, &Spelling::new(&more, written, self.dirs))
        } else {
            self.commands.command(argv, &Spelling::new(argv, written, self.dirs))
        };
        if hit.verdict == Verdict::Deny {
            return (hit, self.finding(hit, || quote(argv)));
        }
        let inner = behind.map(|behind| self.behind(behind, at));
        if let Some(inner) = inner.as_ref().filter(|inner| inner.verdict == Verdict::Deny) {
            return (hit, inner.clone());
        }
        if self.care.get() == Care::Denies {
            return (hit, Finding::allow(None));
        }
        if hit.allows_exactly() && !open {
            return (hit, Finding::allow(hit.entry));
        }
        let blind = inner.as_ref().is_some_and(|inner| inner.blind);
        if hit.allows_all() {
            let unseen = blind && self.commands.guarded();
            let held =
                inner.filter(|inner| unseen || inner.verdict == Verdict::Ask && !inner.blind);
            return (hit, held.unwrap_or_else(|| Finding::allow(hit.entry)));
        }
        if hit.asks_on_purpose() {
            return (hit, self.finding(hit, || quote(argv)));
        }
        let found = match (builtin(argv), behind, inner) {
            (Some(Builtin::Poison(why)), ..) => self.ask(|| [&quote(argv), " ", why, "."].concat()),
            (Some(Builtin::Harmless), None, _) => Finding::allow(None),
            (None, None, _) if self.changes_directory(argv) => Finding::allow(None),
            (_, Some(behind), Some(inner)) => match behind.passage {
                Passage::Inner => inner.max(given(behind)),
                Passage::Both => self.plain(hit, argv, open).max(inner),
                Passage::Outer => self.plain(hit, argv, open),
                Passage::DenyOnly => Finding {
                    blind: inner.blind,
                    ..self.ask(|| quote(argv) + " runs other commands with more rights or unseen.")
                },
            },
            _ => self.plain(hit, argv, open),
        };
        (hit, found)
    }

    /// The command's own rule, as far as it goes.
    fn plain(&self, hit: Hit<'r>, argv: &[Word<'_>], open: bool) -> Finding<'r> {
        if hit.verdict == Verdict::Allow
            && let Some(why) = options::exceeds(argv, open, self.dirs)
            && !self.named(hit, argv, why)
        {
            let rule = hit.entry.map_or("", |entry| &*entry.label);
            let mut found = self
                .ask(|| [&quote(argv), " goes beyond the rule ", rule, ": ", why, "."].concat());
            found.rule = hit.entry;
            return found;
        }
        self.finding(hit, || quote(argv))
    }

    /// What goes beyond `kubectl *` does not go beyond `kubectl delete *`: the rule itself names
    /// the sub-command that is the reason, and what comes after it is no reason of its own.
    fn named(&self, hit: Hit<'r>, argv: &[Word<'_>], why: &str) -> bool {
        let words = hit.entry.map_or(0, |entry| entry.pattern.words());
        let (Some(named), Some(more)) = (argv.get(..words), argv.get(words..)) else {
            return false;
        };
        let Some(first) = named.first().filter(|first| first.literal().map(base) != Some("git"))
        else {
            return false;
        };
        let nameless =
            Word { text: "x".into(), kind: WordKind::Literal, quoted: false, span: 0..0 };
        let rest: Vec<Word<'_>> =
            [first.clone(), nameless].into_iter().chain(more.iter().cloned()).collect();
        words > 1
            && more.iter().all(|word| word.literal().is_some())
            && options::exceeds(named, false, self.dirs) == Some(why)
            && (more.iter().all(|word| !word.text.starts_with('-'))
                || options::exceeds(&rest, false, self.dirs).is_none())
    }

    /// `cd` to a plain directory of the workspace.
    fn changes_directory(&self, argv: &[Word<'_>]) -> bool {
        let [name, to] = argv else { return false };
        name.literal() == Some("cd")
            && to.literal().is_some_and(|to| {
                !to.is_empty()
                    && !to.starts_with('-')
                    && !paths::outside(to, self.dirs)
                    && !to.split('/').any(|part| part.starts_with('.') && part != ".")
            })
    }

    /// Everything that runs behind a wrapper.
    fn behind(&self, behind: &Unwrapped<'_, '_>, at: At<'_, '_>) -> Finding<'r> {
        if at.depth >= MAX_DEPTH {
            return Finding::blind("Commands run inside commands inside commands.");
        }
        behind
            .inner
            .iter()
            .map(|inner| match inner {
                Inner::Argv { argv, open } => {
                    let at = At { source: None, depth: at.depth + 1, ..at };
                    self.argv(argv, unwrap(argv).as_ref(), *open, at).1
                }
                Inner::Script { text, dialect } => self.script(text, *dialect, at.depth),
                Inner::Input(dialect) => match script_input(at.command) {
                    Some(text) => self.script(text, *dialect, at.depth),
                    None => Finding::blind("A shell reads commands that are not in the text."),
                },
                Inner::Unknown => Finding::blind("What it runs is only known when it runs."),
            })
            .reduce(Finding::max)
            .unwrap_or_else(|| Finding::blind("What it runs is not known."))
    }

    fn script(&self, text: &str, dialect: Dialect, depth: u32) -> Finding<'r> {
        let scan = shell::scan_as(text, dialect);
        self.scan(text, &scan, &wrappers::behind(&scan.commands), depth + 1)
    }
}

/// Variables in front of a command that may make it another command.
fn assigns<'r>(command: &Command<'_>) -> Finding<'r> {
    let name = command.argv.first().and_then(Word::literal);
    let bare = command.argv.is_empty();
    command
        .assigns
        .iter()
        .find(|assign| {
            !environment::harmless(assign.name, if bare { None } else { Some(name.unwrap_or("")) })
        })
        .map_or_else(|| Finding::allow(None), |assign| changes(assign.name))
}

/// The same for the words of `env` and `sudo`.
fn given<'r>(behind: &Unwrapped<'_, '_>) -> Finding<'r> {
    behind
        .assigns
        .iter()
        .filter_map(|word| word.text.split('=').next())
        .find(|name| !environment::harmless(name, Some("")))
        .map_or_else(|| Finding::allow(None), changes)
}

fn changes<'r>(name: &str) -> Finding<'r> {
    Finding::ask(format!("Setting {name} may change what the command runs."))
}

/// The here-document or here-string that a shell reads its commands from.
fn script_input<'c>(command: &'c Command<'_>) -> Option<&'c str> {
    let redirect = command.redirects.iter().rev().find(|redirect| {
        matches!(redirect.op, RedirectOp::HereDocument | RedirectOp::HereString | RedirectOp::Read)
    })?;
    (redirect.op != RedirectOp::Read).then(|| redirect.target.literal()).flatten()
}

/// The command as it was written, with what stands in front of it and its redirects.
pub fn slice<'s>(source: &'s str, command: &Command<'_>) -> Option<&'s str> {
    let spans = || {
        let redirects = command.redirects.iter().filter(|r| r.op != RedirectOp::HereDocument);
        command.argv.iter().map(|word| &word.span).chain(redirects.map(|r| &r.target.span))
    };
    let start = spans().map(|span| span.start).min()?;
    let end = spans().map(|span| span.end).max()?;
    source.get(start..end)
}

fn unknown_word<'a>() -> Word<'a> {
    Word { text: "…".into(), kind: WordKind::Dynamic, quoted: false, span: 0..0 }
}
