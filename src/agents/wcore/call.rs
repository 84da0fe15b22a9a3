//! Converts an engine's requests to calls.

use countersign_domain::{
    call::Call,
    question::{Choice, Question},
};
use countersign_policy::tools::SUSPENDED;
use countersign_profiles::wcore::question::{self, TOOL};
use countersign_tokens::ids;
use countersign_wcore::wire::{Suspension, ToolRequest};
use serde_json::{Value, json};

/// The agent's name in its calls.
pub const AGENT: &str = "wcore";

/// The answer that continues a suspended request that is no question.
pub(super) const APPROVE: &str = "Approve";

/// More choices than a card can show are listed in the question's text.
// As `question::check` limits them, which refuses a question with more.
const MOST_CHOICES: usize = 20;

/// The context of every call of an engine.
#[derive(Debug, Clone)]
pub struct EngineContext {
    /// The session's name.
    pub session: String,
    /// The name of this run: keys derived from it occur in no other run.
    pub run: String,
    /// The machine.
    pub host: Option<String>,
    /// The working directory.
    pub cwd: Option<String>,
    /// The capabilities that the engine announced.
    pub capabilities: Value,
}

impl EngineContext {
    /// A session in this directory, named if the engine or the operator names it.
    #[must_use]
    pub fn new(session: Option<String>, host: Option<String>, cwd: Option<String>) -> Self {
        let run = ids::nonce();
        // Sessions without a name must not share grants.
        let session = session.unwrap_or_else(|| format!("wcore {}", ids::ask_id()));
        Self { session, run, host, cwd, capabilities: Value::Null }
    }

    /// The call for a `tool_request`.
    pub(super) fn call(&self, request: &ToolRequest) -> Result<Call, String> {
        let tool = &request.tool;
        let questions = match tool.name.as_str() {
            TOOL => question::parse_all(&tool.args).into_iter().map(asked).collect(),
            _ => Vec::new(),
        };
        let reason = tool.escalation.as_ref().map(|edge| {
            format!("It reaches beyond the workspace: {} of {}", edge.access, edge.target)
        });
        let description = Some(tool.description.clone()).filter(|text| !text.trim().is_empty());
        let call = Call {
            category: Some(tool.category.word().to_owned()),
            reason,
            description,
            questions,
            meta: Some(json!({
                "call_id": request.call_id,
                "msg_id": request.msg_id,
                "capabilities": self.capabilities,
            })),
            ..self.of(&tool.name, tool.args.clone())
        };
        call.check().map_err(|error| error.to_string())?;
        Ok(call)
    }

    /// The question for an `approval_required`. It always goes to a person, whatever grants exist,
    /// and its secret is not part of the call.
    pub(super) fn question(&self, wanted: &Suspension) -> Result<Call, String> {
        let words = [wanted.reason.as_str(), wanted.context.as_str()];
        let words: Vec<&str> = words.into_iter().filter(|text| !text.trim().is_empty()).collect();
        let text = match words.is_empty() {
            true => "The engine waits for a decision and does not say which.".to_owned(),
            false => words.join("\n"),
        };
        let question = match asks_for_words(wanted) {
            Some(question) => Question { question: question.to_owned(), ..blank() },
            // One option only: any other text is a denial in the person's words.
            None => Question { question: text, options: vec![choice(APPROVE, None)], ..blank() },
        };
        let call = Call {
            questions: vec![question],
            meta: Some(json!({
                "call_id": wanted.call_id,
                "capabilities": self.capabilities,
            })),
            ..self.of(SUSPENDED, json!({}))
        };
        call.check().map_err(|error| error.to_string())?;
        Ok(call)
    }

    fn of(&self, tool: &str, args: Value) -> Call {
        Call {
            host: self.host.clone(),
            cwd: self.cwd.clone(),
            ..Call::new(AGENT, &self.session, tool, args)
        }
    }
}

/// The question in words of a suspended request, if it is one.
pub(super) fn asks_for_words(wanted: &Suspension) -> Option<&str> {
    let question = wanted.context.strip_prefix(TOOL)?.strip_prefix(':')?.trim();
    (!question.is_empty()).then_some(question)
}

fn asked(question: question::EngineQuestion) -> Question {
    let question::EngineQuestion { text, choices, several } = question;
    let text = if text.is_empty() { "The agent asks a question.".to_owned() } else { text };
    if choices.len() > MOST_CHOICES {
        let list: Vec<String> = choices.iter().map(|c| format!("- {}", c.label)).collect();
        return Question { question: format!("{text}\n{}", list.join("\n")), ..blank() };
    }
    let options = choices.into_iter().map(|c| choice(&c.label, c.description)).collect();
    Question { question: text, multi_select: several, options, ..blank() }
}

fn choice(label: &str, description: Option<String>) -> Choice {
    Choice { label: label.to_owned(), description, preview: None }
}

fn blank() -> Question {
    Question { question: String::new(), header: None, multi_select: false, options: Vec::new() }
}
