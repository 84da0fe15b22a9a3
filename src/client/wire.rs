//! The replies of the API, read so that nothing but a plain "allow" is ever a yes.

use crate::decided::{Answer, Decided, Ending, Opened};
use countersign_ask::Decision;
use serde::Deserialize;

/// What the daemon says of a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Verdict {
    Allow,
    Ask,
    Deny,
    /// A question has its answers; nothing is allowed by that.
    Answered,
}

/// The reply to a call.
#[derive(Debug, Deserialize)]
pub(super) struct Handed {
    verdict: Verdict,
    reason: Option<String>,
    rule: Option<String>,
    message: Option<String>,
    ask: Option<String>,
    state: Option<State>,
    answer: Option<Answer>,
}

/// An ask as it stands.
#[derive(Debug, Deserialize)]
pub(super) struct Standing {
    state: State,
    verdict: Option<Verdict>,
    reason: Option<String>,
    message: Option<String>,
    answer: Option<Answer>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
enum State {
    Open,
    Answered,
    Expired,
    Cancelled,
}

impl Handed {
    pub(super) fn opened(self) -> Result<Opened, String> {
        let Self { verdict, reason, rule, message, ask, state, answer } = self;
        match (verdict, state) {
            (Verdict::Ask, None | Some(State::Open)) => {
                ask.map(Opened::Ask).ok_or_else(|| "an ask without an id".to_owned())
            }
            (Verdict::Answered, None) => Err("a question that a rule answered".to_owned()),
            (_, None) => {
                let reason = reason.unwrap_or_default();
                let decision = decision(verdict)?;
                let ending = Ending::Ruled(rule);
                Ok(Opened::Decided(Box::new(Decided { decision, reason, message, ending })))
            }
            (_, Some(state)) => {
                let standing = Standing { state, verdict: Some(verdict), reason, message, answer };
                let decided = standing.decided()?;
                decided
                    .map(|decided| Opened::Decided(Box::new(decided)))
                    .ok_or_else(|| "an open ask that is decided".to_owned())
            }
        }
    }
}

impl Standing {
    /// What it was decided to; `None` while it is open.
    pub(super) fn decided(self) -> Result<Option<Decided>, String> {
        let ending = match self.state {
            State::Open => return Ok(None),
            State::Answered => {
                Ending::Answered(self.answer.ok_or("an answered ask without answer")?)
            }
            State::Expired => Ending::Expired,
            State::Cancelled => Ending::Cancelled,
        };
        let decision = decision(self.verdict.ok_or("a closed ask without a verdict")?)?;
        let answers = matches!(&ending, Ending::Answered(answer) if answer.answers.is_some());
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
            Decision::Approve | Decision::Answer | Decision::Deny => {}
        }
        let (reason, message) = (self.reason.unwrap_or_default(), self.message);
        Ok(Some(Decided { decision, reason, message, ending }))
    }
}

// FAIL-CLOSED: an ask that is not decided is an error, not a yes.
fn decision(verdict: Verdict) -> Result<Decision, String> {
    match verdict {
        Verdict::Allow => Ok(Decision::Approve),
        Verdict::Deny => Ok(Decision::Deny),
        Verdict::Answered => Ok(Decision::Answer),
        Verdict::Ask => Err("a closed ask whose verdict is to ask".into()),
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests fail by panicking")]
    use super::*;
    use countersign_ask::By;
    use serde_json::{Value, json};

    fn handed(reply: Value) -> Result<Opened, String> {
        serde_json::from_value::<Handed>(reply).map_err(|error| error.to_string())?.opened()
    }

    #[test]
    fn a_ruling_an_open_ask_and_an_answer_are_told_apart() {
        assert_eq!(
            handed(json!({"verdict": "deny", "reason": "no", "rule": "r"})),
            Ok(Opened::Decided(Box::new(Decided {
                decision: Decision::Deny,
                reason: "no".into(),
                message: None,
                ending: Ending::Ruled(Some("r".into())),
            })))
        );
        let open = json!({"verdict": "ask", "ask": "a1", "state": "open"});
        assert_eq!(handed(open), Ok(Opened::Ask("a1".into())));
        let answered = json!({
            "verdict": "allow", "reason": "approved by Ana", "ask": "a1", "state": "answered",
            "answer": {"decision": "approve", "scope": "10m", "at": "2026-11-21T00:00:00Z",
                "by": {"kind": "person", "platform": "telegram", "id": "5", "name": "Ana"}},
        });
        assert_eq!(
            handed(answered),
            Ok(Opened::Decided(Box::new(Decided {
                decision: Decision::Approve,
                reason: "approved by Ana".into(),
                message: None,
                ending: Ending::Answered(Answer {
                    scope: Some("10m".into()),
                    stop: false,
                    answers: None,
                    by: By::Person {
                        platform: "telegram".into(),
                        id: "5".into(),
                        name: "Ana".into(),
                    },
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
                {"decision": "approve", "at": "T", "answers": {"q": "Deny"}, "by": {"kind": "timeout"}}}),
            json!({"verdict": "answered", "ask": "a1", "state": "expired"}),
        ] {
            assert!(handed(reply.clone()).is_err(), "{reply}");
        }
    }
}
