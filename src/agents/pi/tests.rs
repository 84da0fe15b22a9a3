#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "tests fail by panicking"
)]
use super::*;

const BOTH: [Pi; 2] = [Pi::Pi, Pi::OhMyPi];

#[test]
fn the_extension_names_the_command_and_is_removed_only_if_it_is_ours() {
    for (agent, other) in [(Pi::Pi, Pi::OhMyPi), (Pi::OhMyPi, Pi::Pi)] {
        let command = format!("'/opt/my bin/countersign' hook {}", agent.id());
        let extension = agent.connect("", &command, HookMode::EveryCall).unwrap();
        let name = agent.id();
        let line = format!(r#"const COMMAND = ["/opt/my bin/countersign","hook","{name}"];"#);
        assert!(extension.lines().any(|there| there == line), "{extension}");
        assert_eq!(agent.disconnect(&extension), Ok(String::new()));
        assert_eq!(other.disconnect(&extension), Ok(extension.clone()), "it is another's");
        assert!(other.connect(&extension, &command, HookMode::EveryCall).is_err());
        let theirs = "export default function (pi) {}\n";
        assert!(agent.connect(theirs, &command, HookMode::EveryCall).is_err());
        assert_eq!(agent.disconnect(theirs), Ok(theirs.to_owned()));
    }
}

fn call(agent: Pi, event: &Value) -> Call {
    let Ok(HookEvent::Wants(request)) = read(agent, event.to_string().as_bytes()) else {
        panic!("{event}")
    };
    request.call("k".into(), None).unwrap()
}

#[test]
fn only_an_approval_lets_a_call_through_and_no_decision_blocks() {
    let event = json!({"type": "tool_call", "session": "s", "cwd": "/w", "tool": "bash",
        "input": {"command": "ls"}});
    for agent in BOTH {
        let call = call(agent, &event);
        let said = (call.agent.as_str(), call.tool.as_str(), call.cwd.as_deref());
        assert_eq!(said, (agent.id(), "bash", Some("/w")));
        let blocked = "countersign could not decide on this call, so it is blocked: no daemon";
        let undecided = agent.undecided("no daemon", HookMode::EveryCall);
        assert_eq!(undecided, HookReply::Print(json!({"block": true, "reason": blocked})));
        assert!(read(agent, b"{}").is_err());
    }
    assert_eq!(encode(&ToolDecision::Allow), HookReply::Print(json!({"block": false})));
}

#[test]
fn oh_my_pis_tools_have_their_tiers_and_what_a_tool_declares_goes_before() {
    let event = |tool: &str| json!({"session": "s", "tool": tool, "worker": "explore"});
    let tier = |agent: Pi, event: &Value| call(agent, event).tier;
    for (tool, own) in [
        ("read", Some("read")),
        ("edit", Some("write")),
        ("mcp__x__y", Some("write")),
        ("bash", None),
        ("Read", None),
    ] {
        assert_eq!(tier(Pi::OhMyPi, &event(tool)).as_deref(), own, "{tool}");
        assert_eq!(tier(Pi::Pi, &event(tool)), None, "{tool}");
    }
    assert_eq!(call(Pi::OhMyPi, &event("read")).worker.as_deref(), Some("explore"));
    let declares = |approval: Value| {
        let mut event = event("read");
        event["approval"] = approval;
        event
    };
    assert_eq!(tier(Pi::OhMyPi, &declares(json!("exec"))).as_deref(), Some("exec"));
    let whole = json!({"tier": "write", "override": true, "policy": "deny", "policyKey": "k",
        "reason": "r"});
    let declared = call(Pi::OhMyPi, &declares(whole));
    let said = (declared.tier.as_deref(), declared.policy_key.as_deref(), declared.reason);
    assert_eq!(said, (Some("write"), Some("k"), Some("r".to_owned())));
    assert_eq!((declared.overrides, declared.policy), (Some(json!(true)), Some(json!("deny"))));
    for wrong in [json!(7), json!(["read"]), json!({"tier": 7}), json!({"policyKey": {}})] {
        let stdin = declares(wrong).to_string();
        assert!(read(Pi::OhMyPi, stdin.as_bytes()).is_err(), "{stdin}");
    }
}
