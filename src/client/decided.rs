//! The outcome of a call, as the client understands it.

use countersign_domain::{
    Decision,
    call::{Accepts, Call},
    wire::AnswerView,
};

/// The state of a call after its submission.
#[derive(Debug, Clone, PartialEq)]
pub enum Submitted {
    /// The call is decided.
    Decided(Box<Decided>),
    /// A person decides, under this ask id.
    Ask(String),
}

impl Submitted {
    /// The id of its ask, where a person is or was asked.
    #[must_use]
    pub fn ask(self) -> Option<String> {
        match self {
            Self::Decided(decided) => decided.ask,
            Self::Ask(id) => Some(id),
        }
    }
}

/// A decided call.
#[derive(Debug, Clone, PartialEq)]
pub struct Decided {
    /// The decision; a call may run only if the reply contains exactly "allow".
    pub decision: Decision,
    /// Who decided and why, as one sentence that starts in lower case.
    pub reason: String,
    /// The text for the agent's model, if its system has one.
    pub message: Option<String>,
    /// The ask's id, where a person was asked.
    pub ask: Option<String>,
    /// The way in which the decision was made.
    pub ending: Ending,
}

impl Decided {
    /// The reason, with the rule behind it where the reason does not name it itself.
    #[must_use]
    pub fn reason_and_rule(&self) -> String {
        match &self.ending {
            // oh-my-pi's own sentence names its setting, without the file that it stands in.
            Ending::Ruled(Some(rule)) if !self.reason.contains(without_source(rule)) => {
                format!("{} ({rule})", self.reason)
            }
            _ => self.reason.clone(),
        }
    }

    /// Checks that the decision fits what was asked.
    // FAIL-CLOSED: answers to questions never let a call run, and an approval never answers a
    // question.
    pub(super) fn of(self, call: &Call) -> Result<Self, &'static str> {
        match (self.decision, call.questions.is_empty()) {
            (Decision::Answer, true) => Err("answers, though nothing was asked"),
            (Decision::Approve, false) => Err("an approval, though a question was asked"),
            (Decision::Edit, _) if !call.accepts.contains(&Accepts::UpdatedInput) => {
                Err("a changed call, though its caller accepts none")
            }
            (Decision::Edit, false) => Err("a changed call, though a question was asked"),
            (Decision::Approve | Decision::Answer | Decision::Edit | Decision::Deny, _) => Ok(self),
        }
    }
}

/// A rule without the place where it stands, as in `tools.approval.edit: deny (oh-my-pi.yml)`.
fn without_source(rule: &str) -> &str {
    let parts = rule.strip_suffix(')').and_then(|rule| rule.rsplit_once(" ("));
    parts.map_or(rule, |(words, _)| words)
}

/// The way in which a call was decided.
#[expect(clippy::large_enum_variant, reason = "it is part of a `Decided`, which is boxed")]
#[derive(Debug, Clone, PartialEq)]
pub enum Ending {
    /// Policy decided at once and nobody was asked; with the rule, if there is one.
    Ruled(Option<String>),
    /// A person answered, or a new grant covered the call.
    Answered(AnswerView),
    /// No rule asks for the call or denies it, and its caller has another judge for that.
    Left,
    /// Nobody answered in time.
    Expired,
    /// The ask was cancelled.
    Cancelled,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_denial_by_any_systems_rule_names_the_rule_once() {
        for (reason, rule, said) in [
            // Our own rules, with and without a reason of theirs.
            (
                "The rule read_file: \"*.env\": deny (rules:19) denies read_file on .env.",
                "read_file: \"*.env\": deny (rules:19)",
                "The rule read_file: \"*.env\": deny (rules:19) denies read_file on .env.",
            ),
            (
                "no secrets",
                "read_file: \"*.env\": deny (rules:19)",
                "no secrets (read_file: \"*.env\": deny (rules:19))",
            ),
            // oh-my-pi's.
            (
                "Tool \"edit\" is blocked by user policy.\n\
                 To allow: remove \"tools.approval.edit: deny\" from config.",
                "tools.approval.edit: deny (oh-my-pi.yml)",
                "Tool \"edit\" is blocked by user policy.\n\
                 To allow: remove \"tools.approval.edit: deny\" from config.",
            ),
            // zeptoclaw's.
            (
                "Mode observer blocks tools of category shell.",
                "approval for shell (config.json)",
                "Mode observer blocks tools of category shell. (approval for shell (config.json))",
            ),
            ("no", "rules:3", "no (rules:3)"),
        ] {
            let decided = Decided {
                decision: Decision::Deny,
                reason: reason.to_owned(),
                message: None,
                ask: None,
                ending: Ending::Ruled(Some(rule.to_owned())),
            };
            assert_eq!(decided.reason_and_rule(), said);
        }
    }
}
