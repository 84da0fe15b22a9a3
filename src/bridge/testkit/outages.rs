//! A chat that is away for an hour.

use crate::testkit::{
    Asked, Place, Scenario,
    chat::{FakeChat, Network},
    platforms::{InDiscord, InTelegram, discord, telegram},
};
use countersign_port::Outcome;
use countersign_store::{
    Store,
    testkit::engines::{Fresh, on_both},
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
        let first = after[0].0;
        let last = after[after.len() - 1].0;
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

// A platform that refuses a card for what it is.

#[tokio::test]
async fn a_card_that_was_refused_is_given_up_only_until_the_access_changes() {
    on_both(async |store| {
        let chat = Arc::new(FakeChat::default());
        chat.refuses(Some("push origin one."));
        let scenario = Scenario::open(&store, &chat).await;
        let asks = [scenario.ask("one", None).await, scenario.ask("two", None).await];
        scenario.pass(MINUTE).await;
        assert_eq!(chat.cards().len(), 1, "the other card is not held up");
        let tries = chat.requests();
        scenario.pass(MINUTE).await;
        assert_eq!(chat.requests(), tries, "what was refused is not sent again and again");

        chat.signals.access_changed();
        scenario.pass(MINUTE).await;
        assert_eq!(chat.requests(), tries + 1, "tried once more, and refused again");
        chat.refuses(None);
        chat.signals.access_changed();
        scenario.pass(MINUTE).await;
        scenario.tells_the_truth(&chat, &asks).await;
        scenario.approve(&asks[0]).await;
        scenario.pass(MINUTE).await;
        scenario.tells_the_truth(&chat, &asks).await;
    })
    .await;
}

// A burst of 429s: the platform asks to wait again and again, before cards and before redraws.

const SECOND: Duration = Duration::from_secs(1);
const BURST: usize = 60;

/// A minute's burst of asks into a chat that wants quiet from the first card on. `again` makes it
/// want quiet once more, `edits` before redraws.
async fn burst<P: Place>(scenario: &Scenario, place: &P, again: impl Fn(&P), edits: impl Fn(&P)) {
    let mut asks: Vec<Asked> = Vec::new();
    for n in 0..BURST {
        let expires = (n % 10 == 7).then_some(150);
        asks.push(scenario.ask(&format!("burst-{n:03}"), expires).await);
        scenario.pass(SECOND).await;
    }
    assert_eq!(place.cards().len(), 0, "it wanted quiet for longer");
    // While the cards trickle in, a few of the asks are over already.
    for n in 0..30 {
        scenario.pass(SECOND * 8).await;
        match n {
            1 => drop(scenario.approve(&asks[0]).await),
            2 => drop(scenario.approve(&asks[BURST - 1]).await),
            3 => {
                drop(scenario.gate.cancel(&asks[BURST - 2].id, "the agent went on").await.unwrap())
            }
            4 | 8 | 12 => again(place),
            _ => {}
        }
    }
    scenario.pass(SECOND * 120).await;
    scenario.tells_the_truth(place, &asks).await;
    assert_eq!(in_order(place, &asks), Vec::<usize>::new(), "the oldest comes first");

    // A redraw for everyone, and a new card that goes before them.
    edits(place);
    let open: Vec<_> = place.cards().into_iter().filter_map(|card| card.button).collect();
    assert!(open.len() > 40, "most of them stand and can be pressed: {}", open.len());
    for (n, button) in open.iter().enumerate() {
        assert_eq!(scenario.press(button).await.outcome, Outcome::Applied);
        if n % 20 == 10 {
            edits(place);
        }
        scenario.pass(SECOND).await;
    }
    asks.push(scenario.ask("the-last", None).await);
    scenario.pass(SECOND * 400).await;
    scenario.tells_the_truth(place, &asks).await;
    assert_eq!(asks.iter().filter(|ask| !ask.waiting.is_finished()).count(), 1);
    assert_eq!(place.violations(), Vec::<String>::new(), "nothing came before its time");
}

/// The asks whose cards stand before the card of an older one.
fn in_order(place: &impl Place, asks: &[Asked]) -> Vec<usize> {
    let number = |text: &str| asks.iter().position(|ask| text.contains(&ask.name)).unwrap();
    let stand: Vec<_> = place.cards().iter().map(|card| number(&card.text)).collect();
    stand.windows(2).filter(|two| two[0] > two[1]).map(|two| two[0]).collect()
}

#[tokio::test]
async fn a_burst_of_429s_in_telegram_loses_no_card_and_nothing_comes_too_soon() {
    use telegram::Fault;
    let fresh = Fresh::sqlite();
    let store = Store::open(&fresh.database).await.unwrap();
    let chat = InTelegram::start(store.faults()).await;
    chat.server.limit(20);
    chat.server.fail("sendMessage", Fault::RetryAfter(61), 1);
    let scenario = Scenario::open(&store, &chat).await;
    let again = |chat: &InTelegram| chat.server.fail("sendMessage", Fault::RetryAfter(9), 2);
    let edits = |chat: &InTelegram| chat.server.fail("editMessageText", Fault::RetryAfter(13), 2);
    burst(&scenario, &chat, again, edits).await;
}

#[tokio::test]
async fn a_burst_of_429s_in_discord_loses_no_card_and_nothing_comes_too_soon() {
    use discord::Fault::Limited;
    let fresh = Fresh::sqlite();
    let store = Store::open(&fresh.database).await.unwrap();
    let chat = InDiscord::start(store.faults()).await;
    chat.server.fail("POST /channels", 1, Limited { retry_after: 61.5, global: true });
    let scenario = Scenario::open(&store, &chat).await;
    let again = |chat: &InDiscord| {
        chat.server.fail("POST /channels", 1, Limited { retry_after: 7.25, global: false });
        chat.server.fail("POST /channels", 1, Limited { retry_after: 11.0, global: true });
    };
    let edits = |chat: &InDiscord| {
        chat.server.fail("PATCH /channels", 1, Limited { retry_after: 7.25, global: false });
        chat.server.fail("PATCH /channels", 1, Limited { retry_after: 11.0, global: true });
    };
    burst(&scenario, &chat, again, edits).await;
}

// A row that was damaged on the disk, among others.

const DAMAGED: &str = "This ask is damaged in the store, so nobody can answer it.";

#[tokio::test]
async fn a_damaged_ask_is_answered_by_nobody_and_expires_with_the_others() {
    on_both(async |store| {
        let chat = Arc::new(FakeChat::default());
        let scenario = Scenario::open(&store, &chat).await;
        let bad = scenario.ask("bad", Some(60)).await;
        let good = scenario.ask("good", Some(60)).await;
        scenario.quiet().await;
        store.damage(&bad.id, "push origin bad", "push origin good --force").await;
        let button = chat.cards()[0].button.clone().unwrap();
        let receipt = scenario.press(&button).await;
        assert_eq!((receipt.outcome, receipt.sentence.as_str()), (Outcome::Fault, DAMAGED));
        assert_eq!((receipt.card, store.count_open().await.unwrap()), (None, 2));

        scenario.pass(Duration::from_secs(70)).await;
        assert_eq!(scenario.read(&good).await.state.name(), "expired");
        assert_eq!(good.waiting.await.unwrap().state.name(), "expired");
        assert_eq!(store.count_open().await.unwrap(), 0);
        assert!(bad.waiting.is_finished(), "it was told");
        let events = store.events_after(0, 99).await.unwrap().into_iter();
        let ended = events.filter(|event| event.kind == "expired");
        assert_eq!(ended.filter(|event| event.ask.as_ref() == Some(&bad.id)).count(), 1);
        assert!(!chat.cards().iter().any(|card| card.text.contains("--force")), "never shown");
    })
    .await;
}
