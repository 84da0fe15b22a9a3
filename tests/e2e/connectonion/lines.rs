//! Lines that break, frames that are none, and the file that permits.

use super::*;

#[tokio::test]
async fn frames_that_are_none_get_an_error_and_grant_nothing() {
    let (telegram, daemon, mut wire) = telegram().await;
    for (frame, names) in [
        ("nonsense", "not valid JSON"),
        ("[]", "a JSON object"),
        (r#"{"tool":"bash"}"#, "`type`"),
        (r#"{"type":"approval_needed","arguments":{}}"#, "`tool`"),
        (r#"{"type":"approval_needed","tool":"bash","arguments":"ls"}"#, "`arguments`"),
        (
            r#"{"type":"approval_needed","tool":"bash","arguments":{},"batch_remaining":3}"#,
            "`batch_remaining`",
        ),
        (r#"{"type":"ask_user","options":["a"]}"#, "`text`"),
        (
            r#"{"type":"ask_user","question":"?","options":["a"],"multi_select":"yes"}"#,
            "`multi_select`",
        ),
        (
            r#"{"type":"ask_user","question":"Log in","fields":[{"name":"p","label":"Password","type":"password"}]}"#,
            "password",
        ),
    ] {
        wire.send_text(frame).await;
        let error = wire.next().await;
        assert_eq!(
            (&error["type"], &error["approved"]),
            (&json!("ERROR"), &json!(false)),
            "{frame}"
        );
        let message = error["message"].as_str().unwrap();
        assert!(message.contains(names), "{frame}: {message}");
    }
    assert_eq!(daemon.open().await, Vec::<Value>::new());

    // What an agent tells and does is none of this; and its handle answers nothing.
    wire.send(&json!({ "type": "thinking" })).await;
    wire.send(&wanted(&call("a", "deploy", json!({})), &[])).await;
    let shown = card(&telegram).await;
    wire.send(&json!({ "type": "APPROVAL_RESPONSE", "approved": true })).await;
    wire.send(&wanted(&call("b", "deploy", json!({})), &[])).await;
    let error = wire.next().await;
    assert_eq!(error["message"], "a still waits for its answer; one request at a time");
    assert_eq!(daemon.open().await.len(), 1);
    telegram.press(GROUP, shown.id, "Approve", ANA).await;
    assert_eq!(wire.next().await["approved"], true);
}

#[tokio::test]
async fn the_same_call_comes_back_to_its_ask_after_a_lost_line_and_after_a_killed_daemon() {
    let (telegram, mut daemon, mut wire) = telegram().await;
    let frame = wanted(&call("c1", "bash", json!({ "command": "npm publish" })), &[]);
    wire.send(&frame).await;
    let shown = card(&telegram).await;
    wire.drop_line();
    let mut wire = Wire::connect(&daemon, AGENT, QUERY).await;
    wire.send(&frame).await;
    daemon.says("a card stands adapter=\"telegram\"").await;
    daemon.kill().await;
    wire.drop_line();
    daemon.run().await;

    let mut wire = Wire::connect(&daemon, AGENT, QUERY).await;
    wire.send(&frame).await;
    assert_eq!(telegram.press(GROUP, shown.id, "Approve", ANA).await.text, "Approved once.");
    assert_eq!(wire.next().await["approved"], true);
    assert_eq!(telegram.messages(GROUP).len(), 1, "nobody was asked twice");

    // Another call under the same id is another call.
    wire.send(&wanted(&call("c1", "bash", json!({ "command": "rm -rf x" })), &[])).await;
    assert_eq!(wire.next().await["type"], "ERROR");
}

#[tokio::test]
async fn an_agent_that_leaves_takes_its_ask_back() {
    let (telegram, daemon, mut wire) = telegram().await;
    wire.send(&wanted(&call("c1", "deploy", json!({})), &[])).await;
    let shown = card(&telegram).await;
    let id = daemon.open().await[0]["id"].as_str().unwrap().to_owned();
    wire.drop_line();
    assert_eq!(daemon.ask_reaches(&id, "cancelled").await["verdict"], "deny");
    closed(&telegram, shown.id).await;
}

#[tokio::test]
async fn a_host_yaml_permits_without_asking_and_counts_as_it_stands_over_the_unix_socket_too() {
    let folder = tempfile::TempDir::new().unwrap();
    let file = folder.path().join("host.yaml");
    let permits = "trust: careful\npermissions:\n  \"Bash(npm test)\":\n    allowed: true\n";
    std::fs::write(&file, permits).unwrap();
    let telegram = Telegram::start().await;
    let rules = format!("[policy]\nrules = \"{}\"\n", file.display());
    let daemon = Daemon::start(&with_telegram(&telegram).replacen("[policy]\n", &rules, 1)).await;
    let mut wire = Wire::connect_here(&daemon, QUERY).await;
    let bash =
        |id: &str, command: &str| wanted(&call(id, "bash", json!({ "command": command })), &[]);
    for (id, command) in [("a", "npm test"), ("b", "ls && npm test")] {
        wire.send(&bash(id, command)).await;
        assert_eq!(wire.next().await["approved"], true, "{command}");
    }
    wire.send(&bash("c", "ls && npm test; rm -rf /")).await;
    let shown = card(&telegram).await;
    telegram.press(GROUP, shown.id, "Deny and stop", ANA).await;
    assert_eq!(wire.next().await["approved"], false);

    std::fs::write(&file, "permissions: {}\n").unwrap();
    wire.send(&bash("d", "npm test")).await;
    card(&telegram).await;
}
