//! A chat that is away for an hour.

use super::platforms::{InDiscord, InTelegram};
use super::{
    Asked, Place, Scenario,
    chat::{FakeChat, Network},
};
use countersign_port::Outcome;
use countersign_store::{
    Store,
    engines::{Fresh, on_both},
};
use futures::future::join_all;
use std::{sync::Arc, time::Duration};

const MINUTE: Duration = Duration::from_secs(60);
/// Longer than a target rests after failures.
const REST: Duration = Duration::from_secs(31);
/// With a rest of 30 s between two tries an hour has room for 120; the first come sooner.
const TRIES_OF_AN_HOUR: usize = 130;

/// The chat cannot be reached for an hour, while asks come, are answered elsewhere, cancelled and
/// expire.
async fn an_hour_away(scenario: &Scenario, place: &impl Place) {
    let mut asks: Vec<Asked> = Vec::new();
    for n in 0..4 {
        asks.push(scenario.ask(&format!("before-{n:03}"), None).await);
    }
    scenario.pass(Duration::from_secs(10)).await;
    scenario.tells_the_truth(place, &asks).await;
    assert_eq!(place.cards().len(), 4);

    let before = place.requests();
    place.set_down(true);
    for minute in 0..60 {
        let expires = (minute % 4 == 2).then_some(90);
        let ask = scenario.ask(&format!("during-{minute:03}"), expires).await;
        scenario.pass(MINUTE / 2).await;
        match minute % 4 {
            0 => drop(scenario.approve(&ask).await),
            1 => drop(scenario.gate.cancel(&ask.id, "the agent went on").await.unwrap()),
            _ => {}
        }
        asks.push(ask);
        scenario.pass(MINUTE / 2).await;
        match minute {
            20 => drop(scenario.approve(&asks[0]).await),
            40 => drop(scenario.gate.cancel(&asks[1].id, "the agent went on").await.unwrap()),
            _ => {}
        }
    }
    let tries = place.requests() - before;
    assert!(tries <= TRIES_OF_AN_HOUR, "{tries} requests at a platform that is away");

    place.set_down(false);
    scenario.pass(MINUTE * 3).await;
    scenario.tells_the_truth(place, &asks).await;
    let open = asks.iter().filter(|ask| !ask.waiting.is_finished()).count();
    assert_eq!(open, 15 + 2, "nothing else was answered, and nothing was lost");
    let requests = place.requests();
    scenario.pass(MINUTE * 10).await;
    assert_eq!(place.requests(), requests, "it is quiet again");

    // Ana finds all that is open, and answers it.
    for button in place.cards().into_iter().filter_map(|card| card.button) {
        assert_eq!(scenario.press(&button).await.outcome, Outcome::Applied);
    }
    scenario.pass(MINUTE * 3).await;
    scenario.tells_the_truth(place, &asks).await;
    assert!(asks.iter().all(|ask| ask.waiting.is_finished()), "every agent has its answer");
    assert_eq!(place.violations(), Vec::<String>::new());
}

#[tokio::test]
async fn an_hour_away_loses_nothing_posts_nothing_twice_and_ends_with_true_cards() {
    on_both(async |store| {
        let chat = Arc::new(FakeChat::default());
        let scenario = Scenario::open(&store, &chat).await;
        an_hour_away(&scenario, &chat).await;
    })
    .await;
}

#[tokio::test]
async fn a_thousand_cards_at_a_dead_platform_are_one_try_after_the_other_and_then_go_at_once() {
    for network in [Network::Away, Network::AnswersLost] {
        let fresh = Fresh::sqlite();
        let store = Store::open(&fresh.database).await.unwrap();
        let chat = Arc::new(FakeChat::default());
        let scenario = Scenario::open(&store, &chat).await;
        chat.set(network);
        let names: Vec<_> = (0..1_000).map(|n| format!("one-of-many-{n:04}")).collect();
        let asks = join_all(names.iter().map(|name| scenario.ask(name, None))).await;
        scenario.pass(MINUTE * 10).await;
        let tries = chat.tries();
        assert!((20..30).contains(&tries.len()), "{} tries in ten minutes", tries.len());

        chat.set(Network::Clear);
        scenario.pass(REST).await;
        scenario.tells_the_truth(&chat, &asks).await;
        let after = chat.tries().split_off(tries.len());
        let (first, last) = (after[0].0, after[after.len() - 1].0);
        assert_eq!(last - first, Duration::ZERO, "what the first one proved holds for all");
    }
}

#[tokio::test]
async fn after_an_outage_the_oldest_goes_first_whichever_were_tried_meanwhile() {
    let fresh = Fresh::sqlite();
    let store = Store::open(&fresh.database).await.unwrap();
    let chat = Arc::new(FakeChat::default());
    let scenario = Scenario::open(&store, &chat).await;
    chat.set(Network::Away);
    let mut asks = Vec::new();
    for n in 0..40 {
        asks.push(scenario.ask(&format!("one-by-one-{n:03}"), None).await);
        scenario.pass(Duration::from_secs(1)).await;
    }
    scenario.pass(MINUTE * 3).await;
    let before = chat.requests();
    chat.set(Network::Clear);
    scenario.pass(REST).await;
    scenario.tells_the_truth(&chat, &asks).await;
    // After the one that was tried for all.
    let mut rest: Vec<_> = chat.tries().split_off(before + 1);
    rest.retain(|(_, text)| chat.cards()[0].text != *text);
    let mut posted: Vec<_> = rest.iter().map(|(_, text)| text.as_str()).collect();
    posted.dedup();
    let mut by_age = posted.clone();
    by_age.sort();
    assert_eq!((posted.len(), &posted), (39, &by_age));
}

#[tokio::test]
async fn a_platform_that_says_nothing_is_asked_once_a_minute_and_loses_nothing() {
    let fresh = Fresh::sqlite();
    let store = Store::open(&fresh.database).await.unwrap();
    let chat = Arc::new(FakeChat::default());
    let scenario = Scenario::open(&store, &chat).await;
    chat.set(Network::Silent);
    let asks = [scenario.ask("one", None).await, scenario.ask("two", None).await];
    scenario.pass(MINUTE * 60).await;
    assert!((30..60).contains(&chat.requests()), "{} tries in an hour", chat.requests());
    chat.set(Network::Clear);
    scenario.pass(MINUTE * 3).await;
    scenario.tells_the_truth(&chat, &asks).await;
}

#[tokio::test]
async fn cards_that_never_arrive_keep_no_other_from_arriving() {
    on_both(async |store| {
        let chat = Arc::new(FakeChat::default());
        let scenario = Scenario::open(&store, &chat).await;
        chat.never_takes("poison");
        let poison = scenario.ask("poison-1", None).await;
        for n in 0..20 {
            let ask = scenario.ask(&format!("good-{n:03}"), None).await;
            scenario.quiet().await;
            let is_shown = chat.cards().iter().any(|card| card.text.contains(&ask.name));
            assert!(is_shown, "one that fails alone holds nobody up for a moment: {n}");
            scenario.pass(Duration::from_secs(7)).await;
        }
        // Two of them look like an outage, until the next card is tried for both.
        let second = scenario.ask("poison-2", None).await;
        for n in 20..40 {
            scenario.pass(Duration::from_secs(7)).await;
            let ask = scenario.ask(&format!("good-{n:03}"), None).await;
            scenario.pass(Duration::from_secs(3)).await;
            let is_shown = chat.cards().iter().any(|card| card.text.contains(&ask.name));
            assert!(is_shown, "the next card is tried after a short rest: {n}");
        }
        assert!(scenario.read(&poison).await.is_open() && scenario.read(&second).await.is_open());
        let tries = chat.tries().into_iter().filter(|(_, text)| text.contains("poison-1")).count();
        assert!((10..30).contains(&tries), "it is tried on, by its own time: {tries}");
    })
    .await;
}

#[tokio::test]
async fn an_hour_away_leaves_no_trace_in_telegram() {
    let fresh = Fresh::sqlite();
    let store = Store::open(&fresh.database).await.unwrap();
    let telegram = InTelegram::start(store.faults()).await;
    let scenario = Scenario::open(&store, &telegram).await;
    an_hour_away(&scenario, &telegram).await;
}

#[tokio::test]
async fn an_hour_away_leaves_no_trace_in_discord() {
    let fresh = Fresh::sqlite();
    let store = Store::open(&fresh.database).await.unwrap();
    let discord = InDiscord::start(store.faults()).await;
    let scenario = Scenario::open(&store, &discord).await;
    an_hour_away(&scenario, &discord).await;
}
