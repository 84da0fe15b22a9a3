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
        session: "s1".into(),
        ends: SessionEnd::WithProgram,
        host: Some("laptop".into()),
        cwd: Some("/shop".into()),
        run: "run".into(),
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
    let tokens = [json!("p"), json!(3), json!("x".repeat(201)), json!({"cmd": "rm"}), json!(0.5)];
    for (token, passes) in tokens.into_iter().zip([true, true, false, false, false]) {
        let mut proxy = proxy();
        let mut message = call(7);
        message["params"]["_meta"] = json!({"claudecode/toolUseId": "t", "progressToken": token});
        let (key, _) = held(&mut proxy, &message);
        let sent = proxy.decided(&key, Ok(&ruled(Decision::Approve)));
        match passes {
            true => message["params"]["_meta"] = json!({"progressToken": token}),
            false => drop(message["params"].as_object_mut().unwrap().remove("_meta")),
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
    let values = [first, told(&proxy.tick())].map(|it| it["params"]["progress"].as_f64().unwrap());
    assert!(values[0] < values[1] && values[1] < 0.0, "{values:?}");
    let mut silent = call(3);
    silent["params"].as_object_mut().unwrap().remove("_meta");
    let _ = proxy.decided(&key, Err("x".into()));
    held(&mut proxy, &silent);
    assert_eq!(proxy.tick(), []);
}
