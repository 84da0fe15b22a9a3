//! Deadlines. The compare-and-set in the store holds them; the reaper only tidies up.

use super::{
    Gate, OnTimeout,
    ask::{Answer, Ask, By, Decision, Scope, Silence, State},
    call::Call,
};
use crate::{
    clock,
    store::{Closed, Overdue, StoreError},
};
use countersign_profiles::Then;
use std::{sync::Arc, time::Duration};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

const ROUND: Duration = Duration::from_secs(30);
/// After a round that failed.
const AGAIN: Duration = Duration::from_secs(1);
/// Between two batches of what is forgotten, so that nothing else waits for it.
const BREATH: Duration = Duration::from_millis(20);

impl Gate {
    /// Expires asks at their deadlines, and tidies up every 30 s, until told to stop.
    pub async fn reap(self: &Arc<Self>, stop: CancellationToken) {
        let mut changes = self.changes();
        let mut tidied: Option<Instant> = None;
        while !stop.is_cancelled() {
            let expired = self.expire_overdue().await;
            if let Err(error) = &expired {
                tracing::debug!(%error, "the reaper is late; deadlines hold all the same");
            }
            if tidied.is_none_or(|at| at.elapsed() >= ROUND) {
                tidied = Some(Instant::now());
                self.tidy_waiters();
                if let Some(Err(error)) = stop.run_until_cancelled(self.forget_old()).await {
                    tracing::debug!(%error, "old asks are forgotten later");
                }
            }
            tokio::select! {
                () = stop.cancelled() => return,
                () = tokio::time::sleep(pause(&expired, self.until_next_deadline().await)) => {}
                // Many changes at once are looked at once: whoever waits has its own eye on its
                // deadline.
                _ = changes.changed() => tokio::time::sleep(BREATH).await,
            }
        }
    }

    async fn expire_overdue(self: &Arc<Self>) -> Result<(), StoreError> {
        let (now, mut last) = (clock::now_ms(), None);
        loop {
            let page = self.store.overdue(now, last.as_ref()).await?;
            for Overdue { id, ask, .. } in &page {
                match ask {
                    Ok(ask) => self.expire(ask).await?,
                    Err(error) => self.expire_damaged(id, error).await?,
                }
            }
            last = page.into_iter().next_back();
            if last.is_none() {
                return Ok(());
            }
        }
    }

    /// Expires an ask that nobody can read any more, so that it is not overdue for ever.
    async fn expire_damaged(&self, id: &str, error: &StoreError) -> Result<(), StoreError> {
        let answer = Answer {
            decision: Decision::Deny,
            scope: None,
            reason: Some(format!("{error}; this is not a person's decision")),
            then: Then::GoOn,
            answers: None,
            by: By::Timeout,
            at: clock::now_ms(),
        };
        if self.store.expire_damaged(id, &answer).await? {
            tracing::error!(%error, "an ask has expired that could not be read");
            self.load.is_outdated();
            self.waiters.wake(id);
            self.changed();
        }
        Ok(())
    }

    async fn forget_old(&self) -> Result<(), StoreError> {
        let before = clock::now_ms() - self.settings.keep_ms;
        while self.store.forget_closed(before).await? > 0 {
            tokio::time::sleep(BREATH).await;
        }
        Ok(())
    }

    /// Expires an ask whose deadline has passed, as the operator chose.
    pub(super) async fn expire(self: &Arc<Self>, ask: &Ask) -> Result<(), StoreError> {
        let now = clock::now_ms();
        if !ask.is_open() || ask.deadline_at.is_none_or(|at| at > now) {
            return Ok(());
        }
        let answer = self.at_deadline(ask, now).await?;
        if let Closed::Won(ask) = self.close(ask, State::Expired(answer)).await? {
            tracing::info!(ask_id = %ask.id, "nobody answered in time");
        }
        Ok(())
    }

    /// What a call comes to when nobody answers.
    // FAIL-CLOSED: silence approves only tools that the operator named, never a critical call, and
    // never makes up an answer to a question.
    // SECURITY: nor a call whose caller gives people less time than the operator does.
    pub(super) fn silence(&self, call: &Call, critical: bool) -> Silence {
        let tools = match &self.settings.on_timeout {
            OnTimeout::Approve(tools) => tools.as_slice(),
            OnTimeout::Deny | OnTimeout::Wait => &[],
        };
        let given = call.expires_in_s.map(|s| i64::try_from(s).unwrap_or(i64::MAX / 1000) * 1000);
        let hurried = given.is_some_and(|ms| ms < self.settings.timeout_ms);
        let may = tools.contains(&call.tool) && !critical && !hurried && call.questions.is_empty();
        if may { Silence::Approve } else { Silence::Deny }
    }

    async fn at_deadline(&self, ask: &Ask, now: i64) -> Result<Answer, StoreError> {
        let waited = clock::span(now - ask.created_at);
        // FAIL-CLOSED: silence approves what the card said, and only while the operator still says
        // so.
        let silence = self.silence(&ask.body.call, ask.body.critical);
        let approve = ask.body.silence == Silence::Approve && silence == Silence::Approve;
        let (decision, reason, by) = if approve {
            let reason = format!(
                "nobody answered within {waited}; approved by the deadline, because the operator \
                 lists `{}` in approve_on_timeout",
                ask.body.call.tool
            );
            (Decision::Approve, reason, By::Timeout)
        } else if self.reached_anybody(ask).await? {
            let reason =
                format!("nobody answered within {waited}; this is not a person's decision");
            (Decision::Deny, reason, By::Timeout)
        } else {
            let why = self.store.why_gone(&ask.id).await?;
            let why = if why.is_empty() { String::new() } else { format!(" ({})", why.join("; ")) };
            let reason = format!(
                "no approver was reachable within {waited}{why}; this is not a person's decision"
            );
            (Decision::Deny, reason, By::NoApprover)
        };
        let scope = approve.then_some(Scope::Once);
        Ok(Answer {
            decision,
            scope,
            reason: Some(reason),
            then: Then::GoOn,
            answers: None,
            by,
            at: now,
        })
    }

    /// Whether a card stands where somebody could have pressed it.
    async fn reached_anybody(&self, ask: &Ask) -> Result<bool, StoreError> {
        let cards = self.store.cards_of(&ask.id).await?;
        Ok(cards
            .iter()
            .any(|card| card.message.is_some() && self.approvers.may_answer_on(&card.adapter)))
    }

    async fn until_next_deadline(&self) -> Option<Duration> {
        let next = self.store.next_deadline().await.ok().flatten();
        let left = next.map(|at| at.saturating_sub(clock::now_ms()).max(0));
        left.and_then(|ms| u64::try_from(ms).ok()).map(Duration::from_millis)
    }
}

/// How long the reaper rests. What could not be expired is overdue still: a full disk is not tried
/// without end.
fn pause(expired: &Result<(), StoreError>, next: Option<Duration>) -> Duration {
    let next = next.unwrap_or(ROUND).min(ROUND);
    if expired.is_ok() { next } else { next.max(AGAIN) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reaper_that_failed_rests_before_it_tries_again() {
        let (good, bad) = (Ok(()), Err(StoreError::Late));
        let (due, soon) = (Some(Duration::ZERO), Some(Duration::from_secs(5)));
        assert_eq!([pause(&good, due), pause(&bad, due)], [Duration::ZERO, AGAIN]);
        assert_eq!([pause(&good, soon), pause(&bad, soon)], [Duration::from_secs(5); 2]);
        assert_eq!([pause(&good, None), pause(&bad, None)], [ROUND; 2]);
    }
}
