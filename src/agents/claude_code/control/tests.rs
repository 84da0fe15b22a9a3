#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::panic,
    reason = "tests fail by panicking"
)]
use super::*;
use countersign_client::Ending;
use countersign_domain::{Decision, call::Call};

fn session() -> ControlSession {
    ControlSession::new(CallOrigin {
        session: "s0".into(),
        host: Some("laptop".into()),
        cwd: Some("/w".into()),
        run: "run".into(),
    })
}

fn golden(frame: &str) -> Value {
    let file = "tests/golden/claude-code/11_control_can_use_tool.json";
    let file = format!("{}/../../{file}", env!("CARGO_MANIFEST_DIR"));
    let golden: Value = serde_json::from_str(&std::fs::read_to_string(file).unwrap()).unwrap();
    golden.pointer(frame).unwrap()["data"].clone()
}

fn submitted(steps: (Forward, Vec<Step>)) -> (String, Call) {
    match (steps.0, <[Step; 1]>::try_from(steps.1)) {
        (Forward::Stays, Ok([Step::Submit { key, call }])) => (key, *call),
        other => panic!("{other:?}"),
    }
}

fn ruled(decision: Decision) -> Decided {
    let ending = Ending::Ruled(Some("rules:3".into()));
    Decided { decision, reason: "a rule says so".into(), message: None, ask: None, ending }
}

fn sent(steps: &[Step]) -> Value {
    match steps {
        [Step::Send(line)] => serde_json::from_str(line).unwrap(),
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_request_becomes_a_call_of_the_session_that_claude_code_tells() {
    let mut session = session();
    let init = json!({"type": "system", "subtype": "init", "session_id": "s1",
        "cwd": "/home/ana/shop", "permissionMode": "default"});
    assert_eq!(session.engine_line(init.to_string().as_bytes()), (Forward::On, Vec::new()));
    let request = golden("/frames/0").to_string();
    let (key, call) = submitted(session.engine_line(request.as_bytes()));
    let expected = json!({
        "key": "run-1", "agent": "claude-code", "session": "s1", "host": "laptop",
        "cwd": "/home/ana/shop", "tool": "Bash",
        "args": {"command": "git push --force origin main",
            "description": "Push the release branch"},
        "description": "Push the release branch", "agent_mode": "default",
        "accepts": ["stop", "updated_input"], "meta": {"permission_mode": "default"},
    });
    assert_eq!((key.as_str(), serde_json::to_value(call).unwrap()), ("run-1", expected));
}

#[test]
fn a_decision_is_sent_in_the_recorded_form_and_stores_nothing_at_claude_code() {
    let mut session = session();
    let (key, _) = submitted(session.engine_line(golden("/frames/0").to_string().as_bytes()));
    let allow = sent(&session.decided(&key, Ok(&ruled(Decision::Approve))));
    let mut recorded = golden("/frames/1");
    let response = recorded["response"]["response"].as_object_mut().unwrap();
    response.remove("updatedPermissions");
    response.remove("decisionClassification");
    assert_eq!(allow, recorded);
    let (key, _) = submitted(session.engine_line(golden("/frames/0").to_string().as_bytes()));
    let deny = sent(&session.decided(&key, Ok(&ruled(Decision::Deny))));
    let message = "Denied by policy: a rule says so (rules:3)";
    let expected = json!({"behavior": "deny", "message": message});
    assert_eq!(deny["response"]["response"], expected);
    assert_eq!(session.decided(&key, Ok(&ruled(Decision::Approve))), [], "one answer each");
}

#[test]
fn without_a_decision_the_request_is_denied_with_the_reason() {
    let mut session = session();
    let (key, _) = submitted(session.engine_line(golden("/frames/0").to_string().as_bytes()));
    let deny = sent(&session.decided(&key, Err("no countersign daemon".into())));
    let message = "countersign could not decide: no countersign daemon";
    let expected = json!({"behavior": "deny", "message": message});
    assert_eq!(deny["response"]["response"], expected);
}

#[test]
fn a_request_that_was_answered_elsewhere_is_taken_back_and_gets_no_answer() {
    let mut session = session();
    let cancel = golden("/alternatives/1").to_string();
    assert_eq!(session.engine_line(cancel.as_bytes()), (Forward::On, Vec::new()), "none of ours");
    let (key, _) = submitted(session.engine_line(golden("/frames/0").to_string().as_bytes()));
    let why = CancelReason::AnsweredElsewhere;
    let taken = (Forward::Stays, vec![Step::Cancel { key: key.clone(), why }]);
    assert_eq!(session.engine_line(cancel.as_bytes()), taken);
    assert_eq!(session.decided(&key, Ok(&ruled(Decision::Approve))), []);
}

#[test]
fn a_request_that_cannot_be_read_is_denied_and_every_other_line_passes() {
    let mut session = session();
    for request in [
        json!({"subtype": "can_use_tool"}),
        json!({"subtype": "can_use_tool", "tool_name": "Bash", "input": 5}),
        json!({"subtype": "can_use_tool", "tool_name": "AskUserQuestion", "input": {}}),
    ] {
        let line = json!({"type": "control_request", "request_id": "r", "request": request});
        let (forward, steps) = session.engine_line(line.to_string().as_bytes());
        assert_eq!(forward, Forward::Stays);
        assert_eq!(sent(&steps)["response"]["response"]["behavior"], "deny", "{line}");
    }
    for line in [
        "{not json",
        "[]",
        r#"{"type":"control_request","request_id":"r","request":{"subtype":"hook_callback"}}"#,
        r#"{"type":"assistant","message":{"content":"control_request can_use_tool"}}"#,
    ] {
        assert_eq!(session.engine_line(line.as_bytes()), (Forward::On, Vec::new()), "{line}");
    }
}

#[test]
fn a_request_that_does_not_parse_is_denied_under_its_id() {
    let deep = format!("{}{}", "[".repeat(300), "]".repeat(300));
    let request = |input: &str| {
        let outside = r#"{"type":"control_request","request_id":"r7","request":"#;
        let prompt = r#"{"subtype":"can_use_tool","tool_name":"Bash","input":"#;
        format!("{outside}{prompt}{input}}}}}")
    };
    let cut = request("{}");
    for line in [
        request(r#"{"command":"\ud800"}"#),
        request(&deep),
        request("1e999"),
        request("{"),
        cut.trim_end_matches('}').to_owned(),
        r#"{"type":"control_request","request_id":"r7","request":5}"#.to_owned(),
        r#"{"type":"control_request","request_id":"r7"}"#.to_owned(),
        r#"{"type":"control_request","request_id":"r7","request":{"subtype":5}}"#.to_owned(),
    ] {
        let (forward, steps) = session().engine_line(line.as_bytes());
        let [Step::Log(_), Step::Send(sent)] = steps.as_slice() else { panic!("{line} {steps:?}") };
        let sent: Value = serde_json::from_str(sent).unwrap();
        let answer = &sent["response"];
        assert_eq!((forward, &answer["request_id"]), (Forward::Stays, &json!("r7")), "{line}");
        assert_eq!(answer["response"]["behavior"], "deny", "{line}");
        let why = answer["response"]["message"].as_str().unwrap();
        assert!(why.starts_with("countersign cannot read this request"), "{why}");
    }
    // An id that is a number is answered as one.
    let line = request("{}").replace("\"r7\"", "7").replace("\"Bash\"", "5");
    let (_, steps) = session().engine_line(line.as_bytes());
    assert_eq!(sent(&steps)["response"]["request_id"], 7);
}

#[test]
fn a_request_that_nobody_can_answer_ends_the_run_with_the_reason() {
    for line in [
        r#"{"type":"control_request","request":{"subtype":"can_use_tool"}}"#,
        r#"{"type":"control_request","request_id":null,"request":{"subtype":"can_use_tool"}}"#,
        r#"{"type":"control_request","request":{"#,
    ] {
        let mut session = session();
        let (forward, steps) = session.engine_line(line.as_bytes());
        assert!(matches!((forward, steps.as_slice()), (Forward::Stays, [Step::Log(_)])), "{line}");
        assert_eq!(session.input(), EngineInput::Abandoned);
        assert!(session.failure().unwrap().ends_with("it has no id to answer under"), "{line}");
    }
}

#[test]
fn without_a_host_of_our_own_its_requests_are_refused_instead_of_left_waiting() {
    let line = r#"{"type":"control_request","request_id":"r","request":{"subtype":"elicit"}}"#;
    let (forward, steps) = session().without_host().engine_line(line.as_bytes());
    let [Step::Log(_), Step::Send(sent)] = steps.as_slice() else { panic!("{steps:?}") };
    let sent: Value = serde_json::from_str(sent).unwrap();
    let answer = (&sent["response"]["subtype"], &sent["response"]["request_id"]);
    assert_eq!((forward, answer), (Forward::Stays, (&json!("error"), &json!("r"))));
}

#[test]
fn an_answer_that_was_on_its_way_when_claude_code_cancelled_is_told_to_have_come_too_late() {
    let mut session = session();
    let cancel = golden("/alternatives/1").to_string();
    let (key, _) = submitted(session.engine_line(golden("/frames/0").to_string().as_bytes()));
    let _ = session.decided(&key, Ok(&ruled(Decision::Deny)));
    let why = CancelReason::AnsweredElsewhere;
    let told = (Forward::Stays, vec![Step::Cancel { key, why }]);
    assert_eq!(session.engine_line(cancel.as_bytes()), told);
    assert_eq!(session.engine_line(cancel.as_bytes()), (Forward::On, Vec::new()), "once");
}

#[test]
fn the_plan_mode_binds_its_calls_until_a_plan_is_approved() {
    let mut session = session();
    let _ = session.engine_line(br#"{"type":"system","permissionMode":"plan"}"#);
    let request = |tool: &str| {
        json!({"type": "control_request", "request_id": tool, "request":
            {"subtype": "can_use_tool", "tool_name": tool, "input": {}}})
        .to_string()
    };
    let (key, call) = submitted(session.engine_line(request("ExitPlanMode").as_bytes()));
    assert_eq!(call.agent_mode.as_deref(), Some("plan"));
    let _ = session.decided(&key, Ok(&ruled(Decision::Approve)));
    let (_, call) = submitted(session.engine_line(request("Write").as_bytes()));
    assert_eq!(call.agent_mode, None);
}

#[test]
fn the_input_ends_once_every_message_has_its_result() {
    let mut session = session();
    let user = r#"{"type":"user","message":{"role":"user","content":"a"}}"#;
    assert_eq!(session.host_line(user.as_bytes()), (Forward::On, Vec::new()));
    let _ = session.host_line(user.as_bytes());
    let result = r#"{"type":"result","subtype":"success"}"#;
    let _ = session.engine_line(result.as_bytes());
    assert_eq!(session.input(), EngineInput::Open);
    session.host_ended();
    assert_eq!(session.input(), EngineInput::OverWhenQuiet);
    let (key, _) = submitted(session.engine_line(golden("/frames/0").to_string().as_bytes()));
    assert_eq!(session.input(), EngineInput::Open, "a prompt waits");
    let _ = session.decided(&key, Ok(&ruled(Decision::Deny)));
    let _ = session.engine_line(result.as_bytes());
    assert_eq!(session.input(), EngineInput::Over);
}
