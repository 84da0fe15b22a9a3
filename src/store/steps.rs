//! Steps of open asks: which is due, and that each is taken once. Reminders at targets.

use super::{
    Fence, NewCard, Store, StoreError, cards, events,
    rows::{columns, whole},
};
use countersign_domain::Ask;
use serde_json::json;
use sqlx::{Row, any::AnyRow};

/// A step that is due.
#[derive(Debug)]
pub struct DueStep {
    /// Of which ask.
    pub ask: Ask,
    /// Since when; Unix milliseconds.
    pub at: i64,
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
}

/// A card of which its target has to be reminded.
#[derive(Debug)]
pub struct DueReminder {
    /// Which card.
    pub nonce: String,
    /// The message that it is in.
    pub message: String,
    /// How many reminders there should have been.
    pub reminders: i64,
    /// Its ask.
    pub ask: Ask,
}

/// How many are read at once.
const PAGE: i64 = 16;

pub(super) const NEXT_STEP: &str =
    "SELECT min(step_at) AS at FROM ask WHERE state = 'open' AND step_at IS NOT NULL";

pub(super) const DUE_REMINDERS: &str = concat!(
    "SELECT due.nonce, due.message AS posted_in, due.reminders, ",
    columns!(),
    " FROM (SELECT nonce, ask, reminders, coalesce(message, (SELECT message FROM bundle \
     WHERE bundle.nonce = card.bundle)) AS message FROM card WHERE adapter = $1 \
     AND target = $2 AND gone IS NULL AND reminded < reminders \
     AND EXISTS (SELECT 1 FROM lease WHERE name = $3 AND epoch = $4)) AS due \
     JOIN ask ON id = due.ask WHERE state = 'open' AND left_ms IS NULL \
     AND due.message IS NOT NULL ORDER BY created_at, id LIMIT $5"
);

impl Store {
    /// Some of the open asks of which a step is due, the longest due first.
    ///
    /// # Errors
    /// When the store fails.
    pub async fn due_steps(&self, now: i64) -> Result<Vec<DueStep>, StoreError> {
        let query = sqlx::query(concat!(
            "SELECT step_at, ",
            columns!(),
            " FROM ask WHERE state = 'open' AND step_at <= $1 \
             AND (deadline_at IS NULL OR deadline_at > $1) ORDER BY step_at, id LIMIT $2"
        ));
        let rows = self.all(query.bind(now).bind(PAGE)).await?;
        let due = |row: &AnyRow| -> Result<Option<DueStep>, StoreError> {
            let at = row.try_get("step_at")?;
            Ok(whole(row).map(|ask| DueStep { ask, at }))
        };
        rows.iter().filter_map(|row| due(row).transpose()).collect()
    }

    /// When the next step of an open ask is due.
    ///
    /// # Errors
    /// When the store fails.
    pub async fn next_step_at(&self) -> Result<Option<i64>, StoreError> {
        Ok(self.one(sqlx::query(NEXT_STEP)).await?.try_get("at")?)
    }

    /// Takes the next step of an ask, unless it was taken, the ask is closed or everything stands
    /// still; whether it was.
    ///
    /// # Errors
    /// When the store fails; then nothing is changed.
    // INVARIANT: each step is taken once, however many daemons look: the row counts them.
    pub async fn take_step(
        &self,
        seen: &Ask,
        next_at: Option<i64>,
        now: i64,
        taken: TakenStep,
    ) -> Result<bool, StoreError> {
        let (id, done) = (seen.id.clone(), i64::try_from(seen.steps_done).unwrap_or(i64::MAX));
        let done = self.write(move |tx| {
            Box::pin(async move {
                // An escalation changes what cards say; a reminder does not.
                let changes = matches!(taken, TakenStep::Escalation { .. });
                let step = sqlx::query(
                    "UPDATE ask SET steps_done = steps_done + 1, step_at = $3, \
                     version = version + $5 WHERE id = $1 AND state = 'open' \
                     AND steps_done = $2 AND step_at <= $4 \
                     AND (deadline_at IS NULL OR deadline_at > $4)",
                );
                let step = step.bind(id.clone()).bind(done).bind(next_at).bind(now);
                let step = step.bind(i64::from(changes)).execute(&mut **tx).await?;
                if step.rows_affected() == 0 {
                    return Ok(false);
                }
                let kind = taken.kind();
                let data = match taken {
                    TakenStep::Nothing => return Ok(true),
                    TakenStep::Reminder => {
                        let wanted = sqlx::query(
                            "UPDATE card SET reminders = reminders + 1 WHERE ask = $1 \
                             AND gone IS NULL",
                        );
                        wanted.bind(id.clone()).execute(&mut **tx).await?;
                        json!({ "step": done })
                    }
                    TakenStep::Escalation { groups, cards: new } => {
                        cards::insert(tx, &id, &new).await?;
                        cards::want(tx, &id).await?;
                        let to: Vec<_> =
                            new.iter().map(|it| format!("{}/{}", it.adapter, it.target)).collect();
                        json!({"step": done, "groups": groups, "to": to})
                    }
                };
                events::append(tx, now, kind, Some(&id), &data).await?;
                Ok(true)
            })
        });
        let done = done.await?;
        self.tell();
        Ok(done)
    }

    /// The cards at this target of which it has to be reminded, for as long as the one who asks
    /// leads.
    ///
    /// # Errors
    /// When the store fails.
    pub async fn due_reminders(
        &self,
        adapter: &str,
        target: &str,
        fence: &Fence,
    ) -> Result<Vec<DueReminder>, StoreError> {
        let query = sqlx::query(DUE_REMINDERS);
        let query = query.bind(adapter).bind(target).bind(&fence.name).bind(fence.epoch);
        let rows = self.all(query.bind(PAGE)).await?;
        let due = |row: &AnyRow| -> Result<Option<DueReminder>, StoreError> {
            let (nonce, message) = (row.try_get("nonce")?, row.try_get("posted_in")?);
            let reminders = row.try_get("reminders")?;
            Ok(whole(row).map(|ask| DueReminder { nonce, message, reminders, ask }))
        };
        rows.iter().filter_map(|row| due(row).transpose()).collect()
    }

    /// Notes that this card's reminders are sent, before they are; whether the one who says so
    /// leads and nobody has before.
    ///
    /// # Errors
    /// When the store fails.
    // INVARIANT: noted first, so that a crash may lose a reminder and never repeats one.
    pub async fn reminding(
        &self,
        nonce: &str,
        reminders: i64,
        fence: &Fence,
    ) -> Result<bool, StoreError> {
        let noted = sqlx::query(
            "UPDATE card SET reminded = $2 WHERE nonce = $1 AND reminded < $2 \
             AND EXISTS (SELECT 1 FROM lease WHERE name = $3 AND epoch = $4)",
        );
        let noted = noted.bind(nonce.to_owned()).bind(reminders);
        Ok(self.execute(noted.bind(fence.name.clone()).bind(fence.epoch)).await? > 0)
    }

    /// Notes that this card's last reminder was not sent after all.
    ///
    /// # Errors
    /// When the store fails; then it is not sent again.
    pub async fn not_reminded(&self, nonce: &str, reminders: i64) -> Result<(), StoreError> {
        let noted =
            sqlx::query("UPDATE card SET reminded = $2 - 1 WHERE nonce = $1 AND reminded = $2");
        self.execute(noted.bind(nonce.to_owned()).bind(reminders)).await.map(drop)
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::panic, reason = "tests fail by panicking")]
    use super::*;
    use crate::{Inserted, NewAsk, engines::on_both, tests::new_ask};
    use countersign_domain::{
        Body, By,
        pause::{Pause, PauseMode},
        step::{AskStep, StepAction},
    };

    fn asked(id: &str, minutes: &[i64]) -> NewAsk {
        let step = |minute: &i64| AskStep { after_ms: minute * 60_000, action: StepAction::Remind };
        let new = new_ask(id, None, None);
        let steps = minutes.iter().map(step).collect();
        NewAsk { created_at: 0, body: Body { steps, ..new.body }, ..new }
    }

    async fn insert(store: &Store, new: &NewAsk) -> Ask {
        match store.insert_ask(new, &[]).await.unwrap() {
            Inserted::New(ask) | Inserted::Known(ask) => ask,
            other @ Inserted::OverLimit(_) => panic!("{other:?}"),
        }
    }

    #[tokio::test]
    async fn of_all_who_take_a_step_one_does_and_only_when_it_is_due() {
        on_both(async |store| {
            let ask = insert(&store, &asked("one", &[1, 3])).await;
            let take = async |ask: &Ask, now| {
                let next = ask.between_steps().map(|later| now + later);
                store.take_step(ask, next, now, TakenStep::Reminder).await.unwrap()
            };
            assert!(store.due_steps(59_999).await.unwrap().is_empty());
            assert!(!take(&ask, 59_999).await, "before it is due");
            let due = store.due_steps(60_000).await.unwrap();
            assert_eq!(due.iter().map(|it| it.ask.id.as_str()).collect::<Vec<_>>(), ["one"]);
            assert!(take(&ask, 60_000).await);
            assert!(!take(&ask, 60_000).await, "another daemon has seen the same row");
            let ask = store.ask("one").await.unwrap().unwrap();
            assert_eq!((ask.steps_done, store.next_step_at().await.unwrap()), (1, Some(180_000)));
            assert!(take(&ask, 180_000).await);
            assert_eq!(store.next_step_at().await.unwrap(), None);
        })
        .await;
    }

    #[tokio::test]
    async fn no_step_is_due_while_everything_is_paused_and_its_time_goes_on_after_that() {
        on_both(async |store| {
            let ask = insert(&store, &asked("one", &[1])).await;
            let (mode, by) = (PauseMode::Hold, By::Timeout);
            let pause = Pause { mode, by: by.clone(), since: 20_000 };
            store.set_pause(&pause).await.unwrap();
            let held = insert(&store, &asked("two", &[1])).await;
            assert!(store.due_steps(i64::MAX).await.unwrap().is_empty());
            for ask in [&ask, &held] {
                let taken = store.take_step(ask, None, i64::MAX, TakenStep::Reminder).await;
                assert!(!taken.unwrap());
            }
            store.end_pause(&by, 1_000_000).await.unwrap();
            assert_eq!(store.next_step_at().await.unwrap(), Some(1_040_000));
            let both = store.due_steps(1_060_000).await.unwrap();
            let ids: Vec<_> = both.iter().map(|it| (it.ask.id.as_str(), it.at)).collect();
            assert_eq!(ids, [("one", 1_040_000), ("two", 1_060_000)]);
        })
        .await;
    }
}
