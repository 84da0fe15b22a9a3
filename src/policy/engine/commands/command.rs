//! Decides one simple command: its words, redirects and assignments.

use crate::engine::commands::judge::{At, Care, Judge};
use crate::engine::commands::variables::assigns;
use crate::engine::part_decision::PartDecision;
use crate::facts::shorten;
use crate::facts::working_directory::WorkingDirectory;
use crate::facts::wrappers::{Effort, Unwrapped};
use crate::rules::verdict::Verdict;
use crate::shell::Command;

impl<'r> Judge<'r, '_> {
    pub(super) fn command(
        &self,
        command: &Command<'_>,
        behind: Option<&Unwrapped<'_, '_>>,
        cwd: Option<&WorkingDirectory>,
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
        // A rule for the command does not cover files that others run, unless it names the command
        // exactly.
        let found = match found.verdict {
            Verdict::Allow if !hit.allows_exactly() => {
                found.max(self.obeyed_files(command, behind))
            }
            _ => found,
        };
        // An allow for every call covers every variable too.
        if hit.allows_all() {
            return found;
        }
        let shown = self.shows(command, &found);
        let found = found.max(shown);
        found.max(assigns(command))
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
