//! The bridge while platforms and the store fail: hours of it in a moment, with the real gate,
//! outbox, store and adapters.
//!
//! Time is tokio's, paused, and [`Scenario::pass`] alone moves it, step by step, each when all is
//! quiet. tokio would move it by itself whenever it has nothing to do, and so let every timeout
//! fire while it waits for SQLite's thread or for a socket; a blocking task that lasts as long as
//! the test forbids that.
#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::panic,
    reason = "tests fail by panicking"
)]

#[cfg(test)]
mod bundles;
pub mod chat;
#[cfg(test)]
mod commits;
#[cfg(test)]
mod outages;
#[cfg(test)]
mod platforms;
#[cfg(test)]
mod restarts;
#[cfg(test)]
mod undo;

use crate::{PressHandler, Term, card, deliver};
use countersign_gate::{
    Audience, Choices, Gate, GateSettings, OnTimeout, Policy, Profile, Reply, SubmitOutcome,
    ask::{Ask, Scope},
    call::Call,
};
use countersign_people::{
    answer::Action,
    approvers::{Approvers, Local, Members, Who},
    routes::Routes,
};
use countersign_policy::Guardrail;
use countersign_port::{
    Block, CancellationToken, MessageRef, NamedAdapter, Press, Presser, Presses, Receipt, TextReply,
};
use countersign_store::{Store, Tail, testkit::faults::Faults};
use serde_json::json;
use std::{path::Path, sync::Arc, time::Duration};
use tokio::{
    sync::{oneshot, watch},
    task::{JoinHandle, yield_now},
    time::Instant,
};

/// The longest step of time: every timer of the bridge is coarser.
const STEP: Duration = Duration::from_secs(1);
/// Turns for everybody who was woken, and for whom they wake.
const TURNS: usize = 50;

/// A chat, from the side of the people in it.
pub trait Place {
    fn adapter(&self) -> NamedAdapter;
    fn target(&self) -> String;
    /// Nothing that is sent arrives, or everything does again.
    fn set_down(&self, down: bool);
    /// The cards in the chat, oldest first.
    fn cards(&self) -> Vec<VisibleCard>;
    /// How often something was to be shown, in vain or not.
    fn requests(&self) -> usize;
    /// What the platform put up with though it is wrong.
    fn violations(&self) -> Vec<String>;
}

/// A card as people see it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct VisibleCard {
    pub text: String,
    /// What the first button carries.
    pub button: Option<String>,
}

/// One daemon's core with one chat, under a stopped clock.
pub struct Scenario {
    pub gate: Arc<Gate>,
    pub handler: Arc<PressHandler>,
    pub store: Store,
    faults: Faults,
    stop: CancellationToken,
    _still: Still,
}

/// An ask, and who waits for its answer.
pub struct Asked {
    pub id: String,
    /// What its card shows of it, and no other card.
    pub name: String,
    pub waiting: JoinHandle<Ask>,
}

impl Scenario {
    pub async fn open(store: &Store, place: &impl Place) -> Self {
        Self::with(store, place, (Profile::Standard, None)).await
    }

    /// One of the profile whose system writes Always to its own file, this one.
    pub async fn with_file(store: &Store, place: &impl Place, rules: &Path) -> Self {
        Self::with(store, place, (Profile::Molf, Some(rules))).await
    }

    async fn with(
        store: &Store,
        place: &impl Place,
        (profile, rules): (Profile, Option<&Path>),
    ) -> Self {
        let still = Still::begin();
        let adapter = place.adapter();
        let target = place.target();
        let policy = Policy::open(profile, rules, None, Guardrail::default(), false);
        let settings = GateSettings {
            late_yes_s: 86_400,
            timeout_ms: 300_000,
            on_timeout: OnTimeout::Wait,
            mode: None,
            home: None,
            host: "here".to_owned(),
            daemon: "scenario".to_owned(),
            inbox: String::new(),
            limits: countersign_gate::Limits {
                asks_per_session: u64::MAX,
                asks_a_minute_per_agent: u64::MAX,
                asks_a_minute_per_session: u64::MAX,
                ..countersign_gate::Limits::default()
            },
            keep_ms: 86_400_000,
        };
        let ana = |chat: &str| (chat.to_owned(), Members::people([ANA]));
        let chats = [ana("telegram"), ana("discord")].into();
        let approvers = Approvers { chats, local: Local::On, ..Approvers::default() };
        let name = adapter.name.to_owned();
        let audience = Audience { adapter: name, target: target.clone(), thread_idle_ms: None };
        let policy = Arc::new(policy.unwrap());
        let audience = vec![audience];
        let routes = Routes::default();
        let reviews = Vec::new();
        let choices = Choices { policy, approvers, audience, routes, reviews, settings };
        let gate = Gate::new(store.clone(), choices);
        let length = Duration::from_secs(100_000);
        let fence = store.take_lease("chat", "scenario", length).await.unwrap().unwrap();
        let term = Arc::new(Term::new(fence, None));
        let stop = CancellationToken::new();
        let tail = Tail::of_now(store).await.unwrap();
        let name = adapter.name;
        let delivering = gate.clone();
        let own = store.clone();
        let finish = stop.clone();
        let adapters = watch::channel([].into()).1;
        tokio::spawn(deliver(delivering, own, adapter, adapters.clone(), target, term, finish));
        let reaping = gate.clone();
        let following = gate.clone();
        let undo = gate.clone();
        let stops = stop.clone();
        let ends = stop.clone();
        let over = stop.clone();
        tokio::spawn(async move { reaping.reap(stops).await });
        tokio::spawn(async move { following.follow(tail, ends).await });
        tokio::spawn(async move { undo.end_undo_windows(over).await });
        let (store, faults) = (store.clone(), store.faults().clone());
        let handler = PressHandler::new(name, gate.clone(), store.clone(), adapters);
        let scenario = Self { gate, handler, store, faults, stop, _still: still };
        scenario.quiet().await;
        scenario
    }

    /// Hands in a call that has to be asked, and waits for its answer beside the test.
    pub async fn ask(&self, name: &str, expires_in_s: Option<u64>) -> Asked {
        self.ask_as("a", name, expires_in_s).await
    }

    /// The same by this agent.
    pub async fn ask_as(&self, agent: &str, name: &str, expires_in_s: Option<u64>) -> Asked {
        let name = format!("git push origin {name}.");
        let call = json!({"agent": agent, "session": "s", "tool": "shell_exec", "cwd": "/home/a",
            "args": {"command": name}, "expires_in_s": expires_in_s});
        let call: Call = serde_json::from_value(call).unwrap();
        let SubmitOutcome::Asked(ask, Some(mut caller)) =
            self.gate.submit(call, true).await.unwrap()
        else {
            panic!("{name} is not asked")
        };
        let waiting = tokio::spawn(async move {
            caller.wait(Duration::from_secs(1_000_000)).await.unwrap().unwrap()
        });
        Asked { id: ask.id, name, waiting }
    }

    /// Answers it where the chat has no part in it.
    pub async fn approve(&self, ask: &Asked) -> Reply {
        let ask = self.store.ask(&ask.id).await.unwrap().unwrap();
        self.approve_row(ask).await
    }

    /// The same of this row.
    pub async fn approve_row(&self, ask: Ask) -> Reply {
        let who =
            Who { platform: "api", id: "api".to_owned(), name: "Ben".to_owned(), roles: vec![] };
        self.gate.answer(ask, who, Action::Approve { scope: Scope::Once }).await
    }

    /// Ana presses what this button carries.
    pub async fn press(&self, button: &str) -> Receipt {
        self.handler.press(self.press_of(button)).await
    }

    /// Ana replies to this message with words.
    pub async fn reply(&self, message: &str, text: &str) -> Receipt {
        let Press { presser, .. } = self.press_of("");
        let message = Some(MessageRef(message.to_owned()));
        let text = text.to_owned();
        self.handler.reply(TextReply { presser, message, token: None, text }).await
    }

    pub fn press_of(&self, button: &str) -> Press {
        Press {
            presser: Presser { id: ANA.to_owned(), name: "Ana".to_owned(), roles: vec![] },
            message: None,
            token: button.to_owned(),
        }
    }

    /// The ask's row.
    pub async fn read(&self, ask: &Asked) -> Ask {
        self.store.ask(&ask.id).await.unwrap().unwrap()
    }

    /// Lets time pass.
    pub async fn pass(&self, time: Duration) {
        self.quiet().await;
        let until = Instant::now() + time;
        while let Some(left) = until.checked_duration_since(Instant::now()).filter(|t| !t.is_zero())
        {
            tokio::time::advance(left.min(STEP)).await;
            self.quiet().await;
        }
    }

    /// Waits until nobody has anything to do before time passes.
    pub async fn quiet(&self) {
        loop {
            for _ in 0..TURNS {
                yield_now().await;
            }
            if self.faults.is_quiet() {
                return;
            }
            self.faults.quiet().await;
        }
    }

    /// Every card in the chat says of its ask what the row says, and no ask has two; every ask that
    /// is open has one.
    pub async fn tells_the_truth(&self, place: &impl Place, asks: &[Asked]) {
        let cards = place.cards();
        let mut known = 0;
        for asked in asks {
            let ask = self.read(asked).await;
            let of_it: Vec<_> = cards.iter().filter(|it| it.text.contains(&asked.name)).collect();
            known += of_it.len();
            match of_it.as_slice() {
                [] => assert!(!ask.is_open(), "nobody sees the open ask {}", asked.name),
                [card] => {
                    let undo = ask.answer().is_some_and(|it| it.stored.undo_until.is_some());
                    let offers = ask.is_open() || undo || ask.takes_next_try();
                    assert_eq!(card.button.is_some(), offers, "{card:?} of {ask:?}");
                    let said = outcome(&ask);
                    assert!(card.text.contains(&said), "{card:?} does not say `{said}`");
                }
                many => panic!("{} was posted more than once: {many:?}", asked.name),
            }
            assert_eq!(asked.waiting.is_finished(), !ask.is_open(), "{}", asked.name);
        }
        assert_eq!(known, cards.len(), "{cards:?}");
    }
}

impl Drop for Scenario {
    fn drop(&mut self) {
        self.stop.cancel();
    }
}

/// How the card of a closed ask ends; nothing while it is open.
fn outcome(ask: &Ask) -> String {
    let drawn = card::draw(ask, card::Origin::default()).blocks.into_iter();
    let ends = drawn.filter_map(|block| match block {
        Block::Outcome { text } => Some(text),
        _ => None,
    });
    ends.collect()
}

/// Somebody who may press in every chat.
const ANA: &str = "4211";

/// The clock is stopped until this is dropped.
struct Still(Option<oneshot::Sender<()>>);

impl Still {
    fn begin() -> Self {
        let (end, ended) = oneshot::channel::<()>();
        tokio::task::spawn_blocking(move || ended.blocking_recv());
        tokio::time::pause();
        Self(Some(end))
    }
}

impl Drop for Still {
    fn drop(&mut self) {
        tokio::time::resume();
        self.0.take();
    }
}
