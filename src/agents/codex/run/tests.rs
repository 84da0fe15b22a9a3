#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "tests fail by panicking"
)]
use super::*;
use crate::{agents::hosted::TICK, client::Ending};
use countersign_ask::{Decision, call::Call};

const MAIN: &str = "01-main";

fn started(output: CodexOutput) -> CodexRun {
    let mut run = CodexRun::new("go".into(), Some("/w".into()), Some("mill".into()), output);
    let reply = json!({"id": "countersign:thread", "result":
        {"thread": {"id": MAIN, "cwd": "/w", "status": {"type": "idle"}}}});
    let prompt = json!({"method": "turn/start", "id": "countersign:turn", "params":
        {"threadId": MAIN, "input": [{"type": "text", "text": "go"}]}});
    assert_eq!(hear(&mut run, &reply), vec![Step::Send(prompt.to_string())]);
    run
}

fn hear(run: &mut CodexRun, frame: &Value) -> Vec<Step> {
    run.engine_line(format!("{frame}\n").as_bytes()).1
}

fn asks(id: u64, method: &str, more: &Value) -> Value {
    let mut params = json!({"threadId": MAIN, "turnId": "u", "itemId": "i", "startedAtMs": id});
    for (name, value) in more.as_object().unwrap() {
        params.as_object_mut().unwrap().insert(name.clone(), value.clone());
    }
    json!({"method": method, "id": id, "params": params})
}

fn command(id: u64) -> Value {
    let more = json!({"command": "/bin/bash -lc 'make'", "cwd": "/w"});
    asks(id, "item/commandExecution/requestApproval", &more)
}

fn submitted(steps: &[Step]) -> (String, Call) {
    match steps {
        [Step::Submit { key, call }] => (key.clone(), (**call).clone()),
        other => panic!("{other:?}"),
    }
}

fn sent(steps: &[Step]) -> Vec<Value> {
    let line = |step: &Step| match step {
        Step::Send(line) => Some(serde_json::from_str(line).unwrap()),
        _ => None,
    };
    steps.iter().filter_map(line).collect()
}

fn ruled(decision: Decision, ending: Ending) -> Decided {
    Decided { decision, reason: "nobody answered in time".into(), message: None, ask: None, ending }
}

#[test]
fn the_opening_starts_a_thread_in_our_folder() {
    let run = CodexRun::new("go".into(), Some("/w".into()), None, CodexOutput::Messages);
    let lines = run.opening();
    assert!(lines.iter().all(|line| !line.contains('\n')), "{lines:?}");
    let last: Value = serde_json::from_str(lines.last().unwrap()).unwrap();
    assert_eq!((&last["method"], &last["params"]["cwd"]), (&json!("thread/start"), &json!("/w")));
}

#[test]
fn each_request_has_one_reply_and_one_that_codex_resolved_has_none() {
    let mut run = started(CodexOutput::Messages);
    let (first, call) = submitted(&hear(&mut run, &command(0)));
    assert_eq!((call.session.as_str(), call.args), (MAIN, json!({"command": "make"})));
    let allow = ruled(Decision::Approve, Ending::Ruled(None));
    let accept = json!({"id": 0, "result": {"decision": "accept"}});
    assert_eq!(sent(&run.decided(&first, Ok(&allow))), vec![accept]);
    assert_eq!(run.decided(&first, Ok(&allow)), Vec::new());
    let (second, _) = submitted(&hear(&mut run, &command(1)));
    let resolved = json!({"method": "serverRequest/resolved",
        "params": {"threadId": MAIN, "requestId": 1}});
    let why = CancelReason::AnsweredElsewhere;
    assert_eq!(hear(&mut run, &resolved), vec![Step::Cancel { key: second.clone(), why }]);
    assert_eq!(run.decided(&second, Ok(&allow)), Vec::new());
}

#[test]
fn without_a_decision_a_request_is_denied_and_the_model_reads_why() {
    let endings = [Ok(Ending::Expired), Ok(Ending::Cancelled), Err("no daemon".to_owned())];
    for (id, ending) in (0..).zip(endings) {
        let mut run = started(CodexOutput::Messages);
        let (key, _) = submitted(&hear(&mut run, &command(id)));
        let decided = ending.map(|ending| ruled(Decision::Deny, ending));
        let frames = sent(&run.decided(&key, decided.as_ref().map_err(Clone::clone)));
        assert_eq!(frames[0], json!({"id": id, "result": {"decision": "decline"}}));
        assert_eq!(frames[1]["method"], "turn/steer");
        assert!(frames[1]["params"]["input"][0]["text"].as_str().unwrap().len() > 20, "{frames:?}");
    }
}

#[test]
fn what_no_card_can_show_is_denied_at_once_and_never_with_an_error() {
    let secret = json!({"questions": [{"id": "a", "question": "Key?", "isSecret": true}]});
    for (method, more, result) in [
        (
            "item/commandExecution/requestApproval",
            json!({"kind": "writeStdin", "command": "x"}),
            json!({"decision": "decline"}),
        ),
        ("item/fileChange/requestApproval", json!({}), json!({"decision": "decline"})),
        ("item/tool/requestUserInput", secret, json!({"answers": {}})),
        (
            "item/permissions/requestApproval",
            json!({"permissions": {"network": {}}}),
            json!({"permissions": {}, "scope": "turn"}),
        ),
        ("mcpServer/elicitation/request", json!({"mode": "form"}), json!({"action": "decline"})),
    ] {
        let mut run = started(CodexOutput::Messages);
        let frames = sent(&hear(&mut run, &asks(3, method, &more)));
        assert_eq!(frames[0], json!({"id": 3, "result": result}), "{method}");
        assert_eq!(run.input(), EngineInput::Open);
    }
    let mut run = started(CodexOutput::Messages);
    assert_eq!(hear(&mut run, &asks(3, "new/request", &json!({}))), Vec::new());
    assert_eq!(run.failure().unwrap(), "Codex asks for new/request, which is unknown");
    assert_eq!(run.input(), EngineInput::Over);
}

#[test]
fn a_subagent_s_request_belongs_to_the_session_and_gets_its_own_words() {
    let mut run = started(CodexOutput::Messages);
    let mut asked = command(4);
    asked["params"]["threadId"] = json!("02-sub");
    let (key, call) = submitted(&hear(&mut run, &asked));
    assert_eq!((call.session.as_str(), call.meta), (MAIN, Some(json!({"agent_id": "02-sub"}))));
    let denied = ruled(Decision::Deny, Ending::Ruled(Some("deny `make`".into())));
    let frames = sent(&run.decided(&key, Ok(&denied)));
    assert_eq!(frames[1]["params"]["threadId"], "02-sub");
    let ends = json!({"method": "turn/completed",
        "params": {"threadId": "02-sub", "turn": {"status": "completed"}}});
    assert_eq!((hear(&mut run, &ends), run.input()), (Vec::new(), EngineInput::Open));
}

#[test]
fn the_end_of_the_turn_is_the_end_of_the_run_and_a_bad_one_is_its_failure() {
    let ends = |status: &str, error: Value| {
        let mut run = started(CodexOutput::Messages);
        let turn = json!({"status": status, "error": error});
        let frame = json!({"method": "turn/completed", "params": {"threadId": MAIN, "turn": turn}});
        assert_eq!((hear(&mut run, &frame), run.input()), (Vec::new(), EngineInput::Over));
        run.failure()
    };
    assert_eq!(ends("completed", Value::Null), None);
    assert_eq!(ends("interrupted", Value::Null).unwrap(), "Codex's turn ended as interrupted");
    let failed = "Codex's turn ended as failed: no model";
    assert_eq!(ends("failed", json!({"message": "no model"})).unwrap(), failed);
    let mut run = CodexRun::new("go".into(), None, None, CodexOutput::Messages);
    let error = json!({"id": "countersign:thread", "error": {"code": 1, "message": "no such"}});
    assert_eq!(hear(&mut run, &error), Vec::new());
    assert_eq!(run.failure().unwrap(), "Codex refused to start: no such");
    let mut run = started(CodexOutput::Messages);
    let (key, _) = submitted(&hear(&mut run, &command(0)));
    let why = CancelReason::Aborted;
    assert_eq!(run.engine_ended(why), vec![Step::Cancel { key, why }]);
    assert_eq!(run.failure().unwrap(), "Codex ended before its turn did");
}

#[test]
fn garbage_is_nothing_and_what_codex_says_is_told() {
    let said = json!({"method": "item/completed", "params": {"threadId": MAIN,
        "item": {"type": "agentMessage", "text": "All done."}}});
    let mut run = started(CodexOutput::Messages);
    for line in [&b"\xff\n"[..], b"[]\n", b"{\n", b"{\"id\":1}\n", b"null"] {
        assert_eq!(run.engine_line(line), (Forward::Stays, Vec::new()));
    }
    assert_eq!(hear(&mut run, &said), vec![Step::Tell("All done.".into())]);
    let mut run = started(CodexOutput::Frames);
    let line = format!("{said}\n");
    assert_eq!(run.engine_line(line.as_bytes()), (Forward::On, Vec::new()));
}

#[test]
fn an_error_that_lasts_ends_the_run_unless_codex_goes_on_or_a_person_is_asked() {
    let error = json!({"message": "Reconnecting... waiting for network",
        "additionalDetails": "Connection failed"});
    let params = json!({"threadId": MAIN, "turnId": "u", "willRetry": true, "error": error});
    let error = json!({"method": "error", "params": params});
    let mut run = started(CodexOutput::Messages).ending_after(TICK * 3);
    let first = "Codex: Reconnecting... waiting for network (Connection failed)";
    assert_eq!(hear(&mut run, &error), vec![Step::Log(first.into())]);
    assert_eq!(hear(&mut run, &error), vec![], "it is said once");
    for _ in 0..2 {
        assert_eq!((run.tick(), run.input()), (vec![], EngineInput::Open));
    }
    // A request, and the item in which it came: Codex goes on.
    let (key, _) = submitted(&hear(&mut run, &command(7)));
    hear(&mut run, &error);
    for _ in 0..9 {
        assert_eq!((run.tick(), run.input()), (vec![], EngineInput::Open), "somebody is asked");
    }
    run.decided(&key, Err("no daemon".into()));
    hear(&mut run, &json!({"method": "unheard/of", "params": {"threadId": MAIN}}));
    for _ in 0..2 {
        assert_eq!((run.tick(), run.input()), (vec![], EngineInput::Open));
    }
    run.tick();
    assert_eq!(run.input(), EngineInput::Abandoned);
    let why = "Codex did not get over an error for 30 s: Reconnecting... waiting for network \
               (Connection failed)";
    assert_eq!(run.failure().as_deref(), Some(why));
}
