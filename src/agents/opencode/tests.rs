#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::panic,
    reason = "tests fail by panicking"
)]
use super::*;
use crate::{
    agent::{HookReply, HookRequest},
    answered::answered,
};
use countersign_client::{Decided, Ending};
use countersign_domain::Decision;

const COMMAND_LINE: &str = "'/opt/my bin/countersign' hook opencode --config '/a \"b\".toml'";

fn golden(name: &str) -> Value {
    let file = format!("{}/../../tests/golden/opencode/{name}.json", env!("CARGO_MANIFEST_DIR"));
    serde_json::from_str(&std::fs::read_to_string(file).unwrap()).unwrap()
}

fn event(golden: &Value) -> Value {
    let mut event = golden["frames"][0]["data"].clone();
    event["directory"] = json!("/home/ana/shop");
    event
}

fn request(event: &Value) -> Box<dyn HookRequest> {
    match read(event.to_string().as_bytes()) {
        Ok(HookEvent::Wants(request)) => request,
        other => panic!("{other:?}"),
    }
}

/// The recorded reply, in the form of the plugin.
fn recorded(golden: &Value) -> HookReply {
    let frame = &golden["frames"][1];
    let body = if frame["data"].is_null() { json!({}) } else { frame["data"].clone() };
    HookReply::Print(json!({"path": frame["path"], "body": body}))
}

#[test]
fn the_plugin_names_the_command_and_is_removed_only_if_it_is_ours() {
    let plugin = Opencode.connect("", COMMAND_LINE, HookMode::Prompts).unwrap();
    let words = r#"["/opt/my bin/countersign","hook","opencode","--config","/a \"b\".toml"];"#;
    let line = format!("const COMMAND = {words}");
    assert!(plugin.lines().any(|there| there == line), "{plugin}");
    assert_eq!(plugin.lines().count(), PLUGIN.lines().count());
    assert_eq!(Opencode.disconnect(&plugin), Ok(String::new()));
    let theirs = "export const Mine = async () => ({})\n";
    assert!(Opencode.connect(theirs, COMMAND_LINE, HookMode::Prompts).is_err());
    assert_eq!(Opencode.disconnect(theirs), Ok(theirs.to_owned()));
}

#[test]
fn a_permission_request_becomes_a_call_of_the_persons_own_session() {
    let mut event = event(&golden("01_once"));
    event["session"] = json!({"above": ["ses_mid", "ses_root"], "title": "Explore"});
    let call = request(&event).call("k".into(), Some("mill".into())).unwrap();
    let expected = json!({
        "key": "k", "agent": "opencode", "session": "ses_root", "host": "mill",
        "cwd": "/home/ana/shop", "tool": "bash",
        "args": {"command": "git status --short && git push origin main"},
        "accepts": ["stop"],
        "meta": {"agent_id": "ses_e047f6feExample", "agent_type": "Explore"},
    });
    assert_eq!(serde_json::to_value(call).unwrap(), expected);
}

#[test]
fn answers_are_the_recorded_replies() {
    let yes = answered(Decision::Approve, "approved", |_| {});
    let no = answered(Decision::Deny, "denied by Ana: open a pull request.", |_| {});
    let stop = answered(Decision::Deny, "denied by Ana", |answer| answer.stop = true);
    let always = answered(Decision::Approve, "approved", |answer| {
        answer.scope = Some(countersign_domain::Scope::Always);
    });
    for (name, decided) in
        [("01_once", &yes), ("03_reject_feedback", &no), ("04_reject_stop", &stop)]
    {
        let golden = golden(name);
        assert_eq!(request(&event(&golden)).reply(decided), recorded(&golden), "{name}");
    }
    let once = recorded(&golden("01_once"));
    assert_eq!(request(&event(&golden("02_always"))).reply(&always), once);
}

#[test]
fn questions_are_answered_in_their_order_or_not_at_all() {
    let golden_reply = golden("06_question_reply");
    let request = request(&event(&golden_reply));
    let call = request.call("k".into(), None).unwrap();
    assert_eq!(call.questions.len(), 2);
    assert!(call.questions[1].multi_select);
    let said = |answers: Value| {
        answered(Decision::Answer, "answered", |answer| {
            answer.answers = answers.as_object().cloned();
        })
    };
    let all = said(json!({"Which checks should run?": ["Lint", "Docs"],
        "Which database should the demo use?": "Postgres"}));
    assert_eq!(request.reply(&all), recorded(&golden_reply));
    let half = said(json!({"Which checks should run?": ["Lint", "Docs"]}));
    assert_eq!(request.reply(&half), HookReply::Nothing);
    assert_eq!(request.reply(&answered(Decision::Approve, "", |_| {})), HookReply::Nothing);
    let no = answered(Decision::Deny, "no", |_| {});
    assert_eq!(request.reply(&no), recorded(&golden("07_question_reject")));
}

#[test]
fn when_nobody_decided_the_dialog_decides() {
    for (golden, ending) in [
        (golden("01_once"), Ending::Expired),
        (golden("01_once"), Ending::Cancelled),
        (golden("06_question_reply"), Ending::Expired),
        (golden("06_question_reply"), Ending::Cancelled),
    ] {
        let decided = Decided {
            decision: Decision::Deny,
            reason: String::new(),
            message: None,
            ask: None,
            ending,
        };
        assert_eq!(request(&event(&golden)).reply(&decided), HookReply::Nothing);
    }
}

#[test]
fn an_mcp_tool_never_passes_for_one_of_opencodes_own_and_no_id_leaves_its_path() {
    let mut asked = event(&golden("01_once"));
    asked["properties"]["permission"] = json!("read_file");
    asked["properties"]["metadata"] = json!({});
    let call = request(&asked).call("k".into(), None).unwrap();
    assert_eq!(call.tool, "mcp__opencode__read_file");
    assert_eq!(call.args["patterns"][0], "git status --short");
    for id in ["", "../x", "per_1/reply?", "per 1"] {
        asked["properties"]["id"] = json!(id);
        assert!(read(asked.to_string().as_bytes()).is_err(), "{id}");
    }
}

#[test]
fn a_deleted_session_ends_and_other_events_are_passed_over() {
    let deleted = json!({"type": "session.deleted", "properties": {"info": {"id": "ses_1"}}});
    let ended = read(deleted.to_string().as_bytes());
    assert!(matches!(&ended, Ok(HookEvent::Ended { session }) if session == "ses_1"), "{ended:?}");
    let other = json!({"type": "session.idle", "properties": {}});
    assert!(matches!(read(other.to_string().as_bytes()), Ok(HookEvent::Notice)));
    assert!(read(b"{\"type\":\"permission.asked\",\"properties\":{}}").is_err());
}

#[test]
fn a_request_of_the_second_version_is_the_same_call_and_is_answered_on_its_own_route() {
    let first = event(&golden("01_once"));
    let old = &first["properties"];
    let mut second = first.clone();
    second["type"] = json!("permission.v2.asked");
    second["properties"] = json!({"id": old["id"], "sessionID": old["sessionID"],
        "action": old["permission"], "resources": old["patterns"], "metadata": old["metadata"],
        "save": ["git *"], "source": {"type": "tool"}});
    let call = |event: &Value| request(event).call("k".into(), None).unwrap();
    assert_eq!(call(&first), call(&second));
    let decided = answered(Decision::Approve, "Approved by Ana", |_| {});
    let (id, session) = (old["id"].as_str().unwrap(), old["sessionID"].as_str().unwrap());
    let path = format!("/api/session/{session}/permission/{id}/reply");
    let reply = HookReply::Print(json!({"path": path, "body": {"reply": "once"}}));
    assert_eq!(request(&second).reply(&decided), reply);

    let mut asks = event(&golden("07_question_reject"));
    asks["type"] = json!("question.v2.asked");
    let (id, session) = (&asks["properties"]["id"], &asks["properties"]["sessionID"]);
    let (id, session) = (id.as_str().unwrap(), session.as_str().unwrap());
    let path = format!("/api/session/{session}/question/{id}/reject");
    let denied = answered(Decision::Deny, "Denied by Ana", |_| {});
    let reply = HookReply::Print(json!({"path": path, "body": {}}));
    assert_eq!(request(&asks).reply(&denied), reply);
    // Both become a part of the path.
    for wrong in ["../x", "a/b", "", "a?b", "a%2fb"] {
        for name in ["id", "sessionID"] {
            let mut hostile = second.clone();
            hostile["properties"][name] = json!(wrong);
            assert!(read(hostile.to_string().as_bytes()).is_err(), "{name}: {wrong:?}");
        }
    }
    // Both names at once say nothing.
    second["properties"]["permission"] = json!("read");
    assert!(read(second.to_string().as_bytes()).is_err());
}
