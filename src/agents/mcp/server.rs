//! The server: what it answers at once, and the tool calls that wait for a decision.

use super::{
    ask_human::{self, HumanQuestion},
    message::{INVALID_PARAMS, NO_METHOD, RpcMessage, error_reply, result_reply},
    tools,
};
use crate::PermissionPrompt;
use countersign_client::{Decided, Submitted};
use countersign_domain::{
    call::{Call, is_name},
    wire::CallReply,
};
use serde_json::{Map, Value, json};

/// The versions of MCP that it speaks; the last is offered to clients of any other.
pub const VERSIONS: &[&str] = &["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"];

/// The name of clients that do not tell theirs.
const NAMELESS: &str = "mcp";

/// Who calls the server's tools.
#[derive(Debug, Clone)]
pub struct McpCaller {
    /// The agent's name; that of the client where absent.
    pub agent: Option<String>,
    /// The session's name.
    pub session: String,
    /// The machine.
    pub host: Option<String>,
    /// The working directory.
    pub cwd: Option<String>,
    /// The name of this run: keys derived from it occur in no other run.
    pub run: String,
}

/// A connection to one client.
#[derive(Debug)]
pub struct McpServer {
    caller: McpCaller,
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
    Approve(Box<PermissionPrompt>),
    AskHuman,
}

impl McpServer {
    /// A server that has heard nothing yet.
    #[must_use]
    pub fn new(caller: McpCaller) -> Self {
        Self { caller, client: None, count: 0 }
    }

    /// The agent's name on cards.
    #[must_use]
    pub fn agent(&self) -> &str {
        let named = self.caller.agent.as_deref().or(self.client.as_deref());
        named.unwrap_or(NAMELESS)
    }

    /// The session's name.
    #[must_use]
    pub fn session(&self) -> &str {
        &self.caller.session
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
            "tools/list" => result_reply(&id, &tools::list()),
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
            Some(tools::APPROVE) => {
                arguments.and_then(|given| self.approve(given)).map_err(|why| {
                    // Claude Code reads a denial from the text alone.
                    tool_text(&PermissionPrompt::denial(&why).to_string(), false)
                })
            }
            Some(tools::ASK_HUMAN) => arguments
                .and_then(|given| self.ask_human(&given))
                .map_err(|why| tool_text(&why, true)),
            _ => {
                let why = "there is no such tool; tools/list names them";
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
        let McpCaller { session, cwd, host, .. } = self.caller.clone();
        let prompt = PermissionPrompt::new(session, cwd, tool, input)?;
        let call = Call { agent: self.agent().to_owned(), ..prompt.call(self.key(), host)? };
        call.check().map_err(|error| error.to_string())?;
        Ok((call, PendingKind::Approve(Box::new(prompt))))
    }

    fn ask_human(&mut self, given: &Map<String, Value>) -> Result<(Call, PendingKind), String> {
        let asked = HumanQuestion::read(given)?;
        let McpCaller { session, cwd, host, .. } = self.caller.clone();
        let call = Call {
            key: Some(self.key()),
            host,
            cwd,
            questions: vec![asked.question()],
            reason: asked.reason,
            ..Call::new(self.agent(), session, ask_human::TOOL, json!({}))
        };
        call.check().map_err(|error| error.to_string())?;
        Ok((call, PendingKind::AskHuman))
    }

    /// A key of its own for every call, because a client may repeat its ids.
    fn key(&mut self) -> String {
        self.count += 1;
        format!("{}-{}", self.caller.run, self.count)
    }
}

impl PendingTool {
    /// The reply, by the decision or the reason why there is none.
    #[must_use]
    pub fn reply(&self, decided: Result<&Decided, &str>) -> Value {
        let result = match (&self.answers, decided) {
            (PendingKind::Approve(prompt), Ok(decided)) => {
                tool_text(&prompt.reply(decided).to_string(), false)
            }
            (PendingKind::Approve(_), Err(why)) => {
                let why = format!("countersign could not decide: {why}");
                tool_text(&PermissionPrompt::denial(&why).to_string(), false)
            }
            (PendingKind::AskHuman, Ok(decided)) => match ask_human::answer(decided) {
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
