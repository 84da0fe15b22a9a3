//! Lines of the protocol, read and written.

use crate::{rows, text};
use countersign_policy::Call;
use countersign_profiles::{
    CallEnd, OnDeny, System,
    wcore::{SessionMode, Wcore},
};
use countersign_wcore::wire::{EngineEvent, HostCommand, Mistake};
use serde_json::{Value, json};

/// The fields of a command after its defaults.
fn fields(command: &HostCommand) -> Value {
    match command {
        HostCommand::ToolApprove { call_id, scope, answer } => {
            json!({ "call_id": call_id, "scope": scope, "answer": answer })
        }
        HostCommand::ToolDeny { call_id, reason } => {
            json!({ "call_id": call_id, "reason": reason })
        }
        HostCommand::ApprovalResume { resume_token, approved, modifications } => json!({
            "resume_token": resume_token, "approved": approved, "modifications": modifications,
        }),
        HostCommand::SetMode { mode } => json!({ "mode": mode }),
        HostCommand::Ping => json!({}),
    }
}

#[test]
fn commands_read_as_the_peer_reads_them() {
    for row in rows("wire_commands") {
        let got = match HostCommand::read(text(&row, "json")) {
            Ok(command) => fields(&command),
            Err(Mistake::Malformed(_)) => json!("error"),
            Err(Mistake::Other(kind)) => panic!("{row}: {kind} is no command"),
        };
        assert_eq!(got, row["parse"], "{row}");
    }
}

#[test]
fn a_written_command_reads_back() {
    for row in rows("wire_commands") {
        if let Ok(command) = HostCommand::read(text(&row, "json")) {
            assert_eq!(HostCommand::read(&command.line()), Ok(command));
        }
    }
}

#[test]
fn unknown_words_are_mistakes_and_unknown_commands_are_the_engines_business() {
    for line in [
        r#"{"type":"tool_approve","call_id":"c","scope":"Always"}"#,
        r#"{"type":"tool_approve","call_id":"c","scope":null}"#,
        r#"{"type":"tool_approve","call_id":"c","scope":{"always_prefix":{}}}"#,
        r#"{"type":"tool_approve"}"#,
        r#"{"type":"approval_resume","resume_token":"t","approved":"true"}"#,
        r#"{"type":"set_mode","mode":"Force"}"#,
        r#"["tool_approve"]"#,
    ] {
        assert!(matches!(HostCommand::read(line), Err(Mistake::Malformed(_))), "{line}");
    }
    let message = r#"{"type":"message","msg_id":"m1","content":"hello"}"#;
    assert_eq!(HostCommand::read(message), Err(Mistake::Other("message".to_owned())));
    let later = r#"{"type":"tool_deny","call_id":"c","reason":"no","later":1}"#;
    assert!(HostCommand::read(later).is_ok(), "later fields are left alone");
    assert_eq!(
        HostCommand::read(r#"{"type":"set_mode","mode":"yolo"}"#),
        Ok(HostCommand::SetMode { mode: SessionMode::Force })
    );
}

#[test]
fn events_keep_their_shape() {
    for row in rows("wire_events") {
        if let Some(event) = row.get("event") {
            let read = EngineEvent::read(&event.to_string()).unwrap();
            assert_eq!(serde_json::to_value(&read).unwrap(), *event, "{row}");
        } else if let Some(escalation) = row.get("event_tool_escalation") {
            let EngineEvent::ToolRequest(request) =
                EngineEvent::read(&asked(Some(escalation))).unwrap()
            else {
                panic!("{row}");
            };
            let written = serde_json::to_value(request.tool.escalation).unwrap();
            assert_eq!(written, *escalation, "{row}");
        } else if let Some(keys) = row.get("tool_keys") {
            let event = EngineEvent::read(&asked(None)).unwrap();
            let written = serde_json::to_value(event).unwrap();
            let tool: Vec<&String> = written["tool"].as_object().unwrap().keys().collect();
            assert_eq!(json!(tool), *keys, "{row}");
        } else {
            // The orders of events are an engine's: tests/e2e shows them pass through whole.
            assert!(row.get("order").is_some(), "no test for {row}");
        }
    }
}

fn asked(escalation: Option<&Value>) -> String {
    let mut tool = json!({
        "name": "Read", "category": "info", "args": {}, "description": "Read a file",
    });
    if let Some(escalation) = escalation {
        tool["escalation"] = escalation.clone();
    }
    json!({ "type": "tool_request", "msg_id": "m", "call_id": "c", "tool": tool }).to_string()
}

#[test]
fn the_model_is_told_in_the_peers_words() {
    let denied = rows("wire_events").into_iter().find(|row| row.get("llm_result").is_some());
    let template = denied.unwrap()["llm_result"].as_str().unwrap().to_owned();
    let end = CallEnd::Denied { by: "Ana", reason: Some("no"), then: OnDeny::GoOn };
    let told = Wcore::default().text_for_model(&Call::new("Bash", json!({})), &end);
    assert_eq!(told, Some(template.replace("<reason>", "denied by Ana: no")));
}

#[test]
fn a_request_that_cannot_be_read_names_its_call_so_that_it_can_be_denied() {
    let line = r#"{"type":"tool_request","call_id":"c-1","tool":{"name":5}}"#;
    let (why, call) = EngineEvent::read(line).unwrap_err();
    assert_eq!(call.as_deref(), Some("c-1"));
    assert!(why.starts_with("`tool_request`: "), "{why}");
    let odd = r#"{"type":"tool_request","call_id":"c-1","tool":{"name":"x","category":"all"}}"#;
    assert!(EngineEvent::read(odd).is_err());
    assert_eq!(EngineEvent::read("not json"), Ok(EngineEvent::Other));
    assert_eq!(EngineEvent::read(r#"{"type":"text_delta","text":"x"}"#), Ok(EngineEvent::Other));
}
