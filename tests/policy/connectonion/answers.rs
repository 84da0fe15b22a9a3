//! Answers, and what they do to the rest of a batch.

use countersign_policy::Call;
use countersign_profiles::connectonion::{
    Expires, Mailbox, PermissionSource, PromptAnswer, Requester,
};
use countersign_profiles::{CallEnd, OnDeny, System};
use serde_json::{Value, json};

use super::session::{AgentSession, AnswerOutcome, CheckOutcome};
use super::{host, names, session, vectors, word};
use crate::support::Kind;

#[test]
fn answers_are_what_they_say_and_nothing_else_approves() {
    vectors().each("responses.jsonl", |row, check| {
        let call = Call::new("bash", json!({ "command": "npm install" }));
        let mut session =
            session(&json!({ "permissions": [] }), Requester::Local, true, check.kind);
        assert_eq!(session.check(&call).unwrap(), CheckOutcome::Prompt);
        let (response, wanted) = (&row["response"], &row["outcome"]);
        if let Some(error) = wanted.get("error") {
            return (error.clone(), Mailbox::default().answer(response).unwrap_err().into()).into();
        }
        let outcome = session.answered(&call, PromptAnswer::read(response));
        let fields = wanted.as_object().unwrap().iter();
        let got = fields.map(|(name, value)| (name.clone(), seen(name, value, &session, &outcome)));
        (wanted.clone(), Value::Object(got.collect())).into()
    });
}

/// A field of an outcome as it came to be.
fn seen(field: &str, wanted: &Value, session: &AgentSession, outcome: &AnswerOutcome) -> Value {
    match (field, outcome) {
        ("run", _) => json!(*outcome == AnswerOutcome::Run),
        ("stop", _) => json!(session.stopped().is_some()),
        ("stop_signal", _) => json!(session.stopped()),
        ("remember", _) => remembered(session),
        ("raises", _) => json!((*outcome == AnswerOutcome::Interrupted).then_some("UserInterrupt")),
        ("message_contains", AnswerOutcome::Refused(message)) => {
            let found = names(wanted).into_iter().filter(|part| message.contains(part));
            json!(found.collect::<Vec<_>>())
        }
        other => panic!("{other:?}"),
    }
}

fn remembered(session: &AgentSession) -> Value {
    let given = session.permissions().iter().filter(|one| one.source == PermissionSource::User);
    let mut all = serde_json::Map::new();
    for one in given {
        assert_eq!((one.when.len(), one.expires), (0, Expires::SessionEnd));
        let entry = json!({ "source": "user", "expires": "session_end" });
        all.insert(one.key.text().to_owned(), entry);
    }
    if all.is_empty() { Value::Null } else { all.into() }
}

#[test]
fn a_batch_goes_on_or_stops_as_its_answers_say() {
    vectors().each("batches.jsonl", |row, check| {
        let Some(calls) = row.get("batch").and_then(Value::as_array) else {
            return alone(row, check.kind).into();
        };
        let call = |call: &Value| Call::new(call["tool"].as_str().unwrap(), call["args"].clone());
        let calls: Vec<Call> = calls.iter().map(call).collect();
        let got = run(&calls, row["answers"].as_array().unwrap(), check.kind);
        let fields = ["ran", "prompts", "auto_rejected", "llm_gets_turn"];
        let said = fields.iter().filter(|field| row.get(**field).is_some());
        let pick = |of: &Value| said.clone().map(|field| of[*field].clone()).collect::<Value>();
        (pick(row), pick(&got)).into()
    });
}

/// Rows that are about one call.
fn alone(row: &Value, kind: Kind) -> (Value, Value) {
    if row.get("io").is_some() {
        let config = json!({ "permissions": [], "profile": row["profile"] });
        let call = Call::new(row["tool"].as_str().unwrap(), json!({ "command": "npm i" }));
        let step = session(&config, Requester::Local, false, kind).check(&call).unwrap();
        let got = if step == CheckOutcome::Run { "run" } else { word(&step) };
        return (row["expect"].clone(), got.into());
    }
    // A permitted call never comes as far as a prompt; that a prompt is stored before anybody waits
    // is shown with the daemon killed (tests/e2e/connectonion/lines.rs).
    let session = session(&json!({}), Requester::Local, true, kind);
    let step = |tool: &str| word(&session.check(&Call::new(tool, json!({}))).unwrap()).to_owned();
    (json!(["allow", "ask"]), json!([step("read_file"), step("write")]))
}

/// Which calls ran, which were prompted for with what behind them, and whether the model goes on.
fn run(calls: &[Call], answers: &[Value], kind: Kind) -> Value {
    let mut session = session(&json!({ "permissions": [] }), Requester::Local, true, kind);
    let (mut ran, mut prompts, mut rejected) = (Vec::new(), Vec::new(), Vec::new());
    let mut answers = answers.iter();
    for (at, call) in calls.iter().enumerate() {
        ran.push(match session.check(call).unwrap() {
            CheckOutcome::Run => true,
            CheckOutcome::Refused(_) => {
                rejected.push(at);
                false
            }
            CheckOutcome::Prompt => {
                let behind: Vec<&str> = calls[at + 1..].iter().map(|call| &*call.tool).collect();
                prompts.push(json!({ "tool": call.tool, "batch_remaining": behind }));
                let answer =
                    PromptAnswer::read(answers.next().expect("an answer for every prompt"));
                session.answered(call, answer) == AnswerOutcome::Run
            }
        });
    }
    assert_eq!(answers.next(), None, "every answer is used");
    let goes_on = session.stopped().is_none();
    json!({
        "ran": ran, "prompts": prompts, "auto_rejected": rejected, "llm_gets_turn": goes_on,
    })
}

#[test]
fn in_a_stopped_batch_permitted_calls_run_only_under_compat() {
    for (kind, runs) in [(Kind::Strict, false), (Kind::Compat, true)] {
        let mut session = session(&json!({}), Requester::Local, true, kind);
        let call = Call::new("write", json!({ "path": "x" }));
        session.answered(&call, PromptAnswer::read(&json!({ "approved": false })));
        let step = session.check(&Call::new("read_file", json!({ "path": "x" }))).unwrap();
        assert_eq!(step == CheckOutcome::Run, runs, "{kind}");
        session.turn_begins();
        assert_eq!(session.check(&call).unwrap(), CheckOutcome::Prompt);
    }
}

#[test]
fn an_unanswered_question_is_not_approval() {
    vectors().each("ask_user.jsonl", |row, check| {
        let call = Call::new("ask_user", json!({ "question": "Which city?" }));
        let told =
            host(&json!({}), check.kind).text_for_model(&call, &CallEnd::Unreachable).unwrap();
        let contains = row["result_contains"].as_str().unwrap_or("NOT ANSWERED");
        told.contains(contains).into()
    });
}

#[test]
fn a_second_answer_and_a_second_request_are_errors() {
    let mut mailbox = Mailbox::default();
    mailbox.ask("one").unwrap();
    mailbox.ask("one").unwrap();
    let error = mailbox.ask("two").unwrap_err();
    assert_eq!(error, "one still waits for its answer; one request at a time");
    let hard = PromptAnswer::Rejected { then: OnDeny::Stop, feedback: None };
    assert_eq!(mailbox.answer(&json!({ "approved": "yes" })), Ok(("one".into(), hard)));
    assert_eq!(mailbox.answer(&json!({ "approved": true })), Err(Mailbox::STALE));
}
