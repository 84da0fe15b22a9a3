//! Changes of asks that are stored.
//!
//! INVARIANT: every change of an ask's row is a [`Change`]: one compare-and-set in one transaction
//! with its event, the cards that follow it and what else it does. It holds as a whole or not at
//! all; the loser of a race reads the row again, and other daemons are told after the commit.
//!
//! INVARIANT: what is committed after the pause approves nothing. Whatever approves reads the row
//! of the pause in its own transaction; where several daemons share the store, with a lock on that
//! row that the pause waits for.

use super::{
    Grant, NewCard, Store, StoreError, agents,
    asks::fetch,
    cards,
    engine::{SqlDialect, Statement, Tx, Work, from_json, to_json},
    grants, log,
};
use countersign_domain::{
    Answer, Ask, By, Decision, Execution, NextTry, Overruled, Scope, State, Undone,
    deadline::{Pause, PauseMode},
    question::Progress,
    votes::Vote,
};
use serde_json::{Value, json};
use sqlx::{AssertSqlSafe, Row, any::AnyRow};

/// The result of a compare-and-set.
#[derive(Debug)]
#[must_use]
pub enum Closed {
    /// This change was committed.
    Won(Ask),
    /// The row had changed before; this is its current state.
    Lost(Ask),
    /// No ask has this id.
    Unknown,
}

/// What taking a step does.
#[derive(Debug, Clone)]
pub enum TakenStep {
    /// No step is left.
    Nothing,
    /// Every target with a card reminds of it.
    Reminder,
    /// Others are asked too.
    Escalation {
        /// Who may answer from now on, for the log.
        groups: Vec<String>,
        /// Cards for those targets that have none.
        cards: Vec<NewCard>,
    },
}

/// One change of an ask: all of it in one transaction, or nothing.
pub(super) struct Change {
    /// Updates the row where it is still as it was seen, and counts its version.
    pub(super) update: Statement,
    /// Whether it is made while everything is paused.
    pub(super) while_paused: WhilePaused,
    pub(super) cards: Follow,
    /// Its event in the log: when, its kind and its data.
    pub(super) event: Option<(i64, &'static str, Value)>,
    /// What else is written because of it.
    pub(super) also: Option<Consequence>,
}

pub(super) type Consequence = Box<dyn for<'c> FnOnce(&'c mut Tx) -> Work<'c, ()> + Send>;

#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum WhilePaused {
    Made,
    Refused,
}

/// How the cards of an ask follow a change of it.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Follow {
    /// They have to show it, and may be tried at once.
    Due,
    /// They have to show it, when they may be tried.
    Behind,
    /// They say the same as before.
    Unchanged,
}

impl Change {
    /// An update that people see on the cards.
    pub(super) fn of(update: Statement) -> Self {
        let while_paused = WhilePaused::Made;
        let cards = Follow::Due;
        Self { update, while_paused, cards, event: None, also: None }
    }
}

impl WhilePaused {
    fn of(decision: Decision) -> Self {
        if decision == Decision::Deny { Self::Made } else { Self::Refused }
    }
}

/// Makes this change of an ask if its row is still as it was seen; whether it was.
pub(super) async fn compare_and_set(
    tx: &mut Tx,
    id: &str,
    change: Change,
) -> Result<bool, StoreError> {
    let Change { update, while_paused, cards, event, also } = change;
    if while_paused == WhilePaused::Refused && pause_held(tx).await?.is_some() {
        return Ok(false);
    }
    if tx.run(update).await? == 0 {
        return Ok(false);
    }
    follow(tx, id, cards, event).await?;
    if let Some(also) = also {
        also(tx).await?;
    }
    Ok(true)
}

/// What follows an update of an ask, in its transaction: its cards and its event.
pub(super) async fn follow(
    tx: &mut Tx,
    id: &str,
    cards: Follow,
    event: Option<(i64, &'static str, Value)>,
) -> Result<(), StoreError> {
    match cards {
        Follow::Due => cards::want(tx, id).await?,
        Follow::Behind => cards::behind(tx, id).await?,
        Follow::Unchanged => {}
    }
    match event {
        Some((at, kind, data)) => log::append(tx, at, kind, Some(id), &data).await,
        None => Ok(()),
    }
}

impl Store {
    /// Makes this change, after which the ask is `after`, a version later than it was seen.
    async fn compare_and_set(&self, after: Ask, change: Change) -> Result<Closed, StoreError> {
        self.change(move |tx| {
            Box::pin(async move {
                if compare_and_set(tx, &after.id, change).await? {
                    return Ok(Closed::Won(after));
                }
                Ok(fetch(tx, &after.id).await?.map_or(Closed::Unknown, Closed::Lost))
            })
        })
        .await
    }

    /// Closes the ask if its row is still at the version of `seen`: row, event, grants and cards in
    /// one transaction.
    // INVARIANT: an ask has at most one answer. A person's answer loses to a deadline that has
    // passed, even while the reaper is late.
    pub async fn close_ask(
        &self,
        seen: &Ask,
        end: &State,
        grants: &[Grant],
    ) -> Result<Closed, StoreError> {
        let Some(answer) = end.answer().cloned() else { return Ok(Closed::Lost(seen.clone())) };
        let after = Ask { state: end.clone(), ..later(seen) };
        let mut update = versioned(closing(end), &after)
            .bind(end.name())
            .bind(to_json("answer", &answer)?)
            .bind(answer.at);
        // Only a cancel compares the attached daemons too; see `closing`.
        if let State::Cancelled(_) = end {
            update = update.bind(after.attached.to_string());
        }
        let change = Change {
            // FAIL-CLOSED: while something is paused only a denial closes an ask.
            while_paused: WhilePaused::of(answer.decision),
            event: Some((answer.at, end.name(), to_value(&answer)?)),
            also: Some(consequences(after.clone(), answer, grants.to_vec())),
            ..Change::of(update)
        };
        self.compare_and_set(after, change).await
    }

    /// Expires an ask whose row cannot be read, once its deadline has passed; returns whether it
    /// was open.
    pub async fn expire_damaged(&self, id: &str, answer: &Answer) -> Result<bool, StoreError> {
        // No version in the condition: the row is unreadable, so nobody has seen one.
        let update = sqlx::query(
            "UPDATE ask SET state = 'expired', answer = $2, closed_at = $3, \
             version = version + 1 \
             WHERE id = $1 AND state = 'open' AND deadline_at <= $3",
        );
        let update = update.bind(id.to_owned()).bind(to_json("answer", answer)?).bind(answer.at);
        let event = Some((answer.at, "expired", to_value(answer)?));
        let id = id.to_owned();
        let change = Change { event, ..Change::of(update) };
        self.change(move |tx| Box::pin(async move { compare_and_set(tx, &id, change).await })).await
    }

    /// Records progress on the ask's questions if its row is still at the version of `seen`.
    pub async fn note_progress(
        &self,
        seen: &Ask,
        progress: &Progress,
        now: i64,
    ) -> Result<Closed, StoreError> {
        let after = Ask { progress: progress.clone(), ..later(seen) };
        let update = versioned(
            "UPDATE ask SET progress = $3, version = version + 1 \
             WHERE id = $1 AND version = $2 AND state = 'open' \
             AND (deadline_at IS NULL OR deadline_at > $4)",
            &after,
        );
        let update = update.bind(to_json("progress", progress)?).bind(now);
        self.compare_and_set(after, Change::of(update)).await
    }

    /// Records the votes on an ask, of which the last is new, if its row is still at the version of
    /// `seen`.
    // FAIL-CLOSED: while something is paused nobody approves, and after the deadline nobody votes.
    pub async fn note_votes(
        &self,
        seen: &Ask,
        votes: &[Vote],
        now: i64,
    ) -> Result<Closed, StoreError> {
        let Some(new) = votes.last() else { return Ok(Closed::Lost(seen.clone())) };
        let after = Ask { votes: votes.to_vec(), ..later(seen) };
        let update = versioned(
            "UPDATE ask SET votes = $3, version = version + 1 \
             WHERE id = $1 AND version = $2 AND state = 'open' \
             AND (deadline_at IS NULL OR deadline_at > $4)",
            &after,
        );
        let update = update.bind(to_json("votes", &after.votes)?).bind(now);
        let data = json!({"decision": new.answer.decision, "scope": new.answer.scope,
            "reason": new.answer.reason, "by": new.answer.by, "person": new.person});
        let change = Change {
            while_paused: WhilePaused::of(new.answer.decision),
            event: Some((now, "voted", data)),
            ..Change::of(update)
        };
        self.compare_and_set(after, change).await
    }

    /// Moves the deadline of an open ask if its row is still at the version of `seen`, and makes
    /// its cards due. Times are Unix milliseconds.
    pub async fn move_deadline(
        &self,
        seen: &Ask,
        deadline_at: i64,
        now: i64,
    ) -> Result<Closed, StoreError> {
        let Some(was) = seen.deadline_at else { return Ok(Closed::Lost(seen.clone())) };
        let after = Ask { deadline_at: Some(deadline_at), ..later(seen) };
        let update = versioned(
            "UPDATE ask SET deadline_at = $3, version = version + 1 \
             WHERE id = $1 AND version = $2 AND state = 'open' AND deadline_at = $4",
            &after,
        );
        let event = (now, "postponed", json!({"deadline_at": deadline_at, "was": was}));
        let update = update.bind(deadline_at).bind(was);
        self.compare_and_set(after, Change { event: Some(event), ..Change::of(update) }).await
    }

    /// Takes the next step of an ask, unless it was taken, the ask is closed or everything stands
    /// still; whether it was.
    // INVARIANT: each step is taken once, however many daemons look: the row counts them.
    pub async fn take_step(
        &self,
        seen: &Ask,
        next_at: Option<i64>,
        now: i64,
        taken: TakenStep,
    ) -> Result<bool, StoreError> {
        let id = seen.id.clone();
        let done = i64::try_from(seen.steps_done).unwrap_or(i64::MAX);
        // An escalation changes what cards say; a reminder does not.
        let changes = matches!(taken, TakenStep::Escalation { .. });
        let update = sqlx::query(
            "UPDATE ask SET steps_done = steps_done + 1, step_at = $3, \
             version = version + $5 WHERE id = $1 AND state = 'open' \
             AND steps_done = $2 AND step_at <= $4 \
             AND (deadline_at IS NULL OR deadline_at > $4)",
        );
        let update = update.bind(id.clone()).bind(done).bind(next_at).bind(now);
        let change = Change {
            cards: if changes { Follow::Due } else { Follow::Unchanged },
            event: taken.event(done).map(|data| (now, taken.kind(), data)),
            also: Some(taken.consequence(id.clone())),
            ..Change::of(update.bind(i64::from(changes)))
        };
        self.change(move |tx| Box::pin(async move { compare_and_set(tx, &id, change).await })).await
    }

    /// Notes that the call of this answered ask was started, or has ended, if the row is still as
    /// seen. While everything is paused nothing is started.
    pub async fn note_execution(
        &self,
        seen: &Ask,
        execution: Execution,
    ) -> Result<Closed, StoreError> {
        match executed(seen, execution)? {
            Some((after, change)) => self.compare_and_set(after, change).await,
            None => Ok(Closed::Lost(seen.clone())),
        }
    }

    /// Notes that the answer of this ask did not count, because somebody answered at the agent
    /// itself, if the row is still as seen.
    pub async fn note_overtaken(&self, seen: &Ask, at: i64) -> Result<Closed, StoreError> {
        let Some(answer) = seen.answer() else { return Ok(Closed::Lost(seen.clone())) };
        let after = with_answer(seen, Answer { overtaken_at: Some(at), ..answer.clone() });
        let update = replace_answer(&after)?;
        let event = Some((at, "overtaken", json!({})));
        self.compare_and_set(after, Change { event, ..Change::of(update) }).await
    }

    /// Notes that a machine of the agent blocked what this answer approved, if the row is still as
    /// seen.
    pub async fn note_overruled(
        &self,
        seen: &Ask,
        overruled: Overruled,
    ) -> Result<Closed, StoreError> {
        let Some(answer) = seen.answer() else { return Ok(Closed::Lost(seen.clone())) };
        let event = Some(overruling(&overruled));
        let after = with_answer(seen, Answer { overruled: Some(overruled), ..answer.clone() });
        let update = replace_answer(&after)?;
        self.compare_and_set(after, Change { event, ..Change::of(update) }).await
    }

    /// Notes that the agent does not carry out what this ask released, and revokes the grant of
    /// that, if the row is still as seen.
    pub async fn note_refused(
        &self,
        seen: &Ask,
        overruled: Overruled,
    ) -> Result<Closed, StoreError> {
        let Some(answer) = seen.answer() else { return Ok(Closed::Lost(seen.clone())) };
        let revoke = revoke_of(&seen.id, overruled.at);
        let event = Some(overruling(&overruled));
        let mut answer = Answer { overruled: Some(overruled), ..answer.clone() };
        answer.stored.undo_until = None;
        let after = with_answer(seen, answer);
        let also = Some(statements(vec![revoke, no_undo(&seen.id)]));
        let update = replace_answer(&after)?;
        self.compare_and_set(after, Change { event, also, ..Change::of(update) }).await
    }

    /// Revokes what the answer of this ask stored, if the row is still as seen: row, grants,
    /// event and cards in one transaction.
    // INVARIANT: exactly the grants of this answer are revoked, and those that may be in the
    // rules file are noted as still to be taken out of it.
    pub async fn undo(&self, seen: &Ask, undone: &Undone) -> Result<Closed, StoreError> {
        let Some(answer) = seen.answer() else { return Ok(Closed::Lost(seen.clone())) };
        let mut answer = answer.clone();
        answer.stored.undo_until = None;
        answer.stored.undone = Some(undone.clone());
        let data = json!({"by": undone.by, "rules": seen.body.stored(&answer)});
        let revoke = revoke_of(&seen.id, undone.at);
        let after = with_answer(seen, answer);
        let change = Change {
            event: Some((undone.at, "undone", data)),
            also: Some(statements(vec![revoke, no_undo(&seen.id)])),
            ..Change::of(replace_answer(&after)?)
        };
        self.compare_and_set(after, change).await
    }

    /// Notes on an expired ask that the next try of its call is approved, and stores the grant.
    // FAIL-CLOSED: while something is paused nothing is approved.
    pub async fn approve_next(
        &self,
        seen: &Ask,
        next: &NextTry,
        grant: &Grant,
    ) -> Result<Closed, StoreError> {
        let State::Expired(answer) = &seen.state else { return Ok(Closed::Lost(seen.clone())) };
        let answer = Answer { next_try: Some(next.clone()), ..answer.clone() };
        let update = versioned(
            "UPDATE ask SET answer = $3, version = version + 1 \
             WHERE id = $1 AND version = $2 AND state = 'expired'",
            &later(seen),
        );
        let update = update.bind(to_json("answer", &answer)?);
        let after = Ask { state: State::Expired(answer), ..later(seen) };
        let data = json!({"by": next.by, "until": next.until, "grant": grant.id});
        let grant = grant.clone();
        let change = Change {
            while_paused: WhilePaused::Refused,
            event: Some((next.at, "next_try_approved", data)),
            also: Some(Box::new(move |tx| {
                Box::pin(async move { grants::insert(tx, &grant).await })
            })),
            ..Change::of(update)
        };
        self.compare_and_set(after, change).await
    }

    /// Notes that the answer of this ask cannot be undone any more, and that it was once where its
    /// rules could not be stored.
    pub async fn end_undo(&self, seen: &Ask, was_stored: bool) -> Result<Closed, StoreError> {
        let Some(answer) = seen.answer() else { return Ok(Closed::Lost(seen.clone())) };
        let mut answer = answer.clone();
        answer.stored.undo_until = None;
        if !was_stored {
            answer.scope = Some(Scope::Once);
            answer.stored.parts = None;
        }
        let after = with_answer(seen, answer);
        let also = Some(statements(vec![no_undo(&seen.id)]));
        let change = Change { also, ..Change::of(replace_answer(&after)?) };
        self.compare_and_set(after, change).await
    }

    /// Forgets that an answer can be undone whose ask is gone, or says so already.
    pub async fn forget_undo(&self, ask: &str) -> Result<(), StoreError> {
        self.execute(no_undo(ask)).await.map(drop)
    }

    /// Asks whose answers could be undone until now, some at a time.
    pub async fn undo_over(&self, now: i64) -> Result<Vec<String>, StoreError> {
        let over = sqlx::query("SELECT DISTINCT ask FROM grants WHERE undo_until <= $1 LIMIT 100");
        self.texts(over.bind(now)).await
    }

    /// When the next answer cannot be undone any more; Unix milliseconds.
    pub async fn next_undo_over(&self) -> Result<Option<i64>, StoreError> {
        self.time("SELECT min(undo_until) AS at FROM grants WHERE undo_until IS NOT NULL").await
    }

    /// The pause, where one is on. Every daemon sees it, and it outlives them.
    ///
    /// # Errors
    /// When the store fails or the row does not read back: then nothing may be taken for allowed.
    pub async fn pause(&self) -> Result<Option<Pause>, StoreError> {
        pause_of(&self.one(sqlx::query(PAUSE)).await?)
    }

    /// Switches the pause on, or changes what becomes of calls: all open asks' deadlines stop
    /// still. Returns the pause as it was before.
    pub async fn set_pause(&self, new: &Pause) -> Result<Option<Pause>, StoreError> {
        let new = new.clone();
        self.change(move |tx| {
            Box::pin(async move {
                let before = pause_locked(tx, SqlDialect::for_update).await?;
                let by = to_json("paused_by", &new.by)?;
                let since = before.as_ref().map_or(new.since, |pause| pause.since);
                let on = "UPDATE pause SET how = $1, paused_by = $2, since = $3 WHERE id = 1";
                tx.run(sqlx::query(on).bind(new.mode.name()).bind(by).bind(since)).await?;
                let stop = sqlx::query(
                    "UPDATE ask SET left_ms = CASE WHEN deadline_at IS NULL THEN -1 \
                     WHEN deadline_at <= $1 THEN 1 ELSE deadline_at - $1 END, \
                     deadline_at = NULL, step_left_ms = CASE WHEN step_at <= $1 THEN 1 \
                     ELSE step_at - $1 END, step_at = NULL, version = version + 1 \
                     WHERE state = 'open' AND left_ms IS NULL",
                );
                let data = json!({"how": new.mode, "by": new.by});
                change_all_open(tx, stop.bind(new.since), (new.since, "paused", data)).await?;
                Ok(before)
            })
        })
        .await
    }

    /// Switches it off: deadlines run on with what was left of them. Returns the pause that ended,
    /// where one was on.
    pub async fn end_pause(&self, by: &By, now: i64) -> Result<Option<Pause>, StoreError> {
        let by = by.clone();
        self.change(move |tx| {
            Box::pin(async move {
                let before = pause_locked(tx, SqlDialect::for_update).await?;
                if before.is_none() {
                    return Ok(None);
                }
                tx.run(sqlx::query("UPDATE pause SET how = NULL WHERE id = 1")).await?;
                let run = sqlx::query(
                    "UPDATE ask SET deadline_at = CASE WHEN left_ms < 0 THEN NULL \
                     ELSE $1 + left_ms END, left_ms = NULL, step_at = $1 + step_left_ms, \
                     step_left_ms = NULL, version = version + 1 \
                     WHERE state = 'open' AND left_ms IS NOT NULL",
                );
                change_all_open(tx, run.bind(now), (now, "resumed", json!({ "by": by }))).await?;
                Ok(before)
            })
        })
        .await
    }
}

impl TakenStep {
    /// Its name in the log.
    #[must_use]
    pub fn kind(&self) -> &'static str {
        match self {
            Self::Nothing => "nothing",
            Self::Reminder => "reminded",
            Self::Escalation { .. } => "escalated",
        }
    }

    fn event(&self, step: i64) -> Option<Value> {
        match self {
            Self::Nothing => None,
            Self::Reminder => Some(json!({ "step": step })),
            Self::Escalation { groups, cards } => {
                let to = cards.iter().map(|it| format!("{}/{}", it.adapter, it.target));
                Some(json!({"step": step, "groups": groups, "to": to.collect::<Vec<_>>()}))
            }
        }
    }

    fn consequence(self, ask: String) -> Consequence {
        match self {
            Self::Nothing => statements(Vec::new()),
            Self::Reminder => statements(vec![
                sqlx::query(
                    "UPDATE card SET reminders = reminders + 1 WHERE ask = $1 AND gone IS NULL",
                )
                .bind(ask),
            ]),
            Self::Escalation { cards, .. } => {
                Box::new(move |tx| Box::pin(async move { cards::insert(tx, &ask, &cards).await }))
            }
        }
    }
}

/// The ask as a change leaves it, before what is changed.
fn later(seen: &Ask) -> Ask {
    Ask { version: seen.version + 1, ..seen.clone() }
}

pub(super) fn with_answer(seen: &Ask, answer: Answer) -> Ask {
    Ask { state: State::Answered(answer), ..later(seen) }
}

/// The note at an answered ask that its call starts, or has ended; `None` where nobody answered.
/// While everything is paused nothing starts.
pub(super) fn executed(
    seen: &Ask,
    execution: Execution,
) -> Result<Option<(Ask, Change)>, StoreError> {
    let Some(answer) = seen.answer() else { return Ok(None) };
    let (while_paused, event) = match execution.end {
        None => {
            let data = json!({"digest": seen.digest});
            (WhilePaused::Refused, (execution.started_at, "started", data))
        }
        Some(end) => (WhilePaused::Made, (end.at, "finished", json!({"exit": end.exit}))),
    };
    let after = with_answer(seen, Answer { execution: Some(execution), ..answer.clone() });
    let update = replace_answer(&after)?;
    Ok(Some((after, Change { while_paused, event: Some(event), ..Change::of(update) })))
}

fn overruling(overruled: &Overruled) -> (i64, &'static str, Value) {
    let data = json!({"by": overruled.verdict.against, "reason": overruled.verdict.reason});
    (overruled.at, "overruled", data)
}

/// An update of the row of an ask, `$1`, at the version before this one, `$2`.
fn versioned(sql: &'static str, after: &Ask) -> Statement {
    sqlx::query(sql).bind(after.id.clone()).bind(after.version - 1)
}

/// Writes the answer of an ask that was answered a version before.
pub(super) fn replace_answer(after: &Ask) -> Result<Statement, StoreError> {
    let replace = versioned(
        "UPDATE ask SET answer = $3, version = version + 1 \
         WHERE id = $1 AND version = $2 AND state = 'answered'",
        after,
    );
    Ok(replace.bind(to_json("answer", &after.answer())?))
}

/// The compare-and-set for this end state.
fn closing(end: &State) -> &'static str {
    match end {
        // A caller that cancelled its ask may submit it again under the same key, so the key is
        // freed. `attached` must be as read: if another caller has attached in the meantime, the ask
        // stays open.
        State::Cancelled(_) => {
            "UPDATE ask SET state = $3, answer = $4, closed_at = $5, version = version + 1, \
             key = NULL WHERE id = $1 AND version = $2 AND state = 'open' AND attached = $6"
        }
        // `$5` is the time of the answer: an ask does not expire before its deadline, and no other
        // answer counts after it.
        State::Expired(_) => {
            "UPDATE ask SET state = $3, answer = $4, closed_at = $5, version = version + 1 \
             WHERE id = $1 AND version = $2 AND state = 'open' AND deadline_at <= $5"
        }
        State::Open | State::Answered(_) => {
            "UPDATE ask SET state = $3, answer = $4, closed_at = $5, version = version + 1 \
             WHERE id = $1 AND version = $2 AND state = 'open' \
             AND (deadline_at IS NULL OR deadline_at > $5)"
        }
    }
}

/// What the end of an ask does beside closing it: it stores grants, resumes an agent, and does what
/// a review says.
fn consequences(ended: Ask, answer: Answer, new: Vec<Grant>) -> Consequence {
    Box::new(move |tx| {
        Box::pin(async move {
            for grant in &new {
                grants::insert(tx, grant).await?;
            }
            if let (Some(token), Decision::Approve) = (&ended.body.resumes, answer.decision) {
                agents::resume(tx, token, &answer.by, answer.at).await?;
            }
            match &ended.body.review {
                Some(review) => grants::review_ended(tx, &ended, review, &answer).await,
                None => Ok(()),
            }
        })
    })
}

fn statements(all: Vec<Statement>) -> Consequence {
    Box::new(move |tx| Box::pin(tx.run_all(all)))
}

/// Revokes the grants of this ask.
fn revoke_of(ask: &str, at: i64) -> Statement {
    let revoke = sqlx::query(
        "UPDATE grants SET revoked_at = $2, undo_until = NULL, \
         written = CASE WHEN written = 1 THEN 1 ELSE 3 END \
         WHERE ask = $1 AND revoked_at IS NULL",
    );
    revoke.bind(ask.to_owned()).bind(at)
}

fn no_undo(ask: &str) -> Statement {
    sqlx::query("UPDATE grants SET undo_until = NULL WHERE ask = $1").bind(ask.to_owned())
}

fn to_value(answer: &Answer) -> Result<Value, StoreError> {
    serde_json::to_value(answer).map_err(|error| StoreError::Unreadable { column: "answer", error })
}

/// Changes all open asks at once, with one event: their cards become due.
async fn change_all_open(
    tx: &mut Tx,
    update: Statement,
    (at, kind, data): (i64, &'static str, Value),
) -> Result<(), StoreError> {
    tx.run(update).await?;
    cards::want_open(tx).await?;
    log::append(tx, at, kind, None, &data).await
}

const PAUSE: &str = "SELECT how, paused_by, since FROM pause WHERE id = 1";

/// The pause, where one is on, held as it is until this transaction ends.
pub(super) async fn pause_held(tx: &mut Tx) -> Result<Option<Pause>, StoreError> {
    pause_locked(tx, SqlDialect::for_share).await
}

async fn pause_locked(
    tx: &mut Tx,
    lock: fn(SqlDialect) -> &'static str,
) -> Result<Option<Pause>, StoreError> {
    let row = tx.one(sqlx::query(AssertSqlSafe(format!("{PAUSE}{}", lock(tx.dialect))))).await?;
    pause_of(&row)
}

// FAIL-CLOSED: a word that nobody knows is an error, not the absence of a pause.
pub(super) fn pause_of(row: &AnyRow) -> Result<Option<Pause>, StoreError> {
    let how: Option<String> = row.try_get("how")?;
    let Some(how) = how else { return Ok(None) };
    let mode: PauseMode = how.parse().map_err(|why: String| sqlx::Error::Decode(why.into()))?;
    Ok(Some(Pause { mode, by: from_json(row, "paused_by")?, since: row.try_get("since")? }))
}

#[cfg(test)]
mod tests;
