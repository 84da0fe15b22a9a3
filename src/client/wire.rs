//! Interprets the API's replies, so that only a plain "allow" approves a call.

use crate::decided::{Decided, Ending, Submitted};
use countersign_domain::{
    Decision,
    call::Call,
    wire::{AnswerView, AskState, AskView, CallReply, CallVerdict},
};

impl Submitted {
    /// Reads the API's reply to this call.
    ///
    /// # Errors
    /// What is wrong with a reply that contradicts itself or the call.
    pub fn read(reply: CallReply, call: &Call) -> Result<Self, String> {
        // FAIL-CLOSED: to who did not ask for it this is an ask without an id.
        if call.rules_only && reply.verdict == CallVerdict::Ask && reply.ask.is_none() {
            let left = Decided {
                decision: Decision::Deny,
                reason: reply.reason.unwrap_or_default(),
                message: None,
                ask: None,
                ending: Ending::Left,
            };
            return Ok(Self::Decided(Box::new(left)));
        }
        match submitted(reply)? {
            Self::Decided(decided) => Ok(Self::Decided(Box::new(decided.of(call)?))),
            open => Ok(open),
        }
    }
}

/// The state of a submitted call.
fn submitted(reply: CallReply) -> Result<Submitted, String> {
    let CallReply { verdict, reason, rule, ask, state, answer, message } = reply;
    match (verdict, state) {
        (CallVerdict::Ask, None | Some(AskState::Open)) => {
            ask.map(Submitted::Ask).ok_or_else(|| "an ask without an id".to_owned())
        }
        (CallVerdict::Answered, None) => Err("a question that a rule answered".to_owned()),
        (CallVerdict::Edited, None) => Err("a call that a rule changed".to_owned()),
        (_, None) => {
            let reason = reason.unwrap_or_default();
            let decision = decision(verdict)?;
            let ending = Ending::Ruled(rule);
            let ruled = Decided { decision, reason, message, ask: None, ending };
            Ok(Submitted::Decided(Box::new(ruled)))
        }
        (_, Some(state)) => closed(state, Some(verdict), reason, message, answer)?
            .map(|decided| Submitted::Decided(Box::new(Decided { ask, ..decided })))
            .ok_or_else(|| "an open ask that is decided".to_owned()),
    }
}

/// The decision of an ask; `None` while it is open.
pub(super) fn decided(ask: AskView) -> Result<Option<Decided>, String> {
    let AskView { id, state, verdict, reason, message, answer, .. } = ask;
    let decided = closed(state, verdict, reason, message, answer)?;
    Ok(decided.map(|decided| Decided { ask: Some(id), ..decided }))
}

fn closed(
    state: AskState,
    verdict: Option<CallVerdict>,
    reason: Option<String>,
    message: Option<String>,
    answer: Option<AnswerView>,
) -> Result<Option<Decided>, String> {
    let ending = match state {
        AskState::Open => return Ok(None),
        AskState::Answered => Ending::Answered(answer.ok_or("an answered ask without answer")?),
        AskState::Expired => Ending::Expired,
        AskState::Cancelled => Ending::Cancelled,
    };
    let decision = decision(verdict.ok_or("a closed ask without a verdict")?)?;
    let answers = matches!(&ending, Ending::Answered(answer) if answer.answers.is_some());
    let updated = matches!(&ending, Ending::Answered(answer) if answer.updated_input.is_some());
    // A reply that contradicts itself is an error: no field of it can be trusted.
    match decision {
        Decision::Approve if ending == Ending::Cancelled => {
            return Err("a cancelled ask that is approved".into());
        }
        Decision::Approve if answers => {
            return Err("an approval that carries answers to questions".into());
        }
        Decision::Answer if !answers => {
            return Err("an answered question without its answers".into());
        }
        Decision::Edit if !updated => {
            return Err("a changed call without its arguments".into());
        }
        Decision::Approve if updated => {
            return Err("an approval that carries other arguments".into());
        }
        Decision::Approve | Decision::Answer | Decision::Edit | Decision::Deny => {}
    }
    let reason = reason.unwrap_or_default();
    Ok(Some(Decided { decision, reason, message, ask: None, ending }))
}

// FAIL-CLOSED: a closed ask without a decision is an error, not an approval.
fn decision(verdict: CallVerdict) -> Result<Decision, String> {
    match verdict {
        CallVerdict::Allow => Ok(Decision::Approve),
        CallVerdict::Deny => Ok(Decision::Deny),
        CallVerdict::Answered => Ok(Decision::Answer),
        CallVerdict::Edited => Ok(Decision::Edit),
        CallVerdict::Ask => Err("a closed ask whose verdict is to ask".into()),
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests fail by panicking")]
    use super::*;
    use countersign_domain::{By, Scope};
    use serde_json::{Value, json};

    fn read(reply: Value) -> Result<Submitted, String> {
        let reply = serde_json::from_value::<CallReply>(reply);
        submitted(reply.map_err(|error| error.to_string())?)
    }

    #[test]
    fn a_ruling_an_open_ask_and_an_answer_are_told_apart() {
        assert_eq!(
            read(json!({"verdict": "deny", "reason": "no", "rule": "r"})),
            Ok(Submitted::Decided(Box::new(Decided {
                decision: Decision::Deny,
                reason: "no".into(),
                message: None,
                ask: None,
                ending: Ending::Ruled(Some("r".into())),
            })))
        );
        let open = json!({"verdict": "ask", "ask": "a1", "state": "open"});
        assert_eq!(read(open), Ok(Submitted::Ask("a1".into())));
        let answered = json!({
            "verdict": "allow", "reason": "approved by Ana", "ask": "a1", "state": "answered",
            "answer": {"decision": "approve", "scope": "10m", "at": "2026-11-21T00:00:00Z",
                "by": {"kind": "person", "platform": "telegram", "id": "5", "name": "Ana"}},
        });
        assert_eq!(
            read(answered),
            Ok(Submitted::Decided(Box::new(Decided {
                decision: Decision::Approve,
                reason: "approved by Ana".into(),
                message: None,
                ask: Some("a1".into()),
                ending: Ending::Answered(AnswerView {
                    decision: Decision::Approve,
                    scope: Some(Scope::Timed(600)),
                    reason: None,
                    stop: false,
                    explain: false,
                    answers: None,
                    updated_input: None,
                    updated_digest: None,
                    by: By::Person {
                        platform: "telegram".into(),
                        id: "5".into(),
                        name: "Ana".into(),
                    },
                    with: Vec::new(),
                    at: "2026-11-21T00:00:00Z".into(),
                    overtaken: None,
                    overruled: None,
                }),
            })))
        );
    }

    #[test]
    fn no_reply_but_a_plain_allow_is_a_yes() {
        for reply in [
            json!({}),
            json!({"verdict": true}),
            json!({"verdict": "Allow"}),
            json!({"verdict": "ask"}),
            json!({"verdict": "ask", "ask": "a1", "state": "answered"}),
            json!({"verdict": "allow", "ask": "a1", "state": "open"}),
            json!({"verdict": "allow", "ask": "a1", "state": "cancelled"}),
            json!({"verdict": "allow", "ask": "a1", "state": "answered"}),
            json!({"verdict": "allow", "ask": "a1", "state": "new"}),
            json!({"verdict": "answered", "reason": "r"}),
            json!({"verdict": "answered", "ask": "a1", "state": "answered",
                "answer": {"decision": "answer", "at": "T", "by": {"kind": "timeout"}}}),
            json!({"verdict": "allow", "ask": "a1", "state": "answered", "answer":
                {"decision": "approve", "at": "T", "answers": {"q": "Deny"},
                    "by": {"kind": "timeout"}}}),
            json!({"verdict": "answered", "ask": "a1", "state": "expired"}),
            json!({"verdict": "edited", "reason": "r"}),
            json!({"verdict": "edited", "ask": "a1", "state": "answered",
                "answer": {"decision": "edit", "at": "T", "by": {"kind": "timeout"}}}),
            json!({"verdict": "allow", "ask": "a1", "state": "answered",
                "answer": {"decision": "edit", "at": "T", "by": {"kind": "timeout"},
                    "updated_input": {"command": "ls"}}}),
        ] {
            assert!(read(reply.clone()).is_err(), "{reply}");
        }
    }
}
