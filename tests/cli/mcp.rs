//! `countersign mcp`, as an MCP client drives it.

use crate::{
    daemon::Daemon,
    process::{Process, run, start},
};
use serde_json::{Value, json};

/// A client of the server.
struct McpClient {
    process: Process,
    id: u64,
}

impl McpClient {
    async fn start(daemon: &Daemon) -> Self {
        Self::start_as(daemon, "test-client").await
    }

    async fn start_as(daemon: &Daemon, name: &str) -> Self {
        let mut client = Self { process: start(daemon, &["mcp"]), id: 0 };
        let params = json!({"protocolVersion": "2025-06-18", "capabilities": {},
            "clientInfo": {"name": name, "version": "1"}});
        client.request("initialize", &params).await;
        let ready = client.next().await;
        assert_eq!(ready["result"]["protocolVersion"], "2025-06-18");
        client.tell(&json!({"jsonrpc": "2.0", "method": "notifications/initialized"})).await;
        client
    }

    async fn tell(&mut self, message: &Value) {
        self.process.tell(&message.to_string()).await;
    }

    /// Sends a request; returns its id.
    async fn request(&mut self, method: &str, params: &Value) -> u64 {
        self.id += 1;
        let id = self.id;
        self.tell(&json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params})).await;
        id
    }

    async fn next(&mut self) -> Value {
        serde_json::from_str(&self.process.line().await).unwrap()
    }

    /// Calls a tool; returns the request's id, and the ask's, which its progress tells.
    async fn asks(&mut self, tool: &str, arguments: &Value) -> (u64, String) {
        let token = format!("p{}", self.id + 1);
        let params =
            json!({"name": tool, "arguments": arguments, "_meta": {"progressToken": token}});
        let id = self.request("tools/call", &params).await;
        loop {
            let message = self.next().await;
            assert_eq!(message["method"], "notifications/progress", "{message}");
            assert_eq!(message["params"]["progressToken"], token.as_str());
            let said = message["params"]["message"].as_str().unwrap();
            if let Some(ask) = said.strip_prefix("A person is asked; the ask is ") {
                return (id, ask.trim_end_matches('.').to_owned());
            }
        }
    }

    /// The reply to a request, behind notifications of progress.
    async fn reply(&mut self, id: u64) -> Value {
        loop {
            let message = self.next().await;
            if message["method"] != "notifications/progress" {
                assert_eq!(message["id"], id, "{message}");
                return message;
            }
        }
    }

    /// The text of a tool's result, and whether it is an error.
    async fn text(&mut self, id: u64) -> (String, bool) {
        let reply = self.reply(id).await;
        let result = &reply["result"];
        let text = result["content"][0]["text"].as_str().unwrap_or_else(|| panic!("{reply}"));
        (text.to_owned(), result["isError"].as_bool().unwrap())
    }

    /// What `approve` replied.
    async fn decision(&mut self, id: u64) -> Value {
        let (text, is_error) = self.text(id).await;
        assert!(!is_error, "{text}");
        serde_json::from_str(&text).unwrap()
    }
}

fn bash(command: &str) -> Value {
    json!({"tool_name": "Bash", "input": {"command": command}, "tool_use_id": "toolu_1"})
}

#[tokio::test]
async fn a_permission_prompt_is_approved_or_denied_with_the_reason() {
    let daemon = Daemon::start("").await;
    let mut client = McpClient::start_as(&daemon, "claude-code").await;
    let (id, ask) = client.asks("approve", &bash("terraform apply")).await;
    let call = daemon.read(&ask).await["call"].clone();
    assert_eq!(
        (&call["agent"], &call["tool"], &call["args"]),
        (&json!("claude-code"), &json!("Bash"), &json!({"command": "terraform apply"}))
    );
    run(&daemon, &["approve", &ask]).await;
    let allow = json!({"behavior": "allow", "updatedInput": {"command": "terraform apply"}});
    assert_eq!(client.decision(id).await, allow);
    let (id, ask) = client.asks("approve", &bash("terraform destroy")).await;
    run(&daemon, &["deny", &ask, "--reason", "not today", "--stop"]).await;
    let deny = json!({"behavior": "deny", "interrupt": true,
        "message": "Denied by the approver's token: not today"});
    assert_eq!(client.decision(id).await, deny);
}

#[tokio::test]
async fn rules_decide_without_a_person() {
    let rules = r#"{"shell_exec": {"cargo *": "allow", "git push *": "deny"}}"#;
    let config = "[policy]\nrules = \"rules.jsonc\"\n";
    let daemon = Daemon::start_with(config, &[("rules.jsonc", rules)]).await;
    let mut client = McpClient::start(&daemon).await;
    let params = json!({"name": "approve", "arguments": bash("cargo test")});
    let id = client.request("tools/call", &params).await;
    assert_eq!(client.decision(id).await["behavior"], "allow");
    let params = json!({"name": "approve", "arguments": bash("git push origin main")});
    let id = client.request("tools/call", &params).await;
    let denied = client.decision(id).await;
    assert_eq!(denied["behavior"], "deny");
    assert!(denied["message"].as_str().unwrap().starts_with("Denied by policy: "), "{denied}");
}

#[tokio::test]
async fn a_call_that_a_person_edits_is_allowed_as_they_wrote_it() {
    let daemon = Daemon::start("").await;
    let mut client = McpClient::start(&daemon).await;
    let (id, ask) = client.asks("approve", &bash("make deploy")).await;
    let edit = json!({"decision": "edit", "edit": "make check"});
    let (_, proposed) = daemon.answer(&ask, &edit).await;
    let approve = json!({"decision": "edit", "digest": proposed["edit"]["digest"]});
    daemon.answer(&ask, &approve).await;
    let allow = json!({"behavior": "allow", "updatedInput": {"command": "make check"}});
    assert_eq!(client.decision(id).await, allow);
}

#[tokio::test]
async fn a_person_answers_the_models_questions() {
    let daemon = Daemon::start("").await;
    let mut client = McpClient::start(&daemon).await;
    let question = json!({"question": "Which checks?", "options": ["Lint", "Docs", "Tests"],
        "multiple": true});
    let (id, ask) = client.asks("ask_human", &question).await;
    daemon
        .answer(
            &ask,
            &json!({"decision": "answer",
        "answers": {"Which checks?": ["Lint", "Docs"]}}),
        )
        .await;
    assert_eq!(client.text(id).await, ("Lint\nDocs".into(), false));
    let (id, ask) = client.asks("ask_human", &json!({"question": "Which name?"})).await;
    run(&daemon, &["answer", &ask, "countersign"]).await;
    assert_eq!(client.text(id).await, ("countersign".into(), false));
    let (id, ask) = client.asks("ask_human", &json!({"question": "Now?"})).await;
    run(&daemon, &["deny", &ask, "--reason", "decide yourself"]).await;
    let said = "Denied by the approver's token: decide yourself.";
    assert_eq!(client.text(id).await, (said.into(), true));
}

#[tokio::test]
async fn several_calls_wait_at_once_and_are_answered_in_any_order() {
    let daemon = Daemon::start("").await;
    let mut client = McpClient::start(&daemon).await;
    let (first, first_ask) = client.asks("approve", &bash("make a")).await;
    let (second, second_ask) = client.asks("approve", &bash("make b")).await;
    run(&daemon, &["approve", &second_ask]).await;
    assert_eq!(client.decision(second).await["updatedInput"]["command"], "make b");
    client.request("ping", &json!({})).await;
    assert_eq!(client.next().await["result"], json!({}));
    run(&daemon, &["deny", &first_ask]).await;
    assert_eq!(client.decision(first).await["behavior"], "deny");
}

#[tokio::test]
async fn a_call_that_the_client_cancels_is_taken_back_and_gets_no_reply() {
    let daemon = Daemon::start("").await;
    let mut client = McpClient::start(&daemon).await;
    let (id, ask) = client.asks("approve", &bash("make a")).await;
    let params = json!({"requestId": id, "reason": "the user pressed Esc"});
    client
        .tell(&json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": params}))
        .await;
    daemon.ask_reaches(&ask, "cancelled").await;
    client.request("ping", &json!({})).await;
    assert_eq!(client.next().await["result"], json!({}), "no reply comes first");
}

#[tokio::test]
async fn the_asks_of_a_client_that_goes_are_taken_back() {
    let daemon = Daemon::start("").await;
    let mut client = McpClient::start(&daemon).await;
    let (_, ask) = client.asks("approve", &bash("make a")).await;
    let ended = client.process.ends().await;
    assert_eq!(ended.code, Some(0), "{ended:?}");
    assert_eq!(daemon.read(&ask).await["state"], "cancelled");
    let mut client = McpClient::start(&daemon).await;
    let (_, ask) = client.asks("ask_human", &json!({"question": "Now?"})).await;
    client.process.signal("TERM");
    daemon.ask_reaches(&ask, "cancelled").await;
    assert_eq!(client.process.ends().await.code, Some(130));
}

#[tokio::test]
async fn without_a_daemon_everything_is_denied_with_a_sentence() {
    let mut daemon = Daemon::start("").await;
    let mut client = McpClient::start(&daemon).await;
    daemon.stop().await;
    let params = json!({"name": "approve", "arguments": bash("ls")});
    let id = client.request("tools/call", &params).await;
    let denied = client.decision(id).await;
    assert_eq!(denied["behavior"], "deny");
    let why = denied["message"].as_str().unwrap();
    assert!(why.starts_with("countersign could not decide: no countersign daemon"), "{why}");
    let params = json!({"name": "ask_human", "arguments": {"question": "Now?"}});
    let id = client.request("tools/call", &params).await;
    assert!(client.text(id).await.1);
}

#[tokio::test]
async fn an_ask_outlives_a_daemon_that_is_killed_and_started_again() {
    let mut daemon = Daemon::start("").await;
    let mut client = McpClient::start(&daemon).await;
    let (id, ask) = client.asks("approve", &bash("make a")).await;
    daemon.kill().await;
    daemon.run().await;
    run(&daemon, &["approve", &ask]).await;
    assert_eq!(client.decision(id).await["behavior"], "allow");
    assert_eq!(daemon.open().await, Vec::<Value>::new(), "the same key is the same ask");
}

#[tokio::test]
async fn odd_lines_get_an_error_each_and_the_server_goes_on() {
    let daemon = Daemon::start("").await;
    let mut client = McpClient::start(&daemon).await;
    for (line, code) in [
        ("{not json", -32700),
        ("[]", -32600),
        ("{\"jsonrpc\":\"2.0\",\"id\":9,\"method\":\"resources/list\"}", -32601),
        ("{\"jsonrpc\":\"2.0\",\"id\":9,\"method\":\"tools/call\",\"params\":{}}", -32602),
    ] {
        client.process.tell(line).await;
        assert_eq!(client.next().await["error"]["code"], code, "{line}");
    }
    client.process.tell("").await;
    let reply = client.request("tools/list", &json!({})).await;
    let tools = client.reply(reply).await["result"]["tools"].clone();
    let names: Vec<&Value> = tools.as_array().unwrap().iter().map(|tool| &tool["name"]).collect();
    assert_eq!(names, ["ask_human", "approve"]);
    let batch = json!([{"jsonrpc": "2.0", "id": 1, "method": "ping"},
        {"jsonrpc": "2.0", "id": 2, "method": "ping"}]);
    client.tell(&batch).await;
    assert_eq!(
        (client.next().await["id"].clone(), client.next().await["id"].clone()),
        (json!(1), json!(2))
    );
}
