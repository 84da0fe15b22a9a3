//! A permission request of Claude Code: its call, and the encoding of the decision.

use super::transcript;
use crate::{
    agent::{HookReply, HookRequest},
    hook_call::message,
};
use countersign_client::{Decided, Ending};
use countersign_domain::{
    Decision,
    call::{Accepts, Call},
    question::Question,
};
use serde::Deserialize;
use serde_json::{Map, Value, json};
use std::{path::Path, time::Duration};

/// The agent's name in its calls.
pub(super) const NAME: &str = "claude-code";

/// Claude's tool for questions to a person.
pub(super) const QUESTIONS: &str = "AskUserQuestion";

/// Claude's tool that shows a plan and leaves the plan mode.
pub(super) const PLAN: &str = "ExitPlanMode";

/// How long a subagent's dialog may wait for a person elsewhere.
const SUBAGENT: Duration = Duration::from_mins(1);

/// A permission request.
#[derive(Debug, Clone, PartialEq, Deserialize)]
pub(crate) struct PermissionRequest {
    session_id: String,
    cwd: Option<String>,
    tool_name: String,
    #[serde(default)]
    tool_input: Value,
    permission_mode: Option<String>,
    agent_id: Option<String>,
    agent_type: Option<String>,
    /// Told before and after the call, and not where Claude asks for permission.
    tool_use_id: Option<String>,
    /// The file with the conversation.
    transcript_path: Option<String>,
}

impl HookRequest for PermissionRequest {
    fn call(&self, key: String, host: Option<String>) -> Result<Call, String> {
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
        // Claude may send no plan, so the card would have nothing to show.
        let plan_elsewhere = self.tool_name == PLAN && text("plan").is_none();
        let description = if plan_elsewhere {
            Some("Leave plan mode and begin; the plan is in Claude's terminal.".into())
        } else {
            text("description").filter(|text| !text.trim().is_empty())
        };
        Ok(Call {
            key: Some(key),
            host,
            cwd: self.cwd.clone(),
            agent_mode: self.permission_mode.clone(),
            description,
            questions,
            accepts: vec![Accepts::Stop, Accepts::UpdatedInput],
            meta: Some(self.meta()),
            ..Call::new(NAME, &self.session_id, &self.tool_name, self.tool_input.clone())
        })
    }

    fn is_of_subagent(&self) -> bool {
        self.agent_id.is_some()
    }

    // The main agent's dialog comes at once, that of a subagent behind its hook (seen with 2.1.330).
    fn holds_dialog(&self) -> Option<Duration> {
        self.is_of_subagent().then_some(SUBAGENT)
    }

    fn person_said(&self) -> Option<String> {
        transcript::person_said(Path::new(self.transcript()?))
    }

    fn reply(&self, decided: &Decided) -> HookReply {
        let output = |it| json!({"hookSpecificOutput": {"hookEventName": "PermissionRequest", "decision": it}});
        self.decided(decided).map_or(HookReply::Nothing, |it| HookReply::Print(output(it)))
    }
}

impl PermissionRequest {
    /// A request that comes without a hook, through an MCP tool or the control protocol. Both wait
    /// for exactly one reply, so there is no silence.
    ///
    /// # Errors
    /// A sentence, if the arguments are not an object: an approval repeats them as one.
    pub(crate) fn of_prompt(
        session: String,
        cwd: Option<String>,
        tool: String,
        input: Value,
    ) -> Result<Self, String> {
        if !input.is_object() {
            return Err("`input` is not an object; it holds the tool's arguments".to_owned());
        }
        Ok(Self {
            session_id: session,
            cwd,
            tool_name: tool,
            tool_input: input,
            permission_mode: None,
            agent_id: None,
            agent_type: None,
            tool_use_id: None,
            transcript_path: None,
        })
    }

    /// The decision where a reply is waited for: `{"behavior":"allow","updatedInput":…}` or
    /// `{"behavior":"deny","message":…}`.
    // FAIL-CLOSED: where a hook prints nothing, this denies.
    pub(crate) fn prompt_reply(&self, decided: &Decided) -> Value {
        let Some(mut decision) = self.decided(decided) else {
            return denial(&match decided.decision {
                Decision::Deny => message(decided),
                _ => "countersign has no decision that fits this request.".to_owned(),
            });
        };
        let allows = decision.get("behavior").is_some_and(|behavior| behavior == "allow");
        if let (true, Some(fields)) = (allows, decision.as_object_mut()) {
            // Required here: an allow without arguments is an error at Claude Code.
            fields.entry("updatedInput").or_insert_with(|| self.tool_input.clone());
        }
        decision
    }

    /// The same in this mode of Claude Code, of this subagent.
    pub(super) fn within(self, mode: Option<String>, subagent: Option<String>) -> Self {
        Self { permission_mode: mode, agent_id: subagent, ..self }
    }

    /// Claude's tool.
    pub(super) fn tool(&self) -> &str {
        &self.tool_name
    }

    /// The file with the conversation.
    pub(super) fn transcript(&self) -> Option<&str> {
        self.transcript_path.as_deref()
    }

    /// The decision itself: `{behavior, …}`; `None` where nobody decided.
    pub(super) fn decided(&self, decided: &Decided) -> Option<Value> {
        Some(match (decided.decision, &decided.ending) {
            // FAIL-CLOSED: nobody decided, so nothing is printed.
            (_, Ending::Cancelled | Ending::Left) | (Decision::Deny, Ending::Expired) => {
                return None;
            }
            // SECURITY: answers belong to questions, and a question is never merely allowed.
            (Decision::Answer, _) if self.tool_name == QUESTIONS => self.answered(decided)?,
            (Decision::Answer, _) => return None,
            (Decision::Approve, _) if self.tool_name == QUESTIONS => return None,
            // Claude Code 2.1.329 ignores a bare allow of a plan, and its dialog stays.
            (Decision::Approve, _) if self.tool_name == PLAN => {
                let input = self.tool_input.as_object().cloned().unwrap_or_default();
                json!({"behavior": "allow", "updatedInput": input})
            }
            (Decision::Approve, _) => json!({"behavior": "allow"}),
            // FAIL-CLOSED: nor without the arguments that were approved instead.
            (Decision::Edit, Ending::Answered(answer)) => {
                json!({"behavior": "allow", "updatedInput": answer.updated_input.as_ref()?})
            }
            (Decision::Edit, _) => return None,
            (Decision::Deny, ending) => {
                let stop = matches!(ending, Ending::Answered(answer) if answer.stop);
                let mut deny = json!({"behavior": "deny", "message": message(decided)});
                if let (true, Some(deny)) = (stop, deny.as_object_mut()) {
                    deny.insert("interrupt".to_owned(), true.into());
                }
                deny
            }
        })
    }

    /// FAIL-CLOSED: an approval without answers would skip the questions, so nothing is printed.
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
            // Read again by `HookEvent::closes`.
            ("agent_id", &self.agent_id),
            ("agent_type", &self.agent_type),
            // Read by `Call::id_at_agent`.
            ("tool_use_id", &self.tool_use_id),
        ];
        let there = facts.into_iter().filter_map(|(name, value)| {
            value.as_ref().map(|value| (name.to_owned(), Value::from(value.as_str())))
        });
        Value::Object(there.collect())
    }
}

/// The denial where a reply is waited for.
pub(crate) fn denial(why: &str) -> Value {
    json!({"behavior": "deny", "message": why})
}

/// Several labels become one text, joined as Claude's own dialog joins them.
fn as_text(said: &Value) -> Value {
    match said {
        Value::Array(labels) => {
            let labels: Vec<_> = labels.iter().filter_map(Value::as_str).collect();
            labels.join(", ").into()
        }
        said => said.clone(),
    }
}
