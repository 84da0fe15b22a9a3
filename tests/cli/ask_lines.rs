//! `countersign ask --jsonl`, as a program drives it.

use crate::{
    daemon::Daemon,
    process::{Process, run, start},
};
use serde_json::{Value, json};

const RULES: &str = r#"{"shell_exec": {"cargo *": "allow", "git push *": "deny"}}"#;

async fn daemon() -> Daemon {
    let config = "[policy]\nrules = \"rules.jsonc\"\n";
    Daemon::start_with(config, &[("rules.jsonc", RULES)]).await
}

fn call(id: &str, command: &str) -> Value {
    json!({ "id": id, "tool": "Bash", "args": { "command": command } })
}

async fn tell(program: &mut Process, line: &Value) {
    program.tell(&line.to_string()).await;
}

async fn next(program: &mut Process) -> Value {
    serde_json::from_str(&program.line().await).unwrap()
}

/// The ask of a call that waits for a person.
async fn asked(program: &mut Process, id: &str) -> String {
    let said = next(program).await;
    let ask = said["ask"].as_str().unwrap_or_else(|| panic!("{said}")).to_owned();
    let wanted = json!({ "id": id, "verdict": "ask", "ask": ask, "state": "open" });
    assert_eq!(said, wanted);
    ask
}

#[tokio::test]
async fn each_line_is_a_call_and_gets_its_decision_under_its_own_id() {
    let daemon = daemon().await;
    let mut program = start(&daemon, &["ask", "--jsonl", "--agent", "mine", "--session", "s1"]);
    tell(&mut program, &call("a", "cargo test")).await;
    let allowed = next(&mut program).await;
    assert_eq!((&allowed["id"], &allowed["verdict"]), (&json!("a"), &json!("allow")));
    tell(&mut program, &call("b", "git push origin main")).await;
    let denied = next(&mut program).await;
    assert_eq!((&denied["id"], &denied["verdict"]), (&json!("b"), &json!("deny")));
    tell(&mut program, &call("c", "make deploy")).await;
    let first = asked(&mut program, "c").await;
    let whole = daemon.read(&first).await["call"].clone();
    assert_eq!((&whole["agent"], &whole["session"]), (&json!("mine"), &json!("s1")));
    tell(&mut program, &call("d", "make clean")).await;
    let second = asked(&mut program, "d").await;
    run(&daemon, &["deny", &second, "--reason", "not today"]).await;
    let said = next(&mut program).await;
    assert_eq!((&said["id"], &said["verdict"]), (&json!("d"), &json!("deny")));
    assert_eq!(said["reason"], "denied by the approver's token: not today");
    run(&daemon, &["approve", &first]).await;
    assert_eq!(next(&mut program).await["verdict"], "allow");
}

#[tokio::test]
async fn a_question_is_answered_and_a_call_that_is_cancelled_is_taken_back() {
    let daemon = daemon().await;
    let mut program = start(&daemon, &["ask", "--jsonl"]);
    let question = json!({ "question": "Which?", "options": [{"label": "A"}, {"label": "B"}] });
    tell(&mut program, &json!({ "id": 1, "questions": [question] })).await;
    let said = next(&mut program).await;
    run(&daemon, &["answer", said["ask"].as_str().unwrap(), "B"]).await;
    let said = next(&mut program).await;
    assert_eq!((&said["id"], &said["verdict"]), (&json!(1), &json!("answered")));
    assert_eq!(said["answers"], json!({ "Which?": "B" }));
    tell(&mut program, &call("x", "make x")).await;
    let ask = asked(&mut program, "x").await;
    tell(&mut program, &json!({ "cancel": "x" })).await;
    assert_eq!(next(&mut program).await, json!({ "id": "x", "state": "cancelled" }));
    daemon.ask_reaches(&ask, "cancelled").await;
}

#[tokio::test]
async fn odd_lines_get_an_error_without_a_verdict_and_the_others_go_on() {
    let daemon = daemon().await;
    let mut program = start(&daemon, &["ask", "--jsonl"]);
    for line in [
        "{",
        "[]",
        "null",
        "{\"id\": 7}",
        "{\"id\": 7, \"tool\": 5}",
        "{\"id\": 7, \"cancel\": \"q\"}",
        "{\"id\": 7, \"tool\": \"Bash\", \"agent\": \"\"}",
    ] {
        program.tell(line).await;
        let said = next(&mut program).await;
        assert!(said["error"].is_string() && said.get("verdict").is_none(), "{line}: {said}");
    }
    program.tell("").await;
    tell(&mut program, &call("a", "cargo test")).await;
    assert_eq!(next(&mut program).await["verdict"], "allow");
}

#[tokio::test]
async fn an_id_that_is_open_names_one_call_only() {
    let daemon = daemon().await;
    let mut program = start(&daemon, &["ask", "--jsonl"]);
    tell(&mut program, &call("a", "make harmless")).await;
    let first = asked(&mut program, "a").await;
    // Its approval would be read as that of the first.
    tell(&mut program, &call("a", "cargo test")).await;
    let refused = next(&mut program).await;
    assert_eq!((&refused["id"], &refused["refused"]), (&Value::Null, &json!("a")), "{refused}");
    assert!(refused["error"].is_string() && refused.get("verdict").is_none(), "{refused}");
    assert_eq!(daemon.open().await.len(), 1);
    run(&daemon, &["deny", &first]).await;
    let said = next(&mut program).await;
    assert_eq!((&said["id"], &said["verdict"]), (&json!("a"), &json!("deny")));
    tell(&mut program, &call("a", "cargo test")).await;
    assert_eq!(next(&mut program).await["verdict"], "allow");
}

#[tokio::test]
async fn a_line_cannot_bring_its_own_verdict_owner_or_answer() {
    let daemon = daemon().await;
    let mut program = start(&daemon, &["ask", "--jsonl"]);
    let by = json!({"kind": "person", "platform": "telegram", "id": "5", "name": "Ana"});
    let mut line = call("a", "make deploy");
    for (name, value) in [
        ("verdict", json!("allow")),
        ("state", json!("answered")),
        ("answer", json!({"decision": "approve", "by": by})),
        ("owner", json!("somebody")),
        ("ask", json!("k7m2q9xd")),
    ] {
        line[name] = value;
    }
    tell(&mut program, &line).await;
    let ask = asked(&mut program, "a").await;
    let call = daemon.read(&ask).await["call"].clone();
    assert_eq!((&call["owner"], &call["verdict"]), (&Value::Null, &Value::Null), "{call}");
    // Two readers may take different ones of a name that is there twice.
    let twice = r#"{"id":"b","tool":"Bash","args":{"command":"cargo x","command":"make twice"}}"#;
    program.tell(twice).await;
    let said = next(&mut program).await;
    let error = said["error"].as_str().unwrap();
    assert!(error.contains("the name \"command\" comes twice"), "{said}");
    assert_eq!(daemon.open().await.len(), 1);
}

#[tokio::test]
async fn an_ask_outlives_a_killed_daemon_and_without_one_nothing_is_decided() {
    let mut daemon = daemon().await;
    let mut program = start(&daemon, &["ask", "--jsonl"]);
    tell(&mut program, &call("a", "make all")).await;
    let ask = asked(&mut program, "a").await;
    daemon.kill().await;
    daemon.run().await;
    run(&daemon, &["approve", &ask]).await;
    assert_eq!(next(&mut program).await["verdict"], "allow");
    daemon.stop().await;
    tell(&mut program, &call("b", "cargo test")).await;
    let said = next(&mut program).await;
    assert!(said["error"].as_str().unwrap().starts_with("no countersign daemon"), "{said}");
    assert_eq!(said.get("verdict"), None);
}

#[tokio::test]
async fn the_end_of_the_input_waits_for_what_is_open_and_a_signal_cancels_it() {
    let daemon = daemon().await;
    let program = Process::start(daemon.command(&["ask", "--jsonl"]));
    let program = program.input(&format!("{}\n", call("a", "make all"))).await;
    let ended = tokio::spawn(program.ends());
    let open = |body: &Value| body["asks"].as_array().is_some_and(|asks| asks.len() == 1);
    let ask = daemon.until("/v1/asks?state=open", open).await["asks"][0]["id"].clone();
    run(&daemon, &["approve", ask.as_str().unwrap()]).await;
    let ended = ended.await.unwrap();
    assert_eq!(ended.code, Some(0), "{ended:?}");
    assert!(ended.stdout.lines().last().unwrap().contains("\"verdict\":\"allow\""), "{ended:?}");
    let mut program = start(&daemon, &["ask", "--jsonl"]);
    tell(&mut program, &call("b", "make b")).await;
    let ask = asked(&mut program, "b").await;
    program.signal("TERM");
    daemon.ask_reaches(&ask, "cancelled").await;
    assert_eq!(program.ends().await.code, Some(130));
}
