//! What happens while nobody answers: reminders and escalations, each exactly once; another target
//! where one fails for good; and who is there at all.
//!
//! The row says how many steps are done and when the next is due, so a restart, another leader and
//! a pause change nothing: the compare-and-set in the store takes each step once.

use super::{
    Gate,
    approvers::Who,
    ask::{Ask, deadline::StepAction, plan::PlannedTarget, requirement::Requirement},
    choices::{INBOX, new_card},
    routes::{DutyTurn, Moment},
};
use countersign_domain::wire::DeliveryView;
use countersign_port::{Mention, brief, line};
use countersign_store::{Absence, DueStep, NewCard, StoreError, TakenStep};
use countersign_tokens::clock;
use jiff::tz::TimeZone;
use std::time::Duration;
use tokio_util::sync::CancellationToken;

const ROUND: Duration = Duration::from_secs(30);
/// What could not be done is tried again.
const AGAIN: Duration = Duration::from_secs(1);
/// How many people a reminder mentions.
const MENTIONED: usize = 10;
/// How much of a platform's reason a card shows; characters.
const REASON: usize = 160;
const NAMELESS: NotNamed =
    NotNamed("Only people with a name in the config ([[people]]) can be away.");

/// Somebody who has no name in the config; a sentence for them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NotNamed(pub &'static str);

impl Gate {
    /// Reminds of open asks and asks others too, when it is time, until told to stop.
    pub async fn take_steps(&self, stop: CancellationToken) {
        let mut changes = self.changes.subscribe();
        while !stop.is_cancelled() {
            changes.mark_unchanged();
            let rest = match self.take_due_steps().await {
                Ok(()) => self.until_next_step().await,
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
    pub(super) async fn take_due_steps(&self) -> Result<(), StoreError> {
        loop {
            let now = clock::now_ms();
            let due = self.store.due_steps(now).await?;
            if due.is_empty() {
                return Ok(());
            }
            for DueStep { ask, at } in due {
                self.take_step(&ask, at, now).await?;
            }
        }
    }

    async fn take_step(&self, ask: &Ask, at: i64, now: i64) -> Result<(), StoreError> {
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
        if self.store.take_step(ask, next_at, now, taken).await? {
            tracing::info!(ask_id = %ask.id, step = ask.steps_done, kind, "nobody answers");
            self.changed();
        }
        Ok(())
    }

    async fn until_next_step(&self) -> Duration {
        match self.store.next_step_at().await.ok().flatten().map(clock::until) {
            // Due, and not taken: its row cannot be read, or its deadline has passed.
            Some(Duration::ZERO) => AGAIN,
            left => left.unwrap_or(ROUND).min(ROUND),
        }
    }

    /// Whom a reminder of this ask mentions on a platform: people with a name who may answer and
    /// have not voted.
    fn named_mentions(&self, ask: &Ask, adapter: &str) -> Vec<Mention> {
        let choices = self.choices();
        let required = &ask.body.requirements;
        let people = choices.approvers.people.named.iter().filter(|person| {
            let voted = ask.votes.iter().any(|vote| vote.person.as_ref() == Some(&person.name));
            let admitted = |it: &Requirement| it.admits(Some(&person.name), &person.groups).is_ok();
            !voted && (required.is_empty() || required.iter().any(admitted))
        });
        let mention = people.filter_map(|person| {
            let id = person.identities.get(adapter)?.first()?.clone();
            Some(Mention { id, name: person.name.clone() })
        });
        mention.take(MENTIONED).collect()
    }

    /// Shows a routed ask at the next target, because this one fails for good: the first fallback
    /// of its route that has no card yet; every target, where none is left and no other shows it.
    ///
    /// # Errors
    /// When the store fails; then nothing is changed.
    // INVARIANT: a card is added, never an answer: the same people may answer as before.
    pub async fn hand_over(
        &self,
        id: &str,
        adapter: &str,
        target: &str,
        why: &str,
    ) -> Result<(), StoreError> {
        let store = &self.store;
        let Some(ask) = store.whole_ask(id).await?.filter(Ask::is_open) else {
            return Ok(());
        };
        let Some(plan) = &ask.body.plan else { return Ok(()) };
        let there = store.deliveries(id).await?;
        let has = |it: &PlannedTarget| there.iter().any(|at| it.is(&at.adapter, &at.target));
        let cards: Vec<NewCard> = match plan.next(has) {
            Some(next) => vec![new_card(&next.adapter, &next.target)],
            None if there.iter().any(|at| reaches(at, adapter, target)) => return Ok(()),
            None => {
                let choices = self.choices();
                let others = choices.audience.iter().filter(|it| it.adapter != INBOX);
                others.map(|it| new_card(&it.adapter, &it.target)).collect()
            }
        };
        let name = plan.name_of(adapter, target).unwrap_or(target);
        let why = brief(&line(why), REASON);
        let instead = format!("Shown here because {name} cannot be reached: {why}");
        if store.hand_over(id, name, &why, &instead, &cards).await? {
            tracing::warn!(ask_id = id, from = name, why, "a card is shown elsewhere instead");
            self.changed();
        }
        Ok(())
    }

    /// The time zone of somebody; this machine's where the config names none.
    #[must_use]
    pub fn zone_of(&self, who: &Who) -> TimeZone {
        let choices = self.choices();
        let person = choices.approvers.people.find(who.platform, &who.id);
        person.and_then(|person| person.zone.clone()).unwrap_or_else(TimeZone::system)
    }

    /// Notes that somebody is not there until then (Unix milliseconds); their name.
    ///
    /// # Errors
    /// When the store fails.
    pub async fn set_absent(
        &self,
        who: &Who,
        how: Absence,
        until: i64,
    ) -> Result<Result<String, NotNamed>, StoreError> {
        let Some(name) = self.name_of(who) else { return Ok(Err(NAMELESS)) };
        self.store.set_absent(&name, how, until, clock::now_ms()).await?;
        self.changed();
        Ok(Ok(name))
    }

    /// Notes that somebody is there again; their name, and whether they were not.
    ///
    /// # Errors
    /// When the store fails.
    pub async fn set_back(
        &self,
        who: &Who,
    ) -> Result<Result<(String, bool), NotNamed>, StoreError> {
        let Some(name) = self.name_of(who) else { return Ok(Err(NAMELESS)) };
        let was = self.store.set_back(&name, clock::now_ms()).await?;
        self.changed();
        Ok(Ok((name, was)))
    }

    /// Who is on duty now.
    ///
    /// # Errors
    /// When the store fails.
    pub async fn duty(&self) -> Result<Vec<DutyTurn>, StoreError> {
        let now = clock::now_ms();
        let choices = self.choices();
        let absent = self.store.absent(now).await?;
        Ok(choices.routes.on_duty(Moment { now_ms: now, absent: &absent }))
    }

    /// Whom a reminder of this ask mentions at a target: nobody in direct messages. `None`: they
    /// are the messages of somebody who is not there, and the reminder waits.
    ///
    /// # Errors
    /// When the store fails.
    pub async fn mentions(
        &self,
        ask: &Ask,
        adapter: &str,
        target: &str,
    ) -> Result<Option<Vec<Mention>>, StoreError> {
        let now = clock::now_ms();
        let choices = self.choices();
        let absent = self.store.absent(now).await?;
        let there = |name: &str| {
            choices.routes.reaches(&choices.approvers.people, name, ask.body.critical, now, &absent)
        };
        let is_it = |targets: &Vec<PlannedTarget>| targets.iter().any(|it| it.is(adapter, target));
        let direct = choices.routes.direct.iter().find(|(_, targets)| is_it(targets));
        if let Some((name, _)) = direct {
            return Ok(there(name).then(Vec::new));
        }
        let mut mentions = self.named_mentions(ask, adapter);
        mentions.retain(|mention| there(&mention.name));
        Ok(Some(mentions))
    }

    fn name_of(&self, who: &Who) -> Option<String> {
        let choices = self.choices();
        choices.approvers.people.find(who.platform, &who.id).map(|person| person.name.clone())
    }
}

/// Whether another target than this one, besides the inbox, shows the ask or may yet.
fn reaches(at: &DeliveryView, adapter: &str, target: &str) -> bool {
    let is_it = at.adapter == adapter && at.target == target;
    !is_it && at.adapter != INBOX && at.held.is_none() && at.gone.is_none()
}

#[cfg(test)]
mod tests;
