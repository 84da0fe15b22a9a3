//! The answers of a ConnectOnion client to `approval_needed`, and the mailbox that receives them.

use countersign_policy::{call::Call, tools::Kind};
use serde_json::Value;

use crate::connectonion::workspace::POLICY;
use crate::{CallEnd, OnDeny};

/// An answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PromptAnswer {
    /// The call may run.
    Approved(PromptScope),
    /// The call may not run.
    Rejected {
        /// The effect of the rejection besides rejecting.
        then: OnDeny,
        /// The person's words.
        feedback: Option<String>,
    },
    /// The connection ended.
    Closed,
    /// The person stopped the turn.
    Interrupted,
}

/// The calls that an approval covers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PromptScope {
    /// This call.
    Once,
    /// Every call of the tool, until the session ends.
    Session,
}

impl PromptAnswer {
    const HARD: Self = Self::Rejected { then: OnDeny::Stop, feedback: None };

    /// Reads an answer.
    // FAIL-CLOSED: `approved` must be a boolean, scope and mode must be known words. Anything else
    // is a hard rejection.
    #[must_use]
    pub fn read(frame: &Value) -> Self {
        match frame.get("type").and_then(Value::as_str) {
            Some("io_closed") => return Self::Closed,
            Some("INTERRUPT") => return Self::Interrupted,
            _ => {}
        }
        // `?` marks a value of the wrong type, which no known word equals.
        let word = |name: &str| frame.get(name).map(|value| value.as_str().unwrap_or("?"));
        let Some(approved) = frame.get("approved").and_then(Value::as_bool) else {
            // ConnectOnion's raw hook takes the text "false" for an approval.
            return Self::HARD;
        };
        let scope = match word("scope") {
            None | Some("once") => PromptScope::Once,
            Some("session") => PromptScope::Session,
            Some(_) => return Self::HARD,
        };
        if approved {
            return Self::Approved(scope);
        }
        let then = match word("mode") {
            None | Some("reject_hard") => OnDeny::Stop,
            Some("reject_soft") => OnDeny::GoOn,
            Some("reject_explain") => OnDeny::Explain,
            Some(_) => return Self::HARD,
        };
        let feedback = word("feedback").filter(|words| !words.is_empty() && *words != "?");
        Self::Rejected { then, feedback: feedback.map(str::to_owned) }
    }

    /// Returns the wire's word for a rejection.
    #[must_use]
    pub fn mode(then: OnDeny) -> &'static str {
        match then {
            OnDeny::GoOn => "reject_soft",
            OnDeny::Stop => "reject_hard",
            OnDeny::Explain => "reject_explain",
        }
    }
}

/// Takes one answer for one pending request.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Mailbox {
    pending: Option<String>,
}

impl Mailbox {
    /// The message for a client whose answer has no request.
    pub const STALE: &'static str = "unknown or stale approval response";

    /// Records that a request is sent.
    ///
    /// # Errors
    /// When another one is pending; sending the same one again is allowed.
    pub fn ask(&mut self, id: &str) -> Result<(), String> {
        match &self.pending {
            Some(other) if other != id => {
                Err(format!("{other} still waits for its answer; one request at a time"))
            }
            _ => {
                self.pending = Some(id.to_owned());
                Ok(())
            }
        }
    }

    /// Receives an answer, which is for the pending request.
    ///
    /// # Errors
    /// When nothing is pending: the answer is early, late or a duplicate.
    pub fn answer(&mut self, frame: &Value) -> Result<(String, PromptAnswer), &'static str> {
        // The answer carries no request id. A second press must not answer the next request.
        let id = self.pending.take().ok_or(Self::STALE)?;
        Ok((id, PromptAnswer::read(frame)))
    }
}

// The text for ConnectOnion's model when a call does not run, in the words of its own plugin
// (connectonion `useful_plugins/tool_approval`, `useful_tools/ask_user`, August 2026).

/// The text for the calls behind a hard rejection.
const BATCH_STOPPED: &str =
    "User rejected this batch of tools. They want to provide input for the correct direction.";

/// The text for a question without an answer.
// An earlier wording of ConnectOnion's could be read as consent.
const NOT_ANSWERED: &str = "This is not approval. \
    Do not send, post, publish, delete, overwrite, deploy, or spend anything that this question \
    was gating. Continue with any part of the task that does not depend on the answer, then end \
    your turn by stating the question and what you would have done, so the user can decide.";

const EXPLAIN: &str = "\n\n<system-reminder>\
    User clicked 'Explain' - they don't understand what you're doing.\n\n\
    IMPORTANT: The user may have NO technical background. Explain like teaching a 15-year-old:\n\n\
    1. CONTEXT: What are you trying to accomplish overall? (the big picture)\n\
    2. CONCEPT: What is this type of action? (e.g., 'A bash command is like giving instructions \
    to your computer through text')\n\
    3. THIS STEP: What specifically will this do? Use simple analogies.\n\
    4. WHY NEEDED: Why is this step necessary to complete the task?\n\
    5. CONSEQUENCE: What happens after this runs? Is it reversible?\n\n\
    Keep it simple, avoid jargon, use everyday analogies.\n\
    After explaining, ask if they want to proceed or have more questions.\n\
    Do NOT retry the tool until the user explicitly approves.\n\
    </system-reminder>";

const OFFER_OTHERS: &str = "Call ask_user to let the user choose direction:\n\
    - Think about what the rejected tool was trying to accomplish\n\
    - Offer 2-4 specific alternatives as options (not vague)\n\
    - Always include a 'Skip this entirely' option\n\n\
    ask_user(question=\"...contextual question...\", options=[\"alt 1\", \"alt 2\", \
    \"Skip this entirely\"])\n\n\
    Do not respond with text instead of calling ask_user.\
    </system-reminder>";

/// Returns the text for an end; `None` when the call runs.
pub(super) fn told(call: &Call, end: &CallEnd<'_>) -> Option<String> {
    let tool = &call.tool;
    let is_question = call.kind() == Kind::Question;
    Some(match *end {
        CallEnd::Approved { .. } => return None,
        CallEnd::Denied { by, .. } if is_question => {
            format!("NOT ANSWERED — {by} declined to answer. {NOT_ANSWERED}")
        }
        CallEnd::Denied { reason, then, .. } => rejected(tool, reason, then),
        CallEnd::Forbidden { reason, rule: Some(POLICY) } => {
            format!("Tool '{tool}' denied by {POLICY}: {reason}")
        }
        CallEnd::Forbidden { reason, .. } => reason.to_owned(),
        CallEnd::TimedOut { .. } | CallEnd::Unreachable if is_question => {
            format!("NOT ANSWERED — nobody is available to reply. {NOT_ANSWERED}")
        }
        CallEnd::TimedOut { after_s } => format!(
            "Nobody answered within {after_s} seconds whether '{tool}' may run. This is not \
             approval."
        ),
        CallEnd::Unreachable => {
            format!("Nobody could be asked whether '{tool}' may run. This is not approval.")
        }
        CallEnd::Cancelled { .. } => {
            format!("Connection closed while waiting for approval of '{tool}'")
        }
        CallEnd::BatchStopped { .. } => BATCH_STOPPED.to_owned(),
    })
}

fn rejected(tool: &str, feedback: Option<&str>, then: OnDeny) -> String {
    let said = |label: &str| {
        let words = feedback.filter(|words| !words.is_empty());
        words.map_or_else(String::new, |words| format!(" {label}: {words}"))
    };
    match then {
        OnDeny::Stop => format!("User rejected tool '{tool}'.{}", said("Feedback")),
        OnDeny::Explain => {
            format!("User wants explanation for tool '{tool}'.{}{EXPLAIN}", said("Context"))
        }
        OnDeny::GoOn => format!(
            "User rejected tool '{tool}'.{}\n\n<system-reminder>User skipped '{tool}'. Do not \
             retry it.\n\n{OFFER_OTHERS}",
            said("Feedback")
        ),
    }
}
