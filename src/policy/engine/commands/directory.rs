//! Decides a command behind a `cd`: its relative paths refer to another directory.

use std::borrow::Cow;

use crate::engine::commands::behind::inner;
use crate::engine::commands::judge::Judge;
use crate::engine::part_decision::PartDecision;
use crate::engine::stack::Hit;
use crate::facts::access::{self, Access};
use crate::facts::working_directory::{WorkingDirectory, is_relative, written_out};
use crate::facts::wrappers::Unwrapped;
use crate::facts::{paths, programs, shorten};
use crate::rules::verdict::Verdict;
use crate::shell::{Command, Redirect, Word};

impl<'r> Judge<'r, '_> {
    /// Decides the files that a command behind a `cd` changes.
    pub(super) fn elsewhere(
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

    /// Decides a command that only reads, in the directory that the text has changed to.
    pub(super) fn reads_elsewhere(
        &self,
        command: &Command<'_>,
        cwd: &WorkingDirectory,
    ) -> PartDecision<'r> {
        let WorkingDirectory::To(directory) = cwd else {
            return self.ask(|| "Reads a folder that is only known when it runs.".into());
        };
        let to = paths::clean(directory, self.dirs);
        let home = self.dirs.cwd.is_some_and(|cwd| paths::clean(cwd, Default::default()) == to);
        // SECURITY: a folder below may be a repository of its own, whose settings name programs.
        let obeys = programs::obeys_folder(&command.argv);
        match paths::outside(directory, self.dirs) || obeys && !home {
            true => self.ask(|| ["Reads in ", &shorten(directory, 60), "."].concat()),
            false => PartDecision::allow(None),
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
