//! Appeals: a person is asked about what a machine of the agent has blocked, once.

use super::{
    Gate,
    ask::{Answer, Ask, Decision, Overruled, Owner, State},
    call::{Appeal, Call},
};
use countersign_port::{brief, line};
use countersign_store::{Closed, HistoryRange, StoreError};
use countersign_tokens::clock;
use std::sync::Arc;

/// The time after its end within which an ask is found whose call was blocked afterwards, in
/// milliseconds.
const SPAN_MS: i64 = 3_600_000;
/// How often a row that changed meanwhile is read again.
const TRIES: usize = 7;
/// How much of an agent's own reason is kept, in characters.
const WHY: usize = 500;
/// Why an appeal ends that is overtaken by its own next try.
const ASKED_AGAIN: &str = "the same call asks again, on another card";

impl Gate {
    /// The reason for which nobody is asked about this appeal: a person has approved this very call
    /// already, or is asked about the same one.
    ///
    /// # Errors
    /// When the store fails.
    pub(super) async fn settled(
        &self,
        call: &Call,
        digest: &str,
    ) -> Result<Option<String>, StoreError> {
        let Some(appeal) = &call.appeal else { return Ok(None) };
        if let Some(ask) = self.overrule(call, appeal).await? {
            let by = ask.answer().map(Answer::deciders).unwrap_or_default();
            let by = line(&by);
            let against = line(&appeal.against);
            return Ok(Some(format!("{by} approved it, but {against} still blocked it")));
        }
        let asked = self.open_appeals(call, digest).await?;
        Ok(asked.first().map(|id| format!("a person is asked about it already ({id})")))
    }

    /// Ends the appeals for exactly the call of this ask, which is asked about anew.
    ///
    /// # Errors
    /// When the store fails.
    pub(super) async fn end_appeals(self: &Arc<Self>, ask: &Ask) -> Result<(), StoreError> {
        let call = &ask.body.call;
        if call.appeal.is_some() {
            return Ok(());
        }
        for id in self.open_appeals(call, &ask.digest).await? {
            let _ = self.cancel(&id, ASKED_AGAIN).await?;
        }
        Ok(())
    }

    /// Takes back what an appeal released: its agent does not carry it out, for this reason. Returns
    /// the ask as it is now.
    ///
    /// # Errors
    /// When the store fails.
    // INVARIANT: the approval stays as it was given; what the agent reports stands beside it.
    pub async fn refused(self: &Arc<Self>, id: &str, why: &str) -> Result<Option<Ask>, StoreError> {
        let reason = brief(&line(why), WHY);
        while let Some(ask) = self.cancel(id, "the agent does not carry it out").await? {
            let is_released = ask.answer().is_some_and(|answer| {
                answer.decision == Decision::Approve
                    && answer.overruled.is_none()
                    && answer.execution.is_none()
            });
            let Some(appeal) = ask.body.call.appeal.clone().filter(|_| is_released) else {
                return Ok(Some(ask));
            };
            let reason = format!("the approval could not be carried out: {reason}");
            let verdict = Appeal { reason, ..appeal };
            let overruled = Overruled { at: clock::now_ms(), verdict };
            if let Closed::Won(ask) = self.store.note_refused(&ask, overruled).await? {
                self.changed();
                return Ok(Some(ask));
            }
        }
        Ok(None)
    }

    /// The open appeals for exactly this call, in whatever words.
    async fn open_appeals(&self, call: &Call, digest: &str) -> Result<Vec<String>, StoreError> {
        let plain = call.digest_without_words();
        let ids = self.store.open_for([digest, plain.as_deref().unwrap_or(digest)]).await?;
        let mut appeals = Vec::new();
        for id in ids {
            let ask = self.store.ask(&id).await?;
            if ask.is_some_and(|it| it.body.call.appeal.is_some() && is_same_owner(&it, call)) {
                appeals.push(id);
            }
        }
        Ok(appeals)
    }

    /// Notes the block at the ask that approved this very call; that ask.
    // INVARIANT: the approval stays as it was given; what the machine did stands beside it.
    async fn overrule(&self, call: &Call, appeal: &Appeal) -> Result<Option<Ask>, StoreError> {
        let Some(id) = call.id_at_agent() else { return Ok(None) };
        let range = HistoryRange {
            agent: Some(call.agent.clone()),
            session: Some(call.session.clone()),
            since: Some(clock::now_ms().saturating_sub(SPAN_MS)),
            ..HistoryRange::default()
        };
        let overruled = Overruled { at: clock::now_ms(), verdict: appeal.clone() };
        for _ in 0..TRIES {
            let allowed =
                |ask: &Ask| (is_same_owner(ask, call) && approved_as(ask, id)).then(|| ask.clone());
            let found = self.store.history(&range, 1, allowed).await?.found.pop();
            let Some(ask) = found else { return Ok(None) };
            if ask.answer().is_some_and(|answer| answer.overruled.is_some()) {
                return Ok(Some(ask));
            }
            if let Closed::Won(ask) = self.store.note_overruled(&ask, overruled.clone()).await? {
                self.changed();
                return Ok(Some(ask));
            }
        }
        Err(StoreError::Late)
    }
}

/// Whether this ask approved the call that has this id at its agent: itself, or when it was tried
/// again.
fn approved_as(ask: &Ask, id: &str) -> bool {
    let State::Answered(answer) = &ask.state else { return false };
    let retried = answer.execution.as_ref().and_then(|it| it.as_call.as_deref());
    // The blocked call of an appeal is not the one that was released: its retry is.
    let own = ask.body.call.id_at_agent().filter(|_| ask.body.call.appeal.is_none());
    matches!(answer.decision, Decision::Approve | Decision::Edit)
        && [own, retried].contains(&Some(id))
}

fn is_same_owner(ask: &Ask, call: &Call) -> bool {
    let token = |owner: &Option<Owner>| owner.as_ref().and_then(Owner::token).map(str::to_owned);
    token(&ask.body.owner) == token(&call.owner)
}
