//! `countersign mcp-proxy` in front of servers that repeat what they hear.

use crate::{
    daemon::Daemon,
    process::{Process, run, start},
};
use serde_json::{Value, json};

/// A client behind the gate.
struct Gated {
    process: Process,
}

impl Gated {
    /// The server repeats every line that it gets.
    fn start(daemon: &Daemon) -> Self {
        Self::of(daemon, &["cat"])
    }

    fn of(daemon: &Daemon, server: &[&str]) -> Self {
        let words = [&["mcp-proxy", "--name", "files", "--"], server].concat();
        Self { process: start(daemon, &words) }
    }

    async fn tell(&mut self, message: &Value) {
        self.process.tell(&message.to_string()).await;
    }

    async fn next(&mut self) -> Value {
        serde_json::from_str(&self.process.line().await).unwrap()
    }

    /// Calls a tool; returns the ask's id, which its progress tells.
    async fn asks(&mut self, message: &Value) -> String {
        self.tell(message).await;
        loop {
            let progress = self.next().await;
            assert_eq!(progress["method"], "notifications/progress", "{progress}");
            let said = progress["params"]["message"].as_str().unwrap();
            if let Some(ask) = said.strip_prefix("A person is asked; the ask is ") {
                return ask.trim_end_matches('.').to_owned();
            }
        }
    }

    /// What comes behind notifications of progress.
    async fn reply(&mut self) -> Value {
        loop {
            let message = self.next().await;
            if message["method"] != "notifications/progress" {
                return message;
            }
        }
    }

    /// The reason of a denial, as the model reads it.
    async fn denial(&mut self) -> String {
        let reply = self.reply().await;
        assert_eq!(reply["result"]["isError"], true, "{reply}");
        reply["result"]["content"][0]["text"].as_str().unwrap().to_owned()
    }
}

fn call(id: u64, tool: &str) -> Value {
    json!({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params":
        {"name": tool, "arguments": {"path": "/x"}, "_meta": {"progressToken": id}}})
}

#[tokio::test]
async fn a_tool_runs_only_once_it_is_approved_and_a_denial_is_its_result() {
    let daemon = Daemon::start("").await;
    let mut client = Gated::start(&daemon);
    let ask = client.asks(&call(1, "write")).await;
    let asked = daemon.read(&ask).await["call"].clone();
    assert_eq!(
        (&asked["tool"], &asked["args"]),
        (&json!("mcp__files__write"), &json!({"path": "/x"}))
    );
    run(&daemon, &["approve", &ask]).await;
    assert_eq!(client.reply().await, call(1, "write"), "the server repeats what it got");
    let ask = client.asks(&call(2, "write")).await;
    run(&daemon, &["deny", &ask, "--reason", "not today"]).await;
    let why = client.denial().await;
    assert_eq!(why, "Denied by the approver's token: not today");
    client.process.tell("{\"jsonrpc\":\"2.0\",\"id\":3,\"method\":\"ping\"}").await;
    assert_eq!(client.next().await["id"], 3, "the server never got the denied call");
}

#[tokio::test]
async fn rules_name_the_server_and_the_tool() {
    let config = "[policy]\nrules = \"rules.jsonc\"\n";
    let rules = r#"{"mcp__files__read": "allow", "mcp__files__delete": "deny"}"#;
    let daemon = Daemon::start_with(config, &[("rules.jsonc", rules)]).await;
    let mut client = Gated::start(&daemon);
    client.tell(&call(1, "read")).await;
    assert_eq!(client.reply().await, call(1, "read"));
    client.tell(&call(2, "delete")).await;
    assert!(client.denial().await.starts_with("Denied by policy: "));
}

#[tokio::test]
async fn everything_else_passes_byte_for_byte_and_what_may_hide_a_call_does_not() {
    let daemon = Daemon::start("").await;
    let mut client = Gated::start(&daemon);
    for line in [
        "{\"jsonrpc\":\"2.0\",  \"id\":1,\"method\":\"resources/read\",\"params\":{\"b\":1,\"a\":2}}",
        "[{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"} , {\"jsonrpc\":\"2.0\",\"method\":\"x\"}]",
        "{\"jsonrpc\":\"2.0\",\"id\":\"e1\",\"result\":{\"action\":\"accept\"},\"later\":1e3}",
        "",
    ] {
        client.process.tell(line).await;
        assert_eq!(client.process.line().await, format!("{line}\n"));
    }
    for hostile in [
        "{\"method\":\"tools/call\",\"method\":\"ping\",\"id\":1}",
        "{\"a\":\r{\"method\":\"tools/call\",\"id\":1}\r}",
        "{\"Method\":\"tools/call\",\"id\":1}",
        "{not json",
    ] {
        client.process.tell(hostile).await;
        assert_eq!(client.next().await["error"]["code"], -32600, "{hostile:?}");
    }
    assert_eq!(daemon.open().await, Vec::<Value>::new());
}

#[tokio::test]
async fn the_calls_of_a_batch_are_decided_one_by_one() {
    let daemon = Daemon::start("").await;
    let mut client = Gated::start(&daemon);
    let ping = json!({"jsonrpc": "2.0", "id": 1, "method": "ping"});
    client.tell(&json!([call(2, "a"), ping])).await;
    assert_eq!(client.reply().await, ping);
    let open = daemon.until("/v1/asks", |asks| asks["asks"][0]["id"].is_string()).await;
    run(&daemon, &["approve", open["asks"][0]["id"].as_str().unwrap()]).await;
    assert_eq!(client.reply().await, call(2, "a"));
}

#[tokio::test]
async fn a_call_that_is_cancelled_and_one_whose_client_goes_are_taken_back() {
    let daemon = Daemon::start("").await;
    let mut client = Gated::start(&daemon);
    let ask = client.asks(&call(1, "a")).await;
    let params = json!({"requestId": 1});
    client
        .tell(&json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": params}))
        .await;
    daemon.ask_reaches(&ask, "cancelled").await;
    let ask = client.asks(&call(2, "b")).await;
    let ended = client.process.ends().await;
    assert_eq!((ended.code, ended.stdout.as_str()), (Some(0), ""), "{ended:?}");
    assert_eq!(daemon.read(&ask).await["state"], "cancelled");
}

#[tokio::test]
async fn a_server_that_dies_ends_the_gate_and_takes_its_asks_back() {
    let daemon = Daemon::start("").await;
    let mut client = Gated::of(&daemon, &["sh", "-c", "read -r line; kill -9 $$"]);
    let ask = client.asks(&call(1, "a")).await;
    client.process.tell("{\"jsonrpc\":\"2.0\",\"id\":3,\"method\":\"ping\"}").await;
    daemon.ask_reaches(&ask, "cancelled").await;
    let ended = client.process.ends().await;
    assert_eq!(ended.code, Some(1), "{ended:?}");
    assert!(ended.stderr.contains("the engine ended with signal"), "{ended:?}");
}

#[tokio::test]
async fn without_a_daemon_no_tool_runs_and_one_that_comes_back_finds_the_ask() {
    let mut daemon = Daemon::start("").await;
    let mut client = Gated::start(&daemon);
    let ask = client.asks(&call(1, "a")).await;
    daemon.kill().await;
    daemon.run().await;
    run(&daemon, &["approve", &ask]).await;
    assert_eq!(client.reply().await, call(1, "a"));
    daemon.stop().await;
    client.tell(&call(2, "b")).await;
    let why = client.denial().await;
    assert!(why.starts_with("countersign could not decide: no countersign daemon"), "{why}");
}
