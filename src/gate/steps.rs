//! What happens while nobody answers: reminders and escalations, each exactly once.
//!
//! The row says how many steps are done and when the next is due, so a restart, another leader and
//! a pause change nothing: the compare-and-set in the store takes each step once.

use super::{
    ask::{Ask, step::StepAction},
    in_force::{InForce, new_card},
    open_asks::OpenAsks,
};
use countersign_port::Mention;
use countersign_store::{DueStep, StoreError, TakenStep};
use countersign_tokens::clock;
use std::{sync::Arc, time::Duration};
use tokio_util::sync::CancellationToken;

const ROUND: Duration = Duration::from_secs(30);
/// What could not be done is tried again.
const AGAIN: Duration = Duration::from_secs(1);
/// How many people a reminder mentions.
const MENTIONED: usize = 10;

/// Takes the steps of open asks when they are due.
#[derive(Debug)]
pub(super) struct StepTaker {
    pub(super) open: Arc<OpenAsks>,
    pub(super) in_force: Arc<InForce>,
}

impl StepTaker {
    /// Takes steps until told to stop.
    pub(super) async fn run(&self, stop: CancellationToken) {
        let mut changes = self.open.changes.subscribe();
        while !stop.is_cancelled() {
            changes.mark_unchanged();
            let rest = match self.take_due().await {
                Ok(()) => self.until_next().await,
                Err(error) => {
                    tracing::debug!(%error, "reminders are late");
                    AGAIN
                }
            };
            tokio::select! {
                () = stop.cancelled() => return,
                () = tokio::time::sleep(rest) => {}
                _ = changes.changed() => {}
            }
        }
    }

    /// Takes every step that is due.
    pub(super) async fn take_due(&self) -> Result<(), StoreError> {
        loop {
            let now = clock::now_ms();
            let due = self.open.store.due_steps(now).await?;
            if due.is_empty() {
                return Ok(());
            }
            for DueStep { ask, at } in due {
                self.take(&ask, at, now).await?;
            }
        }
    }

    async fn take(&self, ask: &Ask, at: i64, now: i64) -> Result<(), StoreError> {
        let next_at = ask.between_steps().map(|later| at.saturating_add(later));
        let taken = match ask.next_step().map(|step| &step.action) {
            None => TakenStep::Nothing,
            Some(StepAction::Remind) => TakenStep::Reminder,
            Some(StepAction::Escalate { groups, targets }) => {
                let cards = targets.iter().map(|it| new_card(&it.adapter, &it.target)).collect();
                TakenStep::Escalation { groups: groups.clone(), cards }
            }
        };
        let kind = taken.kind();
        if self.open.store.take_step(ask, next_at, now, taken).await? {
            tracing::info!(ask_id = %ask.id, step = ask.steps_done, kind, "nobody answers");
            self.open.changed();
        }
        Ok(())
    }

    async fn until_next(&self) -> Duration {
        let next = self.open.store.next_step_at().await.ok().flatten();
        let left = next.map(|at| at.saturating_sub(clock::now_ms()).max(0));
        let left = left.and_then(|ms| u64::try_from(ms).ok()).map(Duration::from_millis);
        match left {
            // Due, and not taken: its row cannot be read, or its deadline has passed.
            Some(Duration::ZERO) => AGAIN,
            left => left.unwrap_or(ROUND).min(ROUND),
        }
    }

    /// Whom a reminder of this ask mentions on a platform: people with a name who may answer and
    /// have not voted.
    pub(super) fn mentions(&self, ask: &Ask, adapter: &str) -> Vec<Mention> {
        let choices = self.in_force.now();
        let required = &ask.body.requirements;
        let people = choices.approvers.people.named.iter().filter(|person| {
            let voted = ask.votes.iter().any(|vote| vote.person.as_ref() == Some(&person.name));
            let admitted = |it: &super::ask::requirement::Requirement| {
                it.admits(Some(&person.name), &person.groups).is_ok()
            };
            !voted && (required.is_empty() || required.iter().any(admitted))
        });
        let mention = people.filter_map(|person| {
            let id = person.identities.get(adapter)?.first()?.clone();
            Some(Mention { id, name: person.name.clone() })
        });
        mention.take(MENTIONED).collect()
    }
}

#[cfg(test)]
mod tests;
