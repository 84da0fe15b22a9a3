#![allow(clippy::unwrap_used, clippy::panic, reason = "tests fail by panicking")]
use super::*;
use crate::agent::HookReply;
use countersign_client::{Decided, Ending};
use countersign_domain::Decision;

const COMMAND: &str = "/opt/countersign hook codex";

fn golden(name: &str) -> (Vec<u8>, Value) {
    let file = format!("{}/../../tests/golden/codex/{name}.json", env!("CARGO_MANIFEST_DIR"));
    let golden: Value = serde_json::from_str(&std::fs::read_to_string(file).unwrap()).unwrap();
    let data = |at: usize| golden.pointer(&format!("/frames/{at}/data")).unwrap().clone();
    (data(0).to_string().into_bytes(), data(1))
}

fn decided(decision: Decision, reason: &str) -> Decided {
    Decided {
        decision,
        reason: reason.to_owned(),
        message: None,
        ask: None,
        ending: Ending::Ruled(None),
    }
}

fn reply(stdin: &[u8], mode: HookMode, decided: &Decided) -> HookReply {
    match Codex.decode(stdin, mode) {
        Ok(HookEvent::Wants(request)) => request.reply(decided),
        other => panic!("{other:?}"),
    }
}

#[test]
fn the_replies_are_those_of_the_transcripts_and_hold_no_field_that_codex_refuses() {
    let (stdin, allow) = golden("10_hook_allow");
    let allowed = reply(&stdin, HookMode::Prompts, &decided(Decision::Approve, "ok"));
    assert_eq!(allowed, HookReply::Print(allow));
    let (stdin, mut deny) = golden("11_hook_deny");
    let denied = reply(&stdin, HookMode::Prompts, &decided(Decision::Deny, "open a pull request"));
    *deny.pointer_mut("/hookSpecificOutput/decision/message").unwrap() =
        json!("Denied by policy: open a pull request");
    assert_eq!(denied, HookReply::Print(deny));
    let call = match Codex.decode(&stdin, HookMode::Prompts) {
        Ok(HookEvent::Wants(request)) => request.call("k".into(), None).unwrap(),
        other => panic!("{other:?}"),
    };
    assert_eq!((call.tool.as_str(), call.cwd.as_deref()), ("Bash", Some("/home/ana/shop")));
    assert_eq!(call.accepts, [], "a denial that ends the turn is refused by Codex");
}

#[test]
fn a_gate_says_nothing_where_it_allows_and_blocks_where_it_does_not() {
    let event = |name: &str| {
        json!({"hook_event_name": name, "session_id": "s", "tool_name": "apply_patch",
            "tool_input": {"command": "*** Begin Patch"}, "permission_mode": "bypassPermissions"})
        .to_string()
        .into_bytes()
    };
    let (gate, mode) = (event(GATE), HookMode::EveryCall);
    let allowed = reply(&gate, mode, &decided(Decision::Approve, "ok"));
    assert_eq!(allowed, HookReply::Print(json!({})));
    let denied = reply(&gate, mode, &decided(Decision::Deny, "no"));
    assert_eq!(denied, HookReply::Block("Denied by policy: no".to_owned()));
    for (stdin, mode) in [
        (event(GATE), HookMode::Prompts),
        (event("Unheard"), HookMode::Prompts),
        (event(PROMPT), HookMode::EveryCall),
        (event("PostToolUse"), HookMode::EveryCall),
        (b"{ PreToolUse".to_vec(), HookMode::Prompts),
    ] {
        let event = Codex.decode(&stdin, mode);
        assert!(matches!(event, Ok(HookEvent::Misplaced { .. })), "{event:?}");
    }
    let told = Codex.decode(&event("PostToolUse"), HookMode::Prompts);
    assert!(matches!(told, Ok(HookEvent::Notice)), "{told:?}");
}

#[test]
fn the_hooks_stand_beside_those_of_others_and_go_as_they_came() {
    let theirs = "{\n  \"hooks\": {\n    \"PermissionRequest\": [\n      { \"matcher\": \"a\", \
                  \"hooks\": [{ \"type\": \"command\", \"command\": \"lint\" }] }\n    ]\n  }\n}\n";
    let connected = Codex.connect(theirs, COMMAND, HookMode::EveryCall).unwrap();
    assert_eq!(ours(&connected), [(PROMPT, 1, 0), (GATE, 0, 0)]);
    assert_eq!(Codex.others(&connected), ["lint"]);
    assert_eq!(Codex.disconnect(&connected), Ok(theirs.to_owned()));
}
