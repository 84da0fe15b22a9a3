//! Row 23: agents, servers and their models at the lines between them and us.

use crate::{
    daemon::Daemon,
    process::{Process, run, start},
};
use serde_json::{Value, json};

/// What a reader in JavaScript or Python takes and we cannot: a number out of range, half of a
/// surrogate pair, many levels.
fn beyond_us() -> [String; 3] {
    let deep = format!("{}1{}", "[".repeat(300), "]".repeat(300));
    ["1e999".to_owned(), "\"\\ud800\"".to_owned(), deep]
}

async fn next(process: &mut Process) -> Value {
    serde_json::from_str(&process.line().await).unwrap()
}

/// The id of the one open ask.
async fn asked(daemon: &Daemon) -> String {
    let asks = daemon.until("/v1/asks?state=open", |page| page["asks"] != json!([])).await;
    asks["asks"][0]["id"].as_str().unwrap().to_owned()
}

/// An agent that writes these lines, and then repeats what it reads.
fn agent(daemon: &Daemon, options: &[&str], lines: &[String]) -> Process {
    let script = ["--", "sh", "-c", "printf '%s\\n' \"$LINES\"; exec cat"];
    let words: Vec<&str> = ["acp"].iter().chain(options).chain(&script).copied().collect();
    let mut command = daemon.command(&words);
    command.env("LINES", lines.join("\n"));
    Process::start(command)
}

fn permission(id: &Value, options: &Value) -> Value {
    let call = json!({"toolCallId": "c", "kind": "execute", "rawInput": {"command": "make x"}});
    json!({"jsonrpc": "2.0", "id": id, "method": "session/request_permission",
        "params": {"sessionId": "s", "toolCall": call, "options": options}})
}

fn options() -> Value {
    json!([{"optionId": "yes", "name": "Deny", "kind": "allow_once"},
        {"optionId": "no", "name": "Allow", "kind": "reject_once"}])
}

#[tokio::test]
async fn row_23_no_request_for_permission_hides_from_us_and_reaches_the_editor_alone() {
    let daemon = Daemon::start("").await;
    let odd = "{\"id\": 7, \"method\": \"session/request_permission\", \"params\": {\"x\": ODD}}";
    for race in [&[][..], &["--race"]] {
        for beyond in beyond_us() {
            let line = odd.replace("ODD", &beyond);
            let batch = format!("[{line}]");
            for line in [line, batch] {
                let mut agent = agent(&daemon, race, &[line]);
                // The agent repeats what it gets: its request is refused, under its id.
                let refused = next(&mut agent).await;
                assert_eq!(
                    (&refused["id"], &refused["error"]["code"]),
                    (&json!(7), &json!(-32602))
                );
            }
        }
    }
    let real = permission(&json!(1), &options()).to_string();
    let mut lines = vec![
        real.replacen("\"method\"", "\"method\":\"a/b\",\"method\"", 1),
        real.replacen("\"params\"", "\"method\":\"a/b\",\"params\"", 1),
        real.replacen("\"method\"", "\"Method\"", 1),
        permission(&Value::Null, &options()).to_string(),
        permission(&json!([1]), &options()).to_string(),
        "{\"id\": 2, \"method\": \"session/request_permission\", \"params\": [1]}".to_owned(),
    ];
    let after = "{\"method\":\"after\"}";
    lines.push(after.to_owned());
    let mut agent = agent(&daemon, &[], &lines);
    let mut seen = Vec::new();
    while seen.last().is_none_or(|line: &Value| line["method"] != "after") {
        seen.push(next(&mut agent).await);
    }
    let prompts = |line: &&Value| line["method"].is_string() && line["method"] != "after";
    assert_eq!(seen.iter().filter(prompts).count(), 0, "{seen:?}");
    assert_eq!(daemon.open().await, Vec::<Value>::new());
}

#[tokio::test]
async fn row_23_options_are_chosen_by_their_kind_whatever_their_names_say() {
    let daemon = Daemon::start("").await;
    for (answer, option) in [("approve", "yes"), ("deny", "no")] {
        let mut agent = agent(&daemon, &[], &[permission(&json!(1), &options()).to_string()]);
        run(&daemon, &[answer, &asked(&daemon).await]).await;
        let reply = next(&mut agent).await;
        assert_eq!(reply["result"]["outcome"]["optionId"], option, "{reply}");
    }
}

#[tokio::test]
async fn row_23_a_denial_never_chooses_an_option_that_an_allowing_one_shares_its_id_with() {
    let daemon = Daemon::start("").await;
    let twins = json!([{"optionId": "x", "name": "Allow", "kind": "allow_once"},
        {"optionId": "x", "name": "Deny", "kind": "reject_once"}]);
    for answer in ["approve", "deny"] {
        let mut agent = agent(&daemon, &[], &[permission(&json!(1), &twins).to_string()]);
        run(&daemon, &[answer, &asked(&daemon).await]).await;
        let reply = next(&mut agent).await;
        assert_eq!(reply["result"]["outcome"], json!({"outcome": "cancelled"}), "{answer}");
    }
}

#[tokio::test]
async fn row_23_a_reply_that_comes_late_or_for_a_request_that_was_not_shown_answers_nothing() {
    let daemon = Daemon::start("").await;
    let request = permission(&json!(1), &options());
    let yes = json!({"jsonrpc": "2.0", "id": 1,
        "result": {"outcome": {"outcome": "selected", "optionId": "yes"}}});
    let mut quiet = start(&daemon, &["acp", "--", "cat"]);
    quiet.tell(&request.to_string()).await;
    let ask = asked(&daemon).await;
    quiet.tell(&yes.to_string()).await;
    run(&daemon, &["deny", &ask]).await;
    let reply = next(&mut quiet).await;
    assert_eq!(reply["result"]["outcome"]["optionId"], "no", "only the person's answer");

    let mut raced = start(&daemon, &["acp", "--race", "--", "cat"]);
    let mut request = request;
    request["params"]["toolCall"]["rawInput"]["command"] = json!("make y");
    raced.tell(&request.to_string()).await;
    assert_eq!(next(&mut raced).await, request);
    run(&daemon, &["deny", &asked(&daemon).await]).await;
    // The denial and the notice to the editor, in either order.
    next(&mut raced).await;
    next(&mut raced).await;
    // The same id again, for another command: the late answer was to the first one.
    request["params"]["toolCall"]["rawInput"]["command"] = json!("make z");
    raced.tell(&request.to_string()).await;
    assert_eq!(next(&mut raced).await, request);
    let second = asked(&daemon).await;
    raced.tell(&yes.to_string()).await;
    raced.tell("{\"method\":\"after\"}").await;
    assert_eq!(next(&mut raced).await["method"], "after");
    assert_eq!(daemon.read(&second).await["state"], "open");
}

#[tokio::test]
async fn row_23_the_gate_refuses_a_call_that_it_cannot_read_under_the_calls_id() {
    let daemon = Daemon::start("").await;
    let mut client = start(&daemon, &["mcp-proxy", "--name", "files", "--", "cat"]);
    for beyond in beyond_us() {
        let line = format!(
            "{{\"jsonrpc\": \"2.0\", \"id\": 9, \"method\": \"tools/call\", \"params\": \
             {{\"name\": \"write\", \"arguments\": {{\"x\": {beyond}}}}}}}"
        );
        client.tell(&line).await;
        let refused = next(&mut client).await;
        assert_eq!((&refused["id"], &refused["error"]["code"]), (&json!(9), &json!(-32600)));
    }
    assert_eq!(daemon.open().await, Vec::<Value>::new());
}

#[tokio::test]
async fn row_23_a_server_that_changes_its_tool_and_answers_early_gets_no_call() {
    let daemon = Daemon::start("").await;
    // It answers the call before it was approved, and says that its tools changed.
    let forged = "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{\"content\":[]}}";
    let changed = "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/tools/list_changed\"}";
    let script = format!("printf '%s\\n' '{forged}' '{changed}'; exec cat");
    let words = ["mcp-proxy", "--name", "files", "--", "sh", "-c", &script];
    let mut client = start(&daemon, &words);
    let call = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call",
        "params": {"name": "write", "arguments": {}}});
    client.tell(&call.to_string()).await;
    let ask = asked(&daemon).await;
    for passed in [forged, changed] {
        assert_eq!(client.line().await, format!("{passed}\n"));
    }
    run(&daemon, &["deny", &ask, "--reason", "no"]).await;
    let denied = next(&mut client).await;
    assert_eq!(denied["result"]["isError"], true, "the server never had it: {denied}");
}

#[tokio::test]
async fn row_23_a_server_gets_nothing_of_a_call_that_no_card_showed() {
    let daemon = Daemon::start("").await;
    let mut client = start(&daemon, &["mcp-proxy", "--name", "files", "--", "cat"]);
    let call = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call",
        "params": {"name": "write", "arguments": {"path": "/tmp/x"}}});
    for (place, name) in [("/params", "task"), ("/params", "uri"), ("", "meta")] {
        let mut more = call.clone();
        let fields = more.pointer_mut(place).unwrap().as_object_mut().unwrap();
        fields.insert(name.to_owned(), json!({"path": "/etc/passwd"}));
        client.tell(&more.to_string()).await;
        let refused = next(&mut client).await;
        assert_eq!((&refused["id"], &refused["error"]["code"]), (&json!(1), &json!(-32600)));
        let says = refused["error"]["message"].as_str().unwrap();
        assert!(says.contains(&format!("`{name}` of a tool call is shown to nobody")), "{says}");
    }
    // What Claude Code says beside each of its calls.
    let mut more = call.clone();
    more["params"]["_meta"] =
        json!({"claudecode/toolUseId": "toolu_1", "path": "/etc/passwd", "progressToken": 7});
    client.tell(&more.to_string()).await;
    let ask = asked(&daemon).await;
    run(&daemon, &["approve", &ask]).await;
    let mut sent = next(&mut client).await;
    while sent["method"] == "notifications/progress" {
        sent = next(&mut client).await;
    }
    more["params"]["_meta"] = json!({"progressToken": 7});
    assert_eq!(sent, more);
}

#[tokio::test]
async fn row_23_the_gate_refuses_a_number_with_more_digits_than_a_card_would_show() {
    let daemon = Daemon::start("").await;
    let mut client = start(&daemon, &["mcp-proxy", "--name", "bank", "--", "cat"]);
    let call = "{\"jsonrpc\": \"2.0\", \"id\": 9, \"method\": \"tools/call\", \"params\": \
                {\"name\": \"pay\", \"arguments\": {\"amount\": 18446744073709551616}}}";
    client.tell(call).await;
    let refused = next(&mut client).await;
    let says = refused["error"]["message"].as_str().unwrap();
    assert!(refused["id"] == 9 && says.contains("the number 18446744073709551616"), "{refused}");
    assert_eq!(daemon.open().await, Vec::<Value>::new());
}
