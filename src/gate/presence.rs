//! Who is there: what people say of themselves, and whose turn it is.

use super::{
    Gate,
    approvers::Who,
    ask::{Ask, plan::PlannedTarget},
    routes::{DutyTurn, Moment},
};
use countersign_port::Mention;
use countersign_store::{Absence, StoreError};
use countersign_tokens::clock;
use jiff::tz::TimeZone;

/// Somebody who has no name in the config; a sentence for them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NotNamed(pub &'static str);

const NAMELESS: NotNamed =
    NotNamed("Only people with a name in the config ([[people]]) can be away.");

impl Gate {
    /// The time zone of somebody; this machine's where the config names none.
    #[must_use]
    pub fn zone_of(&self, who: &Who) -> TimeZone {
        let choices = self.in_force.now();
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
        self.open.store.set_absent(&name, how, until, clock::now_ms()).await?;
        self.open.changed();
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
        let was = self.open.store.set_back(&name, clock::now_ms()).await?;
        self.open.changed();
        Ok(Ok((name, was)))
    }

    /// Who is on duty now.
    ///
    /// # Errors
    /// When the store fails.
    pub async fn duty(&self) -> Result<Vec<DutyTurn>, StoreError> {
        let (now, choices) = (clock::now_ms(), self.in_force.now());
        let absent = self.open.store.absent(now).await?;
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
        let (now, choices) = (clock::now_ms(), self.in_force.now());
        let absent = self.open.store.absent(now).await?;
        let there = |name: &str| {
            choices.routes.reaches(&choices.approvers.people, name, ask.body.critical, now, &absent)
        };
        let is_it = |targets: &Vec<PlannedTarget>| targets.iter().any(|it| it.is(adapter, target));
        let direct = choices.routes.direct.iter().find(|(_, targets)| is_it(targets));
        if let Some((name, _)) = direct {
            return Ok(there(name).then(Vec::new));
        }
        let mut mentions = self.steps.mentions(ask, adapter);
        mentions.retain(|mention| there(&mention.name));
        Ok(Some(mentions))
    }

    fn name_of(&self, who: &Who) -> Option<String> {
        let choices = self.in_force.now();
        choices.approvers.people.find(who.platform, &who.id).map(|person| person.name.clone())
    }
}
