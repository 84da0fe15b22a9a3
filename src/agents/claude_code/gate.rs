//! The hook of every call: PreToolUse, which comes before Claude Code's own rules and prompts, in
//! every mode.

use super::request::{NAME, PLAN, PermissionRequest, QUESTIONS};
use crate::{
    agent::{Attendance, HookEvent, HookMode, HookReply, HookRequest},
    event::PutOff,
    hook_call,
};
use countersign_client::{Decided, Ending};
use countersign_domain::{call::Call, exact_json};
use serde::Deserialize;
use serde_json::{Value, json};

/// The event.
const EVENT: &str = "PreToolUse";

/// A call that waits for the gate.
#[derive(Debug)]
struct GatedCall {
    request: PermissionRequest,
    /// Claude's own judge has what no rule asks for.
    rules_only: bool,
    attendance: Attendance,
}

/// Decodes the JSON that Claude Code writes to the hook of every call.
///
/// # Errors
/// A sentence; the call is blocked then.
// FAIL-CLOSED: whatever is not understood is an error or misplaced, and both block.
pub(super) fn read(
    stdin: &[u8],
    mode: HookMode,
    attendance: Attendance,
) -> Result<HookEvent, String> {
    let unreadable = |error: serde_json::Error| format!("stdin is not a hook's JSON: {error}");
    let whole: Value = exact_json::from_slice(stdin).map_err(unreadable)?;
    match whole.get("hook_event_name").and_then(Value::as_str) {
        Some(EVENT) => {}
        other => {
            let event = other.unwrap_or("an event without a name");
            return Ok(hook_call::misplaced(event, " --gate", NAME, EVENT));
        }
    }
    let request = PermissionRequest::deserialize(&whole).map_err(unreadable)?;
    // Both wait for a person in any case, and PermissionRequest brings them here.
    if matches!(request.tool(), QUESTIONS | PLAN) {
        return Ok(HookEvent::Notice);
    }
    let rules_only = mode == HookMode::RuledCalls;
    Ok(HookEvent::Wants(Box::new(GatedCall { request, rules_only, attendance })))
}

impl HookRequest for GatedCall {
    fn call(&self, key: String, host: Option<String>) -> Result<Call, String> {
        let call = self.request.call(key, host)?;
        Ok(Call { rules_only: self.rules_only, ..call })
    }

    fn person_said(&self) -> Option<String> {
        self.request.person_said()
    }

    fn leaves(&self, decided: &Decided) -> bool {
        self.rules_only && decided.ending == Ending::Left
    }

    // FAIL-CLOSED: at a terminal a call that is put off runs, and of a subagent it is lost (seen with
    // 2.1.330).
    fn put_off(&self) -> Option<PutOff> {
        if self.attendance != Attendance::Unattended || self.request.is_of_subagent() {
            return None;
        }
        let why = format!("{NAME}: a person is asked, and this run goes on with the answer");
        let output = json!({"hookEventName": EVENT, "permissionDecision": "defer",
            "permissionDecisionReason": why});
        let reply = HookReply::Print(json!({ "hookSpecificOutput": output }));
        Some(PutOff { reply, transcript: self.request.transcript()?.to_owned() })
    }

    // Not by an exit code: its reason would come with the hook's whole command line.
    fn denied(&self, why: &str) -> HookReply {
        let denial = json!({"behavior": "deny", "message": why});
        in_words_of_the_gate(&denial, why).map_or(HookReply::Nothing, HookReply::Print)
    }

    fn reply(&self, decided: &Decided) -> HookReply {
        let decision = self.request.decided(decided);
        let reply = decision.and_then(|decision| in_words_of_the_gate(&decision, &decided.reason));
        reply.map_or(HookReply::Nothing, HookReply::Print)
    }
}

/// The decision on a permission request as PreToolUse takes it.
fn in_words_of_the_gate(decision: &Value, reason: &str) -> Option<Value> {
    let output = |verdict: &str, why: &str| {
        json!({"hookEventName": EVENT, "permissionDecision": verdict,
            "permissionDecisionReason": why})
    };
    match decision.get("behavior")?.as_str()? {
        "allow" => {
            let mut output = output("allow", reason);
            if let (Some(input), Some(output)) =
                (decision.get("updatedInput"), output.as_object_mut())
            {
                output.insert("updatedInput".to_owned(), input.clone());
            }
            Some(json!({"hookSpecificOutput": output}))
        }
        "deny" => {
            let why = decision.get("message")?.as_str()?;
            let output = output("deny", why);
            Some(match decision.get("interrupt") {
                Some(Value::Bool(true)) => {
                    json!({"continue": false, "stopReason": why, "hookSpecificOutput": output})
                }
                _ => json!({"hookSpecificOutput": output}),
            })
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    #![allow(
        clippy::unwrap_used,
        clippy::indexing_slicing,
        clippy::panic,
        reason = "tests fail by panicking"
    )]
    use super::*;
    use countersign_client::Ending;
    use countersign_domain::Decision;

    const UNATTENDED: Attendance = Attendance::Unattended;

    fn event(name: &str, tool: &str) -> String {
        json!({"hook_event_name": name, "session_id": "s", "cwd": "/w", "tool_name": tool,
            "tool_input": {"command": "ls"}, "permission_mode": "bypassPermissions",
            "tool_use_id": "toolu_1"})
        .to_string()
    }

    fn ruled(decision: Decision) -> Decided {
        let rule = Some("rules:3".to_owned());
        let reason = "a rule says so".to_owned();
        Decided { decision, reason, message: None, ask: None, ending: Ending::Ruled(rule) }
    }

    fn reply(decided: &Decided) -> HookReply {
        match read(event(EVENT, "Bash").as_bytes(), HookMode::EveryCall, UNATTENDED) {
            Ok(HookEvent::Wants(call)) => call.reply(decided),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn a_decision_is_told_in_the_words_of_pre_tool_use() {
        let allow = json!({"hookSpecificOutput": {"hookEventName": "PreToolUse",
            "permissionDecision": "allow", "permissionDecisionReason": "a rule says so"}});
        assert_eq!(reply(&ruled(Decision::Approve)), HookReply::Print(allow));
        let deny = json!({"hookSpecificOutput": {"hookEventName": "PreToolUse",
            "permissionDecision": "deny",
            "permissionDecisionReason": "Denied by policy: a rule says so (rules:3)"}});
        assert_eq!(reply(&ruled(Decision::Deny)), HookReply::Print(deny));
        let cancelled = Decided { ending: Ending::Cancelled, ..ruled(Decision::Deny) };
        assert_eq!(reply(&cancelled), HookReply::Nothing, "the command makes this a block");
    }

    #[test]
    fn only_a_gate_for_ruled_calls_leaves_one_to_claudes_own_judge() {
        for (mode, leaves) in [(HookMode::EveryCall, false), (HookMode::RuledCalls, true)] {
            let Ok(HookEvent::Wants(call)) =
                read(event(EVENT, "Bash").as_bytes(), mode, UNATTENDED)
            else {
                panic!("{mode:?}")
            };
            assert_eq!(call.call("k".into(), None).unwrap().rules_only, leaves);
            let left = Decided { ending: Ending::Left, ..ruled(Decision::Deny) };
            assert_eq!(call.leaves(&left), leaves);
            for ending in [Ending::Cancelled, Ending::Expired, Ending::Ruled(None)] {
                assert!(!call.leaves(&Decided { ending, ..ruled(Decision::Approve) }));
            }
        }
    }

    #[test]
    fn only_its_own_event_is_read_and_everything_else_is_blocked() {
        for name in ["PermissionRequest", "PostToolUse", "Unheard"] {
            let read = read(event(name, "Bash").as_bytes(), HookMode::EveryCall, UNATTENDED);
            assert!(matches!(read, Ok(HookEvent::Misplaced { .. })), "{name}: {read:?}");
        }
        for garbage in ["", "[]", "{", r#"{"hook_event_name":"PreToolUse"}"#] {
            let read = read(garbage.as_bytes(), HookMode::RuledCalls, UNATTENDED);
            let blocks = matches!(read, Err(_) | Ok(HookEvent::Misplaced { .. }));
            assert!(blocks, "{garbage}: {read:?}");
        }
    }

    // Claude Code lets a deferred call run in a terminal, loses it in a subagent, and keeps only the
    // last of two in one reply (seen with 2.1.330).
    #[test]
    fn no_decision_is_deferred() {
        let endings = || {
            let answer = crate::answered::by_ana(Decision::Approve, |_| {});
            [Ending::Ruled(None), Ending::Expired, Ending::Cancelled, Ending::Answered(answer)]
        };
        for decision in [Decision::Approve, Decision::Deny, Decision::Answer, Decision::Edit] {
            for ending in endings() {
                let said = reply(&Decided { ending, ..ruled(decision) });
                let HookReply::Print(said) = said else { continue };
                let verdict = &said["hookSpecificOutput"]["permissionDecision"];
                assert!(verdict == "allow" || verdict == "deny", "{said}");
            }
        }
    }

    #[test]
    fn a_call_is_put_off_only_by_the_main_agent_of_a_run_without_a_person() {
        let put_off = |attendance, facts: Value| {
            let mut stdin: Value = serde_json::from_str(&event(EVENT, "Bash")).unwrap();
            stdin.as_object_mut().unwrap().extend(facts.as_object().unwrap().clone());
            let read = read(stdin.to_string().as_bytes(), HookMode::EveryCall, attendance);
            let Ok(HookEvent::Wants(call)) = read else { panic!("{read:?}") };
            call.put_off()
        };
        let kept = json!({"transcript_path": "/t.jsonl"});
        let Some(PutOff { reply: HookReply::Print(said), transcript }) =
            put_off(UNATTENDED, kept.clone())
        else {
            panic!("it waits")
        };
        assert_eq!(said["hookSpecificOutput"]["permissionDecision"], "defer");
        assert_eq!(transcript, "/t.jsonl");
        for attendance in [Attendance::Attended, Attendance::Unknown] {
            assert_eq!(put_off(attendance, kept.clone()), None);
        }
        let of_subagent = json!({"transcript_path": "/t.jsonl", "agent_id": "a7"});
        assert_eq!(put_off(UNATTENDED, of_subagent), None);
        assert_eq!(put_off(UNATTENDED, json!({})), None, "nothing to go on from");
    }

    #[test]
    fn questions_and_plans_are_left_to_their_own_prompt() {
        for tool in ["AskUserQuestion", "ExitPlanMode"] {
            let read = read(event(EVENT, tool).as_bytes(), HookMode::EveryCall, UNATTENDED);
            assert!(matches!(read, Ok(HookEvent::Notice)), "{tool}: {read:?}");
        }
    }
}
