//! Folding against a plain model of it: whatever is asked, shown, pressed, lost and restarted, no
//! ask is lost or doubled, and none is approved that the pressed picture did not show.

mod model;

use super::{
    Place, Scenario,
    chat::{FakeChat, Network},
};
use countersign_gate::{SubmitOutcome, call::Call};
use countersign_port::{Card, Outcome, Pace};
use countersign_store::{Fence, Store, engines::Fresh};
use model::{AskEnd, FoldModel, KnownAsk, Picture, PictureButton, ended};
use proptest::{prelude::*, sample::Index};
use serde_json::json;
use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
    time::Duration,
};

/// What may happen.
#[derive(Debug, Clone)]
enum FoldEvent {
    /// An agent asks: for a new build, or for one that somebody asked for before.
    Submit { agent: bool, family: bool, again: Option<Index>, expires: bool },
    /// Seconds pass.
    Pass(u64),
    /// Somebody presses a button of any picture that was ever shown.
    Press { picture: Index, button: PictureButton },
    /// An ask is answered where the chat has no part in it.
    ApproveElsewhere(Index),
    /// Its agent takes it back.
    Cancel(Index),
    /// The daemon ends and starts again.
    Restart,
    /// The platform fails, or works again.
    Network(Network),
}

fn event() -> impl Strategy<Value = FoldEvent> {
    let any_index = any::<Index>;
    let submit = (any::<bool>(), prop::bool::weighted(0.2), any::<bool>());
    let submit = (submit, prop::option::weighted(0.15, any_index()));
    let (approve, deny) = (Just(PictureButton::Approve), Just(PictureButton::Deny));
    let button = prop_oneof![3 => approve, 1 => deny, 2 => Just(PictureButton::Page)];
    let network = prop_oneof![
        2 => Just(Network::Clear), 1 => Just(Network::Away), 1 => Just(Network::AnswersLost)];
    prop_oneof![
        10 => submit.prop_map(|((agent, family, expires), again)| {
            FoldEvent::Submit { agent, family, again, expires }
        }),
        5 => (0..9_u64).prop_map(FoldEvent::Pass),
        4 => (any_index(), button)
            .prop_map(|(picture, button)| FoldEvent::Press { picture, button }),
        1 => any_index().prop_map(FoldEvent::ApproveElsewhere),
        1 => any_index().prop_map(FoldEvent::Cancel),
        1 => Just(FoldEvent::Restart),
        1 => network.prop_map(FoldEvent::Network),
    ]
}

/// A daemon, its chat, and the model beside them.
struct Folding {
    store: Store,
    chat: Arc<FakeChat>,
    scenario: Option<Scenario>,
    model: FoldModel,
}

impl Folding {
    async fn open(fresh: &Fresh) -> Self {
        let store = Store::open(&fresh.database).await.unwrap();
        let chat = Arc::new(FakeChat::paced(Pace { at_once: 2, a_minute: 60 }));
        let scenario = Some(Scenario::open(&store, &chat).await);
        let model = FoldModel { asks: Vec::new(), pictures: Vec::new(), epoch: 1, next: 0 };
        Self { store, chat, scenario, model }
    }

    fn scenario(&self) -> &Scenario {
        self.scenario.as_ref().unwrap()
    }

    fn look(&mut self) {
        for card in self.chat.drawn() {
            self.note(&card);
        }
    }

    fn note(&mut self, card: &Card) {
        let picture = Picture::of(card, self.model.asks.len());
        let same = |it: &Picture| it.buttons == picture.buttons && it.shows == picture.shows;
        if !picture.buttons.is_empty() && !self.model.pictures.iter().any(same) {
            self.model.pictures.push(picture);
        }
    }

    /// Lets an event happen, and checks what came of it.
    async fn happen(&mut self, event: &FoldEvent) {
        let (mut may, mut must) = (AllowedEnds::default(), Vec::new());
        match event {
            FoldEvent::Submit { agent, family, again, expires } => {
                self.submit(*agent, *family, again.as_ref(), *expires).await;
            }
            FoldEvent::Pass(seconds) => {
                may.expiry = true;
                self.scenario().pass(Duration::from_secs(*seconds)).await;
            }
            FoldEvent::Press { picture, button } => {
                let Some(pressed) = pick(&self.model.pictures, picture).cloned() else { return };
                let Some(token) = pressed.button(*button) else { return };
                let receipt = self.scenario().press(token).await;
                assert_ne!(receipt.outcome, Outcome::Fault, "{receipt:?}");
                assert_ne!(receipt.outcome, Outcome::Unknown, "{receipt:?}");
                if let Some(card) = &receipt.card {
                    self.note(card);
                }
                if *button != PictureButton::Page {
                    must = self.shown_once(&pressed);
                    may.end = Some(match button {
                        PictureButton::Approve => AskEnd::Approved,
                        _ => AskEnd::Denied,
                    });
                    (may.names, may.before) = (pressed.shows, pressed.asks);
                }
            }
            FoldEvent::ApproveElsewhere(which) | FoldEvent::Cancel(which) => {
                let Some(known) = pick(&self.model.asks, which) else { return };
                let ask = self.store.ask(&known.id).await.unwrap().unwrap();
                (may.names, may.before) = ([(known.name.clone(), 1)].into(), usize::MAX);
                if let FoldEvent::Cancel(_) = event {
                    may.end = Some(AskEnd::Cancelled);
                    let _ = self.scenario().gate.cancel(&ask.id, "not needed").await.unwrap();
                } else {
                    may.end = Some(AskEnd::Approved);
                    let _ = self.scenario().approve_row(ask).await;
                }
            }
            FoldEvent::Restart => self.restart().await,
            FoldEvent::Network(network) => self.chat.set(*network),
        }
        self.scenario().quiet().await;
        self.check(event, &may, &must).await;
        self.look();
    }

    async fn submit(&mut self, agent: bool, family: bool, again: Option<&Index>, expires: bool) {
        let twin = again.and_then(|which| pick(&self.model.asks, which));
        let name = match twin {
            Some(known) => known.name.clone(),
            None => {
                self.model.next += 1;
                format!("{}-{}", if family { "tag" } else { "build" }, self.model.next)
            }
        };
        let agent = if agent { "a" } else { "b" };
        let call = json!({"agent": agent, "session": "s", "tool": "shell_exec", "cwd": "/home/a",
            "args": {"command": format!("git push origin {name}.")},
            "expires_in_s": expires.then_some(60)});
        let call: Call = serde_json::from_value(call).unwrap();
        let outcome = self.scenario().gate.submit(call, false).await.unwrap();
        // The same call a moment after its denial is denied from memory.
        let SubmitOutcome::Asked(ask, _) = outcome else { return };
        self.model.asks.push(KnownAsk { id: ask.id, name, expires, ended: None });
    }

    async fn restart(&mut self) {
        let scenario = self.scenario.take().unwrap();
        scenario.stop.cancel();
        scenario.quiet().await;
        drop(scenario);
        let fence = Fence { name: "chat".to_owned(), epoch: self.model.epoch };
        self.store.release_lease(&fence).await.unwrap();
        self.model.epoch += 1;
        self.scenario = Some(Scenario::open(&self.store, &self.chat).await);
    }

    /// The open asks that a picture shows and whose names nobody else has.
    fn shown_once(&self, picture: &Picture) -> Vec<usize> {
        let asks = self.model.asks.iter().enumerate();
        let alone = |name: &str| self.model.asks.iter().filter(|it| it.name == name).count() == 1;
        let on_it = asks.filter(|(_, it)| {
            it.ended.is_none() && picture.shows.contains_key(&it.name) && alone(&it.name)
        });
        on_it.map(|(at, _)| at).collect()
    }

    /// Compares every row with the model: only what may have ended has, and what had to did.
    async fn check(&mut self, event: &FoldEvent, may: &AllowedEnds, must: &[usize]) {
        let mut counts = may.names.clone();
        for (at, known) in self.model.asks.iter_mut().enumerate() {
            let now = ended(&self.store.ask(&known.id).await.unwrap().unwrap());
            let name = &known.name;
            if let Some(before) = known.ended {
                assert_eq!(now, Some(before), "{name} ended once, and again by {event:?}");
                continue;
            }
            let Some(end) = now else {
                assert!(!must.contains(&at), "{name} was on it and is open after {event:?}");
                continue;
            };
            known.ended = now;
            if end == AskEnd::Expired && may.expiry && known.expires {
                continue;
            }
            let left = counts.get_mut(name).filter(|left| **left > 0);
            let shown = left.filter(|_| at < may.before && may.end == Some(end));
            let Some(left) = shown else { panic!("{name} {end:?} unseen, by {event:?}: {may:?}") };
            *left -= 1;
        }
    }

    /// In the end every open ask stands once, with its buttons, and nothing else does.
    async fn settles(&mut self) {
        self.happen(&FoldEvent::Network(Network::Clear)).await;
        for _ in 0..60 {
            self.happen(&FoldEvent::Pass(5)).await;
        }
        let cards = self.chat.drawn();
        let stand = cards.iter().filter(|card| !card.buttons.is_empty());
        let stand: Vec<_> = stand.map(|card| Picture::of(card, 0)).collect();
        let names: BTreeSet<_> = stand.iter().flat_map(|it| it.shows.keys().cloned()).collect();
        let total: usize = stand.iter().map(|it| it.total).sum();
        let open = self.model.asks.iter().filter(|known| known.ended.is_none());
        let open: Vec<_> = open.map(|known| known.name.clone()).collect();
        let wanted = (open.iter().cloned().collect(), open.len());
        assert_eq!((names, total), wanted, "what stands: {:#?}", self.chat.cards());
    }
}

/// What an event may have ended.
#[derive(Debug, Default)]
struct AllowedEnds {
    end: Option<AskEnd>,
    /// So many of each name.
    names: BTreeMap<String, usize>,
    /// Only asks before this one.
    before: usize,
    expiry: bool,
}

fn pick<'a, T>(all: &'a [T], which: &Index) -> Option<&'a T> {
    (!all.is_empty()).then(|| which.get(all))
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, max_shrink_iters: 200, failure_persistence: None,
        ..ProptestConfig::default() })]

    #[test]
    fn folding_loses_no_ask_doubles_none_and_approves_none_that_was_not_shown(
        events in prop::collection::vec(event(), 1..50)
    ) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async {
            let fresh = Fresh::sqlite();
            let mut world = Folding::open(&fresh).await;
            for event in &events {
                world.happen(event).await;
            }
            world.settles().await;
        });
    }
}
