//! Parked runs: an agent's process ends while a person is asked about a call, and another one goes
//! on from there with the answer.

use super::{
    Gate, OnTimeout, SubmitError,
    ask::{
        Answer, Ask, Decision, Execution, Silence, State,
        parked::{ParkedRun, one_at_a_time},
    },
    call::Call,
};
use countersign_port::line;
use countersign_store::{ParkOutcome, Parked, Resumption, StoreError, TakeOutcome};
use countersign_tokens::clock;
use std::{sync::Arc, time::Duration};

/// How long people have for a parked call, milliseconds: 30 days.
const PARKED_MS: i64 = 30 * 86_400_000;
/// How long who resumes a run has, until its call comes here again.
const HOLD: Duration = Duration::from_secs(30);
/// How often a row that changed meanwhile is read again.
const TRIES: usize = 7;

/// What became of parking a run.
#[derive(Debug, Clone, PartialEq, Eq)]
#[must_use]
pub enum ParkedRunOutcome {
    /// It is parked: its process may end.
    Parked,
    /// Its ask is closed, so there is nothing to wait for.
    Closed,
    /// It is not parked, with the reason.
    Refused(String),
}

/// The right to resume a run.
#[derive(Debug, Clone, PartialEq, Eq)]
#[must_use]
pub enum RunResumption {
    /// It may be resumed, under this number.
    Granted(i64, ParkedRun),
    /// Not now, with the reason.
    NotNow(String),
    /// It is not parked, or not any more.
    NotParked,
}

/// The answer of a parked call, for the run that goes on with it.
#[derive(Debug, Clone, PartialEq)]
#[must_use]
pub enum TakenAnswer {
    /// This answer, which nobody else gets.
    Answered(Box<Ask>),
    /// The call may not run, with the reason.
    Denied(String),
    /// Nothing is decided for it: the run stays parked, with the reason.
    StillParked(String),
}

impl Gate {
    /// Parks the run whose call waits for this ask.
    ///
    /// # Errors
    /// When the store fails; then it is not parked.
    pub async fn park(
        self: &Arc<Self>,
        id: &str,
        run: &ParkedRun,
    ) -> Result<ParkedRunOutcome, StoreError> {
        for _ in 0..TRIES {
            let Some(ask) = self.store.ask(id).await?.filter(Ask::is_open) else {
                return Ok(ParkedRunOutcome::Closed);
            };
            let now = clock::now_ms();
            match self.store.park(&ask, run, self.parked_until(&ask, now), now).await? {
                ParkOutcome::Parked => {
                    tracing::info!(ask_id = id, "a run is parked");
                    self.waiters.wake(id);
                    self.changed();
                    return Ok(ParkedRunOutcome::Parked);
                }
                ParkOutcome::ForAnother(other) => {
                    return Ok(ParkedRunOutcome::Refused(one_at_a_time(&other)));
                }
                ParkOutcome::Changed => {}
            }
        }
        Err(StoreError::Late)
    }

    /// The deadline of a call that is parked now.
    // FAIL-CLOSED: what silence approves keeps the time that its card tells.
    fn parked_until(&self, ask: &Ask, now: i64) -> Option<i64> {
        match (ask.body.silence, &self.choices().settings.on_timeout) {
            (Silence::Approve, _) => ask.deadline_at,
            (Silence::Deny, OnTimeout::Wait) => None,
            (Silence::Deny, OnTimeout::Deny | OnTimeout::Approve(_)) => Some(now + PARKED_MS),
        }
    }

    /// The parked runs, each with its ask, longest first.
    ///
    /// # Errors
    /// When the store fails. A run whose ask does not read back is left out.
    pub async fn parked_runs(&self) -> Result<Vec<(Parked, Ask)>, StoreError> {
        let mut runs = Vec::new();
        for parked in self.store.parked_runs().await? {
            if let Some(ask) = self.store.whole_ask(&parked.ask).await? {
                runs.push((parked, ask));
            }
        }
        Ok(runs)
    }

    /// Gives the right to resume the run that waits for this ask, once the ask is closed.
    ///
    /// # Errors
    /// When the store fails.
    pub async fn resume_run(&self, id: &str) -> Result<RunResumption, StoreError> {
        let Some(ask) = self.store.ask(id).await? else { return Ok(RunResumption::NotParked) };
        let not_now = |why: &str| Ok(RunResumption::NotNow(why.to_owned()));
        if ask.is_open() {
            return not_now("its call still waits for an answer");
        }
        if self.store.pause().await?.is_some() {
            return not_now("everything is paused");
        }
        match self.store.resume_run(id, HOLD).await? {
            Resumption::Granted(epoch, run) => {
                tracing::info!(ask_id = id, epoch, "a parked run is resumed");
                Ok(RunResumption::Granted(epoch, run))
            }
            Resumption::Held => not_now("somebody else is about to resume it"),
            Resumption::NotParked => Ok(RunResumption::NotParked),
        }
    }

    /// Takes the answer of a parked call for the run that was resumed under this number, whose
    /// agent makes the call again.
    ///
    /// # Errors
    /// [`SubmitError`]; nothing is decided then.
    // INVARIANT: an approval lets exactly the call run that its card showed, in that folder, once.
    // FAIL-CLOSED: what the rules deny by now does not run, and in a pause nothing does.
    pub async fn take_answer(
        self: &Arc<Self>,
        id: &str,
        epoch: i64,
        call: Call,
    ) -> Result<TakenAnswer, SubmitError> {
        let again = self.recheck(call).await?;
        if let Some(why) = again.held {
            return Ok(TakenAnswer::StillParked(why));
        }
        for _ in 0..TRIES {
            let Some(ask) = self.store.ask(id).await? else {
                return Ok(TakenAnswer::StillParked("its ask is gone".to_owned()));
            };
            if ask.is_open() {
                return Ok(TakenAnswer::StillParked(
                    "its call still waits for an answer".to_owned(),
                ));
            }
            if self.store.pause().await?.is_some() {
                return Ok(TakenAnswer::StillParked("everything is paused".to_owned()));
            }
            let denied = why_not(&ask, &again.call, &again.digest).or_else(|| again.denied.clone());
            let starts = (denied.is_none() && may_start(&ask)).then(|| Execution {
                started_at: clock::now_ms(),
                as_call: again.call.id_at_agent().map(str::to_owned),
                end: None,
            });
            match self.store.take_answer(&ask, epoch, starts).await? {
                TakeOutcome::Taken => {
                    self.changed();
                    return Ok(match denied {
                        Some(why) => TakenAnswer::Denied(why),
                        None => TakenAnswer::Answered(Box::new(ask)),
                    });
                }
                TakeOutcome::Stale => {
                    return Ok(TakenAnswer::StillParked(
                        "another process has resumed this run".to_owned(),
                    ));
                }
                TakeOutcome::Changed => {}
            }
        }
        Err(StoreError::Late.into())
    }

    /// Gives a parked run up: what it still asks is cancelled, and nobody resumes it. Whether it was
    /// parked.
    ///
    /// # Errors
    /// When the store fails.
    pub async fn drop_parked(self: &Arc<Self>, id: &str) -> Result<bool, StoreError> {
        // First: a run that is resumed meanwhile learns that its ask is cancelled.
        let _ = self.cancel(id, "its parked run was given up").await?;
        self.store.drop_parked(id).await
    }
}

/// Whether it is noted at this closed ask that its call starts.
fn may_start(ask: &Ask) -> bool {
    let State::Answered(answer) = &ask.state else { return false };
    matches!(answer.decision, Decision::Approve | Decision::Edit) && answer.execution.is_none()
}

/// Why this call may not run although a person approved the call of this ask.
fn why_not(ask: &Ask, call: &Call, digest: &str) -> Option<String> {
    let asked = &ask.body.call;
    if ask.digest != digest {
        let cwd = |call: &Call| line(call.cwd.as_deref().unwrap_or("an unknown folder"));
        return Some(if asked.cwd == call.cwd {
            "a person was asked about another call: make this one again".to_owned()
        } else {
            format!(
                "a person was asked about this call in {}, and the run goes on in {}: make it \
                 again, with its folder",
                cwd(asked),
                cwd(call)
            )
        });
    }
    let State::Answered(answer) = &ask.state else { return None };
    let Answer { stored, execution, .. } = answer;
    match (&stored.undone, execution) {
        (Some(_), _) => Some("its approval was undone".to_owned()),
        (None, Some(it)) if it.as_call.as_deref() != call.id_at_agent() => {
            Some("its approval was used before".to_owned())
        }
        (None, _) => None,
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::panic, reason = "tests fail by panicking")]
    use super::*;
    use crate::{
        Told,
        answer::Action,
        ask::{Body, By, Scope, Undone},
        testkit::{ana, asked, command, gate, pause},
    };
    use countersign_profiles::Profile;
    use countersign_store::testkit::engines::on_both;
    use serde_json::json;

    /// A call by this id at its agent.
    fn under(id: &str) -> Call {
        let meta = Some(json!({"tool_use_id": id}));
        let cwd = Some("/srv".to_owned());
        Call { meta, cwd, ..command("make a") }
    }

    fn closed(state: State) -> Ask {
        let call = under("t1");
        Ask { state, ..Ask::opened("one", call.digest(), Body::new(call, "no rule"), 0) }
    }

    #[test]
    fn an_answer_is_for_the_call_that_was_shown_and_for_one_start_of_it() {
        let answer = |decision| Answer::new(decision, By::Caller, 1);
        let yes = answer(Decision::Approve);
        let mut undone = yes.clone();
        undone.stored.undone = Some(Undone { at: 2, by: By::Caller });
        let execution = Execution { started_at: 2, as_call: Some("t1".to_owned()), end: None };
        let started = Answer { execution: Some(execution), ..yes.clone() };
        let changed = "a person was asked about another call: make this one again";
        let moved = "a person was asked about this call in /srv, and the run goes on in an unknown \
                     folder: make it again, with its folder";
        let other = Call { cwd: Some("/srv".to_owned()), ..command("make b") };
        let elsewhere = Call { cwd: None, ..under("t1") };
        let answered = State::Answered;
        for (state, call, why, starts) in [
            (answered(yes.clone()), under("t1"), None, true),
            (answered(yes.clone()), under("t2"), None, true),
            (answered(answer(Decision::Edit)), under("t1"), None, true),
            (answered(answer(Decision::Deny)), under("t1"), None, false),
            (answered(answer(Decision::Answer)), under("t1"), None, false),
            (State::Expired(yes.clone()), under("t1"), None, false),
            (answered(yes.clone()), other, Some(changed), true),
            (answered(yes), elsewhere, Some(moved), true),
            (answered(undone), under("t1"), Some("its approval was undone"), true),
            (answered(started.clone()), under("t1"), None, false),
            (answered(started), under("t2"), Some("its approval was used before"), false),
        ] {
            let ask = closed(state);
            let said = why_not(&ask, &call, &call.digest());
            assert_eq!((said.as_deref(), may_start(&ask)), (why, starts), "{ask:?}");
        }
    }

    #[tokio::test]
    async fn a_parked_run_goes_on_with_an_answer_once_it_has_one_and_nothing_is_paused() {
        on_both(async |store| {
            let (gate, folder) = gate(&store, Profile::Standard, Vec::new());
            let run: ParkedRun =
                serde_json::from_value(json!({"cwd": "/srv", "after_s": 60})).unwrap();
            let not_now = |why: &str| RunResumption::NotNow(why.to_owned());
            let still = |why: &str| TakenAnswer::StillParked(why.to_owned());
            let call = |text: &str| Call { session: text.to_owned(), ..command(text) };
            let approved = async |text: &str| {
                let ask = asked(&gate, call(text)).await;
                assert_eq!(gate.parked_until(&ask, 5), Some(5 + PARKED_MS));
                assert_eq!(gate.park(&ask.id, &run).await.unwrap(), ParkedRunOutcome::Parked);
                let waits = "its call still waits for an answer";
                assert_eq!(gate.resume_run(&ask.id).await.unwrap(), not_now(waits));
                let took = gate.take_answer(&ask.id, 1, call(text)).await.unwrap();
                assert_eq!(took, still(waits));
                let parked = store.ask(&ask.id).await.unwrap().unwrap();
                let once = Action::Approve { scope: Scope::Once };
                assert_eq!(gate.answer(parked, ana(), once).await.told, Told::Applied);
                ask.id
            };
            let one = approved("make a").await;
            let other = approved("make b").await;
            let runs = gate.parked_runs().await.unwrap();
            assert_eq!(runs.iter().map(|(_, ask)| &ask.id).collect::<Vec<_>>(), [&one, &other]);

            let resumed = async |id: &str| match gate.resume_run(id).await.unwrap() {
                RunResumption::Granted(epoch, _) => epoch,
                other => panic!("{other:?}"),
            };
            let epoch = resumed(&one).await;
            pause(&store).await;
            assert_eq!(gate.resume_run(&other).await.unwrap(), not_now("everything is paused"));
            let took = gate.take_answer(&one, epoch, call("make a")).await.unwrap();
            assert_eq!(took, still("everything is paused"));
            store.end_pause(&By::Caller, clock::now_ms()).await.unwrap();

            let denied = r#"{"shell_exec": {"*": "ask", "make b": "deny"}}"#;
            std::fs::write(folder.path().join("rules.jsonc"), denied).unwrap();
            let took = gate.take_answer(&one, epoch, call("make a")).await.unwrap();
            assert!(matches!(took, TakenAnswer::Answered(_)), "{took:?}");
            let started = async |id: &str| {
                let ask = store.ask(id).await.unwrap().unwrap();
                ask.answer().unwrap().execution.is_some()
            };
            assert!(started(&one).await);
            let epoch = resumed(&other).await;
            let took = gate.take_answer(&other, epoch, call("make b")).await.unwrap();
            assert!(matches!(took, TakenAnswer::Denied(_)), "the rules deny it by now: {took:?}");
            assert!(!started(&other).await);
        })
        .await;
    }

    #[tokio::test]
    async fn a_run_that_is_given_up_asks_nobody_any_more() {
        on_both(async |store| {
            let (gate, _kept) = gate(&store, Profile::Standard, Vec::new());
            let run = serde_json::from_value(json!({"cwd": "/srv", "after_s": 60})).unwrap();
            let ask = asked(&gate, command("make a")).await;
            assert_eq!(gate.park(&ask.id, &run).await.unwrap(), ParkedRunOutcome::Parked);
            assert!(gate.drop_parked(&ask.id).await.unwrap());
            assert!(!gate.drop_parked(&ask.id).await.unwrap());
            assert_eq!(store.ask(&ask.id).await.unwrap().unwrap().state.name(), "cancelled");
        })
        .await;
    }
}
