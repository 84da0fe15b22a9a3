//! A burst of 429s: the platform asks to wait again and again, before cards and before redraws.

use super::{
    Asked, Place, Scenario,
    platforms::{InDiscord, InTelegram, discord, telegram},
};
use countersign_port::Outcome;
use countersign_store::{Store, engines::Fresh};
use std::time::Duration;

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
