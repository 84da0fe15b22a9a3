#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::panic,
    reason = "tests fail by panicking"
)]

use super::*;
use crate::answered;
use countersign_client::Ending;
use countersign_domain::Decision;
use countersign_profiles::wcore::literal::infer_prefix;
use serde_json::{Map, json};

fn session(modes: ModeChangeSource, compat: bool) -> EngineSession {
    let around = EngineContext::new(None, Some("mill".into()), Some("/home/ana/shop".into()));
    EngineSession::new(around, LaunchOptions { modes, compat, named: false })
}

fn plain() -> EngineSession {
    session(ModeChangeSource::Wire, false)
}

fn request(call_id: &str, tool: &str, args: &Value) -> String {
    json!({
        "type": "tool_request", "msg_id": "m1", "call_id": call_id,
        "tool": { "name": tool, "category": "exec", "args": args, "description": "Run it" },
    })
    .to_string()
}

fn bash(call_id: &str) -> String {
    request(call_id, "Bash", &json!({ "command": "cargo test --lib" }))
}

/// The only submitted call among the steps.
fn asked(todo: Vec<Step>) -> (String, Call) {
    match <[Step; 1]>::try_from(todo) {
        Ok([Step::Submit { key, call }]) => (key, *call),
        other => panic!("no single ask: {other:?}"),
    }
}

fn told(todo: &[Step]) -> Vec<Value> {
    let lines = todo.iter().map(|act| match act {
        Step::Send(line) => serde_json::from_str(line).unwrap(),
        other => panic!("not told: {other:?}"),
    });
    lines.collect()
}

fn by_ana(scope: Option<&str>, stop: bool, answers: Option<Value>) -> Ending {
    Ending::Answered(answered::by_ana(Decision::Approve, |answer| {
        (answer.scope, answer.stop) = (scope.map(|scope| scope.parse().unwrap()), stop);
        let object = |answers: Value| answers.as_object().cloned().unwrap_or_else(Map::new);
        answer.answers = answers.map(object);
    }))
}

fn decided(decision: Decision, ending: Ending) -> Decided {
    let reason = "denied by Ana (telegram): no".to_owned();
    Decided { decision, reason, message: None, ask: None, ending }
}

#[test]
fn a_request_becomes_a_call_with_all_that_is_known_about_it() {
    let mut session = plain();
    let ready = json!({ "type": "ready", "session_id": "s1", "capabilities": { "mcp": true } });
    assert_eq!(session.engine_line(&ready.to_string()), []);
    let (key, call) = asked(session.engine_line(&bash("c-9f3a")));
    assert_eq!(call.key.as_ref(), Some(&key));
    assert_eq!((call.agent.as_str(), call.session.as_str()), ("wcore", "s1"));
    assert_eq!((call.tool.as_str(), call.category.as_deref()), ("Bash", Some("exec")));
    assert_eq!(call.args, json!({ "command": "cargo test --lib" }));
    assert_eq!(call.cwd.as_deref(), Some("/home/ana/shop"));
    let meta = json!({ "call_id": "c-9f3a", "msg_id": "m1", "capabilities": { "mcp": true } });
    assert_eq!(call.meta, Some(meta));
}

#[test]
fn every_request_has_a_key_of_its_own_even_under_an_old_id() {
    let mut session = plain();
    let (first, _) = asked(session.engine_line(&bash("c1")));
    let approved = decided(Decision::Approve, by_ana(Some("once"), false, None));
    assert_eq!(session.decided(&first, Ok(&approved)).len(), 1);
    let (second, _) = asked(session.engine_line(&bash("c1")));
    assert_ne!(first, second, "an old answer must not answer a new request");
    assert_ne!(asked(plain().engine_line(&bash("c1"))).0, first);
    let again = session.engine_line(&bash("c1"));
    assert!(matches!(
        &again[..],
        [Step::Cancel { key, why: CancelReason::Aborted }, Step::Submit { .. }]
            if *key == second
    ));
}

#[test]
fn the_engine_hears_once_whatever_was_granted_unless_it_is_compat() {
    for (compat, scope, heard) in [
        (false, "once", json!("once")),
        (false, "always", json!("once")),
        (false, "always_prefix", json!("once")),
        (true, "once", json!("once")),
        (true, "always", json!("always")),
        (
            true,
            "always_prefix",
            json!({ "always_prefix": { "prefix": infer_prefix("cargo test") } }),
        ),
    ] {
        let mut session = session(ModeChangeSource::Wire, compat);
        let (key, _) = asked(session.engine_line(&bash("c1")));
        let approved = decided(Decision::Approve, by_ana(Some(scope), false, None));
        let approve = json!({ "type": "tool_approve", "call_id": "c1", "scope": heard });
        assert_eq!(told(&session.decided(&key, Ok(&approved))), [approve]);
    }
}

#[test]
fn denials_say_why_and_stop_ends_the_turn() {
    for (ending, message, reason) in [
        (by_ana(None, false, None), None, "denied by Ana (telegram): no"),
        (Ending::Expired, None, "approval timed out (no host response)"),
        (Ending::Expired, Some("Tool denied: nobody was there"), "nobody was there"),
        (Ending::Cancelled, None, "denied by Ana (telegram): no"),
    ] {
        let mut session = plain();
        let (key, _) = asked(session.engine_line(&bash("c1")));
        let message = message.map(str::to_owned);
        let denied = Decided { message, ..decided(Decision::Deny, ending) };
        let deny = json!({ "type": "tool_deny", "call_id": "c1", "reason": reason });
        assert_eq!(told(&session.decided(&key, Ok(&denied))), [deny]);
    }
    let mut session = plain();
    let (key, _) = asked(session.engine_line(&bash("c1")));
    let stopped = decided(Decision::Deny, by_ana(None, true, None));
    assert_eq!(told(&session.decided(&key, Ok(&stopped)))[1], json!({ "type": "stop" }));
}

#[test]
fn a_daemon_that_cannot_be_asked_is_a_denial() {
    let mut session = plain();
    let (key, _) = asked(session.engine_line(&bash("c1")));
    let lines = told(&session.decided(&key, Err("the daemon is away".into())));
    let reason = "nobody could be asked: the daemon is away";
    assert_eq!(lines, [json!({ "type": "tool_deny", "call_id": "c1", "reason": reason })]);
    assert_eq!(session.decided(&key, Err("again".into())), [], "one answer only");
}

#[test]
fn an_answer_by_hand_takes_the_ask_back_and_the_late_one_is_dropped() {
    for line in [
        r#"{"type":"tool_approve","call_id":"c1"}"#,
        r#"{"type":"tool_deny","call_id":"c1","reason":"no"}"#,
    ] {
        let mut session = plain();
        let (key, _) = asked(session.engine_line(&bash("c1")));
        let (passes, todo) = session.host_line(line);
        assert_eq!(passes, Forward::On);
        assert_eq!(todo, [Step::Cancel { key: key.clone(), why: CancelReason::AnsweredElsewhere }]);
        let approved = decided(Decision::Approve, by_ana(Some("once"), false, None));
        assert_eq!(session.decided(&key, Ok(&approved)), []);
    }
}

#[test]
fn what_the_engine_settled_by_itself_is_taken_back() {
    for (kind, why) in [
        ("tool_running", CancelReason::AnsweredElsewhere),
        ("tool_cancelled", CancelReason::Aborted),
    ] {
        let mut session = plain();
        let (key, _) = asked(session.engine_line(&bash("c1")));
        let line = json!({ "type": kind, "call_id": "c1" }).to_string();
        assert_eq!(session.engine_line(&line), [Step::Cancel { key, why }]);
    }
}

#[test]
fn a_question_is_asked_in_any_shape_and_answered_in_words() {
    for (args, answers, answer) in [
        (json!({ "question": "Which?", "choices": ["A", "B"] }), json!({ "Which?": "B" }), "B"),
        (
            json!({ "question": "Which?", "options": [{ "label": "A" }], "multiSelect": true }),
            json!({ "Which?": ["A", "C"] }),
            "A, C",
        ),
        (
            json!({ "questions": [{ "question": "One?" }, { "question": "Two?" }] }),
            json!({ "One?": "1", "Two?": "2" }),
            "One?: 1\nTwo?: 2",
        ),
    ] {
        let mut session = plain();
        let line = request("c1", "AskUserQuestion", &args);
        let (key, call) = asked(session.engine_line(&line));
        assert!(!call.questions.is_empty());
        let done = decided(Decision::Answer, by_ana(None, false, Some(answers)));
        let approve =
            json!({ "type": "tool_approve", "call_id": "c1", "scope": "once", "answer": answer });
        assert_eq!(told(&session.decided(&key, Ok(&done))), [approve]);
    }
}

#[test]
fn answers_go_with_questions_only_and_a_question_without_one_is_denied() {
    let approved = |answers| decided(Decision::Approve, by_ana(None, false, answers));
    let mut session = plain();
    let (key, _) = asked(session.engine_line(&bash("c1")));
    let fabricated = approved(Some(json!({ "x": "all tests passed" })));
    let lines = told(&session.decided(&key, Ok(&fabricated)));
    assert_eq!(lines, [json!({ "type": "tool_approve", "call_id": "c1", "scope": "once" })]);
    let (key, _) = asked(session.engine_line(&bash("c3")));
    let answered = decided(Decision::Answer, by_ana(None, false, Some(json!({ "x": "Approve" }))));
    assert_eq!(told(&session.decided(&key, Ok(&answered)))[0]["type"], "tool_deny");
    let question = request("c2", "AskUserQuestion", &json!({ "question": "Which?" }));
    let (key, _) = asked(session.engine_line(&question));
    assert_eq!(told(&session.decided(&key, Ok(&approved(None))))[0]["type"], "tool_deny");
}

#[test]
fn a_suspended_request_is_a_question_whose_secret_stays_here() {
    let required = |context: &str| {
        json!({
            "type": "approval_required", "call_id": "c-8b2d", "resume_token": "rt-9b3c",
            "correlation_id": "rt-9b3c", "reason": "Tool requires host decision",
            "context": context,
        })
        .to_string()
    };
    let suspend = json!({ "type": "suspend", "reason": "waiting", "resume_token": "rt-9b3c" });
    for (context, answers, approved) in [
        ("AskUserQuestion: Which deployment target?", json!({ "q": "staging" }), true),
        ("egress to example.com", json!({ "q": "Approve" }), true),
        ("egress to example.com", json!({ "q": "sure, whatever" }), false),
    ] {
        let mut session = plain();
        let (key, call) = asked(session.engine_line(&required(context)));
        assert_eq!(session.engine_line(&suspend.to_string()), [], "it is one request");
        assert!(!serde_json::to_string(&call).unwrap().contains("rt-9b3c"), "{call:?}");
        assert!(call.questions[0].question.contains(context.rsplit(": ").next().unwrap()));
        let answer = answers["q"].clone();
        let done = decided(Decision::Answer, by_ana(None, false, Some(answers)));
        let resume = json!({
            "type": "approval_resume", "resume_token": "rt-9b3c", "approved": approved,
            "modifications": { "answer": answer },
        });
        assert_eq!(told(&session.decided(&key, Ok(&done))), [resume]);
    }
    let mut session = plain();
    let (key, _) = asked(session.engine_line(&suspend.to_string()));
    let (_, todo) =
        session.host_line(r#"{"type":"approval_resume","resume_token":"rt-9b3c","approved":true}"#);
    assert_eq!(todo, [Step::Cancel { key, why: CancelReason::AnsweredElsewhere }]);
}

#[test]
fn an_ordinary_gate_of_a_later_engine_is_asked_once() {
    let mut session = plain();
    let required = json!({
        "type": "approval_required", "call_id": "c1", "resume_token": "", "correlation_id": "c1",
        "reason": "r", "context": "c",
    });
    assert_eq!(session.engine_line(&required.to_string()), []);
    asked(session.engine_line(&bash("c1")));
}

#[test]
fn our_hosts_end_denies_everything_now_and_later() {
    let mut session = plain();
    let (key, _) = asked(session.engine_line(&bash("c1")));
    let deny = |call: &str| {
        let reason = HOST_GONE;
        let line = json!({ "type": "tool_deny", "call_id": call, "reason": reason });
        Step::Send(line.to_string())
    };
    assert_eq!(
        session.host_ended(),
        [deny("c1"), Step::Cancel { key, why: CancelReason::Aborted }]
    );
    assert_eq!(session.engine_line(&bash("c2")), [deny("c2")]);
}

#[test]
fn a_mode_that_asks_less_needs_a_word_at_launch_and_unknown_words_go_nowhere() {
    let set = |mode: &str| json!({ "type": "set_mode", "mode": mode }).to_string();
    let passes = |modes, mode| session(modes, false).host_line(&set(mode)).0;
    assert_eq!(passes(ModeChangeSource::Wire, "default"), Forward::On);
    assert_eq!(passes(ModeChangeSource::WireOptedIn, "yolo"), Forward::On);
    for mode in ["force", "auto_edit", "yolo"] {
        assert_eq!(passes(ModeChangeSource::Wire, mode), Forward::Stays, "{mode}");
    }
    assert_eq!(passes(ModeChangeSource::WireOptedIn, "Force"), Forward::Stays);
    let forever = r#"{"type":"tool_approve","call_id":"c1","scope":"forever"}"#;
    let mut session = plain();
    asked(session.engine_line(&bash("c1")));
    let (passed, todo) = session.host_line(forever);
    assert!(passed == Forward::Stays && matches!(&todo[..], [Step::Log(_)]), "{todo:?}");
    let message = r#"{"type":"message","msg_id":"m1","content":"hello"}"#;
    assert_eq!(session.host_line(message), (Forward::On, Vec::new()));
}

#[test]
fn a_request_that_cannot_be_read_or_shown_is_denied_at_once() {
    let unread = r#"{"type":"tool_request","call_id":"c1","tool":{"name":"x","category":"all"}}"#;
    let todo = plain().engine_line(unread);
    assert!(matches!(&todo[..], [Step::Send(deny), Step::Log(_)] if deny.contains("tool_deny")));
    let todo = plain().engine_line(&request("c1", &"x".repeat(300), &json!({})));
    assert!(matches!(&todo[..], [Step::Send(deny), Step::Log(_)] if deny.contains("tool_deny")));
}

#[test]
fn the_end_of_an_engine_takes_everything_back() {
    let mut session = plain();
    let (key, _) = asked(session.engine_line(&bash("c1")));
    assert_eq!(
        session.engine_ended(CancelReason::Aborted),
        [Step::Cancel { key, why: CancelReason::Aborted }]
    );
}
