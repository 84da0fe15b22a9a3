//! The kill switch: while it is on nothing is allowed and no deadline runs. And what policy has come
//! to allow: after a pause that held it, or after a grant.

use super::{
    ApproverError, Gate, SubmitError,
    approvers::Who,
    ask::{
        Answer, Ask, By, Decision, Scope, State,
        deadline::{Pause, PauseMode},
    },
    to_the_end,
};
use countersign_policy::Verdict;
use countersign_port::line;
use countersign_store::{Closed, StoreError};
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
}

impl Gate {
    /// Switches the kill switch on, or changes what becomes of calls meanwhile.
    ///
    /// # Errors
    /// [`ApproverError`]; then nothing is changed.
    pub async fn pause(
        self: &Arc<Self>,
        mode: PauseMode,
        who: Who,
    ) -> Result<PauseOutcome, ApproverError> {
        let by = self.person(who)?;
        let gate = self.clone();
        let new = Pause { mode, by, since: clock::now_ms() };
        let switched = to_the_end(async move {
            let before = gate.store.set_pause(&new).await?;
            gate.changed();
            tracing::warn!(mode = mode.name(), by = %new.by, "everything is paused");
            Ok(match before {
                Some(before) if before.mode == mode => {
                    PauseOutcome::Unchanged(format!("{} already.", sentence(&before)))
                }
                _ => PauseOutcome::Switched(match mode {
                    PauseMode::Deny => {
                        "Paused: every call is denied until somebody resumes.".to_owned()
                    }
                    PauseMode::Hold => {
                        "Paused: every call waits until somebody resumes; deadlines are paused."
                            .to_owned()
                    }
                }),
            })
        });
        Ok(switched.await?)
    }

    /// Switches it off.
    ///
    /// # Errors
    /// [`ApproverError`]; where the store is not certain the pause may be over.
    pub async fn resume(self: &Arc<Self>, who: Who) -> Result<PauseOutcome, ApproverError> {
        let by = self.person(who)?;
        let gate = self.clone();
        let switched = to_the_end(async move {
            let Some(ended) = gate.store.end_pause(&by, clock::now_ms()).await? else {
                return Ok(PauseOutcome::Unchanged("Nothing is paused.".to_owned()));
            };
            // What was counted while nothing could be answered is no time that people had.
            gate.monotonic.forget_all();
            gate.changed();
            tracing::warn!(by = %by, "the pause is over");
            gate.release().await?;
            let time = clock::span(clock::now_ms().saturating_sub(ended.since));
            Ok(PauseOutcome::Switched(format!("Resumed after {time}: calls are accepted again.")))
        });
        Ok(switched.await?)
    }

    /// Approves what was held though a rule or grant allows it, where one still does.
    async fn release(self: &Arc<Self>) -> Result<(), StoreError> {
        let mut held = Vec::new();
        let note = |ask: &Ask| {
            if ask.body.held {
                held.push(ask.id.clone());
            }
        };
        self.store.each_ask_in("open", note).await?;
        self.approve_allowed(&held, None).await
    }

    /// Decides anew on these asks, and approves in policy's name those that are open and allowed by
    /// now. `grant` says what allows them where the decision names no rule; its reason does where
    /// `None`.
    ///
    /// # Errors
    /// When the store fails; the asks that are left stay open.
    pub(super) async fn approve_allowed(
        self: &Arc<Self>,
        asks: &[String],
        grant: Option<&str>,
    ) -> Result<(), StoreError> {
        for id in asks {
            let Some(ask) = self.store.whole_ask(id).await?.filter(Ask::is_open) else { continue };
            // A person answers a question, and a change that was proposed.
            // INVARIANT: an ask that needs certain people is answered by them.
            let needs_people = !ask.body.requirements.is_empty();
            // A rule that covers the tool of a budget covers none of its calls.
            let appeals = ask.body.call.appeal.is_some();
            let by_people = ask.is_question() || ask.body.is_no_call() || needs_people || appeals;
            if by_people || ask.progress.edit.is_some() {
                continue;
            }
            let decided = match self.decide(&ask.body.call).await {
                Ok(decided) => decided,
                Err(SubmitError::Store(error)) => return Err(error),
                // FAIL-CLOSED: a call that cannot be decided on stays an ask.
                Err(_) => continue,
            };
            if decided.verdict != Verdict::Allow {
                continue;
            }
            let unnamed = || grant.map_or(decided.reason, str::to_owned);
            let by = By::Policy { grant: decided.rule.unwrap_or_else(unnamed) };
            let answer = Answer {
                scope: Some(Scope::Once),
                ..Answer::new(Decision::Approve, by, clock::now_ms())
            };
            if let Closed::Won(ask) = self.close(&ask, State::Answered(answer)).await? {
                self.uses.count(&ask.body.call, decided.deciding_rule.as_ref());
                tracing::info!(ask_id = %ask.id, "policy has come to allow an open ask");
            }
        }
        Ok(())
    }
}

/// Who has paused everything, and since when, in words without a full stop.
#[must_use]
pub fn sentence(pause: &Pause) -> String {
    format!("Paused by {} since {}", line(&pause.by.to_string()), clock::short(pause.since))
}
