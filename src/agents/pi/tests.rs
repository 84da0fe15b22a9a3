#![allow(clippy::unwrap_used, clippy::panic, reason = "tests fail by panicking")]
use super::*;

const COMMAND_LINE: &str = "'/opt/my bin/countersign' hook pi";

#[test]
fn the_extension_names_the_command_and_is_removed_only_if_it_is_ours() {
    let extension = Pi.connect("", COMMAND_LINE, HookMode::EveryCall).unwrap();
    let line = r#"const COMMAND = ["/opt/my bin/countersign","hook","pi"];"#;
    assert!(extension.lines().any(|there| there == line), "{extension}");
    assert_eq!(Pi.disconnect(&extension), Ok(String::new()));
    let theirs = "export default function (pi) {}\n";
    assert!(Pi.connect(theirs, COMMAND_LINE, HookMode::EveryCall).is_err());
    assert_eq!(Pi.disconnect(theirs), Ok(theirs.to_owned()));
}

#[test]
fn only_an_approval_lets_a_call_through_and_no_decision_blocks() {
    let event = json!({"type": "tool_call", "session": "s", "cwd": "/w", "tool": "bash",
        "input": {"command": "ls"}});
    let Ok(HookEvent::Wants(request)) = read(event.to_string().as_bytes()) else { panic!() };
    let call = request.call("k".into(), None).unwrap();
    let said = (call.agent.as_str(), call.tool.as_str(), call.cwd.as_deref());
    assert_eq!(said, ("pi", "bash", Some("/w")));
    assert_eq!(encode(&ToolDecision::Allow), HookReply::Print(json!({"block": false})));
    let blocked = "countersign could not decide on this call, so it is blocked: no daemon";
    let undecided = Pi.undecided("no daemon", HookMode::EveryCall);
    assert_eq!(undecided, HookReply::Print(json!({"block": true, "reason": blocked})));
    assert!(read(b"{}").is_err());
}
