//! A chat that is away for an hour.

#[cfg(all(feature = "telegram", feature = "discord"))]
use super::fakes::{InDiscord, InTelegram};
use super::{
    Asked, Place, Town,
    chat::{Chat, Sky},
};
use crate::store::{
    Store,
    engines::{Fresh, on_both},
};
use countersign_port::Outcome;
use futures::future::join_all;
use std::{sync::Arc, time::Duration};

const MINUTE: Duration = Duration::from_secs(60);
/// Longer than a target rests after failures.
const REST: Duration = Duration::from_secs(31);
/// With a rest of 30 s between two tries an hour has room for 120; the first come sooner.
const TRIES_OF_AN_HOUR: usize = 130;

/// The chat is away for an hour, while asks come, are answered elsewhere, are taken back and
/// expire.
async fn an_hour_away(town: &Town, place: &impl Place) {
    let mut asks: Vec<Asked> = Vec::new();
    for n in 0..4 {
        asks.push(town.ask(&format!("before-{n:03}"), None).await);
    }
    town.pass(Duration::from_secs(10)).await;
    town.tells_the_truth(place, &asks).await;
    assert_eq!(place.cards().len(), 4);

    let before = place.requests();
    place.set_down(true);
    for minute in 0..60 {
        let expires = (minute % 4 == 2).then_some(90);
        let ask = town.ask(&format!("during-{minute:03}"), expires).await;
        town.pass(MINUTE / 2).await;
        match minute % 4 {
            0 => drop(town.approve(&ask).await),
            1 => drop(town.gate.cancel(&ask.id, "the agent went on").await.unwrap()),
            _ => {}
        }
        asks.push(ask);
        town.pass(MINUTE / 2).await;
        match minute {
            20 => drop(town.approve(&asks[0]).await),
            40 => drop(town.gate.cancel(&asks[1].id, "the agent went on").await.unwrap()),
            _ => {}
        }
    }
    let tries = place.requests() - before;
    assert!(tries <= TRIES_OF_AN_HOUR, "{tries} requests at a platform that is away");

    place.set_down(false);
    town.pass(MINUTE * 3).await;
    town.tells_the_truth(place, &asks).await;
    let open = asks.iter().filter(|ask| !ask.waiting.is_finished()).count();
    assert_eq!(open, 15 + 2, "nothing else was answered, and nothing was lost");
    let requests = place.requests();
    town.pass(MINUTE * 10).await;
    assert_eq!(place.requests(), requests, "it is quiet again");

    // Ana finds all that is open, and answers it.
    for button in place.cards().into_iter().filter_map(|card| card.button) {
        assert_eq!(town.press(&button).await.outcome, Outcome::Applied);
    }
    town.pass(MINUTE * 3).await;
    town.tells_the_truth(place, &asks).await;
    assert!(asks.iter().all(|ask| ask.waiting.is_finished()), "every agent has its answer");
    assert_eq!(place.violations(), Vec::<String>::new());
}

#[tokio::test]
async fn an_hour_away_loses_nothing_posts_nothing_twice_and_ends_with_true_cards() {
    on_both(async |store| {
        let chat = Arc::new(Chat::default());
        let town = Town::open(&store, &chat).await;
        an_hour_away(&town, &chat).await;
    })
    .await;
}

#[tokio::test]
async fn a_thousand_cards_at_a_dead_platform_are_one_try_after_the_other_and_then_go_at_once() {
    for sky in [Sky::Away, Sky::AnswersLost] {
        let fresh = Fresh::sqlite();
        let store = Store::open(&fresh.database).await.unwrap();
        let chat = Arc::new(Chat::default());
        let town = Town::open(&store, &chat).await;
        chat.set(sky);
        let names: Vec<_> = (0..1_000).map(|n| format!("one-of-many-{n:04}")).collect();
        let asks = join_all(names.iter().map(|name| town.ask(name, None))).await;
        town.pass(MINUTE * 10).await;
        let tries = chat.tries();
        assert!((20..30).contains(&tries.len()), "{} tries in ten minutes", tries.len());

        chat.set(Sky::Clear);
        town.pass(REST).await;
        town.tells_the_truth(&chat, &asks).await;
        let after = chat.tries().split_off(tries.len());
        let (first, last) = (after[0].0, after[after.len() - 1].0);
        assert_eq!(last - first, Duration::ZERO, "what the first one proved holds for all");
    }
}

#[tokio::test]
async fn after_an_outage_the_oldest_goes_first_whichever_were_tried_meanwhile() {
    let fresh = Fresh::sqlite();
    let store = Store::open(&fresh.database).await.unwrap();
    let chat = Arc::new(Chat::default());
    let town = Town::open(&store, &chat).await;
    chat.set(Sky::Away);
    let mut asks = Vec::new();
    for n in 0..40 {
        asks.push(town.ask(&format!("one-by-one-{n:03}"), None).await);
        town.pass(Duration::from_secs(1)).await;
    }
    town.pass(MINUTE * 3).await;
    let before = chat.requests();
    chat.set(Sky::Clear);
    town.pass(REST).await;
    town.tells_the_truth(&chat, &asks).await;
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
    let chat = Arc::new(Chat::default());
    let town = Town::open(&store, &chat).await;
    chat.set(Sky::Silent);
    let asks = [town.ask("one", None).await, town.ask("two", None).await];
    town.pass(MINUTE * 60).await;
    assert!((30..60).contains(&chat.requests()), "{} tries in an hour", chat.requests());
    chat.set(Sky::Clear);
    town.pass(MINUTE * 3).await;
    town.tells_the_truth(&chat, &asks).await;
}

#[tokio::test]
async fn cards_that_never_arrive_keep_no_other_from_arriving() {
    on_both(async |store| {
        let chat = Arc::new(Chat::default());
        let town = Town::open(&store, &chat).await;
        chat.never_takes("poison");
        let poison = town.ask("poison-1", None).await;
        for n in 0..20 {
            let ask = town.ask(&format!("good-{n:03}"), None).await;
            town.quiet().await;
            let stands = chat.cards().iter().any(|card| card.text.contains(&ask.name));
            assert!(stands, "one that fails alone holds nobody up for a moment: {n}");
            town.pass(Duration::from_secs(7)).await;
        }
        // Two of them look like an outage, until the next card is tried for both.
        let second = town.ask("poison-2", None).await;
        for n in 20..40 {
            town.pass(Duration::from_secs(7)).await;
            let ask = town.ask(&format!("good-{n:03}"), None).await;
            town.pass(Duration::from_secs(3)).await;
            let stands = chat.cards().iter().any(|card| card.text.contains(&ask.name));
            assert!(stands, "the next card is tried after a short rest: {n}");
        }
        assert!(town.read(&poison).await.is_open() && town.read(&second).await.is_open());
        let tries = chat.tries().into_iter().filter(|(_, text)| text.contains("poison-1")).count();
        assert!((10..30).contains(&tries), "it is tried on, by its own time: {tries}");
    })
    .await;
}

#[cfg(all(feature = "telegram", feature = "discord"))]
#[tokio::test]
async fn an_hour_away_leaves_no_trace_in_telegram() {
    let fresh = Fresh::sqlite();
    let store = Store::open(&fresh.database).await.unwrap();
    let telegram = InTelegram::start(store.weather()).await;
    let town = Town::open(&store, &telegram).await;
    an_hour_away(&town, &telegram).await;
}

#[cfg(all(feature = "telegram", feature = "discord"))]
#[tokio::test]
async fn an_hour_away_leaves_no_trace_in_discord() {
    let fresh = Fresh::sqlite();
    let store = Store::open(&fresh.database).await.unwrap();
    let discord = InDiscord::start(store.weather()).await;
    let town = Town::open(&store, &discord).await;
    an_hour_away(&town, &discord).await;
}
