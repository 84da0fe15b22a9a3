#![allow(clippy::unwrap_used, clippy::panic, reason = "tests fail by panicking")]
use super::{super::frame, *};
use crate::{answered, codex::frame::CodexFrame};
use countersign_domain::Scope;

fn request(method: &str, params: Value) -> ServerRequest {
    let text = json!({"method": method, "id": 7, "params": params}).to_string();
    match frame::read(&text) {
        CodexFrame::Request(request) => request,
        other => panic!("{other:?}"),
    }
}

fn params(more: &Value) -> Value {
    let mut params = json!({"threadId": "t", "turnId": "u", "itemId": "i", "startedAtMs": 5,
        "command": "/bin/bash -lc 'cargo build --release'", "cwd": "/w",
        "proposedExecpolicyAmendment": ["cargo", "build"]});
    for (name, value) in more.as_object().unwrap() {
        params.as_object_mut().unwrap().insert(name.clone(), value.clone());
    }
    params
}

fn command(more: &Value) -> Option<CodexRequest> {
    let asked = request("item/commandExecution/requestApproval", params(more));
    CodexRequest::of(&asked, RequestContext { host: Some("mill"), ..RequestContext::default() })
}

fn answered(decision: Decision, scope: Option<Scope>, reason: Option<&str>) -> Decided {
    answered::answered(decision, "denied by Ana: no", |answer| {
        (answer.scope, answer.reason) = (scope, reason.map(str::to_owned));
    })
}

fn reply(request: &CodexRequest, decided: &Decided) -> Option<Value> {
    request.reply(decided).map(|reply| reply.result)
}

#[test]
fn a_command_is_the_script_of_codex_and_whatever_else_it_asks_for_is_an_argument() {
    let plain = command(&json!({"reason": "Build it?", "environmentId": "local"})).unwrap();
    assert_eq!(plain.call.args, json!({"command": "cargo build --release"}));
    assert_eq!(
        (plain.call.tool.as_str(), plain.call.reason.as_deref()),
        ("Bash", Some("Build it?"))
    );
    for (more, args) in [
        (json!({"command": "/tmp/bash -lc ls"}), json!({"command": "/tmp/bash -lc ls"})),
        (json!({"command": "ls 'a"}), json!({"command": "ls 'a"})),
        (
            json!({"networkApprovalContext": {"host": "x", "protocol": "https"}}),
            json!({"command": "cargo build --release",
                "networkApprovalContext": {"host": "x", "protocol": "https"}}),
        ),
        (
            json!({"command": "ls", "environmentId": "far"}),
            json!({"command": "ls", "environmentId": "far"}),
        ),
    ] {
        assert_eq!(command(&more).unwrap().call.args, args);
    }
}

#[test]
fn the_tool_says_which_shell_reads_the_command() {
    for (shell, tool) in [
        ("/bin/bash -lc ls", "Bash"),
        ("/usr/bin/zsh -c ls", "Bash"),
        ("/bin/sh -c ls", "sh"),
        ("/usr/bin/sh -lc ls", "sh"),
        ("ls", "sh"),
    ] {
        assert_eq!(command(&json!({ "command": shell })).unwrap().call.tool, tool, "{shell}");
    }
}

#[test]
fn a_request_that_is_not_wholly_understood_is_left_to_the_terminal() {
    assert_eq!(command(&json!({"kind": "writeStdin"})), None);
    assert_eq!(command(&json!({"command": null})), None);
    assert_eq!(command(&json!({"turnId": 5})), None);
    let asked = |method: &str, params: Value| {
        CodexRequest::of(&request(method, params), RequestContext::default())
    };
    for method in ["item/permissions/requestApproval", "mcpServer/elicitation/request", "x"] {
        assert_eq!(asked(method, params(&json!({}))), None, "{method}");
    }
    assert_eq!(asked("item/fileChange/requestApproval", params(&json!({}))), None, "no changes");
    let secret = json!({"questions": [{"id": "a", "question": "Key?", "isSecret": true}]});
    assert_eq!(asked("item/tool/requestUserInput", params(&secret)), None);
    let twice =
        json!({"questions": [{"id": "a", "question": "One?"}, {"id": "a", "question": "Two?"}]});
    assert_eq!(asked("item/tool/requestUserInput", params(&twice)), None);
    assert_eq!(command(&json!({"cwd": 5})), None);
    assert_eq!(command(&json!({"reason": ["Build it?"]})), None);
}

#[test]
fn the_key_is_that_of_this_very_request() {
    let key = |more: &Value| command(more).unwrap().call.key;
    assert_eq!(key(&json!({})), key(&json!({})));
    assert_ne!(key(&json!({})), key(&json!({"startedAtMs": 6})));
    assert_ne!(key(&json!({})), key(&json!({"approvalId": "b"})));
}

#[test]
fn codex_remembers_nothing_of_an_approval_whatever_its_scope() {
    let (asked, once) = (command(&json!({})).unwrap(), json!({"decision": "accept"}));
    for scope in [Scope::Once, Scope::Session, Scope::Always, Scope::Timed(60)] {
        let decided = answered(Decision::Approve, Some(scope), None);
        assert_eq!(reply(&asked, &decided).as_ref(), Some(&once), "{scope}");
    }
}

#[test]
fn a_denial_declines_and_its_words_go_to_the_model() {
    let asked = command(&json!({})).unwrap();
    let denied = asked.reply(&answered(Decision::Deny, None, Some("no"))).unwrap();
    let words = Some("countersign: Denied by Ana: no.".to_owned());
    assert_eq!(denied, CodexReply { result: json!({"decision": "decline"}), words });
    let plain = asked.reply(&answered(Decision::Deny, None, None)).unwrap();
    assert_eq!(plain.words, None);
    let rule = Ending::Ruled(Some("deny `cargo *`".into()));
    let ruled = Decided { ending: rule, ..answered(Decision::Deny, None, None) };
    let words = "countersign: Denied by policy: denied by Ana: no (deny `cargo *`).".to_owned();
    assert_eq!(asked.reply(&ruled).unwrap().words, Some(words));
    let mut stops = answered(Decision::Deny, None, Some("no"));
    if let Ending::Answered(answer) = &mut stops.ending {
        answer.stop = true;
    }
    let stopped = asked.reply(&stops).unwrap();
    assert_eq!(stopped, CodexReply { result: json!({"decision": "cancel"}), words: None });
}

#[test]
fn nobody_s_decision_and_a_foreign_kind_of_answer_are_no_reply() {
    let asked = command(&json!({})).unwrap();
    let ended = |decision, ending| Decided { ending, ..answered(decision, None, None) };
    assert_eq!(asked.reply(&ended(Decision::Deny, Ending::Expired)), None);
    assert_eq!(asked.reply(&ended(Decision::Deny, Ending::Cancelled)), None);
    assert_eq!(asked.reply(&answered(Decision::Answer, None, None)), None);
    assert_eq!(asked.reply(&answered(Decision::Edit, None, None)), None);
    let questions = json!({"questions": [{"id": "db", "question": "Which?", "options": null}]});
    let question = CodexRequest::of(
        &request("item/tool/requestUserInput", params(&questions)),
        RequestContext::default(),
    );
    let question = question.unwrap();
    assert_eq!(question.reply(&answered(Decision::Approve, None, None)), None);
    let mut said = answered(Decision::Answer, None, None);
    assert_eq!(question.reply(&said), None, "no answers");
    if let Ending::Answered(answer) = &mut said.ending {
        answer.answers = json!({"Which?": "Postgres"}).as_object().cloned();
    }
    let wanted = json!({"answers": {"db": {"answers": ["Postgres"]}}});
    assert_eq!(reply(&question, &said), Some(wanted));
}
