//! The daemon's `/mcp`, as an MCP client over HTTP uses it.

use crate::{
    daemon::{AGENT, Daemon, LONG},
    process::run,
};
use reqwest::{Method, RequestBuilder, Response, StatusCode};
use serde_json::{Value, json};
use tokio::time::timeout;

/// A session of a client.
struct McpSession<'d> {
    daemon: &'d Daemon,
    id: String,
}

impl<'d> McpSession<'d> {
    async fn begin(daemon: &'d Daemon) -> Self {
        let params = json!({"protocolVersion": "2025-11-25", "capabilities": {},
            "clientInfo": {"name": "test-client", "version": "1"}});
        let request = json!({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": params});
        let reply = request_of(daemon, Method::POST).json(&request).send().await.unwrap();
        let id = reply.headers()["mcp-session-id"].to_str().unwrap().to_owned();
        let reply: Value = reply.json().await.unwrap();
        assert_eq!(reply["result"]["protocolVersion"], "2025-11-25");
        Self { daemon, id }
    }

    fn request(&self, message: &Value) -> RequestBuilder {
        let request = request_of(self.daemon, Method::POST).header("mcp-session-id", &self.id);
        request.header("mcp-protocol-version", "2025-11-25").json(message)
    }

    async fn send(&self, message: &Value) -> Response {
        self.request(message).send().await.unwrap()
    }

    /// Calls a tool; returns the stream, once it tells the ask, and the ask's id.
    async fn asks(&self, id: u64, tool: &str, arguments: &Value) -> (Events, String) {
        let mut events =
            Events { reply: self.send(&call(id, tool, arguments)).await, read: String::new() };
        let progress = events.next().await.unwrap();
        let said = progress["params"]["message"].as_str().unwrap();
        let ask = said.strip_prefix("A person is asked; the ask is ").unwrap();
        (events, ask.trim_end_matches('.').to_owned())
    }
}

/// A stream of server-sent events.
struct Events {
    reply: Response,
    read: String,
}

impl Events {
    /// The next message; `None` at the end.
    async fn next(&mut self) -> Option<Value> {
        loop {
            if let Some((event, rest)) = self.read.split_once("\n\n") {
                let data = event.lines().find_map(|line| line.strip_prefix("data: "));
                let message = data.map(|data| serde_json::from_str(data).unwrap());
                self.read = rest.to_owned();
                // Without data it only keeps the connection.
                if message.is_some() {
                    return message;
                }
                continue;
            }
            let chunk = timeout(LONG, self.reply.chunk()).await.unwrap().unwrap()?;
            self.read.push_str(std::str::from_utf8(&chunk).unwrap());
        }
    }

    /// What `approve` replied, behind notifications of progress.
    async fn decision(&mut self) -> Value {
        loop {
            let message = self.next().await.unwrap();
            if message["method"] != "notifications/progress" {
                let text = message["result"]["content"][0]["text"].as_str().unwrap().to_owned();
                assert_eq!(self.next().await, None, "the reply ends the stream");
                return serde_json::from_str(&text).unwrap();
            }
        }
    }
}

fn request_of(daemon: &Daemon, method: Method) -> RequestBuilder {
    let request = daemon.http.request(method, format!("{}/mcp", daemon.url)).bearer_auth(AGENT);
    request.header("accept", "application/json, text/event-stream")
}

fn call(id: u64, tool: &str, arguments: &Value) -> Value {
    json!({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params":
        {"name": tool, "arguments": arguments, "_meta": {"progressToken": id}}})
}

fn bash(command: &str) -> Value {
    json!({"tool_name": "Bash", "input": {"command": command}})
}

#[tokio::test]
async fn a_tool_call_is_answered_by_a_stream_that_ends_with_the_decision() {
    let daemon = Daemon::start("").await;
    let session = McpSession::begin(&daemon).await;
    let (mut events, ask) = session.asks(1, "approve", &bash("make a")).await;
    let asked = daemon.read(&ask).await["call"].clone();
    assert_eq!((&asked["agent"], &asked["tool"]), (&json!("test-client"), &json!("Bash")));
    assert!(!asked.to_string().contains(&session.id), "the id is a secret: {asked}");
    run(&daemon, &["approve", &ask]).await;
    let allow = json!({"behavior": "allow", "updatedInput": {"command": "make a"}});
    assert_eq!(events.decision().await, allow);
    let (mut events, ask) = session.asks(2, "approve", &bash("make b")).await;
    run(&daemon, &["deny", &ask, "--reason", "not today"]).await;
    let deny = json!({"behavior": "deny", "message": "Denied by the approver's token: not today"});
    assert_eq!(events.decision().await, deny);
}

#[tokio::test]
async fn a_question_is_answered_as_json_for_a_client_that_takes_no_stream() {
    let daemon = Daemon::start("").await;
    let session = McpSession::begin(&daemon).await;
    let request = session.request(&call(1, "ask_human", &json!({"question": "Which name?"})));
    let mut request = request.build().unwrap();
    request.headers_mut().insert("accept", "application/json".parse().unwrap());
    let waiting = tokio::spawn(daemon.http.execute(request));
    let open = daemon.until("/v1/asks", |asks| asks["asks"][0]["id"].is_string()).await;
    run(&daemon, &["answer", open["asks"][0]["id"].as_str().unwrap(), "countersign"]).await;
    let reply: Value = waiting.await.unwrap().unwrap().json().await.unwrap();
    assert_eq!(reply["result"]["content"][0]["text"], "countersign");
}

#[tokio::test]
async fn what_needs_no_person_is_answered_at_once() {
    let config = "[policy]\nrules = \"rules.jsonc\"\n";
    let rules = r#"{"shell_exec": {"cargo *": "allow", "git push *": "deny"}}"#;
    let daemon = Daemon::start_with(config, &[("rules.jsonc", rules)]).await;
    let session = McpSession::begin(&daemon).await;
    for (command, behavior) in [("cargo test", "allow"), ("git push origin", "deny")] {
        let reply = session.send(&call(1, "approve", &bash(command))).await;
        let reply: Value = reply.json().await.unwrap();
        let text = reply["result"]["content"][0]["text"].as_str().unwrap();
        let decision: Value = serde_json::from_str(text).unwrap();
        assert_eq!(decision["behavior"], behavior, "{decision}");
    }
    let list = json!({"jsonrpc": "2.0", "id": 2, "method": "tools/list"});
    let list: Value = session.send(&list).await.json().await.unwrap();
    assert_eq!(list["result"]["tools"].as_array().unwrap().len(), 2);
    let told = json!({"jsonrpc": "2.0", "method": "notifications/initialized"});
    assert_eq!(session.send(&told).await.status(), StatusCode::ACCEPTED);
}

#[tokio::test]
async fn a_call_is_taken_back_by_a_notification_and_by_a_client_that_disconnects() {
    let daemon = Daemon::start("").await;
    let session = McpSession::begin(&daemon).await;
    let (mut events, ask) = session.asks(7, "approve", &bash("make a")).await;
    let cancel = |id: u64| json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": id}});
    let stranger = McpSession::begin(&daemon).await;
    stranger.send(&cancel(7)).await;
    session.send(&cancel(8)).await;
    assert_eq!(daemon.read(&ask).await["state"], "open", "neither names this call");
    session.send(&cancel(7)).await;
    daemon.ask_reaches(&ask, "cancelled").await;
    assert_eq!(events.decision().await["behavior"], "deny");
    let (events, ask) = session.asks(9, "approve", &bash("make b")).await;
    drop(events);
    daemon.ask_reaches(&ask, "cancelled").await;
}

#[tokio::test]
async fn a_grant_for_a_session_covers_calls_that_name_its_id_until_it_ends() {
    let daemon = Daemon::start("").await;
    let session = McpSession::begin(&daemon).await;
    let (mut events, ask) = session.asks(1, "approve", &bash("make a")).await;
    run(&daemon, &["approve", &ask, "--scope", "session"]).await;
    assert_eq!(events.decision().await["behavior"], "allow");
    let again: Value =
        session.send(&call(2, "approve", &bash("make a"))).await.json().await.unwrap();
    let text = again["result"]["content"][0]["text"].as_str().unwrap();
    assert!(text.contains("\"allow\""), "{again}");
    let other = McpSession::begin(&daemon).await;
    other.asks(1, "approve", &bash("make a")).await;
    let end = request_of(&daemon, Method::DELETE).header("mcp-session-id", &session.id);
    assert_eq!(end.send().await.unwrap().status(), StatusCode::NO_CONTENT);
    session.asks(3, "approve", &bash("make a")).await;
}

#[tokio::test]
async fn strangers_pages_and_odd_requests_are_refused() {
    let daemon = Daemon::start("").await;
    let session = McpSession::begin(&daemon).await;
    let ping = json!({"jsonrpc": "2.0", "id": 1, "method": "ping"});
    let status = |request: RequestBuilder| async { request.send().await.unwrap().status() };
    let unknown = daemon.http.post(format!("{}/mcp", daemon.url)).json(&ping);
    assert_eq!(status(unknown).await, StatusCode::UNAUTHORIZED);
    let page = session.request(&ping).header("origin", &daemon.url);
    assert_eq!(status(page).await, StatusCode::FORBIDDEN);
    let get = request_of(&daemon, Method::GET);
    assert_eq!(status(get).await, StatusCode::METHOD_NOT_ALLOWED);
    let nameless = request_of(&daemon, Method::POST).json(&ping);
    assert_eq!(status(nameless).await, StatusCode::BAD_REQUEST);
    let other = request_of(&daemon, Method::POST).header("mcp-session-id", "other").json(&ping);
    assert_eq!(status(other).await, StatusCode::NOT_FOUND);
    let future = request_of(&daemon, Method::POST).header("mcp-protocol-version", "2026-07-28");
    assert_eq!(status(future.json(&ping)).await, StatusCode::BAD_REQUEST);
    for body in [json!([ping, ping]), json!([]), json!(5)] {
        let reply = session.send(&body).await;
        assert_eq!(reply.status(), StatusCode::BAD_REQUEST);
        let reply: Value = reply.json().await.unwrap();
        assert_eq!(reply["error"]["code"], -32600, "{body}");
    }
    assert_eq!(session.send(&ping).await.status(), StatusCode::OK);
}

#[tokio::test]
async fn odd_ids_names_twice_and_large_bodies_open_no_ask() {
    let daemon = Daemon::start("").await;
    let session = McpSession::begin(&daemon).await;
    for id in [Value::Null, json!(true), json!([1]), json!({"a": 1})] {
        let mut odd = call(1, "approve", &bash("make a"));
        odd["id"] = id;
        let reply = session.send(&odd).await;
        assert_eq!(reply.status(), StatusCode::BAD_REQUEST, "{odd}");
        let reply: Value = reply.json().await.unwrap();
        assert_eq!((&reply["id"], &reply["error"]["code"]), (&Value::Null, &json!(-32600)));
    }
    // A notification asks nobody, whatever it is called.
    let mut nameless = call(1, "approve", &bash("make a"));
    nameless.as_object_mut().unwrap().remove("id");
    assert_eq!(session.send(&nameless).await.status(), StatusCode::ACCEPTED);
    let large = call(1, "approve", &bash(&"x".repeat(2 << 20)));
    assert_eq!(session.send(&large).await.status(), StatusCode::PAYLOAD_TOO_LARGE);
    let deep = format!("{}{}", "[".repeat(500), "]".repeat(500));
    let reply = session.request(&json!({})).body(deep).send().await.unwrap();
    assert_eq!(reply.status(), StatusCode::BAD_REQUEST);
    // Two readers may take different ones of a name that is there twice.
    let twice = r#"{"jsonrpc":"2.0","id":1,"method":"ping","method":"tools/call","params":{
        "name":"approve","arguments":{"tool_name":"Bash",
        "input":{"command":"ls","command":"make twice"}},"_meta":{"progressToken":1}}}"#;
    let reply = session.request(&json!({})).body(twice).send().await.unwrap();
    assert_eq!(reply.status(), StatusCode::BAD_REQUEST);
    assert_eq!(daemon.open().await, Vec::<Value>::new());
}

#[tokio::test]
async fn no_page_and_no_other_session_reaches_a_call_that_waits() {
    let daemon = Daemon::start("").await;
    let session = McpSession::begin(&daemon).await;
    let (mut events, ask) = session.asks(7, "approve", &bash("make a")).await;
    // A page whose name was rebound to this address sends its own name, and no token.
    let ping = json!({"jsonrpc": "2.0", "id": 1, "method": "ping"});
    for origin in ["null", "http://evil.example", "http://localhost"] {
        let page = session.request(&ping).header("origin", origin).send().await.unwrap();
        assert_eq!(page.status(), StatusCode::FORBIDDEN, "{origin}");
    }
    let rebound = daemon.http.post(format!("{}/mcp", daemon.url)).header("host", "evil.example");
    let rebound = rebound.header("mcp-session-id", &session.id).json(&ping).send().await.unwrap();
    assert_eq!(rebound.status(), StatusCode::UNAUTHORIZED);
    let cancel = |id: Value| json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": id}});
    // The name of the session is on its card; its id is not, and a made-up one is another's.
    let (secret, name) = session.id.split_once('.').unwrap();
    let mut turned: String = secret.chars().rev().collect();
    turned.push('x');
    for id in [format!("{turned}.{name}"), format!("{secret}x.{name}"), format!("{secret}.YQ")] {
        let other = McpSession { daemon: &daemon, id };
        other.send(&cancel(json!(7))).await;
        let end = request_of(&daemon, Method::DELETE).header("mcp-session-id", &other.id);
        end.send().await.unwrap();
    }
    for id in [json!("7"), json!(7.5), Value::Null, json!([7])] {
        session.send(&cancel(id)).await;
    }
    assert_eq!(daemon.read(&ask).await["state"], "open", "none of them names this call");
    // Another agent's token does not speak for it, though it knows the id.
    let added = run(&daemon, &["token", "add", "other", "--json"]).await;
    let token: Value = serde_json::from_str(&added.stdout).unwrap();
    let thief = daemon.http.post(format!("{}/mcp", daemon.url));
    let thief = thief.bearer_auth(token["token"].as_str().unwrap());
    let thief = thief.header("mcp-session-id", &session.id).json(&cancel(json!(7)));
    thief.send().await.unwrap();
    assert_eq!(daemon.read(&ask).await["state"], "open", "its id was stolen");
    run(&daemon, &["approve", &ask]).await;
    assert_eq!(events.decision().await["behavior"], "allow");
}

#[tokio::test]
async fn a_daemon_that_is_killed_answers_nothing_and_a_new_one_knows_the_session() {
    let mut daemon = Daemon::start("").await;
    let id = {
        let session = McpSession::begin(&daemon).await;
        session.id
    };
    let mut events = {
        let session = McpSession { daemon: &daemon, id: id.clone() };
        session.asks(1, "approve", &bash("make a")).await.0
    };
    daemon.kill().await;
    let lost = timeout(LONG, events.reply.chunk()).await.unwrap();
    assert!(lost.is_err() || lost.unwrap().is_none(), "no decision is an approval");
    daemon.run().await;
    let session = McpSession { daemon: &daemon, id };
    session.asks(2, "approve", &bash("make b")).await;
}

#[tokio::test]
async fn a_daemon_that_stops_denies_what_waits() {
    let mut daemon = Daemon::start("").await;
    let mut events = {
        let session = McpSession::begin(&daemon).await;
        session.asks(1, "approve", &bash("make a")).await.0
    };
    daemon.stop().await;
    let deny = json!({"behavior": "deny",
        "message": "countersign could not decide: the daemon stops; call the tool again"});
    assert_eq!(events.decision().await, deny);
}
