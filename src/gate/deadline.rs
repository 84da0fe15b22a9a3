//! Deadlines: what becomes of asks that nobody answers, and what happens until then.
//!
//! The compare-and-set in the store holds a deadline; the reaper only tidies up. A deadline that
//! denies goes by the wall clock alone: a clock that jumps forward denies early, and that is safe. A
//! deadline that approves goes by the monotonic clock too.
//!
//! SECURITY: a wall clock that jumps forward makes every deadline pass at once, before anybody can
//! deny. So silence approves only what this process itself has seen waiting for the whole time.

use super::{
    Gate, OnTimeout,
    ask::{Answer, Ask, By, Decision, Scope, Silence, State},
    call::Call,
    to_the_end,
};
use countersign_store::{Closed, Overdue, StoreError};
use countersign_tokens::clock;
use dashmap::DashMap;
use std::{sync::Arc, time::Duration};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

const ROUND: Duration = Duration::from_secs(30);
/// How many changes are one, in time.
const BREATH: Duration = Duration::from_millis(20);
/// Before what is overdue still is looked at again.
const AGAIN: Duration = Duration::from_secs(1);
/// How long an overdue ask is left to the daemon that opened it.
const GRACE: Duration = Duration::from_secs(45);
/// How long after its end a wait is remembered; then its ask counts as opened elsewhere.
const KEPT: Duration = Duration::from_secs(3_600);

impl Gate {
    /// Expires asks at their deadlines until told to stop.
    pub async fn reap(self: &Arc<Self>, stop: CancellationToken) {
        let mut changes = self.changes.subscribe();
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

    pub(super) async fn expire_overdue(self: &Arc<Self>) -> Result<Expiry, StoreError> {
        let now = clock::now_ms();
        let mut last = None;
        let mut all = Expiry::Settled;
        loop {
            let page = self.store.overdue(now, last.as_ref()).await?;
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
        if self.store.expire_damaged(id, &answer).await? {
            tracing::error!(%error, "an ask has expired that could not be read");
            self.load.is_outdated();
            self.waiters.wake(id);
            self.changed();
        }
        Ok(())
    }

    /// What this daemon's timers are to an ask that is overdue.
    pub(super) fn timer(&self) -> Looker {
        if self.store.is_shared() { Looker::OneOfSeveral } else { Looker::First }
    }

    /// Expires an ask whose deadline has passed, as the operator chose; or gives it the time that
    /// it did not have, because the wall clock jumped or no daemon was there.
    pub(super) async fn expire(
        self: &Arc<Self>,
        ask: &Ask,
        looker: Looker,
    ) -> Result<Expiry, StoreError> {
        let now = clock::now_ms();
        if !ask.is_open() || ask.deadline_at.is_none_or(|at| at > now) {
            return Ok(Expiry::Settled);
        }
        let answer = if self.silence_approves(ask) {
            match self.monotonic.judge(ask, looker) {
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
            self.unanswered(ask, now).await?
        };
        if let Closed::Won(ask) = self.close(ask, State::Expired(answer)).await? {
            tracing::info!(ask_id = %ask.id, "nobody answered in time");
        }
        Ok(Expiry::Settled)
    }

    /// Gives an overdue ask so much more time, to be counted here from `since`.
    // SECURITY: its row has to say so too: past the deadline there, nobody could deny.
    async fn postpone(
        self: &Arc<Self>,
        ask: &Ask,
        now: i64,
        more: Duration,
        since: Option<Instant>,
    ) -> Result<(), StoreError> {
        let gate = self.clone();
        let seen = ask.clone();
        let until = now.saturating_add(ms(more));
        to_the_end(async move {
            if let Closed::Won(ask) = gate.store.move_deadline(&seen, until, now).await? {
                if let Some(since) = since {
                    gate.monotonic.count(&ask.id, since, more);
                }
                tracing::warn!(ask_id = %ask.id, deadline = %clock::rfc3339(until),
                    "the clock says that silence approves this ask now, but people have not had \
                     the whole time to deny it; its deadline is moved");
                gate.waiters.wake(&ask.id);
                gate.changed();
            }
            Ok(())
        })
        .await
    }

    /// When a call's time is over that is taken now; Unix milliseconds. `None`: never.
    pub(super) fn deadline(&self, call: &Call, now: i64) -> Option<i64> {
        let choices = self.choices();
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
        let ms = self.deadline(&ask.body.call, 0).unwrap_or(self.choices().settings.timeout_ms);
        Duration::from_millis(u64::try_from(ms).unwrap_or_default())
    }

    /// An ask that silence approves waits since then.
    pub(super) fn count_wait(&self, ask: &Ask, since: Instant) {
        let left = ask.deadline_at.and_then(|at| u64::try_from(at - ask.created_at).ok());
        if let Some(left) = left.filter(|_| ask.body.silence == Silence::Approve) {
            self.monotonic.count(&ask.id, since, Duration::from_millis(left));
        }
    }

    /// What a call comes to when nobody answers.
    // FAIL-CLOSED: silence approves only tools that the operator named, never a critical call, and
    // never makes up an answer to a question.
    // SECURITY: nor a call whose caller gives people less time than the operator does.
    pub(super) fn silence(&self, call: &Call, critical: bool) -> Silence {
        let choices = self.choices();
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
        ask.silence() == Silence::Approve && silence == Silence::Approve
    }

    async fn unanswered(&self, ask: &Ask, now: i64) -> Result<Answer, StoreError> {
        let waited = clock::brief_span(now - ask.created_at);
        let (reason, by) = if self.reached_anybody(ask).await? {
            (format!("Timed out after {waited}: not approved"), By::Timeout)
        } else {
            let why = self.store.why_gone(&ask.id).await?;
            let why = if why.is_empty() { String::new() } else { format!(" ({})", why.join("; ")) };
            let reason = format!("No approver was reachable for {waited}{why}: not approved");
            (reason, By::NoApprover)
        };
        Ok(Answer { reason: Some(reason), ..Answer::new(Decision::Deny, by, now) })
    }

    /// Whether a card is where somebody could have pressed it.
    async fn reached_anybody(&self, ask: &Ask) -> Result<bool, StoreError> {
        let cards = self.store.cards_of(&ask.id).await?;
        let choices = self.choices();
        let may = |adapter: &str| choices.approvers.may_answer_on(adapter);
        Ok(cards.iter().any(|card| card.shown && may(&card.adapter)))
    }

    async fn until_next_deadline(&self) -> Option<Duration> {
        self.store.next_deadline().await.ok().flatten().map(clock::until)
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

/// What became of an ask that was looked at for its deadline.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[must_use]
pub(super) enum Expiry {
    /// It is not overdue any more, or never was.
    Settled,
    /// It is overdue still; another daemon may have to say what that comes to.
    Later,
}

impl Expiry {
    /// How long it is to be left alone at least.
    pub(super) fn rest(self) -> Duration {
        match self {
            Self::Settled => Duration::ZERO,
            Self::Later => AGAIN,
        }
    }
}

/// The waits of asks that silence approves.
#[derive(Debug, Default)]
pub(super) struct MonotonicWaits(DashMap<String, Wait>);

#[derive(Debug, Clone, Copy)]
enum Wait {
    /// Counted here: from then on, for so long.
    Counted { since: Instant, length: Duration },
    /// Another process opened the ask: seen overdue here for the first time then, with this
    /// deadline.
    Uncounted { seen: Instant, deadline_at: Option<i64> },
}

/// What the monotonic clock says of an ask that is overdue by the wall clock.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[must_use]
enum Waited {
    /// It has waited for its whole time, which was this.
    Enough(Duration),
    /// So much of its time is left.
    TooShort(Duration),
    /// Nobody has counted; its time begins now.
    Uncounted,
    /// Nobody here has counted; for now it is left to the daemon that may have.
    Elsewhere,
}

/// Who looks at an overdue ask.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Looker {
    /// A timer of a daemon that has the store to itself, or an approver who answers right now.
    First,
    /// A timer of one of several daemons: the daemon that opened the ask comes first.
    OneOfSeveral,
}

impl MonotonicWaits {
    /// This ask waits since then, for so long.
    fn count(&self, ask: &str, since: Instant, length: Duration) {
        self.0.insert(ask.to_owned(), Wait::Counted { since, length });
    }

    /// Nothing is counted here any more.
    pub(super) fn forget_all(&self) {
        self.0.clear();
    }

    /// Judges an ask that is overdue by the wall clock.
    fn judge(&self, ask: &Ask, looker: Looker) -> Waited {
        let deadline_at = ask.deadline_at;
        let first_sight = Wait::Uncounted { seen: Instant::now(), deadline_at };
        let mut wait = self.0.entry(ask.id.clone()).or_insert(first_sight);
        if let Wait::Uncounted { deadline_at: seen_with, .. } = *wait
            && seen_with != deadline_at
        {
            // Another daemon gave it more time, and counts.
            *wait = first_sight;
        }
        match *wait {
            Wait::Counted { since, length } => {
                let elapsed = since.elapsed();
                // The two clocks run at slightly different speeds.
                if elapsed >= length.mul_f64(0.99) {
                    Waited::Enough(elapsed)
                } else {
                    Waited::TooShort(length.saturating_sub(elapsed))
                }
            }
            Wait::Uncounted { seen, .. }
                if looker == Looker::OneOfSeveral && seen.elapsed() < GRACE =>
            {
                Waited::Elsewhere
            }
            Wait::Uncounted { .. } => Waited::Uncounted,
        }
    }

    /// This ask is closed.
    pub(super) fn forget(&self, ask: &str) {
        self.0.remove(ask);
    }

    /// Whether no wait is known.
    #[cfg(test)]
    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Forgets asks that were closed where this process did not see it.
    pub(super) fn tidy(&self) {
        self.0.retain(|_, wait| match wait {
            Wait::Counted { since, length } => since.elapsed() < length.saturating_add(KEPT),
            Wait::Uncounted { seen, .. } => seen.elapsed() < KEPT,
        });
    }
}

#[cfg(test)]
mod tests;
