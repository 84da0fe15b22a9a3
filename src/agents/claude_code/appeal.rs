//! The appeal against Claude Code's auto mode: PermissionDenied brings what its classifier blocked
//! to a person, and PreToolUse lets exactly the retry of it run.
//!
//! SECURITY: neither decides anything else. What no person released goes on to the classifier.

use super::request::{NAME, PLAN, PermissionRequest, QUESTIONS};
use crate::agent::{Attendance, HookMode, HookReply, HookRequest, Retry, RetryStep};
use countersign_client::Decided;
use countersign_domain::{
    Decision,
    call::{Appeal, Call},
    exact_json,
};
use serde::Deserialize;
use serde_json::{Value, json};

/// The event of a call that the classifier blocked.
pub(super) const EVENT: &str = "PermissionDenied";

/// The event of every call, before it runs; and the one of those that it asks for.
const BEFORE: &str = "PreToolUse";
const PROMPT: &str = "PermissionRequest";

/// Set for hooks: `0` where nobody sits at the terminal.
const ATTENDED: &str = "CLAUDE_CODE_SESSION_ATTENDED";

/// Who blocks, as people read it.
const AUTO_MODE: &str = "Claude Code's auto mode";

/// How reasons begin where there is no verdict.
const NO_VERDICT: [&str; 2] =
    ["Classifier unavailable", "Auto mode could not evaluate this action"];

/// A call that the classifier blocked.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct BlockedCall {
    request: PermissionRequest,
    reason: String,
}

/// Decodes PermissionDenied; `None` for a tool that asks a person by itself, and where our hook of
/// PermissionRequest has asked one.
///
/// # Errors
/// What cannot be read; the call stays blocked then.
pub(super) fn read(
    event: &Value,
    mode: HookMode,
) -> Result<Option<BlockedCall>, serde_json::Error> {
    let request = PermissionRequest::deserialize(event)?;
    let reason = event.get("reason").and_then(Value::as_str).unwrap_or_default().to_owned();
    let was_prompted = mode != HookMode::Blocks && is_of_many(&reason);
    let was_asked = matches!(request.tool(), QUESTIONS | PLAN) || was_prompted;
    Ok((!was_asked).then_some(BlockedCall { request, reason }))
}

/// Whether this reason is the number of blocks, such as `3 consecutive actions were blocked`: Claude
/// asks for permission first then.
fn is_of_many(reason: &str) -> bool {
    let rest = reason.trim_start_matches(|it: char| it.is_ascii_digit());
    let counted = [" consecutive actions were blocked", " actions were blocked"];
    rest.len() < reason.len() && counted.iter().any(|words| rest.starts_with(words))
}

impl HookRequest for BlockedCall {
    fn call(&self, key: String, host: Option<String>) -> Result<Call, String> {
        let against = AUTO_MODE.to_owned();
        let reason = match self.reason.trim() {
            "" => "it gave no reason".to_owned(),
            // It gave no verdict, which blocks too.
            reason if NO_VERDICT.iter().any(|words| reason.starts_with(words)) => String::new(),
            reason => reason.trim_end_matches('.').chars().take(2_000).collect(),
        };
        // Its words differ in the retry; they stay as the card's quote.
        let call = self.request.call(key, host)?.without_words();
        // A retry is the same call, and reads no reason.
        Ok(Call { appeal: Some(Appeal { against, reason }), accepts: Vec::new(), ..call })
    }

    // FAIL-CLOSED: without a plain yes the call stays blocked.
    fn reply(&self, decided: &Decided) -> HookReply {
        if decided.decision != Decision::Approve {
            return HookReply::Nothing;
        }
        let retry = json!({"hookSpecificOutput": {"hookEventName": EVENT, "retry": true}});
        HookReply::Print(retry)
    }

    fn is_of_subagent(&self) -> bool {
        self.request.is_of_subagent()
    }

    fn person_said(&self) -> Option<String> {
        self.request.person_said()
    }

    fn wakes(&self, decided: &Decided) -> Option<String> {
        let released = decided.decision == Decision::Approve;
        // What wakes Claude says that nothing in it is a person's word, so this is a fact.
        released.then(|| {
            format!(
                "countersign: {}. The call of {} that auto mode blocked may run once; the gate \
                 lets exactly the same call pass when it is made again.",
                decided.reason,
                self.request.tool()
            )
        })
    }
}

/// Decodes PreToolUse and PermissionRequest; `None` for a tool that asks a person by itself. At a
/// terminal a retry passes both: Claude asks for permission because the first hook says so. That
/// passes by the classifier also where a flag of Claude's maker makes it judge what hooks allow. A
/// run without a terminal would deny what is asked for.
///
/// # Errors
/// A sentence.
pub(super) fn retried(stdin: &[u8], attendance: Attendance) -> Result<Option<Retry>, String> {
    let unreadable = |error: serde_json::Error| format!("stdin is not a hook's JSON: {error}");
    let whole: Value = exact_json::from_slice(stdin).map_err(unreadable)?;
    let request = PermissionRequest::deserialize(&whole).map_err(unreadable)?;
    let at = match whole.get("hook_event_name").and_then(Value::as_str) {
        Some(BEFORE) if attendance == Attendance::Attended => RetryStep::BeforePrompt,
        Some(BEFORE) => RetryStep::Last,
        Some(PROMPT) => RetryStep::Prompt,
        _ => return Ok(None),
    };
    if matches!(request.tool(), QUESTIONS | PLAN) {
        return Ok(None);
    }
    let call = request.call(String::new(), None)?;
    Ok(Some(Retry { call: Call { key: None, ..call }, at }))
}

/// Whether a person sits at the terminal.
pub(super) fn attendance() -> Attendance {
    match std::env::var(ATTENDED).as_deref() {
        Ok("0") => Attendance::Unattended,
        Ok(_) => Attendance::Attended,
        Err(_) => Attendance::Unknown,
    }
}

/// Lets a retry run, or be asked for first.
pub(super) fn release(why: &str, at: RetryStep) -> HookReply {
    let decision = match at {
        RetryStep::BeforePrompt => "ask",
        RetryStep::Last => "allow",
        RetryStep::Prompt => {
            return HookReply::Print(json!({"hookSpecificOutput": {"hookEventName": PROMPT,
                "decision": {"behavior": "allow"}}}));
        }
    };
    HookReply::Print(json!({"hookSpecificOutput": {"hookEventName": BEFORE,
        "permissionDecision": decision, "permissionDecisionReason": format!("{NAME}: {why}")}}))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "tests fail by panicking")]
    use super::*;
    use countersign_client::Ending;

    fn event(name: &str, tool: &str) -> Value {
        json!({"hook_event_name": name, "session_id": "s", "cwd": "/w", "tool_name": tool,
            "tool_input": {"command": "scp a b:c", "description": "Copy"},
            "permission_mode": "auto", "tool_use_id": "toolu_1",
            "reason": "[Data Exfiltration] sends a file out."})
    }

    fn decided(decision: Decision) -> Decided {
        let reason = "approved by Ana".to_owned();
        Decided { decision, reason, message: None, ask: None, ending: Ending::Ruled(None) }
    }

    #[test]
    fn what_auto_mode_blocked_comes_with_its_reason_and_its_yes_is_a_retry() {
        let blocked = read(&event(EVENT, "Bash"), HookMode::Prompts).unwrap().unwrap();
        let call = blocked.call("key".into(), None).unwrap();
        let reason = "[Data Exfiltration] sends a file out".to_owned();
        assert_eq!(call.appeal, Some(Appeal { against: AUTO_MODE.into(), reason }));
        assert_eq!(call.agent_mode.as_deref(), Some("auto"));
        let retry = json!({"hookSpecificOutput": {"hookEventName": EVENT, "retry": true}});
        assert_eq!(blocked.reply(&decided(Decision::Approve)), HookReply::Print(retry));
        for other in [Decision::Deny, Decision::Answer, Decision::Edit] {
            assert_eq!(blocked.reply(&decided(other)), HookReply::Nothing);
            assert_eq!(blocked.wakes(&decided(other)), None);
        }
        assert!(blocked.wakes(&decided(Decision::Approve)).unwrap().contains("approved by Ana"));
    }

    #[test]
    fn a_block_without_a_verdict_has_no_reason() {
        for (reason, wanted) in [
            ("Classifier unavailable", ""),
            ("Auto mode could not evaluate this action and is blocking it for safety x", ""),
            ("", "it gave no reason"),
            ("[Rule] Classifier unavailable.", "[Rule] Classifier unavailable"),
        ] {
            let mut event = event(EVENT, "Bash");
            event["reason"] = json!(reason);
            let blocked = read(&event, HookMode::Prompts).unwrap().unwrap();
            let appeal = blocked.call("key".into(), None).unwrap().appeal.unwrap();
            assert_eq!(appeal.reason, wanted, "{reason}");
        }
    }

    #[test]
    fn a_retry_is_the_same_call_and_questions_and_plans_are_none() {
        let blocked = read(&event(EVENT, "Bash"), HookMode::Prompts)
            .unwrap()
            .unwrap()
            .call("k".into(), None)
            .unwrap();
        let stdin = event(BEFORE, "Bash").to_string();
        let retried = |stdin: &str| retried(stdin.as_bytes(), Attendance::Unattended).unwrap();
        let retry = retried(&stdin).unwrap().call;
        assert_eq!(blocked.args, json!({"command": "scp a b:c"}));
        assert_eq!(blocked.description.as_deref(), Some("Copy"), "it is the card's quote");
        assert_eq!(retry.without_words().digest(), blocked.without_words().digest());
        assert_eq!((retry.appeal, retry.key), (None, None));
        for tool in [QUESTIONS, PLAN] {
            assert_eq!(read(&event(EVENT, tool), HookMode::Prompts).unwrap(), None);
        }
        let other = event("PostToolUse", "Bash").to_string();
        assert_eq!(retried(&other), None);
    }

    #[test]
    fn what_claude_asked_for_because_of_many_blocks_is_not_asked_again() {
        let because = |reason: &str| {
            let mut event = event(EVENT, "Bash");
            event["reason"] = json!(reason);
            [HookMode::Prompts, HookMode::Blocks].map(|mode| read(&event, mode).unwrap().is_some())
        };
        let many = "3 consecutive actions were blocked. Please review the transcript.";
        assert_eq!(because(many), [false, true]);
        assert_eq!(because("20 actions were blocked this session. Please"), [false, true]);
        for reason in ["Classifier unavailable", "[Rule] 3 consecutive actions were blocked", ""] {
            assert_eq!(because(reason), [true, true], "{reason}");
        }
    }

    #[test]
    fn a_released_call_is_asked_for_at_a_terminal_and_allowed_without_one() {
        let said = |event_name: &str, attendance| {
            let stdin = event(event_name, "Bash").to_string();
            let at = retried(stdin.as_bytes(), attendance).unwrap().unwrap().at;
            match release("approved ahead by Ana", at) {
                HookReply::Print(reply) => reply["hookSpecificOutput"].clone(),
                other => json!(format!("{other:?}")),
            }
        };
        let all = [Attendance::Attended, Attendance::Unattended, Attendance::Unknown];
        let before = all.map(|it| said(BEFORE, it)["permissionDecision"].clone());
        assert_eq!(before, [json!("ask"), json!("allow"), json!("allow")]);
        for attendance in all {
            assert_eq!(said(PROMPT, attendance)["decision"], json!({"behavior": "allow"}));
        }
    }
}
