//! Claude Code's hooks: what it says on stdin, and the decision it takes on stdout. Pure.

mod events;
pub mod settings;

pub use events::misplaced;

use crate::{
    client::{Decided, Ending},
    gate::{ask::Decision, call::Call, question::Question},
    protocol::AskView,
};
use events::{SERVED, TELLING};
use serde::Deserialize;
use serde_json::{Map, Value, json};

/// The name under which Claude Code asks.
pub const AGENT: &str = "claude-code";

/// The tool that asks a person questions.
const QUESTIONS: &str = "AskUserQuestion";

/// What a hook was started for.
#[derive(Debug, Clone, PartialEq)]
pub enum Event {
    /// Claude wants permission.
    Wants(Request),
    /// A call of this session has run, or failed: whoever asked for it has been answered.
    Ran {
        /// The conversation.
        session: String,
        /// The tool.
        tool: String,
        /// What it ran with.
        input: Value,
    },
    /// The turn is over: nothing that the main agent asked for waits any longer.
    Stopped {
        /// The conversation.
        session: String,
    },
    /// The conversation is over.
    Ended {
        /// The conversation.
        session: String,
    },
    /// Something that only tells; not our business.
    Tells,
    /// Something that this hook is asked to decide and cannot.
    Misplaced {
        /// The event, as Claude Code calls it.
        event: String,
    },
}

/// A permission request.
#[derive(Debug, Clone, PartialEq, Deserialize)]
pub struct Request {
    session_id: String,
    #[serde(default)]
    cwd: Option<String>,
    tool_name: String,
    #[serde(default)]
    tool_input: Value,
    #[serde(default)]
    permission_mode: Option<String>,
    #[serde(default)]
    agent_id: Option<String>,
    #[serde(default)]
    agent_type: Option<String>,
}

#[derive(Deserialize)]
struct Head {
    #[serde(default)]
    hook_event_name: String,
    #[serde(default)]
    session_id: String,
    #[serde(default)]
    tool_name: String,
    #[serde(default)]
    tool_input: Value,
}

/// Reads what Claude Code wrote on stdin.
///
/// # Errors
/// A sentence; the hook stays silent then and Claude's own prompt decides.
// FAIL-CLOSED: where there is no prompt behind this hook, silence would let the call run. So
// whatever asks for a decision and is no PermissionRequest is an event of its own, to be blocked,
// however little of it can be read.
pub fn read(stdin: &[u8]) -> Result<Event, String> {
    let unreadable = |error: serde_json::Error| format!("stdin is not a hook's JSON: {error}");
    let whole: Map<String, Value> = match serde_json::from_slice(stdin) {
        Ok(whole) => whole,
        Err(_) if String::from_utf8_lossy(stdin).contains("PreToolUse") => {
            return Ok(Event::Misplaced { event: "PreToolUse".to_owned() });
        }
        Err(error) => return Err(unreadable(error)),
    };
    let asks = whole.contains_key("tool_name") || whole.contains_key("toolName");
    match whole.get("hook_event_name").and_then(Value::as_str) {
        Some(event) if SERVED.contains(&event) => {}
        Some(event) if TELLING.contains(&event) => return Ok(Event::Tells),
        Some(event) => return Ok(Event::Misplaced { event: event.to_owned() }),
        None if asks => {
            return Ok(Event::Misplaced { event: "an event without a name".to_owned() });
        }
        None => return Err("stdin is not a hook's JSON: it names no event".to_owned()),
    }
    let whole = Value::Object(whole);
    let head = Head::deserialize(&whole).map_err(unreadable)?;
    let Head { hook_event_name, session_id: session, tool_name: tool, tool_input: input } = head;
    Ok(match hook_event_name.as_str() {
        "PermissionRequest" => Event::Wants(Request::deserialize(&whole).map_err(unreadable)?),
        "PostToolUse" | "PostToolUseFailure" => Event::Ran { session, tool, input },
        "Stop" | "StopFailure" => Event::Stopped { session },
        _ => Event::Ended { session },
    })
}

impl Request {
    /// The call to hand in. `key` is this hook process's own: a call that Claude makes twice is two
    /// asks.
    ///
    /// # Errors
    /// A sentence, for questions that cannot be shown.
    pub fn call(&self, key: String, host: Option<String>) -> Result<Call, String> {
        let questions: Vec<Question> = match self.tool_name.as_str() {
            QUESTIONS => {
                let questions = self.tool_input.get("questions").cloned().unwrap_or_default();
                serde_json::from_value(questions)
                    .map_err(|error| format!("the questions cannot be read: {error}"))?
            }
            _ => Vec::new(),
        };
        if self.tool_name == QUESTIONS && questions.is_empty() {
            return Err("there are no questions to ask".into());
        }
        let text = |key: &str| self.tool_input.get(key)?.as_str().map(str::to_owned);
        let plan_elsewhere = self.tool_name == "ExitPlanMode" && text("plan").is_none();
        let description = match plan_elsewhere {
            true => Some("Leave plan mode and begin; the plan stands in Claude's terminal.".into()),
            false => text("description").filter(|text| !text.trim().is_empty()),
        };
        Ok(Call {
            key: Some(key),
            host,
            cwd: self.cwd.clone(),
            agent_mode: self.permission_mode.clone(),
            description,
            questions,
            meta: Some(self.meta()),
            ..Call::new(AGENT, &self.session_id, &self.tool_name, self.tool_input.clone())
        })
    }

    /// The decision to print; `None` prints nothing, and Claude's own prompt decides.
    #[must_use]
    pub fn decision(&self, decided: &Decided) -> Option<Value> {
        let decision = match (decided.decision, &decided.ending) {
            // FAIL-CLOSED: nobody decided, so nothing is said; only a person or a rule speaks here.
            (_, Ending::Cancelled) | (Decision::Deny, Ending::Expired) => return None,
            // SECURITY: answers belong to questions, and questions are never merely allowed.
            (Decision::Answer, _) if self.tool_name == QUESTIONS => self.answered(decided)?,
            (Decision::Answer, _) => return None,
            (Decision::Approve, _) if self.tool_name == QUESTIONS => return None,
            (Decision::Approve, _) => json!({"behavior": "allow"}),
            (Decision::Deny, ending) => {
                let stop = matches!(ending, Ending::Answered(answer) if answer.stop);
                let mut deny = json!({"behavior": "deny", "message": message(decided)});
                if let (true, Some(deny)) = (stop, deny.as_object_mut()) {
                    deny.insert("interrupt".to_owned(), true.into());
                }
                deny
            }
        };
        Some(json!({
            "hookSpecificOutput": {"hookEventName": "PermissionRequest", "decision": decision}
        }))
    }

    /// FAIL-CLOSED: an approval without answers would swallow the questions, so it says nothing.
    fn answered(&self, decided: &Decided) -> Option<Value> {
        let Ending::Answered(answer) = &decided.ending else { return None };
        let answers = answer.answers.as_ref().filter(|answers| !answers.is_empty())?;
        let answers: Map<String, Value> =
            answers.iter().map(|(question, said)| (question.clone(), as_text(said))).collect();
        let mut input = self.tool_input.as_object()?.clone();
        input.insert("answers".to_owned(), answers.into());
        Some(json!({"behavior": "allow", "updatedInput": input}))
    }

    fn meta(&self) -> Value {
        let facts = [
            ("permission_mode", &self.permission_mode),
            ("agent_id", &self.agent_id),
            ("agent_type", &self.agent_type),
        ];
        let there = facts.into_iter().filter_map(|(name, value)| {
            value.as_ref().map(|value| (name.to_owned(), Value::from(value.as_str())))
        });
        Value::Object(there.collect())
    }
}

/// The ids of the open asks that this event closes. Identical calls ran in the order in which they
/// asked, so the oldest is the one that ran.
#[must_use]
pub fn closed_by<'a>(event: &Event, open: &'a [AskView]) -> Vec<&'a str> {
    let ours =
        |ask: &&AskView, session: &str| ask.call.agent == AGENT && ask.call.session == *session;
    match event {
        Event::Ran { session, tool, input } => open
            .iter()
            .filter(|ask| ours(ask, session) && ask.call.tool == *tool)
            .find(|ask| ran_with(&ask.call.args, input))
            .map(|ask| ask.id.as_str())
            .into_iter()
            .collect(),
        Event::Stopped { session } => open
            .iter()
            .filter(|ask| ours(ask, session))
            // A subagent in the background goes on after the main agent's turn.
            .filter(|ask| ask.call.meta.as_ref().is_none_or(|meta| meta.get("agent_id").is_none()))
            .map(|ask| ask.id.as_str())
            .collect(),
        Event::Wants(_) | Event::Ended { .. } | Event::Tells | Event::Misplaced { .. } => {
            Vec::new()
        }
    }
}

/// Whether a tool that ran with `input` is the one that asked with `args`. Answers may have come to
/// it.
fn ran_with(args: &Value, input: &Value) -> bool {
    match (args, input) {
        (Value::Object(asked), Value::Object(ran)) => {
            asked.iter().all(|(key, value)| ran.get(key) == Some(value))
        }
        (asked, ran) => asked == ran,
    }
}

/// Who decided and why, as the model reads it.
fn message(decided: &Decided) -> String {
    let reason = match &decided.ending {
        Ending::Ruled(Some(rule)) => format!("denied by policy: {} ({rule})", decided.reason),
        Ending::Ruled(None) => format!("denied by policy: {}", decided.reason),
        _ => decided.reason.clone(),
    };
    let mut letters = reason.chars();
    match letters.next() {
        Some(first) => first.to_uppercase().chain(letters).collect(),
        None => "Denied by countersign.".into(),
    }
}

/// Several labels are one text to Claude, joined as its own dialog joins them.
fn as_text(said: &Value) -> Value {
    match said {
        Value::Array(labels) => {
            let labels: Vec<_> = labels.iter().filter_map(Value::as_str).collect();
            labels.join(", ").into()
        }
        said => said.clone(),
    }
}

#[cfg(test)]
mod tests;
