//! A request for one tool call, for agents whose hooks know nothing else; the event in which it
//! comes, for agents that name it in a field; and the decision on it.

use crate::{
    agent::{HookEvent, HookReply, HookRequest},
    journal::Journal,
};
use countersign_client::{Decided, Ending};
use countersign_domain::{
    Decision,
    call::{Call, excerpt},
    exact_json,
};
use serde::{Deserialize, de::DeserializeOwned};
use serde_json::{Value, json};
use std::{fmt, path::PathBuf};

/// A request for one tool call.
pub(super) struct HookCall {
    /// The call, without its key and its machine.
    pub call: Call,
    /// Where the agent notes that the turn was interrupted.
    pub journal: Option<Journal>,
    /// The reply in the agent's words.
    pub encode: Box<dyn Fn(&ToolDecision) -> HookReply + Send>,
}

/// The event of one tool call, as most agents write it; some spell its fields otherwise.
#[derive(Deserialize)]
pub(super) struct ToolEvent {
    #[serde(alias = "sessionId")]
    pub session_id: String,
    cwd: Option<String>,
    pub transcript_path: Option<PathBuf>,
    #[serde(alias = "toolName")]
    pub tool_name: String,
    #[serde(default, alias = "toolInput")]
    tool_input: Value,
}

impl ToolEvent {
    /// The request of this agent's.
    pub(super) fn wanted(
        self,
        agent: &'static str,
        encode: fn(&ToolDecision) -> HookReply,
    ) -> HookCall {
        let call = (self.tool_name, self.tool_input);
        HookCall::new(agent, self.session_id, self.cwd, call, encode)
    }
}

impl HookCall {
    /// A request to which the agent takes nothing but a yes or a no.
    pub(super) fn new(
        agent: &'static str,
        session: String,
        cwd: Option<String>,
        (tool, args): (String, Value),
        encode: impl Fn(&ToolDecision) -> HookReply + Send + 'static,
    ) -> Self {
        let description = args.get("description").and_then(Value::as_str);
        let description = description.filter(|text| !text.trim().is_empty()).map(str::to_owned);
        let call = Call { cwd, description, ..Call::new(agent, session, tool, args) };
        Self { call, journal: None, encode: Box::new(encode) }
    }
}

/// A decision on a tool call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum ToolDecision {
    /// It may run as it was asked.
    Allow,
    /// It may not run.
    Deny {
        /// Who decided and why, for the model.
        message: String,
        /// Whether the turn ends.
        stop: bool,
    },
}

impl ToolDecision {
    /// The decision; `None` where nobody decided on this call as it was asked.
    // FAIL-CLOSED: an answer to a question, or a changed call, is no approval of this one.
    pub(super) fn of(decided: &Decided) -> Option<Self> {
        match (decided.decision, &decided.ending) {
            (_, Ending::Cancelled | Ending::Left) | (Decision::Deny, Ending::Expired) => None,
            (Decision::Answer | Decision::Edit, _) => None,
            (Decision::Approve, _) => Some(Self::Allow),
            (Decision::Deny, ending) => {
                let stop = matches!(ending, Ending::Answered(answer) if answer.stop);
                Some(Self::Deny { message: message(decided), stop })
            }
        }
    }
}

impl HookRequest for HookCall {
    fn call(&self, key: String, host: Option<String>) -> Result<Call, String> {
        Ok(Call { key: Some(key), host, ..self.call.clone() })
    }

    fn reply(&self, decided: &Decided) -> HookReply {
        ToolDecision::of(decided).map_or(HookReply::Nothing, |decision| (self.encode)(&decision))
    }

    fn journal(&self) -> Option<Journal> {
        self.journal.clone()
    }
}

impl fmt::Debug for HookCall {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("HookCall").field("tool", &self.call.tool).finish_non_exhaustive()
    }
}

/// The reply to a `PermissionRequest` of Claude Code's shape.
pub(super) fn answer_prompt(decision: &ToolDecision) -> HookReply {
    let decision = match decision {
        ToolDecision::Allow => json!({"behavior": "allow"}),
        ToolDecision::Deny { message, .. } => json!({"behavior": "deny", "message": message}),
    };
    let output = json!({"hookEventName": "PermissionRequest", "decision": decision});
    HookReply::Print(json!({"hookSpecificOutput": output}))
}

/// The reply to our own plugins, which block a call of an agent or let it run.
pub(super) fn answer_plugin(decision: &ToolDecision) -> HookReply {
    HookReply::Print(match decision {
        ToolDecision::Allow => json!({"block": false}),
        ToolDecision::Deny { message, .. } => json!({"block": true, "reason": message}),
    })
}

/// Names who decided and why, for the model.
#[must_use]
pub fn message(decided: &Decided) -> String {
    let reason = match &decided.ending {
        Ending::Ruled(_) => format!("denied by policy: {}", decided.reason_and_rule()),
        _ => decided.reason.clone(),
    };
    let mut letters = reason.chars();
    match letters.next() {
        Some(first) => first.to_uppercase().chain(letters).collect(),
        None => "Denied by countersign.".into(),
    }
}

/// The events that a hook of an agent decides.
#[derive(Debug, Clone, Copy)]
pub(super) struct EventNames {
    /// The agent in our commands.
    pub agent: &'static str,
    /// The fields that may name the event.
    pub fields: &'static [&'static str],
    /// The events that ask for a decision here.
    pub events: &'static [&'static str],
}

impl EventNames {
    /// Reads an event from stdin; of ours `wants` reads what is wanted.
    ///
    /// # Errors
    /// A sentence, where it is no event or lacks a field.
    // FAIL-CLOSED: any other event is misplaced, and that blocks: it may ask for a decision too,
    // and there may be no prompt behind silence.
    pub(super) fn read<R: DeserializeOwned>(
        self,
        stdin: &[u8],
        wants: impl FnOnce(&str, R) -> Result<HookEvent, String>,
    ) -> Result<HookEvent, String> {
        let unreadable = |error: serde_json::Error| format!("stdin is not a hook's JSON: {error}");
        let whole: Value = exact_json::from_slice(stdin).map_err(unreadable)?;
        if !whole.is_object() {
            return Err("stdin is not a hook's JSON".to_owned());
        }
        let name = self.fields.iter().find_map(|field| whole.get(field)).and_then(Value::as_str);
        match name.filter(|name| self.events.contains(name)) {
            Some(event) => wants(event, R::deserialize(&whole).map_err(unreadable)?),
            None => {
                let event = name.unwrap_or("an event without a name");
                Ok(misplaced(event, "", self.agent, &self.events.join(" and ")))
            }
        }
    }
}

/// An event that asks this hook, with its option (` --gate`), for a decision it cannot make. The
/// message is for the model, and the person at the terminal: where the hook belongs.
pub(super) fn misplaced(event: &str, option: &str, agent: &str, belongs: &str) -> HookEvent {
    let with = if option.is_empty() { "" } else { " with" };
    let message = format!(
        "countersign cannot decide under {}{with}{option}, so this is blocked. That hook belongs \
         under {belongs}: `countersign connect {agent}{option}` puts it there.",
        excerpt(event)
    );
    HookEvent::Misplaced(message)
}
