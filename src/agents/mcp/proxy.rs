//! A gate in front of an MCP server: its `tools/call` requests are decided here, everything else
//! passes unchanged in both directions. Pure; `cli::host` moves the lines.
//!
//! INVARIANT: a `tools/call` reaches the server only after an approval, and nothing of it that was
//! not decided on.
//! FAIL-CLOSED: what the server might read otherwise than we do does not reach it.

use crate::{
    denial_message,
    hosted::{EngineInput, Forward, HostedSession, SessionEnd, Step},
    line_head::LineHead,
    mcp::{INVALID_REQUEST, error_reply, result_reply},
    waiting::{CallOrigin, Waiting},
};
use countersign_client::{Decided, Ending};
use countersign_domain::{
    Decision,
    call::{Accepts, Call, is_name},
    exact_json,
    wire::CancelReason,
};
use serde_json::{Map, Value, json};
use std::collections::{BTreeMap, BTreeSet};

/// The context of every call through the gate.
#[derive(Debug, Clone)]
pub struct ProxyAround {
    /// The server's name in the names of tools, `mcp__SERVER__TOOL`.
    pub server: String,
    /// The agent's name; that of the client where absent.
    pub agent: Option<String>,
    /// Where the calls come from.
    pub origin: CallOrigin,
    /// The session's end.
    pub ends: SessionEnd,
}

/// One server behind the gate.
#[derive(Debug)]
pub struct ProxySession {
    around: ProxyAround,
    agent: String,
    claims: ServerClaims,
    waiting: Waiting<HeldCall>,
    client_gone: bool,
}

/// A `tools/call` that waits for a decision.
#[derive(Debug)]
struct HeldCall {
    message: Map<String, Value>,
    progress: u32,
}

impl ProxySession {
    /// A gate that has seen nothing yet.
    #[must_use]
    pub fn new(around: ProxyAround) -> Self {
        let agent = around.agent.clone().unwrap_or_else(|| "mcp".to_owned());
        let claims = ServerClaims::default();
        let waiting = Waiting::new(&around.origin.run);
        Self { around, agent, claims, waiting, client_gone: false }
    }

    fn called(&mut self, message: Map<String, Value>) -> Vec<Step> {
        let id = message.get("id").cloned().unwrap_or_default();
        let submitted = self.call(&message).and_then(|call| {
            let held = HeldCall { message, progress: 0 };
            self.waiting.submit(held, call).map_err(|(_, why)| why)
        });
        let denied = |why| denial(&id, &format!("countersign cannot show this call: {why}"));
        vec![submitted.unwrap_or_else(denied)]
    }

    fn call(&self, message: &Map<String, Value>) -> Result<Call, String> {
        let params = message.get("params").and_then(Value::as_object);
        let name = params.and_then(|params| params.get("name")?.as_str());
        let name = name.ok_or("`params.name` is missing, or is not a text")?;
        let args = params.and_then(|params| params.get("arguments")).cloned();
        let tool = format!("mcp__{}__{name}", self.around.server);
        let args = args.unwrap_or_else(|| json!({}));
        Ok(Call {
            description: self.claims.of(name),
            accepts: vec![Accepts::UpdatedInput],
            ..self.around.origin.call(&self.agent, tool, args)
        })
    }

    /// A message that is no call, on its way to the server.
    fn passing(&mut self, message: &Map<String, Value>) {
        let method = message.get("method").and_then(Value::as_str);
        if let (Some("tools/list"), Some(id)) = (method, message.get("id")) {
            self.claims.asked(id);
        }
        if let (Some("initialize"), None) = (method, &self.around.agent) {
            let name = message.get("params").and_then(|params| {
                params.get("clientInfo")?.get("name")?.as_str().map(str::to_owned)
            });
            let name = name.filter(|name| is_name("name", name, 100).is_ok());
            self.agent = name.unwrap_or_else(|| self.agent.clone());
        }
    }

    /// Takes back the calls of the request that a client cancels.
    fn cancelled(&mut self, request: &Value) -> Vec<Step> {
        let is_it = |held: &HeldCall| held.message.get("id") == Some(request);
        self.waiting.take_back(is_it, CancelReason::Aborted)
    }
}

impl HostedSession for ProxySession {
    fn agent(&self) -> &str {
        &self.agent
    }

    fn name(&self) -> &str {
        &self.around.origin.session
    }

    fn engine_line(&mut self, line: &[u8]) -> (Forward, Vec<Step>) {
        self.claims.line(line);
        (Forward::On, Vec::new())
    }

    fn host_line(&mut self, line: &[u8]) -> (Forward, Vec<Step>) {
        match read_line(line) {
            ClientLine::Blank => (Forward::On, Vec::new()),
            ClientLine::Other(messages) => {
                messages.iter().for_each(|message| self.passing(message));
                (Forward::On, Vec::new())
            }
            ClientLine::Cancel(request) => match self.cancelled(&request) {
                // The server has never heard of a call that waited here.
                steps if !steps.is_empty() => (Forward::Stays, steps),
                _ => (Forward::On, Vec::new()),
            },
            ClientLine::Calls { calls, others } => {
                others.iter().for_each(|message| self.passing(message));
                let others = others.into_iter().map(|other| Step::Send(text(other)));
                let mut steps: Vec<Step> = others.collect();
                steps.extend(calls.into_iter().flat_map(|call| self.called(call)));
                (Forward::Stays, steps)
            }
            ClientLine::Refused { id, why } => {
                let why = format!("countersign did not pass this on: {why}");
                let reply = error_reply(&id, INVALID_REQUEST, &why);
                (Forward::Stays, vec![Step::Tell(reply.to_string())])
            }
        }
    }

    fn opened(&mut self, key: &str, ask: &str) -> Vec<Step> {
        let held = self.waiting.open.get_mut(key);
        held.and_then(|held| held.waits(&format!("A person is asked; the ask is {ask}.")))
            .into_iter()
            .collect()
    }

    fn tick(&mut self) -> Vec<Step> {
        let waits = |held: &mut HeldCall| held.waits("Still waiting for a decision.");
        self.waiting.open.values_mut().filter_map(waits).collect()
    }

    fn decided(&mut self, key: &str, decided: Result<&Decided, String>) -> Vec<Step> {
        let Some(HeldCall { mut message, .. }) = self.waiting.open.remove(key) else {
            return Vec::new();
        };
        let id = message.get("id").cloned().unwrap_or_default();
        let denied = |why: &str| vec![denial(&id, why)];
        match decided {
            // SECURITY: nobody decided on a call that was cancelled.
            Ok(decided @ Decided { ending: Ending::Cancelled, .. }) => {
                denied(&denial_message(decided))
            }
            Ok(Decided { decision: Decision::Approve, .. }) => vec![Step::Send(text(message))],
            Ok(Decided { decision: Decision::Edit, ending: Ending::Answered(answer), .. }) => {
                let params = message.get_mut("params").and_then(Value::as_object_mut);
                let (Some(params), Some(input)) = (params, &answer.updated_input) else {
                    return denied("countersign has no decision that fits this call.");
                };
                params.insert("arguments".to_owned(), input.clone());
                vec![Step::Send(text(message))]
            }
            Ok(decided) => denied(&denial_message(decided)),
            Err(why) => denied(&format!("countersign could not decide: {why}")),
        }
    }

    fn host_ended(&mut self) -> Vec<Step> {
        self.client_gone = true;
        self.engine_ended(CancelReason::SessionEnded)
    }

    fn engine_ended(&mut self, why: CancelReason) -> Vec<Step> {
        self.waiting.take_back(|_| true, why)
    }

    fn ends(&self) -> SessionEnd {
        self.around.ends
    }

    fn input(&self) -> EngineInput {
        if self.client_gone { EngineInput::Over } else { EngineInput::Open }
    }
}

impl HeldCall {
    /// A notification that the call waits, if the client wants any.
    fn waits(&mut self, message: &str) -> Option<Step> {
        let token = self.message.get("params")?.get("_meta")?.get("progressToken")?.clone();
        self.progress += 1;
        // Progress must rise, and the server's own, which comes later, begins at 0 or 1.
        let progress = f64::from(self.progress) / 1e9 - 1.0;
        let params = json!({"progressToken": token, "progress": progress, "message": message});
        let method = "notifications/progress";
        Some(Step::Tell(json!({"jsonrpc": "2.0", "method": method, "params": params}).to_string()))
    }
}

/// A denial as the tool's own result, so that the model reads the reason.
fn denial(id: &Value, why: &str) -> Step {
    let result = json!({"content": [{"type": "text", "text": why}], "isError": true});
    Step::Tell(result_reply(id, &result).to_string())
}

fn text(message: Map<String, Value>) -> String {
    Value::Object(message).to_string()
}

// What a server says about its tools. Claims: nobody has checked them, and no rule reads them.

/// The most tools that are remembered.
const LONGEST_CLAIM: usize = 2_000;

/// The claims of one server, by tool.
#[derive(Debug, Default)]
pub(super) struct ServerClaims {
    /// The requests for its list that have no reply yet.
    asked: BTreeSet<String>,
    tools: BTreeMap<String, String>,
}

impl ServerClaims {
    /// The client asks for the list in this request.
    pub(super) fn asked(&mut self, id: &Value) {
        if self.asked.len() < LONGEST_CLAIM {
            self.asked.insert(id.to_string());
        }
    }

    /// Reads a line of the server, in case it is the list.
    pub(super) fn line(&mut self, line: &[u8]) {
        if self.asked.is_empty() {
            return;
        }
        let Ok(reply) = serde_json::from_slice::<Value>(line) else { return };
        let listed = reply.get("id").is_some_and(|id| self.asked.remove(&id.to_string()));
        let tools = reply.get("result").and_then(|result| result.get("tools")?.as_array());
        for tool in tools.into_iter().flatten().filter(|_| listed) {
            let name = tool.get("name").and_then(Value::as_str);
            if let (Some(name), true) = (name, self.tools.len() < LONGEST_CLAIM) {
                let claims = claimed(tool);
                self.tools.insert(name.to_owned(), claims);
            }
        }
    }

    /// What the server claims of a tool; `None` for one that it has not listed.
    pub(super) fn of(&self, tool: &str) -> Option<String> {
        self.tools.get(tool).filter(|claims| !claims.is_empty()).cloned()
    }
}

fn claimed(tool: &Value) -> String {
    let annotations = tool.get("annotations");
    let hint = |name: &str| annotations.and_then(|all| all.get(name)?.as_bool());
    let claims = [
        (hint("readOnlyHint") == Some(true), "it only reads"),
        (hint("destructiveHint") == Some(true), "it may destroy"),
        (hint("destructiveHint") == Some(false), "it destroys nothing"),
        (hint("idempotentHint") == Some(true), "doing it twice changes no more than once"),
        (hint("openWorldHint") == Some(true), "it reaches the outside"),
        (hint("openWorldHint") == Some(false), "it reaches nothing outside"),
    ];
    let claims: Vec<&str> = claims.iter().filter(|(holds, _)| *holds).map(|(_, it)| *it).collect();
    if claims.is_empty() {
        String::new()
    } else {
        format!("The server claims, unchecked: {}.", claims.join(", "))
    }
}

// Reads a client's line so that nothing in it can be a tool call for the server and something else
// for us.

/// The method that is decided on.
const CALL: &str = "tools/call";

/// A line of the client.
#[derive(Debug, PartialEq)]
pub(super) enum ClientLine {
    /// Nothing but whitespace.
    Blank,
    /// One message or a batch, without a tool call.
    Other(Vec<Map<String, Value>>),
    /// The request with this id is cancelled.
    Cancel(Value),
    /// Tool calls, and the other messages of their batch.
    Calls {
        /// The calls as they go to the server, each with an id.
        calls: Vec<Map<String, Value>>,
        /// What came with them.
        others: Vec<Map<String, Value>>,
    },
    /// It must not reach the server.
    Refused {
        /// The id to report it under.
        id: Value,
        /// What is wrong with it.
        why: String,
    },
}

/// Reads a line.
// SECURITY: a server may take the first of two equal fields where we take the last, compare names
// without case (Go), keep more digits of a number, end a line at a carriage return (Python, Node),
// or read what is no JSON.
fn read_line(line: &[u8]) -> ClientLine {
    let line = line.strip_suffix(b"\n").unwrap_or(line);
    let line = line.strip_suffix(b"\r").unwrap_or(line);
    if line.trim_ascii().is_empty() {
        return ClientLine::Blank;
    }
    let refused = |why: &str| ClientLine::Refused { id: Value::Null, why: why.to_owned() };
    if line.contains(&b'\r') || line.contains(&b'\n') {
        return refused(
            "it holds a carriage return, which some servers take for the end of a line",
        );
    }
    let head = LineHead::read(line);
    let value = match exact_json::from_slice::<Value>(line) {
        Ok(value) => value,
        Err(error) => {
            return match head {
                LineHead::NotJson => refused("it is not JSON"),
                // Under its id, so that its sender does not wait for ever.
                LineHead::Messages(heads) if heads.len() == 1 => ClientLine::Refused {
                    id: heads.into_iter().next().and_then(|head| head.id).unwrap_or_default(),
                    why: error.to_string(),
                },
                LineHead::Messages(_) | LineHead::Ambiguous => refused(&error.to_string()),
            };
        }
    };
    let messages = match value {
        Value::Object(message) => vec![message],
        Value::Array(batch) => {
            let batch = batch.into_iter().map(|message| match message {
                Value::Object(message) => Some(message),
                _ => None,
            });
            match batch.collect::<Option<Vec<_>>>() {
                Some(batch) if !batch.is_empty() => batch,
                _ => return refused("a batch holds objects"),
            }
        }
        _ => return refused("a message is a JSON object"),
    };
    if head == LineHead::Ambiguous {
        return refused("a field of JSON-RPC comes twice, or differs in case only");
    }
    sorted(messages)
}

fn sorted(messages: Vec<Map<String, Value>>) -> ClientLine {
    let method = |message: &Map<String, Value>| {
        message.get("method").and_then(Value::as_str).map(str::to_owned)
    };
    if let [message] = messages.as_slice()
        && method(message).as_deref() == Some("notifications/cancelled")
        && let Some(request) = message.get("params").and_then(|params| params.get("requestId"))
    {
        return ClientLine::Cancel(request.clone());
    }
    let (calls, others): (Vec<_>, Vec<_>) =
        messages.into_iter().partition(|message| method(message).as_deref() == Some(CALL));
    if calls.is_empty() {
        return ClientLine::Other(others);
    }
    let read: Result<Vec<_>, _> = calls.into_iter().map(shown).collect();
    match read {
        Ok(calls) => ClientLine::Calls { calls, others },
        Err((id, why)) => ClientLine::Refused { id, why },
    }
}

/// A tool call, made again of what a card shows, its id and the token of its progress.
///
/// # Errors
/// The id to report it under, and what is wrong with it.
// SECURITY: nobody decides on anything else in it. What may change the call is refused; what is
// said beside it (`_meta`, which clients fill by themselves) is left out.
fn shown(mut call: Map<String, Value>) -> Result<Map<String, Value>, (Value, String)> {
    let id = call.remove("id").unwrap_or_default();
    if !(id.is_string() || id.is_number()) {
        return Err((Value::Null, "a tool call needs an id, a text or a number".to_owned()));
    }
    let Some(Value::Object(mut params)) = call.remove("params") else {
        return Err((id, "`params` is not an object".to_owned()));
    };
    let mut sent = Map::new();
    for name in ["name", "arguments"] {
        sent.extend(params.remove(name).map(|value| (name.to_owned(), value)));
    }
    let token = params.remove("_meta").and_then(|mut meta| {
        let token = meta.get_mut("progressToken").map(Value::take)?;
        let is_token = token.is_i64() || token.is_u64() || token.as_str().is_some_and(is_short);
        is_token.then_some(token)
    });
    sent.extend(token.map(|token| ("_meta".to_owned(), json!({ "progressToken": token }))));
    for known in ["jsonrpc", "method"] {
        call.remove(known);
    }
    match params.keys().chain(call.keys()).next() {
        Some(other) => {
            let why = format!(
                "`{}` of a tool call is shown to nobody; only `name` and `arguments` are decided on",
                other
            );
            Err((id, why))
        }
        None => {
            let call = json!({"jsonrpc": "2.0", "id": id, "method": CALL, "params": sent});
            Ok(call.as_object().cloned().unwrap_or_default())
        }
    }
}

fn is_short(token: &str) -> bool {
    token.len() <= 200
}

#[cfg(test)]
mod tests {
    #![allow(
        clippy::unwrap_used,
        clippy::indexing_slicing,
        clippy::panic,
        reason = "tests fail by panicking"
    )]
    use super::*;

    fn proxy() -> ProxySession {
        ProxySession::new(ProxyAround {
            server: "files".into(),
            agent: None,
            origin: CallOrigin {
                session: "s1".into(),
                host: Some("laptop".into()),
                cwd: Some("/shop".into()),
                run: "run".into(),
            },
            ends: SessionEnd::WithProgram,
        })
    }

    fn call(id: u64) -> Value {
        json!({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": {"name": "write",
        "arguments": {"path": "/x", "text": "hi"}, "_meta": {"progressToken": "p"}}})
    }

    fn line(value: &Value) -> Vec<u8> {
        format!("{value}\n").into_bytes()
    }

    fn held(proxy: &mut ProxySession, message: &Value) -> (String, Call) {
        let (forward, steps) = proxy.host_line(&line(message));
        match (forward, <[Step; 1]>::try_from(steps)) {
            (Forward::Stays, Ok([Step::Submit { key, call }])) => (key, *call),
            other => panic!("{other:?}"),
        }
    }

    fn ruled(decision: Decision) -> Decided {
        let ending = Ending::Ruled(Some("rules:3".into()));
        Decided { decision, reason: "a rule says so".into(), message: None, ask: None, ending }
    }

    fn told(steps: &[Step]) -> Value {
        match steps {
            [Step::Tell(line)] => serde_json::from_str(line).unwrap(),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn a_tool_call_is_submitted_under_the_servers_name_with_its_claims_as_claims() {
        let mut proxy = proxy();
        let hello = json!({"jsonrpc": "2.0", "id": 0, "method": "initialize",
        "params": {"clientInfo": {"name": "editor"}}});
        let list = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/list"});
        for message in [hello, list] {
            assert_eq!(proxy.host_line(&line(&message)), (Forward::On, Vec::new()));
        }
        let tools = json!({"jsonrpc": "2.0", "id": 1, "result": {"tools": [{"name": "write",
        "annotations": {"readOnlyHint": true, "openWorldHint": false}}]}});
        assert_eq!(proxy.engine_line(&line(&tools)), (Forward::On, Vec::new()));
        let (_, call) = held(&mut proxy, &call(2));
        let expected = json!({
            "key": "run-1", "agent": "editor", "session": "s1", "host": "laptop", "cwd": "/shop",
            "tool": "mcp__files__write", "args": {"path": "/x", "text": "hi"},
            "description": "The server claims, unchecked: it only reads, it reaches nothing outside.",
            "accepts": ["updated_input"],
        });
        assert_eq!(serde_json::to_value(call).unwrap(), expected);
    }

    #[test]
    fn an_approved_call_reaches_the_server_and_a_denied_one_is_a_result_with_the_reason() {
        let mut proxy = proxy();
        let (key, _) = held(&mut proxy, &call(2));
        let approved = proxy.decided(&key, Ok(&ruled(Decision::Approve)));
        assert_eq!(approved, [Step::Send(call(2).to_string())]);
        assert_eq!(proxy.decided(&key, Ok(&ruled(Decision::Approve))), [], "once");
        let (key, _) = held(&mut proxy, &call(3));
        let denied = told(&proxy.decided(&key, Ok(&ruled(Decision::Deny))));
        let why = "Denied by policy: a rule says so (rules:3)";
        let result = json!({"content": [{"type": "text", "text": why}], "isError": true});
        assert_eq!(denied, json!({"jsonrpc": "2.0", "id": 3, "result": result}));
        let (key, _) = held(&mut proxy, &call(6));
        let cancelled = Decided { ending: Ending::Cancelled, ..ruled(Decision::Approve) };
        assert_eq!(told(&proxy.decided(&key, Ok(&cancelled)))["result"]["isError"], true);
        let (key, _) = held(&mut proxy, &call(4));
        let away = told(&proxy.decided(&key, Err("no countersign daemon".into())));
        assert_eq!(away["result"]["isError"], true);
        for undecided in [Decision::Answer, Decision::Edit] {
            let (key, _) = held(&mut proxy, &call(5));
            let denied = told(&proxy.decided(&key, Ok(&ruled(undecided))));
            assert_eq!(denied["result"]["isError"], true, "{undecided:?}");
        }
    }

    #[test]
    fn what_is_no_tool_call_passes_unchanged() {
        for passes in [
            r#"{"jsonrpc":"2.0",  "id":1,"method":"resources/read","params":{"uri":"tools/call"}}"#,
            r#"{"jsonrpc":"2.0","id":"s1","result":{"action":"accept","content":{}}}"#,
            r#"[{"jsonrpc":"2.0","id":1,"method":"ping"},{"jsonrpc":"2.0","method":"x"}]"#,
            r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":9}}"#,
            " ",
        ] {
            let passed = proxy().host_line(format!("{passes}\r\n").as_bytes());
            assert_eq!(passed, (Forward::On, Vec::new()), "{passes}");
        }
        for line in [&b"\xff\xfe"[..], b"{not json", b"{}"] {
            assert_eq!(proxy().engine_line(line), (Forward::On, Vec::new()), "from the server");
        }
    }

    #[test]
    fn what_the_server_might_read_as_a_tool_call_and_we_do_not_is_refused() {
        let inner = r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"x"}}"#;
        for hostile in [
            format!("{{\"a\":\r{inner}\r}}"),
            format!("{inner},"),
            format!("\u{feff}{inner}"),
            format!("{inner}{inner}"),
            inner.replace("\"id\":1,", "\"id\":1,\"method\":\"ping\","),
            inner.replace("}}", "},\"method\":\"ping\"}"),
            inner.replace("}}", "},\"params\":{\"name\":\"y\"}}"),
            inner.replace("method", "Method"),
            inner.replace("params", "param\u{17f}"),
            inner.replace("name", "NAME"),
            inner.replace("\"id\":1,", ""),
            inner.replace("\"id\":1", "\"id\":null"),
            inner.replace("{\"name\":\"x\"}", "[]"),
            format!("[{}]", inner.replace("\"id\":1,", "\"id\":1,\"method\":\"ping\",")),
            format!("[[{inner}]]"),
            "[]".to_owned(),
            "5".to_owned(),
        ] {
            let (forward, steps) = proxy().host_line(hostile.as_bytes());
            assert_eq!(forward, Forward::Stays, "{hostile:?}");
            assert_eq!(told(&steps)["error"]["code"], -32600, "{hostile:?}");
        }
        let (forward, _) = proxy().host_line(b"{\"method\":\"tools/\xffcall\",\"id\":1}");
        assert_eq!(forward, Forward::Stays, "no UTF-8");
        let escaped = inner.replace("tools/call", "tools\\u002fcall");
        let (_, steps) = proxy().host_line(escaped.as_bytes());
        assert!(matches!(steps.as_slice(), [Step::Submit { .. }]), "{steps:?}");
    }

    fn refused(message: &str) -> (Value, String) {
        let (forward, steps) = proxy().host_line(message.as_bytes());
        assert_eq!(forward, Forward::Stays, "{message}");
        let reply = told(&steps);
        (reply["id"].clone(), reply["error"]["message"].as_str().unwrap().to_owned())
    }

    #[test]
    fn a_call_whose_values_another_reader_may_see_otherwise_is_refused_under_its_id() {
        let with = |args: &str| {
            format!(
                r#"{{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{{"name":"x","arguments":{args}}}}}"#
            )
        };
        let (id, why) = refused(&with(r#"{"path":"/etc/passwd","path":"/tmp/x"}"#));
        let twice = "countersign did not pass this on: the name \"path\" comes twice";
        assert!(id == 7 && why.starts_with(twice), "{why}");
        let (id, why) = refused(&with("{\"amount\": 18446744073709551616}"));
        let digits = "countersign did not pass this on: the number 18446744073709551616 has more \
                  digits than are kept; send it as a text";
        assert_eq!((id, why), (json!(7), digits.to_owned()));
    }

    #[test]
    fn what_no_card_shows_is_refused_and_what_clients_say_beside_a_call_is_left_out() {
        let shown = "countersign did not pass this on: `NAME` of a tool call is shown to nobody; only \
                 `name` and `arguments` are decided on";
        for (place, name) in [
            ("/params", "task"),
            ("/params", "as"),
            ("/params", "Arguments"),
            ("", "meta"),
            ("", "PARAMS "),
        ] {
            let mut message = call(7);
            let fields = message.pointer_mut(place).unwrap().as_object_mut().unwrap();
            fields.insert(name.to_owned(), json!({"ttl": 60_000}));
            let (id, why) = refused(&message.to_string());
            assert_eq!((id, why), (json!(7), shown.replace("NAME", name)));
        }
        let tokens =
            [json!("p"), json!(3), json!("x".repeat(201)), json!({"cmd": "rm"}), json!(0.5)];
        for (token, passes) in tokens.into_iter().zip([true, true, false, false, false]) {
            let mut proxy = proxy();
            let mut message = call(7);
            message["params"]["_meta"] =
                json!({"claudecode/toolUseId": "t", "progressToken": token});
            let (key, _) = held(&mut proxy, &message);
            let sent = proxy.decided(&key, Ok(&ruled(Decision::Approve)));
            if passes {
                message["params"]["_meta"] = json!({"progressToken": token})
            } else {
                drop(message["params"].as_object_mut().unwrap().remove("_meta"))
            }
            assert_eq!(sent, [Step::Send(message.to_string())]);
        }
    }

    #[test]
    fn the_calls_of_a_batch_are_decided_one_by_one_and_its_other_messages_go_on() {
        let mut proxy = proxy();
        let ping = json!({"jsonrpc": "2.0", "id": 1, "method": "ping"});
        let batch = json!([call(2), ping, call(3)]);
        let (forward, steps) = proxy.host_line(&line(&batch));
        let [Step::Send(sent), Step::Submit { key: first, .. }, Step::Submit { key: second, .. }] =
            steps.as_slice()
        else {
            panic!("{steps:?}");
        };
        assert_eq!((forward, sent), (Forward::Stays, &ping.to_string()));
        assert_ne!(first, second);
    }

    #[test]
    fn a_call_that_is_cancelled_is_taken_back_and_the_server_hears_nothing_of_it() {
        let mut proxy = proxy();
        let (key, _) = held(&mut proxy, &call(2));
        let cancel = json!({"jsonrpc": "2.0", "method": "notifications/cancelled",
        "params": {"requestId": 2}});
        let why = CancelReason::Aborted;
        let taken = (Forward::Stays, vec![Step::Cancel { key: key.clone(), why }]);
        assert_eq!(proxy.host_line(&line(&cancel)), taken);
        assert_eq!(proxy.decided(&key, Ok(&ruled(Decision::Approve))), []);
        held(&mut proxy, &call(3));
        assert!(matches!(proxy.host_ended().as_slice(), [Step::Cancel { .. }]));
        assert_eq!(proxy.input(), EngineInput::Over);
    }

    #[test]
    fn progress_rises_and_stays_below_what_the_server_sends_later() {
        let mut proxy = proxy();
        let (key, _) = held(&mut proxy, &call(2));
        let first = told(&proxy.opened(&key, "abc"));
        assert_eq!(first["params"]["message"], "A person is asked; the ask is abc.");
        let values =
            [first, told(&proxy.tick())].map(|it| it["params"]["progress"].as_f64().unwrap());
        assert!(values[0] < values[1] && values[1] < 0.0, "{values:?}");
        let mut silent = call(3);
        silent["params"].as_object_mut().unwrap().remove("_meta");
        let _ = proxy.decided(&key, Err("x".into()));
        held(&mut proxy, &silent);
        assert_eq!(proxy.tick(), []);
    }
}
