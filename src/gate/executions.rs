//! Execution bound to the answer: an approved call gets a token that lets exactly it run, once.

use super::{
    Gate,
    agents::why_refused,
    ask::{Ask, Decision, Execution, ExecutionEnd, Owner, State},
};
use countersign_domain::log::{ExecutionToken, PublicKey, RefusedToken, SigningKey};
use countersign_store::{Closed, StoreError};
use countersign_tokens::clock;

/// How long after the approval its call may start, in seconds.
const VALID: i64 = 600;
/// How often a row that changed meanwhile is read again.
const TRIES: usize = 7;

/// What became of a report about an execution.
#[derive(Debug, Clone, PartialEq)]
#[must_use]
pub enum ExecutionNoted {
    /// It is noted, at this ask.
    Noted(Box<Ask>),
    /// The token lets nothing run.
    Refused(RefusedToken),
}

/// The token for the call of this ask, if a person or a grant approved it and its time is not over.
#[must_use]
pub fn token(ask: &Ask, key: &SigningKey, now_ms: i64) -> Option<ExecutionToken> {
    let State::Answered(answer) = &ask.state else { return None };
    if answer.stored.undone.is_some() {
        return None;
    }
    let expires = answer.at / 1_000 + VALID;
    let digest = approved(ask)?;
    (now_ms / 1_000 < expires).then(|| ExecutionToken::sign(key, &ask.id, &digest, expires))
}

/// The digest of what may run because of this ask.
// FAIL-CLOSED: of a changed call only the changed one, and nothing because of a question, of a
// review, whose call ran before, or of an appeal, whose grant lets it run.
fn approved(ask: &Ask) -> Option<String> {
    let State::Answered(answer) = &ask.state else { return None };
    if ask.body.review.is_some() || ask.body.call.appeal.is_some() {
        return None;
    }
    let call = &ask.body.call;
    let args = match (answer.decision, &answer.updated) {
        (Decision::Approve, None) if !ask.is_question() => &call.args,
        (Decision::Edit, Some(updated)) => &updated.args,
        _ => return None,
    };
    Some(ExecutionToken::digest_of(&call.tool, args, call.cwd.as_deref()))
}

impl Gate {
    /// Notes that the call of this token starts, or how it has ended where there is an exit code.
    ///
    /// # Errors
    /// When the store fails; then a call that is to start may not.
    // INVARIANT: of all who start the call of one token one succeeds.
    // SECURITY: what was taken back before the start does not start: an approval that was undone,
    // an agent whose token has ended, everything in a pause.
    pub async fn report(
        &self,
        token: &ExecutionToken,
        key: &PublicKey,
        exit: Option<i32>,
    ) -> Result<ExecutionNoted, StoreError> {
        let now = clock::now_ms();
        for _ in 0..TRIES {
            let Some(ask) = self.store.whole_ask(&token.ask).await? else {
                return Ok(ExecutionNoted::Refused(RefusedToken::OtherCall));
            };
            let Some(digest) = approved(&ask) else {
                return Ok(ExecutionNoted::Refused(RefusedToken::OtherCall));
            };
            // Its time is looked at where it starts: it may end later.
            if let Err(refused) = token.check(key, &digest, i64::MIN) {
                return Ok(ExecutionNoted::Refused(refused));
            }
            let before = ask.answer().and_then(|answer| answer.execution.as_ref());
            let paused = self.store.pause().await?.is_some();
            let execution = match exit {
                None => started(&ask, token, before, paused, now),
                Some(exit) => ended(before, ExecutionEnd { at: now, exit }),
            };
            let execution = match execution {
                Ok(execution) => execution,
                Err(refused) => return Ok(ExecutionNoted::Refused(refused)),
            };
            if let (None, Some(why)) = (&execution.end, self.ended_agent(&ask).await?) {
                return Ok(ExecutionNoted::Refused(RefusedToken::Agent(why)));
            }
            if let Closed::Won(ask) = self.store.note_execution(&ask, execution).await? {
                self.changed();
                return Ok(ExecutionNoted::Noted(Box::new(ask)));
            }
        }
        Err(StoreError::Late)
    }

    /// Why the agent that asked may not any more.
    async fn ended_agent(&self, ask: &Ask) -> Result<Option<&'static str>, StoreError> {
        let Some(id) = ask.body.owner.as_ref().and_then(Owner::token) else { return Ok(None) };
        Ok(why_refused(self.store.agent_token(id).await?.as_ref()))
    }
}

/// The execution that starts now, where it may.
fn started(
    ask: &Ask,
    token: &ExecutionToken,
    before: Option<&Execution>,
    paused: bool,
    now: i64,
) -> Result<Execution, RefusedToken> {
    match before {
        Some(_) => Err(RefusedToken::Used),
        None if token.expires <= now / 1_000 => Err(RefusedToken::Expired),
        None if is_undone(ask) => Err(RefusedToken::Undone),
        None if paused => Err(RefusedToken::Paused),
        None => Ok(Execution { started_at: now, as_call: None, end: None }),
    }
}

/// The execution that has ended.
fn ended(before: Option<&Execution>, end: ExecutionEnd) -> Result<Execution, RefusedToken> {
    match before {
        Some(Execution { end: None, .. }) => {
            before.map(|it| Execution { end: Some(end), ..it.clone() }).ok_or(RefusedToken::Used)
        }
        Some(_) => Err(RefusedToken::Used),
        // It was never started here.
        None => Err(RefusedToken::OtherCall),
    }
}

fn is_undone(ask: &Ask) -> bool {
    ask.answer().is_some_and(|answer| answer.stored.undone.is_some())
}
