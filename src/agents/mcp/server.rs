//! The server: what it answers at once, and the tool calls that wait for a decision.

use crate::{
    agent::HookRequest as _,
    claude_code::request::{PermissionRequest, denial},
    mcp::{INVALID_PARAMS, NO_METHOD, RpcMessage, error_reply, result_reply},
    waiting::CallOrigin,
};
use countersign_client::{Decided, Ending, Submitted};
use countersign_domain::{
    Decision,
    call::{Call, is_name},
    question::{Choice, Question},
    wire::CallReply,
};
use serde::Deserialize;
use serde_json::{Map, Value, json};

/// The versions of MCP that it speaks; the last is offered to clients of any other.
pub const VERSIONS: &[&str] = &["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"];

/// The name of clients that do not tell theirs.
const NAMELESS: &str = "mcp";

/// A connection to one client.
#[derive(Debug)]
pub struct McpServer {
    /// The agent's name; that of the client where absent.
    agent: Option<String>,
    origin: CallOrigin,
    client: Option<String>,
    count: u64,
}

/// The outcome of a message.
#[derive(Debug)]
pub enum Handled {
    /// Send this reply.
    Reply(Value),
    /// Send nothing.
    Nothing,
    /// Submit the call, and send the reply once it is decided.
    Pending(Box<PendingTool>),
    /// Take back the call of the request with this id; it gets no reply.
    Cancelled(Value),
}

/// A tool call that waits for a decision.
#[derive(Debug, Clone, PartialEq)]
pub struct PendingTool {
    /// The request's id.
    pub id: Value,
    /// The call to submit.
    pub call: Call,
    progress_token: Option<Value>,
    progress: u64,
    answers: PendingKind,
}

#[derive(Debug, Clone, PartialEq)]
enum PendingKind {
    Approve(Box<PermissionRequest>),
    AskHuman,
}

impl McpServer {
    /// A server that has heard nothing yet.
    #[must_use]
    pub fn new(agent: Option<String>, origin: CallOrigin) -> Self {
        Self { agent, origin, client: None, count: 0 }
    }

    /// The agent's name on cards.
    #[must_use]
    pub fn agent(&self) -> &str {
        let named = self.agent.as_deref().or(self.client.as_deref());
        named.unwrap_or(NAMELESS)
    }

    /// The session's name.
    #[must_use]
    pub fn session(&self) -> &str {
        &self.origin.session
    }

    /// Handles a message of the client.
    pub fn handle(&mut self, message: RpcMessage) -> Handled {
        match message {
            RpcMessage::Request { id, method, params } => self.request(id, &method, params),
            RpcMessage::Notification { method, mut params }
                if method == "notifications/cancelled" =>
            {
                params.remove("requestId").map_or(Handled::Nothing, Handled::Cancelled)
            }
            RpcMessage::Notification { .. } | RpcMessage::Response => Handled::Nothing,
        }
    }

    fn request(&mut self, id: Value, method: &str, params: Map<String, Value>) -> Handled {
        Handled::Reply(match method {
            "initialize" => result_reply(&id, &self.initialize(&params)),
            "ping" => result_reply(&id, &json!({})),
            "tools/list" => result_reply(&id, &tools()),
            "tools/call" => return self.tool(id, params),
            // `server/discover` of the version 2026-07-28 too: its clients fall back to
            // `initialize`.
            _ => error_reply(&id, NO_METHOD, "countersign serves no such method"),
        })
    }

    fn initialize(&mut self, params: &Map<String, Value>) -> Value {
        let name = params.get("clientInfo").and_then(|client| client.get("name")?.as_str());
        self.client = name.filter(|name| is_name("name", name, 100).is_ok()).map(str::to_owned);
        let wanted = params.get("protocolVersion").and_then(Value::as_str);
        let known = VERSIONS.iter().find(|version| wanted == Some(**version));
        json!({
            "protocolVersion": known.or(VERSIONS.last()),
            "capabilities": {"tools": {}},
            "serverInfo": {
                "name": "countersign",
                "title": "countersign",
                "version": env!("CARGO_PKG_VERSION"),
            },
            "instructions": "ask_human asks a person and waits for the answer. approve is for \
                permission prompts of the agent's program and not for the model.",
        })
    }

    fn tool(&mut self, id: Value, mut params: Map<String, Value>) -> Handled {
        let name = params.remove("name");
        let arguments = match params.remove("arguments") {
            None | Some(Value::Null) => Ok(Map::new()),
            Some(Value::Object(arguments)) => Ok(arguments),
            Some(_) => Err("`arguments` is not an object".to_owned()),
        };
        let asked = match name.as_ref().and_then(Value::as_str) {
            Some(APPROVE) => {
                arguments.and_then(|given| self.approve(given)).map_err(|why| {
                    // Claude Code reads a denial from the text alone.
                    tool_text(&denial(&why).to_string(), false)
                })
            }
            Some(ASK_HUMAN) => arguments
                .and_then(|given| self.ask_human(&given))
                .map_err(|why| tool_text(&why, true)),
            _ => {
                let why = "unknown tool; tools/list names all";
                return Handled::Reply(error_reply(&id, INVALID_PARAMS, why));
            }
        };
        let progress_token = params.remove("_meta").and_then(|mut meta| {
            let token = meta.get_mut("progressToken").map(Value::take)?;
            (token.is_string() || token.is_number()).then_some(token)
        });
        match asked {
            Ok((call, answers)) => Handled::Pending(Box::new(PendingTool {
                id,
                call,
                progress_token,
                progress: 0,
                answers,
            })),
            Err(result) => Handled::Reply(result_reply(&id, &result)),
        }
    }

    fn approve(&mut self, mut given: Map<String, Value>) -> Result<(Call, PendingKind), String> {
        let Some(Value::String(tool)) = given.remove("tool_name") else {
            return Err("`tool_name` is missing, or is not a text".to_owned());
        };
        let input = given.remove("input").unwrap_or_default();
        let CallOrigin { session, cwd, host, .. } = self.origin.clone();
        let prompt = PermissionRequest::of_prompt(session, cwd, tool, input)?;
        let call = Call { agent: self.agent().to_owned(), ..prompt.call(self.key(), host)? };
        call.check().map_err(|error| error.to_string())?;
        Ok((call, PendingKind::Approve(Box::new(prompt))))
    }

    fn ask_human(&mut self, given: &Map<String, Value>) -> Result<(Call, PendingKind), String> {
        let asked = HumanQuestion::read(given)?;
        let call = Call {
            key: Some(self.key()),
            questions: vec![asked.question()],
            reason: asked.reason,
            ..self.origin.call(self.agent(), TOOL, json!({}))
        };
        call.check().map_err(|error| error.to_string())?;
        Ok((call, PendingKind::AskHuman))
    }

    /// A key of its own for every call, because a client may repeat its ids.
    fn key(&mut self) -> String {
        self.count += 1;
        format!("{}-{}", self.origin.run, self.count)
    }
}

impl PendingTool {
    /// The reply, by the decision or the reason why there is none.
    #[must_use]
    pub fn reply(&self, decided: Result<&Decided, &str>) -> Value {
        let result = match (&self.answers, decided) {
            (PendingKind::Approve(prompt), Ok(decided)) => {
                tool_text(&prompt.prompt_reply(decided).to_string(), false)
            }
            (PendingKind::Approve(_), Err(why)) => {
                let why = format!("countersign could not decide: {why}");
                tool_text(&denial(&why).to_string(), false)
            }
            (PendingKind::AskHuman, Ok(decided)) => match answer(decided) {
                Ok(answer) => tool_text(&answer, false),
                Err(why) => tool_text(&why, true),
            },
            (PendingKind::AskHuman, Err(why)) => {
                tool_text(&format!("countersign could not ask: {why}"), true)
            }
        };
        result_reply(&self.id, &result)
    }

    /// The reply by the API's own reply to the call. A call that is still open has no decision.
    // FAIL-CLOSED: a reply that cannot be read is no decision either.
    #[must_use]
    pub fn reply_to(&self, reply: CallReply) -> Value {
        match Submitted::read(reply, &self.call) {
            Ok(Submitted::Decided(decided)) => self.reply(Ok(&decided)),
            Ok(Submitted::Ask(_)) => self.reply(Err("nobody has decided yet")),
            Err(why) => self.reply(Err(&why)),
        }
    }

    /// A notification that the call still waits; `None` where the client wants none.
    pub fn progress(&mut self, message: &str) -> Option<Value> {
        let token = self.progress_token.as_ref()?;
        self.progress += 1;
        Some(json!({"jsonrpc": "2.0", "method": "notifications/progress", "params": {
            "progressToken": token, "progress": self.progress, "message": message}}))
    }
}

fn tool_text(text: &str, is_error: bool) -> Value {
    json!({"content": [{"type": "text", "text": text}], "isError": is_error})
}

// The tool `ask_human`: its arguments as a question, and the answer as text for the model.

/// The tool that the question is submitted as: it asks and does nothing else.
pub(super) const TOOL: &str = "ask_user";

/// The arguments.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct HumanQuestion {
    question: String,
    #[serde(default)]
    options: Vec<HumanOption>,
    #[serde(default)]
    multiple: bool,
    pub(super) reason: Option<String>,
}

#[derive(Debug, Deserialize)]
#[serde(untagged)]
enum HumanOption {
    Label(String),
    Described { label: String, description: Option<String> },
}

impl HumanQuestion {
    /// Reads the arguments of the tool.
    pub(super) fn read(arguments: &Map<String, Value>) -> Result<Self, String> {
        let read = Self::deserialize(Value::Object(arguments.clone()));
        read.map_err(|error| format!("the arguments of `ask_human` cannot be read: {error}"))
    }

    /// The question as people see it.
    pub(super) fn question(&self) -> Question {
        let choice = |option: &HumanOption| match option {
            HumanOption::Label(label) => {
                Choice { label: label.clone(), description: None, preview: None }
            }
            HumanOption::Described { label, description } => {
                Choice { label: label.clone(), description: description.clone(), preview: None }
            }
        };
        Question {
            question: self.question.clone(),
            header: None,
            multi_select: self.multiple,
            options: self.options.iter().map(choice).collect(),
        }
    }
}

/// The person's answer, one line for each choice; otherwise why there is none.
// FAIL-CLOSED: only an answered question is an answer.
pub(super) fn answer(decided: &Decided) -> Result<String, String> {
    match (decided.decision, &decided.ending) {
        (Decision::Answer, Ending::Answered(answer)) => {
            let answers = answer.answers.iter().flatten().map(|(_, said)| answer_words(said));
            let text: Vec<String> = answers.collect();
            if text.iter().all(String::is_empty) {
                Err("The question has no answer.".to_owned())
            } else {
                Ok(text.join("\n"))
            }
        }
        _ => Err(sentence(&decided.reason)),
    }
}

fn answer_words(said: &Value) -> String {
    match said {
        Value::String(text) => text.clone(),
        Value::Array(labels) => {
            let labels: Vec<&str> = labels.iter().filter_map(Value::as_str).collect();
            labels.join("\n")
        }
        _ => String::new(),
    }
}

/// The reason as a sentence of its own.
pub(super) fn sentence(reason: &str) -> String {
    let mut letters = reason.chars();
    match letters.next() {
        Some(first) => format!("{}{}.", first.to_uppercase(), letters.as_str()),
        None => "Nobody answered.".to_owned(),
    }
}

// The tools of the server, as `tools/list` describes them.

/// Claude Code's permission prompt.
pub(super) const APPROVE: &str = "approve";

/// A question to a person.
const ASK_HUMAN: &str = "ask_human";

/// The reply to `tools/list`.
pub(super) fn tools() -> Value {
    let text = |about: &str| json!({"type": "string", "description": about});
    json!({"tools": [
        {
            "name": ASK_HUMAN,
            "title": "Ask a person",
            "description": "Asks a person a question and waits for the answer, which may take \
                minutes. Use it where only a person can decide. They can always answer in their \
                own words.",
            "inputSchema": {
                "type": "object",
                "properties": {
                    "question": text("The whole question, with all that is needed to answer it"),
                    "options": {
                        "type": "array",
                        "maxItems": 20,
                        "description": "What to choose from; leave it out for an open question",
                        "items": {"anyOf": [
                            {"type": "string"},
                            {
                                "type": "object",
                                "properties": {
                                    "label": text("What is answered when it is chosen"),
                                    "description": text("What it means"),
                                },
                                "required": ["label"],
                            },
                        ]},
                    },
                    "multiple": {
                        "type": "boolean",
                        "description": "Whether several options may be chosen",
                    },
                    "reason": text("Why you ask"),
                },
                "required": ["question"],
            },
        },
        {
            "name": APPROVE,
            "title": "Ask for permission",
            "description": "For `claude -p --permission-prompt-tool`; not for the model. Decides \
                by rules, or asks a person, whether a tool may run.",
            "inputSchema": {
                "type": "object",
                "properties": {
                    "tool_name": text("The tool to be run"),
                    "input": {"type": "object", "description": "Its arguments"},
                    "tool_use_id": text("The id of the call"),
                },
                "required": ["tool_name", "input"],
            },
        },
    ]})
}
