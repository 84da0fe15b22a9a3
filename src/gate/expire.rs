//! Deadlines. The compare-and-set in the store holds them; the reaper only tidies up.
//!
//! A deadline that denies goes by the wall clock alone: a clock that jumps forward denies early,
//! and that is safe. A deadline that approves goes by the monotonic clock too.

use super::{
    OnTimeout,
    ask::{Answer, Ask, By, Decision, Scope, Silence, State},
    call::Call,
    expiry::{AGAIN, Expiry},
    in_force::InForce,
    monotonic::{Looker, Waited},
    open_asks::{OpenAsks, to_the_end},
};
use countersign_store::{Closed, Overdue, StoreError};
use countersign_tokens::clock;
use std::{sync::Arc, time::Duration};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

const ROUND: Duration = Duration::from_secs(30);
/// How many changes are one, in time.
const BREATH: Duration = Duration::from_millis(20);

/// What becomes of asks that nobody answers.
#[derive(Debug)]
pub(super) struct Deadlines {
    pub(super) open: Arc<OpenAsks>,
    pub(super) in_force: Arc<InForce>,
}

impl Deadlines {
    /// Expires asks at their deadlines until told to stop.
    pub(super) async fn reap(&self, stop: CancellationToken) {
        let mut changes = self.open.changes.subscribe();
        while !stop.is_cancelled() {
            let expired = self.expire_overdue().await;
            if let Err(error) = &expired {
                tracing::debug!(%error, "the reaper is late; deadlines hold nonetheless");
            }
            tokio::select! {
                () = stop.cancelled() => return,
                () = tokio::time::sleep(pause(&expired, self.until_next_deadline().await)) => {}
                // Many changes at once are looked at once: each waiter has its own eye on its
                // deadline.
                _ = changes.changed() => tokio::time::sleep(BREATH).await,
            }
        }
    }

    pub(super) async fn expire_overdue(&self) -> Result<Expiry, StoreError> {
        let (now, mut last) = (clock::now_ms(), None);
        let mut all = Expiry::Settled;
        loop {
            let page = self.open.store.overdue(now, last.as_ref()).await?;
            for Overdue { id, ask, .. } in &page {
                match ask {
                    Ok(ask) => match self.expire(ask, self.timer()).await? {
                        Expiry::Settled => {}
                        Expiry::Later => all = Expiry::Later,
                    },
                    Err(error) => self.expire_damaged(id, error).await?,
                }
            }
            last = page.into_iter().next_back();
            if last.is_none() {
                return Ok(all);
            }
        }
    }

    /// Expires an ask that nobody can read any more, so that it is not overdue for ever.
    async fn expire_damaged(&self, id: &str, error: &StoreError) -> Result<(), StoreError> {
        let answer = Answer {
            reason: Some(format!("{error}: not approved")),
            ..Answer::new(Decision::Deny, By::Timeout, clock::now_ms())
        };
        if self.open.store.expire_damaged(id, &answer).await? {
            tracing::error!(%error, "an ask has expired that could not be read");
            self.open.load.is_outdated();
            self.open.waiters.wake(id);
            self.open.changed();
        }
        Ok(())
    }

    /// What this daemon's timers are to an ask that is overdue.
    pub(super) fn timer(&self) -> Looker {
        if self.open.store.is_shared() { Looker::OneOfSeveral } else { Looker::First }
    }

    /// Expires an ask whose deadline has passed, as the operator chose; or gives it the time that
    /// it did not have, because the wall clock jumped or no daemon was there.
    pub(super) async fn expire(&self, ask: &Ask, looker: Looker) -> Result<Expiry, StoreError> {
        let now = clock::now_ms();
        if !ask.is_open() || ask.deadline_at.is_none_or(|at| at > now) {
            return Ok(Expiry::Settled);
        }
        let answer = if self.silence_approves(ask) {
            match self.open.monotonic.judge(ask, looker) {
                Waited::Enough(waited) => approved(ask, waited, now),
                Waited::TooShort(left) => {
                    self.postpone(ask, now, left, None).await?;
                    return Ok(Expiry::Settled);
                }
                Waited::Uncounted => {
                    let whole = self.whole_wait(ask);
                    self.postpone(ask, now, whole, Some(Instant::now())).await?;
                    return Ok(Expiry::Settled);
                }
                Waited::Elsewhere => return Ok(Expiry::Later),
            }
        } else {
            self.denied(ask, now).await?
        };
        if let Closed::Won(ask) = self.open.close(ask, State::Expired(answer)).await? {
            tracing::info!(ask_id = %ask.id, "nobody answered in time");
        }
        Ok(Expiry::Settled)
    }

    /// Gives an overdue ask so much more time, to be counted here from `since`.
    // SECURITY: its row has to say so too: past the deadline there, nobody could deny.
    async fn postpone(
        &self,
        ask: &Ask,
        now: i64,
        more: Duration,
        since: Option<Instant>,
    ) -> Result<(), StoreError> {
        let (open, seen, until) = (self.open.clone(), ask.clone(), now.saturating_add(ms(more)));
        to_the_end(async move {
            if let Closed::Won(ask) = open.store.move_deadline(&seen, until, now).await? {
                if let Some(since) = since {
                    open.monotonic.count(&ask.id, since, more);
                }
                tracing::warn!(ask_id = %ask.id, deadline = %clock::rfc3339(until),
                    "the clock says that silence approves this ask now, but people have not had \
                     the whole time to deny it; its deadline is moved");
                open.waiters.wake(&ask.id);
                open.changed();
            }
            Ok(())
        })
        .await
    }

    /// When a call's time is over that is taken now; Unix milliseconds. `None`: never.
    pub(super) fn deadline(&self, call: &Call, now: i64) -> Option<i64> {
        let choices = self.in_force.now();
        let given = match (call.expires_in_s, &choices.settings.on_timeout) {
            (Some(seconds), _) => Some(span_ms(seconds)),
            (None, OnTimeout::Wait) => None,
            (None, _) => Some(choices.settings.timeout_ms),
        };
        // The caller acts without an answer then, whatever people press.
        let waits = call.waits_s.map(span_ms);
        given.into_iter().chain(waits).min().map(|ms| now + ms)
    }

    /// The time that people have for this ask.
    fn whole_wait(&self, ask: &Ask) -> Duration {
        let ms =
            self.deadline(&ask.body.call, 0).unwrap_or(self.in_force.now().settings.timeout_ms);
        Duration::from_millis(u64::try_from(ms).unwrap_or_default())
    }

    /// What a call comes to when nobody answers.
    // FAIL-CLOSED: silence approves only tools that the operator named, never a critical call, and
    // never makes up an answer to a question.
    // SECURITY: nor a call whose caller gives people less time than the operator does.
    pub(super) fn silence(&self, call: &Call, critical: bool) -> Silence {
        let choices = self.in_force.now();
        let tools = match &choices.settings.on_timeout {
            OnTimeout::Approve(tools) => tools.as_slice(),
            OnTimeout::Deny | OnTimeout::Wait => &[],
        };
        let given = call.expires_in_s.into_iter().chain(call.waits_s).min();
        let hurried = given.is_some_and(|s| span_ms(s) < choices.settings.timeout_ms);
        let may = tools.contains(&call.tool) && !critical && !hurried && call.questions.is_empty();
        if may { Silence::Approve } else { Silence::Deny }
    }

    // FAIL-CLOSED: silence approves what the card said, and only while the operator still says so.
    fn silence_approves(&self, ask: &Ask) -> bool {
        let silence = self.silence(&ask.body.call, ask.body.critical);
        ask.body.silence == Silence::Approve && silence == Silence::Approve
    }

    async fn denied(&self, ask: &Ask, now: i64) -> Result<Answer, StoreError> {
        let waited = clock::brief_span(now - ask.created_at);
        let (reason, by) = if self.reached_anybody(ask).await? {
            (format!("Timed out after {waited}: not approved"), By::Timeout)
        } else {
            let why = self.open.store.why_gone(&ask.id).await?;
            let why = if why.is_empty() { String::new() } else { format!(" ({})", why.join("; ")) };
            let reason = format!("No approver was reachable for {waited}{why}: not approved");
            (reason, By::NoApprover)
        };
        Ok(Answer { reason: Some(reason), ..Answer::new(Decision::Deny, by, now) })
    }

    /// Whether a card is where somebody could have pressed it.
    async fn reached_anybody(&self, ask: &Ask) -> Result<bool, StoreError> {
        let cards = self.open.store.cards_of(&ask.id).await?;
        let choices = self.in_force.now();
        let may = |adapter: &str| choices.approvers.may_answer_on(adapter);
        Ok(cards.iter().any(|card| card.shown && may(&card.adapter)))
    }

    async fn until_next_deadline(&self) -> Option<Duration> {
        let next = self.open.store.next_deadline().await.ok().flatten();
        let left = next.map(|at| at.saturating_sub(clock::now_ms()).max(0));
        left.and_then(|ms| u64::try_from(ms).ok()).map(Duration::from_millis)
    }
}

fn approved(ask: &Ask, waited: Duration, now: i64) -> Answer {
    let reason = format!(
        "Timed out after {}: approved, because approve_on_timeout lists `{}`",
        clock::brief_span(ms(waited)),
        ask.body.call.tool
    );
    Answer {
        scope: Some(Scope::Once),
        reason: Some(reason),
        ..Answer::new(Decision::Approve, By::Timeout, now)
    }
}

/// A time that a caller names, in milliseconds; a week at most.
fn span_ms(seconds: u64) -> i64 {
    const LONGEST_S: u64 = 7 * 86_400;
    i64::try_from(seconds.min(LONGEST_S)).unwrap_or_default() * 1000
}

fn ms(time: Duration) -> i64 {
    i64::try_from(time.as_millis()).unwrap_or(i64::MAX)
}

/// How long the reaper rests. What could not be expired is overdue still: a full disk is not tried
/// without end.
fn pause(expired: &Result<Expiry, StoreError>, next: Option<Duration>) -> Duration {
    let next = next.unwrap_or(ROUND).min(ROUND);
    next.max(expired.as_ref().map_or(AGAIN, |expiry| expiry.rest()))
}

#[cfg(test)]
mod tests;
