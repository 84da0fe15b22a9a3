//! Files that a command touches by its redirects, and by relative paths behind a `cd`.

use std::cell::OnceCell;

use super::{Care, Judge};
use crate::engine::finding::{Finding, shorten};
use crate::engine::stack::{Hit, Stack};
use crate::facts::access::{self, Access};
use crate::facts::call::Kind;
use crate::facts::obeyed;
use crate::facts::paths;
use crate::facts::values::Value;
use crate::facts::working_directory::{WorkingDirectory, is_relative, written_out};
use crate::facts::wrappers::{Inner, Unwrapped, base};
use crate::rules::Rules;
use crate::rules::verdict::Verdict;
use crate::shell::{Command, Redirect, RedirectOp, Word, WordKind};

/// The rules for files, put together when a redirect needs them.
pub(crate) struct Files<'r, 'c> {
    layers: &'c [&'r Rules],
    now_ms: i64,
    reads: OnceCell<Stack<'r>>,
    writes: OnceCell<Stack<'r>>,
}

impl<'r, 'c> Files<'r, 'c> {
    pub(crate) fn new(layers: &'c [&'r Rules], now_ms: i64) -> Self {
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

impl<'r> Judge<'r, '_> {
    /// Files that a command's redirects name.
    pub(super) fn redirects(&self, command: &Command<'_>, hit: &Hit<'r>) -> Finding<'r> {
        command
            .redirects
            .iter()
            .map(|redirect| self.redirect(redirect, hit))
            .fold(Finding::allow(None), Finding::max)
    }

    fn redirect(&self, redirect: &Redirect<'_>, hit: &Hit<'r>) -> Finding<'r> {
        let reads = redirect.op == RedirectOp::Read;
        if !reads && !redirect.op.writes() {
            return Finding::allow(None);
        }
        let Some(path) = paths::of_word(&redirect.target, self.dirs) else {
            return match reads || hit.allows_all() {
                true => Finding::allow(None),
                false => Finding::ask("It writes to a file that is only known when it runs."),
            };
        };
        if paths::sink(&path) {
            return Finding::allow(None);
        }
        if self.care.get() == Care::Denies && !self.files.may_deny(reads) {
            return Finding::allow(None);
        }
        let value = Value { text: path.to_string(), is_path: true, is_leaf: false };
        let (kind, files) = match reads {
            true => (Kind::Read, self.files.reads()),
            false => (Kind::Write, self.files.writes()),
        };
        let rule = files.value(kind, &value, self.dirs);
        // A deny that names files holds for redirects too.
        if rule.verdict == Verdict::Deny && rule.entry.is_some_and(|e| !e.pattern.is_all()) {
            return self.finding(rule, || format!("The redirect to {path}"));
        }
        if self.care.get() == Care::Denies {
            return Finding::allow(None);
        }
        if !reads && obeyed::is_obeyed(&path) && !rule.names_a_file() {
            return self.obeyed(&path);
        }
        if hit.allows_all() {
            return Finding::allow(None);
        }
        if reads {
            // A rule that names the command goes for what the command is fed, the class does not.
            let unnamed = hit.verdict != Verdict::Allow || hit.allows_reading();
            let odd = unnamed && paths::outside(&path, self.dirs)
                || paths::secret(&path, self.dirs)
                || paths::system(&path)
                || path.starts_with("/dev/")
                || path.starts_with("/proc/");
            return match odd {
                true => self.ask(|| ["It reads ", &shorten(&path, 60), "."].concat()),
                false => Finding::allow(None),
            };
        }
        let plain = redirect.target.kind == WordKind::Literal && !paths::outside(&path, self.dirs);
        match plain && rule.verdict == Verdict::Allow {
            true => Finding::allow(rule.entry),
            false => self.ask(|| ["It writes to ", &shorten(&path, 60), "."].concat()),
        }
    }

    /// What a command behind a `cd` changes lies where the text has gone.
    pub(super) fn elsewhere(
        &self,
        command: &Command<'_>,
        behind: Option<&Unwrapped<'_, '_>>,
        cwd: &WorkingDirectory,
        hit: &Hit<'r>,
    ) -> Finding<'r> {
        let WorkingDirectory::To(directory) = cwd else {
            // FAIL-CLOSED: it may be any directory.
            let unseen = !hit.allows_all() && changed(command, behind).next().is_some();
            return if unseen {
                self.ask(|| {
                    "It changes files of a directory that is only known when it runs.".into()
                })
            } else {
                Finding::allow(None)
            };
        };
        let relative = command.redirects.iter().filter(|redirect| is_relative(&redirect.target));
        let found = relative
            .map(|redirect| {
                let target = written_out(&redirect.target, directory);
                self.redirect(&Redirect { target, ..redirect.clone() }, hit)
            })
            .fold(Finding::allow(None), Finding::max);
        if hit.allows_all() || hit.allows_exactly() || found.verdict != Verdict::Allow {
            return found;
        }
        let mut paths =
            changed(command, behind).map(|(access, word)| (access, written_out(word, directory)));
        let outside = paths.find(|(access, path)| {
            let removed = *access == Access::Delete && paths::scratch(&path.text);
            paths::outside(&path.text, self.dirs) && !paths::sink(&path.text) && !removed
        });
        match outside {
            Some((_, path)) => self.ask(|| {
                ["It changes ", &shorten(&path.text, 60), ", outside the workspace."].concat()
            }),
            None => found,
        }
    }
}

impl<'r> Judge<'r, '_> {
    /// Files that others run or obey among those that a command writes or gives rights to: whatever
    /// rule covers the command, it does not cover them.
    pub(super) fn obeyed_files(
        &self,
        command: &Command<'_>,
        behind: Option<&Unwrapped<'_, '_>>,
    ) -> Finding<'r> {
        let all = std::iter::once(&*command.argv).chain(inner(behind));
        let mut paths = all.flat_map(written).filter(|path| obeyed::is_obeyed(path));
        let unnamed = |path: &String| {
            let value = Value { text: path.clone(), is_path: true, is_leaf: false };
            !self.files.writes().value(Kind::Write, &value, self.dirs).names_a_file()
        };
        match paths.find(unnamed) {
            Some(path) => self.obeyed(&path),
            None => Finding::allow(None),
        }
    }

    fn obeyed(&self, path: &str) -> Finding<'r> {
        let why = ", which others run or obey; only a rule that names it covers it.";
        self.ask(|| ["It writes ", &shorten(path, 60), why].concat())
    }

    /// What only reads does so in the folder that the text has gone to.
    pub(super) fn reads_elsewhere(
        &self,
        command: &Command<'_>,
        cwd: &WorkingDirectory,
    ) -> Finding<'r> {
        let WorkingDirectory::To(directory) = cwd else {
            return self.ask(|| "It reads a directory that is only known when it runs.".into());
        };
        let to = paths::clean(directory, self.dirs);
        let home = self.dirs.cwd.is_some_and(|cwd| paths::clean(cwd, Default::default()) == to);
        // SECURITY: a folder below may be a repository of its own, with programs in its settings.
        let git = command.argv.first().is_some_and(|name| base(&name.text) == "git");
        match paths::outside(directory, self.dirs) || git && !home {
            true => self.ask(|| ["It reads in ", &shorten(directory, 60), "."].concat()),
            false => Finding::allow(None),
        }
    }
}

/// The relative paths that a command changes.
fn changed<'c, 'a>(
    command: &'c Command<'a>,
    behind: Option<&Unwrapped<'c, 'a>>,
) -> impl Iterator<Item = (Access, &'c Word<'a>)> {
    let all: Vec<&'c [Word<'a>]> = std::iter::once(&*command.argv).chain(inner(behind)).collect();
    let deeds = all.into_iter().flat_map(access::of_command);
    let changes =
        deeds.filter(|(access, _)| matches!(access, Access::Write | Access::Delete | Access::Move));
    let written = command.redirects.iter().filter(|redirect| redirect.op.writes());
    changes
        .chain(written.map(|redirect| (Access::Write, &redirect.target)))
        .filter(|(_, word)| is_relative(word))
}

/// The commands behind a wrapper.
fn inner<'c, 'a>(behind: Option<&Unwrapped<'c, 'a>>) -> impl Iterator<Item = &'c [Word<'a>]> {
    behind.into_iter().flat_map(|behind| &behind.inner).filter_map(|inner| match inner {
        Inner::Argv { argv, .. } => Some(*argv),
        _ => None,
    })
}

/// The paths that a command writes or gives rights to; what it puts into a folder by its name
/// there.
fn written(argv: &[Word<'_>]) -> Vec<String> {
    let all = access::of_command(argv);
    let text = |word: &Word<'_>| word.text.strip_prefix("of=").unwrap_or(&word.text).to_owned();
    let targets: Vec<String> = all
        .iter()
        .filter(|(access, _)| matches!(access, Access::Write | Access::Rights))
        .map(|(_, word)| text(word))
        .collect();
    let sources = all.iter().filter(|(access, _)| matches!(access, Access::Read | Access::Move));
    let (Some(to), Some(name)) = (targets.first(), argv.first()) else { return targets };
    if !matches!(base(&name.text), "cp" | "gcp" | "mv" | "ln" | "install" | "rsync" | "scp") {
        return targets;
    }
    let within = sources.map(|(_, word)| format!("{to}/{}", base(&word.text)));
    let within: Vec<String> = within.collect();
    targets.into_iter().chain(within).collect()
}
