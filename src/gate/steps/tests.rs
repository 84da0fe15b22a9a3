#![allow(clippy::unwrap_used, clippy::panic, reason = "tests fail by panicking")]
//! The steps of an ask against a plain reference: whatever happens in between, each is taken once,
//! in order, after its time, and none when the ask is closed.

use crate::{
    Choices, Gate, Policy, SubmitOutcome,
    approvers::{Approvers, Local, Who},
    ask::{deadline::PauseMode, plan::PlannedTarget},
    routes::Routes,
    routes::{RouteEscalation, RouteTarget, TargetRoute},
    testkit,
};
use countersign_policy::Guardrail;
use countersign_profiles::Profile;
use countersign_store::{Store, testkit::engines::Fresh};
use proptest::prelude::*;
use serde_json::json;
use std::sync::Arc;

const MINUTE: i64 = 60_000;
const DEADLINE: i64 = 30;

/// What happens to the one ask, a minute apart or more.
#[derive(Debug, Clone, Copy)]
enum StepEvent {
    /// So many minutes pass.
    Minutes(u8),
    Pause,
    Resume,
    /// Another daemon goes on with the store; the old one may still look.
    Restart,
    Answer,
}

fn event() -> impl Strategy<Value = StepEvent> {
    prop_oneof![
        6 => (1..6u8).prop_map(StepEvent::Minutes),
        1 => Just(StepEvent::Pause),
        2 => Just(StepEvent::Resume),
        2 => Just(StepEvent::Restart),
        1 => Just(StepEvent::Answer),
    ]
}

/// Reminders after these minutes, and an escalation.
fn routes(remind: &[i64], escalate: i64) -> Routes {
    let target = |name: &str| PlannedTarget {
        adapter: "chat".to_owned(),
        target: name.to_owned(),
        name: name.to_owned(),
    };
    let to = vec![RouteTarget::Chat(target("leads"))];
    let route = TargetRoute {
        name: "all".to_owned(),
        remind: remind.iter().map(|minutes| minutes * MINUTE).collect(),
        escalate: vec![RouteEscalation { after_ms: escalate * MINUTE, to }],
        ..TargetRoute::default()
    };
    Routes { list: vec![route], ..Routes::default() }
}

fn gate(store: &Store, routes: &Routes) -> Arc<Gate> {
    let policy = Policy::open(Profile::Standard, None, None, Guardrail::default(), false);
    let approvers = Approvers { local: Local::On, ..Approvers::default() };
    let routes = routes.clone();
    let mut choices = Choices { approvers, routes, ..testkit::choices(policy.unwrap()) };
    choices.settings.timeout_ms = DEADLINE * MINUTE;
    Gate::new(store.clone(), choices)
}

fn somebody() -> Who {
    Who { platform: "api", id: "1".into(), name: "Ana".into(), roles: Vec::new() }
}

/// What has to have happened: minutes that count, and the steps after them.
struct ExpectedSteps {
    steps: Vec<(i64, &'static str)>,
    ran: i64,
    paused: bool,
    over: bool,
}

impl ExpectedSteps {
    fn pass(&mut self, minutes: i64) {
        if !self.paused && !self.over {
            self.ran += minutes;
            self.over = self.ran >= DEADLINE;
        }
    }

    fn kinds(&self, seen: &mut Vec<&'static str>) {
        if self.paused || self.over {
            return;
        }
        let due = self.steps.iter().filter(|(at, _)| *at <= self.ran).map(|(_, kind)| *kind);
        *seen = due.collect();
    }
}

async fn steps_in_log(store: &Store) -> Vec<String> {
    let events = store.events_after(0, 999).await.unwrap().into_iter();
    let kinds = events.map(|event| event.kind);
    kinds.filter(|kind| kind == "reminded" || kind == "escalated").collect()
}

async fn run(remind: Vec<i64>, escalate: i64, events: Vec<StepEvent>) {
    let fresh = Fresh::sqlite();
    let store = Store::open(&fresh.database).await.unwrap();
    let routes = routes(&remind, escalate);
    let mut now = gate(&store, &routes);
    let mut old = None;
    let call = json!({"agent": "a", "session": "s", "tool": "notify", "args": {"text": "hi"}});
    let asked = now.submit(serde_json::from_value(call).unwrap(), false).await.unwrap();
    let SubmitOutcome::Asked(ask, _) = asked else { panic!("{asked:?}") };
    let mut steps: Vec<_> = remind.iter().map(|at| (*at, "reminded")).collect();
    steps.push((escalate, "escalated"));
    steps.sort_by_key(|(at, _)| *at);
    let mut reference = ExpectedSteps { steps, ran: 0, paused: false, over: false };
    let mut wanted = Vec::new();
    for event in events {
        match event {
            StepEvent::Minutes(minutes) => {
                store.shift(&ask.id, i64::from(minutes) * MINUTE).await;
                reference.pass(i64::from(minutes));
            }
            StepEvent::Pause => {
                let _ = now.pause(PauseMode::Hold, somebody()).await.unwrap();
                reference.paused = true;
            }
            StepEvent::Resume => {
                let _ = now.resume(somebody()).await.unwrap();
                reference.paused = false;
            }
            StepEvent::Restart => old = Some(std::mem::replace(&mut now, gate(&store, &routes))),
            StepEvent::Answer => {
                let _ = now.cancel(&ask.id, "its caller went away").await.unwrap();
                reference.over = true;
            }
        }
        // The old daemon and the new one look at the same moment.
        let old = old.as_ref().unwrap_or(&now);
        let (one, other) = tokio::join!(now.take_due_steps(), old.take_due_steps());
        one.unwrap();
        other.unwrap();
        reference.kinds(&mut wanted);
        assert_eq!(steps_in_log(&store).await, wanted);
    }
    let cards = store.cards_of(&ask.id).await.unwrap();
    let targets: Vec<_> = cards.iter().map(|card| card.target.as_str()).collect();
    let escalated = wanted.contains(&"escalated");
    assert_eq!(targets.contains(&"leads"), escalated, "a card for each who is asked");
    assert_eq!(targets.len(), if escalated { 2 } else { 1 });
    store.close().await;
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: 24,
        failure_persistence: None,
        ..ProptestConfig::default()
    })]
    #[test]
    fn every_step_is_taken_once_after_its_time_whatever_happens_in_between(
        remind in prop::collection::vec(1..25i64, 0..4),
        escalate in 1..25i64,
        events in prop::collection::vec(event(), 1..14),
    ) {
        let mut runtime = tokio::runtime::Builder::new_multi_thread();
        let runtime = runtime.worker_threads(1).enable_all().build().unwrap();
        runtime.block_on(run(remind, escalate, events));
    }
}
