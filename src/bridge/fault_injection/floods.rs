//! Floods: more asks than a group takes messages, with everything else that may go wrong meanwhile.

use super::{Asked, Place, Scenario, platforms::InTelegram};
use countersign_port::Outcome;
use countersign_store::{Store, engines::on_both};
use countersign_tokens::clock;
use std::{collections::BTreeSet, time::Duration};

use super::platforms::telegram::Fault;

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
        let fresh = countersign_store::engines::Fresh::sqlite();
        let store = Store::open(&fresh.database).await.unwrap();
        let chat = match shares {
            true => InTelegram::start_limited(store.faults()).await,
            false => InTelegram::start(store.faults()).await,
        };
        chat.server.limit_as_a_group();
        let scenario = Scenario::open(&store, &chat).await;
        let (asks, quiet) = flood(&scenario).await;
        let (mut seconds, mut other) = (0, None);
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
    let (shared, single) = (figures[0], figures[1]);
    assert!(shared.0 <= 15 && shared.1 <= 15 && shared.2 <= 60, "{shared:?}");
    assert!(single.0 > 10 * shared.0, "{single:?}");
}
