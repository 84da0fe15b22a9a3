//! Decides a shell text.

use crate::engine::commands::judge::{Care, Judge};
use crate::engine::part_decision::PartDecision;
use crate::facts::tools::Kind;
use crate::facts::working_directory::after_cd;
use crate::facts::wrappers::Unwrapped;
use crate::rules::verdict::Verdict;
use crate::shell::{Command, Scan, Via};

impl<'r> Judge<'r, '_> {
    /// Returns the strictest decision on any command of the text.
    pub(crate) fn text(
        &self,
        source: &str,
        scan: &Scan<'_>,
        behind: &[Option<Unwrapped<'_, '_>>],
    ) -> PartDecision<'r> {
        let found = self.scan(source, scan, behind, 0);
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

    pub(super) fn scan(
        &self,
        source: &str,
        scan: &Scan<'_>,
        behind: &[Option<Unwrapped<'_, '_>>],
        depth: u32,
    ) -> PartDecision<'r> {
        let before = self.care.get();
        let found = self.commands_of(source, scan, behind, depth);
        self.care.set(before);
        match (&scan.refusal, found) {
            (_, Some(found)) if found.verdict == Verdict::Deny => found,
            // A rule that denies every call covers an unreadable text, whatever it does.
            (Some(_), _) if depth == 0 && self.commands.denies_every().is_some() => {
                self.no_command()
            }
            (Some(_), _) if before < Care::Reasons => PartDecision::blind(""),
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
            let cwd = after_cd(&scan.commands, command);
            let part = self.command(command, behind.as_ref(), cwd.as_ref(), source, depth);
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
