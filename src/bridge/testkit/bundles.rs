//! Folding against a plain model of it: whatever is asked, shown, pressed, lost and restarted, no
//! ask is lost or doubled, and none is approved that the pressed picture did not show.

use crate::{
    testkit::{
        Asked, Place, Scenario,
        chat::{FakeChat, Network, text},
        platforms::{InTelegram, telegram::Fault},
    },
    token::{ButtonToken, Pressed},
};
use countersign_domain::{Ask, Decision, Scope, State};
use countersign_gate::{SubmitOutcome, call::Call};
use countersign_port::{Block, Card, Outcome, Pace};
use countersign_store::{
    Fence, Store,
    testkit::engines::{Fresh, on_both},
};
use countersign_tokens::clock;
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
    let approve = Just(PictureButton::Approve);
    let deny = Just(PictureButton::Deny);
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
        let mut may = AllowedEnds::default();
        let mut must = Vec::new();
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
        // What has expired keeps a button for a late yes, and stands no more.
        let answers =
            |it: &Picture| it.buttons.iter().any(|(pressed, _)| *pressed != Pressed::Next);
        let stand = cards.iter().map(|card| Picture::of(card, 0)).filter(answers);
        let stand: Vec<_> = stand.collect();
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

// What the model knows: asks, and the pictures of them that people have seen.

/// A button of a picture.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum PictureButton {
    Approve,
    Deny,
    Page,
}

/// An ask as the model knows it.
struct KnownAsk {
    pub(super) id: String,
    pub(super) name: String,
    pub(super) expires: bool,
    pub(super) ended: Option<AskEnd>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum AskEnd {
    Approved,
    Denied,
    Expired,
    Cancelled,
}

/// What a message showed at some time.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Picture {
    /// How many open requests of each name, at most: where a line names several, it does not say
    /// which of them it has twice.
    pub(super) shows: BTreeMap<String, usize>,
    /// How many requests in all.
    total: usize,
    pub(super) buttons: Vec<(Pressed, String)>,
    /// So many asks there were: none of the later ones can be on it.
    pub(super) asks: usize,
}

struct FoldModel {
    pub(super) asks: Vec<KnownAsk>,
    pub(super) pictures: Vec<Picture>,
    pub(super) epoch: i64,
    pub(super) next: usize,
}

fn ended(ask: &Ask) -> Option<AskEnd> {
    Some(match &ask.state {
        State::Open => return None,
        State::Answered(answer) if answer.decision == Decision::Deny => AskEnd::Denied,
        State::Answered(_) => AskEnd::Approved,
        State::Expired(answer) if answer.decision == Decision::Deny => AskEnd::Expired,
        State::Expired(_) => AskEnd::Approved,
        State::Cancelled(_) => AskEnd::Cancelled,
    })
}

/// The open requests that a card shows, by name, and how many they are: `build-3.`, `build-3. ×2`,
/// `build-N.  (N: 1–4, 7)`.
fn shows(card: &Card) -> (BTreeMap<String, usize>, usize) {
    let mut shown = BTreeMap::new();
    let mut total = 0;
    let name = |line: &str| {
        let rest = line.split_once("git push origin ")?.1;
        Some(rest.split_once('.')?.0.to_owned())
    };
    let lists = |block: &Block| matches!(block, Block::Code { label, .. } if label == "requests");
    if !card.blocks.iter().any(lists) {
        let times = card.title.rsplit_once('×').map_or(1, |(_, times)| times.parse().unwrap());
        shown.extend(name(&card.title).map(|name| (name, times)));
        return (shown, times);
    }
    for line in text(card).lines().skip(1) {
        let Some(name) = name(line) else { continue };
        let times = line.split_once(" × ").map_or(1, |(times, _)| times.parse().unwrap());
        total += times;
        match line.split_once("(N: ") {
            None => *shown.entry(name).or_default() += times,
            Some((_, spans)) => {
                let numbers = numbers(spans.trim_end_matches(')'));
                let most = times - numbers.len() + 1;
                for number in numbers {
                    *shown.entry(name.replace('N', &number.to_string())).or_default() += most;
                }
            }
        }
    }
    (shown, total)
}

fn numbers(spans: &str) -> Vec<usize> {
    let span = |span: &str| {
        let (first, last) = span.split_once('–').unwrap_or((span, span));
        first.parse::<usize>().unwrap()..=last.parse().unwrap()
    };
    spans.split(", ").flat_map(span).collect()
}

impl Picture {
    pub(super) fn of(card: &Card, asks: usize) -> Self {
        let buttons = card.buttons.iter().flatten();
        let buttons = buttons.filter_map(|button| {
            let pressed = ButtonToken::read(&button.token)?.pressed;
            Some((pressed, button.token.clone()))
        });
        let (shows, total) = shows(card);
        Self { shows, total, buttons: buttons.collect(), asks }
    }

    pub(super) fn button(&self, way: PictureButton) -> Option<&str> {
        let wanted = match way {
            PictureButton::Approve => Pressed::Approve(Scope::Once),
            PictureButton::Deny => Pressed::Deny,
            PictureButton::Page => Pressed::Page,
        };
        let found = self.buttons.iter().find(|(pressed, _)| *pressed == wanted);
        found.map(|(_, token)| token.as_str())
    }
}

// Floods: more asks than a group takes messages, with everything else that may go wrong meanwhile.

const SECOND: Duration = Duration::from_secs(1);
const FLOOD: usize = 200;

/// The asks of a noisy agent and one of a quiet one, all at once.
async fn flood(scenario: &Scenario) -> (Vec<Asked>, Asked) {
    let mut asks = Vec::new();
    for n in 0..FLOOD {
        asks.push(scenario.ask(&format!("build-{n:03}"), None).await);
    }
    (asks, scenario.ask_as("quiet", "other", None).await)
}

/// How many cards nobody could see yet.
async fn unseen(store: &Store) -> u64 {
    store.late_cards(i64::MAX).await.unwrap().iter().map(|late| late.cards).sum()
}

/// Every button of the chat with this label, and what it carries.
fn buttons(chat: &InTelegram, label: &str) -> Vec<(i64, String)> {
    let messages = chat.server.messages(chat.target().parse().unwrap()).into_iter();
    let found = messages.filter_map(|message| {
        let mut labels = message.buttons.iter().flatten();
        let label = labels.find(|it| it.starts_with(label))?.clone();
        let chat_id = chat.target().parse().unwrap();
        Some((message.id, chat.server.button(chat_id, message.id, &label)))
    });
    found.collect()
}

/// Presses everything that approves until nothing is left; how many messages took a press.
async fn approve_all(scenario: &Scenario, chat: &InTelegram) -> usize {
    let mut pressed = BTreeSet::new();
    for label in ["Approve these", "Approve"] {
        for (message, token) in buttons(chat, label) {
            let receipt = scenario.press(&token).await;
            assert!(
                matches!(receipt.outcome, Outcome::Applied | Outcome::AlreadyAnswered),
                "{receipt:?}"
            );
            pressed.insert(message);
        }
    }
    pressed.len()
}

async fn all_are_approved(scenario: &Scenario, asks: &[Asked]) {
    for asked in asks {
        let ask = scenario.read(asked).await;
        assert_eq!(ask.state.name(), "answered", "{}", asked.name);
        assert!(asked.waiting.is_finished(), "{}", asked.name);
    }
}

#[tokio::test]
async fn two_hundred_asks_are_answerable_within_fifteen_seconds_and_another_agents_on_its_own_card()
{
    on_both(async |store| {
        let chat = InTelegram::start_limited(store.faults()).await;
        let scenario = Scenario::open(&store, &chat).await;
        let (mut asks, quiet) = flood(&scenario).await;
        scenario.pass(SECOND * 15).await;
        assert_eq!(unseen(&store).await, 0, "every ask can be answered");
        let own: Vec<_> =
            chat.cards().into_iter().filter(|card| card.text.contains("origin other.")).collect();
        assert!(matches!(&own[..], [card] if card.button.is_some()), "{own:?}");
        assert!(chat.cards().len() <= 10, "{} messages", chat.cards().len());
        asks.push(quiet);
        assert!(approve_all(&scenario, &chat).await <= 10);
        all_are_approved(&scenario, &asks).await;
        scenario.pass(SECOND * 60).await;
        let open = chat.cards().into_iter().filter(|card| card.button.is_some()).count();
        assert_eq!(open, 0, "all cards are closed within a minute");
        assert_eq!(chat.violations(), Vec::<String>::new());
    })
    .await;
}

#[tokio::test]
async fn a_flood_is_answered_once_though_answers_are_lost_and_the_chat_asks_for_quiet() {
    on_both(async |store| {
        let chat = InTelegram::start_limited(store.faults()).await;
        let scenario = Scenario::open(&store, &chat).await;
        chat.server.fail("sendMessage", Fault::DropAfter, 1);
        chat.server.fail("sendMessage", Fault::BadGateway, 1);
        let (mut asks, quiet) = flood(&scenario).await;
        chat.server.fail("editMessageText", Fault::RetryAfter(7), 1);
        chat.server.fail("sendMessage", Fault::RetryAfter(3), 2);
        chat.server.fail("editMessageText", Fault::DropAfter, 1);
        scenario.pass(SECOND * 60).await;
        assert_eq!(unseen(&store).await, 0);
        // A message that a lost answer left behind is answered from the same rows.
        asks.push(quiet);
        approve_all(&scenario, &chat).await;
        all_are_approved(&scenario, &asks).await;
    })
    .await;
}

#[tokio::test]
async fn an_ask_that_came_after_a_revision_is_not_approved_by_it() {
    on_both(async |store| {
        let chat = InTelegram::start_limited(store.faults()).await;
        let scenario = Scenario::open(&store, &chat).await;
        let (asks, _quiet) = flood(&scenario).await;
        scenario.pass(SECOND * 15).await;
        let before = buttons(&chat, "Approve these");
        let mut late = Vec::new();
        for n in 0..8 {
            late.push(scenario.ask(&format!("build-9{n:02}"), None).await);
        }
        scenario.pass(SECOND * 15).await;
        for (_, token) in &before {
            let _ = scenario.press(token).await;
        }
        for asked in &late {
            assert!(scenario.read(asked).await.is_open(), "{} was not on it", asked.name);
        }
        let answered = async |asks: &[Asked]| {
            let mut count = 0;
            for asked in asks {
                count += usize::from(!scenario.read(asked).await.is_open());
            }
            count
        };
        assert!(answered(&asks).await > FLOOD / 2, "what it showed is approved");
    })
    .await;
}

#[tokio::test]
async fn the_same_call_again_shares_its_card_and_one_press_answers_both() {
    on_both(async |store| {
        let chat = InTelegram::start_limited(store.faults()).await;
        let scenario = Scenario::open(&store, &chat).await;
        let first = scenario.ask("same", None).await;
        scenario.pass(SECOND).await;
        let second = scenario.ask("same", None).await;
        scenario.pass(SECOND * 10).await;
        let cards = chat.cards();
        assert!(matches!(&cards[..], [card] if card.text.contains("×2")), "{cards:?}");
        let receipt = scenario.press(cards[0].button.as_ref().unwrap()).await;
        assert_eq!(receipt.outcome, Outcome::Applied);
        scenario.pass(SECOND * 20).await;
        all_are_approved(&scenario, &[first, second]).await;
        assert_eq!(chat.cards()[0].button, None);
    })
    .await;
}

#[tokio::test]
async fn words_at_a_shared_message_deny_all_that_was_seen_in_it_and_nothing_that_was_not_yet() {
    on_both(async |store| {
        let chat = InTelegram::start_limited(store.faults()).await;
        let scenario = Scenario::open(&store, &chat).await;
        let first = scenario.ask("same", None).await;
        scenario.pass(SECOND).await;
        let message = store.cards_of(&first.id).await.unwrap().remove(0).message.unwrap();
        // The second one joins the first, but the chat cannot be told.
        chat.set_down(true);
        let second = scenario.ask("same", None).await;
        scenario.pass(SECOND * 5).await;
        assert_eq!(store.cards_of(&first.id).await.unwrap().remove(0).message, None);
        let receipt = scenario.reply(&message, "not on a Friday").await;
        assert_eq!(receipt.outcome, Outcome::Applied, "{receipt:?}");
        let why =
            |ask: &countersign_domain::Ask| ask.answer().and_then(|answer| answer.reason.clone());
        assert_eq!(why(&scenario.read(&first).await), Some("not on a Friday".to_owned()));
        assert!(scenario.read(&second).await.is_open(), "nobody has seen it");

        chat.set_down(false);
        scenario.pass(SECOND * 60).await;
        let third = scenario.ask("same", None).await;
        scenario.pass(SECOND * 20).await;
        let receipt = scenario.reply(&message, "nor on a Monday").await;
        assert_eq!(receipt.sentence, "Denied 2 requests with your words.");
        for asked in [&second, &third] {
            assert_eq!(why(&scenario.read(asked).await), Some("nor on a Monday".to_owned()));
        }
        let receipt = scenario.reply(&message, "never").await;
        assert_eq!(receipt.outcome, Outcome::AlreadyAnswered);
    })
    .await;
}

#[tokio::test]
async fn the_time_of_an_ask_that_is_shown_late_starts_when_it_is_shown() {
    on_both(async |store| {
        let chat = InTelegram::start_limited(store.faults()).await;
        let scenario = Scenario::open(&store, &chat).await;
        chat.set_down(true);
        let asked = scenario.ask("late", Some(100)).await;
        scenario.pass(SECOND * 40).await;
        chat.set_down(false);
        scenario.pass(SECOND * 40).await;
        assert_eq!(unseen(&store).await, 0);
        let ask = scenario.read(&asked).await;
        let given = ask.deadline_at.unwrap() - clock::now_ms();
        assert!(ask.is_open() && given > 55_000, "of 100 s, 20 would be left: {given}");
        let kinds = store.events_after(0, 99).await.unwrap();
        let kinds: Vec<_> = kinds.iter().map(|event| event.kind.as_str()).collect();
        assert_eq!(kinds, ["asked", "postponed", "shown"]);
    })
    .await;
}

/// What a flood looks like in a group, by the paused clock: `cargo test -p countersign --lib
/// the_figures_of_a_flood -- --nocapture`.
#[tokio::test]
#[allow(clippy::print_stdout, reason = "figures are printed")]
async fn the_figures_of_a_flood_with_and_without_sharing_messages() {
    let mut figures = Vec::new();
    for shares in [true, false] {
        let fresh = countersign_store::testkit::engines::Fresh::sqlite();
        let store = Store::open(&fresh.database).await.unwrap();
        let chat = if shares {
            InTelegram::start_limited(store.faults()).await
        } else {
            InTelegram::start(store.faults()).await
        };
        chat.server.limit_as_a_group();
        let scenario = Scenario::open(&store, &chat).await;
        let (asks, quiet) = flood(&scenario).await;
        let mut seconds = 0;
        let mut other = None;
        while seconds < 900 && (unseen(&store).await > 0 || other.is_none()) {
            let is_shown = chat.cards().iter().any(|card| card.text.contains("origin other."));
            other = other.or(is_shown.then_some(seconds));
            scenario.pass(SECOND).await;
            seconds += 1;
        }
        let messages = chat.cards().len();
        for asked in asks.iter().chain([&quiet]) {
            let _ = scenario.approve(asked).await;
        }
        let mut closing = 0;
        while closing < 1_800 && chat.cards().iter().any(|card| card.button.is_some()) {
            scenario.pass(SECOND).await;
            closing += 1;
        }
        let how = if shares { "sharing messages" } else { "a card for each" };
        let other = other.unwrap_or(seconds);
        println!(
            "{how}: all answerable after {seconds} s, the other agent's after {other} s, in \
             {messages} messages; all closed after {closing} s"
        );
        figures.push((seconds, other, closing));
    }
    let shared = figures[0];
    let single = figures[1];
    assert!(shared.0 <= 15 && shared.1 <= 15 && shared.2 <= 60, "{shared:?}");
    assert!(single.0 > 10 * shared.0, "{single:?}");
}
