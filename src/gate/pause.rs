//! The kill switch: while it is on nothing is allowed and no deadline runs.

use super::{
    approvers::{Stranger, Who},
    ask::{
        Ask, By,
        pause::{Pause, PauseMode},
    },
    evaluate::Evaluator,
    in_force::InForce,
    open_asks::{OpenAsks, to_the_end},
    reconsider::approve_allowed,
    uses::GrantUses,
};
use countersign_port::line;
use countersign_store::StoreError;
use countersign_tokens::clock;
use std::sync::Arc;

/// What became of switching the pause on or off.
#[derive(Debug, Clone, PartialEq, Eq)]
#[must_use]
pub enum PauseOutcome {
    /// It was switched; what is told to the one who did it.
    Switched(String),
    /// It was so already.
    Unchanged(String),
    /// Only approvers switch it.
    NotAllowed(Stranger),
}

/// Switches the pause.
#[derive(Debug)]
pub(super) struct PauseSwitch {
    pub(super) open: Arc<OpenAsks>,
    pub(super) in_force: Arc<InForce>,
    pub(super) evaluator: Arc<Evaluator>,
    pub(super) uses: Arc<GrantUses>,
}

impl PauseSwitch {
    pub(super) async fn pause(
        &self,
        mode: PauseMode,
        who: Who,
    ) -> Result<PauseOutcome, StoreError> {
        let by = match self.person(who) {
            Ok(by) => by,
            Err(stranger) => return Ok(PauseOutcome::NotAllowed(stranger)),
        };
        let (open, new) = (self.open.clone(), Pause { mode, by, since: clock::now_ms() });
        to_the_end(async move {
            let before = open.store.set_pause(&new).await?;
            open.changed();
            tracing::warn!(mode = mode.name(), by = %new.by, "everything is paused");
            Ok(match before {
                Some(before) if before.mode == mode => {
                    PauseOutcome::Unchanged(format!("{} already.", sentence(&before)))
                }
                _ => PauseOutcome::Switched(match mode {
                    PauseMode::Deny => "Paused: every call is denied until /resume.".to_owned(),
                    PauseMode::Hold => {
                        "Paused: every call is held until /resume; deadlines stand still."
                            .to_owned()
                    }
                }),
            })
        })
        .await
    }

    pub(super) async fn resume(self: &Arc<Self>, who: Who) -> Result<PauseOutcome, StoreError> {
        let by = match self.person(who) {
            Ok(by) => by,
            Err(stranger) => return Ok(PauseOutcome::NotAllowed(stranger)),
        };
        let switch = self.clone();
        to_the_end(async move {
            let Some(ended) = switch.open.store.end_pause(&by, clock::now_ms()).await? else {
                return Ok(PauseOutcome::Unchanged("Nothing is paused.".to_owned()));
            };
            // What was counted while nothing could be answered is no time that people had.
            switch.open.monotonic.forget_all();
            switch.open.changed();
            tracing::warn!(by = %by, "the pause is over");
            switch.release().await?;
            let time = clock::span(clock::now_ms().saturating_sub(ended.since));
            Ok(PauseOutcome::Switched(format!("Resumed after {time}: calls are taken again.")))
        })
        .await
    }

    fn person(&self, who: Who) -> Result<By, Stranger> {
        let approver = self.in_force.admit(who)?;
        Ok(super::answer::person(&approver))
    }

    /// Approves what was held though a rule or grant allows it, where one still does.
    async fn release(&self) -> Result<(), StoreError> {
        let mut held = Vec::new();
        let note = |ask: &Ask| {
            if ask.body.held {
                held.push(ask.id.clone());
            }
        };
        self.open.store.each_ask_in("open", note).await?;
        approve_allowed(&self.open, &self.evaluator, &self.uses, &held, None).await
    }
}

/// Who has paused everything, and since when, in words without a full stop.
#[must_use]
pub fn sentence(pause: &Pause) -> String {
    format!("Paused by {} since {}", line(&pause.by.to_string()), clock::short(pause.since))
}
