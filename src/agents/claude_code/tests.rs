#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::panic,
    reason = "tests fail by panicking"
)]
use super::{read as read_bytes, *};
use crate::{agent::HookRequest, answered};
use countersign_client::{AnswerView, Decided, Ending};
use countersign_domain::{Decision, Scope, call::Call, wire::AskView};
use serde_json::json;

fn read(stdin: &str) -> Result<HookEvent, String> {
    read_bytes(stdin.as_bytes(), HookMode::Prompts)
}

/// A recording between the real Claude Code and a hook.
fn golden(name: &str) -> Value {
    let file = format!("{}/../../tests/golden/claude-code/{name}.json", env!("CARGO_MANIFEST_DIR"));
    serde_json::from_str(&std::fs::read_to_string(file).unwrap()).unwrap()
}

fn frame(golden: &Value, index: usize) -> &Value {
    &golden["frames"][index]["data"]
}

fn request(golden: &Value) -> Box<dyn HookRequest> {
    match read(&frame(golden, 0).to_string()) {
        Ok(HookEvent::Wants(request)) => request,
        other => panic!("{other:?}"),
    }
}

fn decision(request: &dyn HookRequest, decided: &Decided) -> Option<Value> {
    match request.reply(decided) {
        HookReply::Print(said) => Some(said),
        HookReply::Nothing => None,
        other => panic!("{other:?}"),
    }
}

fn answered(decision: Decision, reason: &str) -> Decided {
    answered::answered(decision, reason, |_| ())
}

fn with(decided: Decided, change: impl FnOnce(&mut AnswerView)) -> Decided {
    match decided.ending {
        Ending::Answered(mut answer) => {
            change(&mut answer);
            Decided { ending: Ending::Answered(answer), ..decided }
        }
        other => panic!("{other:?}"),
    }
}

fn ending(decision: Decision, reason: &str, ending: Ending) -> Decided {
    Decided { decision, reason: reason.into(), message: None, ask: None, ending }
}

#[test]
fn a_request_becomes_a_call_with_everything_a_person_needs() {
    let golden = golden("01_hook_allow_once");
    let call = request(&golden).call("k1".into(), Some("laptop".into())).unwrap();
    let expected = json!({
        "key": "k1",
        "agent": "claude-code",
        "session": "5f0c7a52-8a5e-4c8c-9f3e-0b6e3c1d2a77",
        "host": "laptop",
        "cwd": "/home/ana/shop",
        "tool": "Bash",
        "args": {
            "command": "git push --force origin main",
            "description": "Push the release branch",
        },
        "description": "Push the release branch",
        "agent_mode": "default",
        "accepts": ["stop", "updated_input"],
        "meta": {"permission_mode": "default"},
    });
    assert_eq!(serde_json::to_value(call).unwrap(), expected);
}

#[test]
fn an_approval_is_allowed_in_the_recorded_words() {
    let golden = golden("01_hook_allow_once");
    let yes = answered(Decision::Approve, "approved by Ana (telegram)");
    assert_eq!(decision(&*request(&golden), &yes).as_ref(), Some(frame(&golden, 1)));
}

#[test]
fn an_approval_for_always_is_a_plain_allow_because_the_rule_is_ours_to_keep() {
    let golden = golden("01_hook_allow_once");
    let yes = with(answered(Decision::Approve, "approved"), |answer| {
        answer.scope = Some(Scope::Always);
    });
    assert_eq!(decision(&*request(&golden), &yes).as_ref(), Some(frame(&golden, 1)));
}

#[test]
fn a_denial_names_who_decided_and_why() {
    let golden = golden("04_hook_deny_message");
    let no = answered(Decision::Deny, "denied by Ana on Telegram: open a pull request instead.");
    assert_eq!(decision(&*request(&golden), &no).as_ref(), Some(frame(&golden, 1)));
}

#[test]
fn a_denial_that_stops_interrupts() {
    let golden = golden("05_hook_deny_interrupt");
    let stop = with(answered(Decision::Deny, "stop."), |answer| answer.stop = true);
    assert_eq!(decision(&*request(&golden), &stop).as_ref(), Some(frame(&golden, 1)));
}

#[test]
fn a_denial_by_a_rule_names_the_rule_once() {
    let request = request(&golden("01_hook_allow_once"));
    for (reason, message) in [
        ("force-push", "Denied by policy: force-push (rules:3)"),
        ("The rule rules:3 denies it.", "Denied by policy: The rule rules:3 denies it."),
    ] {
        let no = ending(Decision::Deny, reason, Ending::Ruled(Some("rules:3".into())));
        assert_eq!(
            decision(&*request, &no),
            Some(json!({"hookSpecificOutput": {"hookEventName": "PermissionRequest",
                "decision": {"behavior": "deny", "message": message}}}))
        );
    }
}

#[test]
fn when_nobody_decided_nothing_is_said() {
    let golden = golden("06_hook_no_decision");
    for silent in [
        ending(Decision::Deny, "nobody answered in time", Ending::Expired),
        ending(Decision::Deny, "cancelled: its caller left", Ending::Cancelled),
        ending(Decision::Approve, "", Ending::Cancelled),
    ] {
        assert_eq!(decision(&*request(&golden), &silent), None, "{silent:?}");
    }
    assert_eq!(frame(&golden, 1), &Value::Null);
}

#[test]
fn questions_are_handed_in_and_their_answers_come_back_as_updated_input() {
    let golden = golden("07_ask_user_question");
    let request = request(&golden);
    let call = request.call("k".into(), None).unwrap();
    assert_eq!(
        serde_json::to_value(&call.questions).unwrap(),
        frame(&golden, 0)["tool_input"]["questions"]
    );
    let yes = with(answered(Decision::Answer, "answered by Ana"), |answer| {
        let answers = json!({
            "Which database should the demo use?": "DuckDB, embedded",
            "Which checks should run?": ["Lint", "Docs"],
        });
        answer.answers = answers.as_object().cloned();
    });
    assert_eq!(decision(&*request, &yes).as_ref(), Some(frame(&golden, 1)));
}

#[test]
fn questions_are_never_approved_without_answers() {
    let request = request(&golden("07_ask_user_question"));
    let yes = answered(Decision::Approve, "approved");
    let no_answers = |answer: &mut AnswerView| answer.answers = Some(Map::new());
    for silent in [
        yes.clone(),
        with(yes, no_answers),
        with(answered(Decision::Answer, "answered"), no_answers),
        ending(Decision::Approve, "a rule", Ending::Ruled(None)),
        ending(Decision::Approve, "the deadline", Ending::Expired),
    ] {
        assert_eq!(decision(&*request, &silent), None, "{silent:?}");
    }
}

#[test]
fn an_answered_question_allows_no_other_tool() {
    let request = request(&golden("01_hook_allow_once"));
    let deny = json!({"ls -la": "Deny"}).as_object().cloned();
    let answered =
        with(answered(Decision::Answer, "answered by Ana"), |answer| answer.answers = deny);
    assert_eq!(decision(&*request, &answered), None);
}

#[test]
fn questions_that_cannot_be_shown_are_not_handed_in() {
    let mut stdin = frame(&golden("07_ask_user_question"), 0).clone();
    for (input, why) in [
        (json!({"questions": []}), "there are no questions to ask"),
        (
            json!({"questions": 5}),
            "the questions cannot be read: invalid type: integer `5`, expected a sequence",
        ),
    ] {
        stdin["tool_input"] = input;
        let Ok(HookEvent::Wants(request)) = read(&stdin.to_string()) else { panic!("no request") };
        assert_eq!(request.call("k".into(), None), Err(why.into()));
    }
}

#[test]
fn leaving_plan_mode_says_where_the_plan_is() {
    let golden = golden("08_exit_plan_mode");
    let call = request(&golden).call("k".into(), None).unwrap();
    let said = "Leave plan mode and begin; the plan is in Claude's terminal.";
    assert_eq!((call.tool.as_str(), call.description.as_deref()), ("ExitPlanMode", Some(said)));
}

#[test]
fn an_approved_plan_is_allowed_with_its_input_because_a_bare_allow_is_ignored() {
    let golden = golden("08_exit_plan_mode");
    let approved = answered(Decision::Approve, "approved by Ana");
    assert_eq!(decision(&*request(&golden), &approved).as_ref(), Some(frame(&golden, 1)));
    let mut stdin = frame(&golden, 0).clone();
    stdin["tool_input"] = json!({"plan": "1. Build", "planFilePath": "/p.md"});
    let Ok(HookEvent::Wants(request)) = read(&stdin.to_string()) else { panic!("no request") };
    let decision = &decision(&*request, &approved).unwrap()["hookSpecificOutput"]["decision"];
    assert_eq!(*decision, json!({"behavior": "allow", "updatedInput": stdin["tool_input"]}));
}

#[test]
fn a_plan_that_was_approved_in_the_terminal_closes_its_ask_though_its_text_is_not_repeated() {
    let golden = golden("08_exit_plan_mode");
    let mut stdin = frame(&golden, 0).clone();
    stdin["tool_input"] = json!({"plan": "1. Build"});
    let Ok(HookEvent::Wants(asked)) = read(&stdin.to_string()) else { panic!("no request") };
    let open = [open_ask("plan", &asked.call("k".into(), None).unwrap())];
    stdin["hook_event_name"] = "PostToolUse".into();
    stdin["tool_input"] = json!({});
    assert_eq!(read(&stdin.to_string()).unwrap().closes(NAME, &open), ["plan"]);
}

fn open_ask(id: &str, call: &Call) -> AskView {
    let ask =
        json!({"id": id, "state": "open", "call": call, "digest": "", "why": "", "created": ""});
    serde_json::from_value(ask).unwrap()
}

#[test]
fn a_call_that_ran_closes_the_oldest_ask_for_exactly_it() {
    let golden = golden("10_answered_in_terminal");
    let call = request(&golden).call("k".into(), None).unwrap();
    let other_session = Call { session: "other".into(), ..call.clone() };
    let other_args = Call { args: json!({"command": "ls"}), ..call.clone() };
    let other_agent = Call { agent: "codex".into(), ..call.clone() };
    let open = [
        open_ask("agent", &other_agent),
        open_ask("session", &other_session),
        open_ask("args", &other_args),
        open_ask("this", &call),
        open_ask("again", &call),
    ];
    let ran = read(&frame(&golden, 1).to_string()).unwrap();
    assert_eq!(ran.closes(NAME, &open), ["this"]);
}

#[test]
fn questions_that_were_answered_in_the_terminal_are_closed_too() {
    let golden = golden("07_ask_user_question");
    let open = [open_ask("q", &request(&golden).call("k".into(), None).unwrap())];
    let mut ran = frame(&golden, 0).clone();
    ran["hook_event_name"] = "PostToolUse".into();
    ran["tool_input"]["answers"] = json!({"Which database should the demo use?": "SQLite"});
    assert_eq!(read(&ran.to_string()).unwrap().closes(NAME, &open), ["q"]);
}

#[test]
fn the_end_of_a_turn_closes_what_the_main_agent_asked_and_leaves_its_subagents() {
    let call = request(&golden("01_hook_allow_once")).call("k".into(), None).unwrap();
    let of_subagent = Call { meta: Some(json!({"agent_id": "a7"})), ..call.clone() };
    let open = [open_ask("main", &call), open_ask("sub", &of_subagent)];
    let stop: HookEvent = HookEvent::Stopped { session: call.session };
    assert_eq!(stop.closes(NAME, &open), ["main"]);
}

#[test]
fn other_events_and_garbage_are_told_apart() {
    let end = read(r#"{"hook_event_name":"SessionEnd","session_id":"s","reason":"exit"}"#);
    assert!(matches!(end, Ok(HookEvent::Ended { session }) if session == "s"));
    for garbage in ["", "[]", "{not json", r#"{"hook_event_name":"PermissionRequest"}"#] {
        assert!(read(garbage).is_err(), "{garbage}");
    }
}

#[test]
fn what_asks_for_a_decision_elsewhere_is_blocked_and_what_only_tells_is_passed_over() {
    let said = |read: Result<HookEvent, String>| format!("{read:?}");
    let misplaced = |event: &str| said(Ok(super::misplaced(event)));
    for event in ["PreToolUse", "UserPromptSubmit", "PreCompact", "Elicitation", "Unheard", ""] {
        let stdin = json!({"hook_event_name": event, "session_id": 5, "tool_input": []});
        assert_eq!(said(read(&stdin.to_string())), misplaced(event));
    }
    for event in TELLING {
        let stdin = json!({"hook_event_name": event, "session_id": "s"});
        assert!(matches!(read(&stdin.to_string()), Ok(HookEvent::Notice)));
    }
    for broken in [r#"{"hook_event_name":"PreToolUse","#, r#"{"a":"\ud800","b":"PreToolUse"}"#] {
        assert_eq!(said(read(broken)), misplaced("PreToolUse"), "{broken}");
    }
    let cut = b"{\"hook_event_name\":\"PreToolUse\",\"x\":\"\xff\"}";
    assert_eq!(said(read_bytes(cut, HookMode::Prompts)), misplaced("PreToolUse"));
    let nameless = misplaced("an event without a name");
    assert_eq!(said(read(r#"{"tool_name":"Bash"}"#)), nameless);
    assert_eq!(said(read(r#"{"hook_event_name":null,"toolName":"bash"}"#)), nameless);
    assert!(read(r#"{"hook_event_name":"PermissionRequest","session_id":5}"#).is_err());
}

#[test]
fn hooks_that_a_file_switches_off_are_named_with_the_file() {
    let home = tempfile::tempdir().unwrap();
    let project = tempfile::tempdir().unwrap();
    let settings = home.path().join("settings.json");
    std::fs::create_dir(project.path().join(".claude")).unwrap();
    let local = project.path().join(".claude/settings.local.json");
    for (file, text, off) in [
        (&settings, "{}", false),
        (&local, "{\"disableAllHooks\": false}", false),
        (&local, "{\"disableAllHooks\": true}", true),
        (&local, "{", false),
        (&settings, "{\"disableAllHooks\": true}", true),
    ] {
        std::fs::write(file, text).unwrap();
        let says = ClaudeCode.switched_off(&settings, project.path());
        let expected = format!("`disableAllHooks` in {} switches all hooks off", file.display());
        assert_eq!(says, off.then_some(expected), "{text}");
    }
}
