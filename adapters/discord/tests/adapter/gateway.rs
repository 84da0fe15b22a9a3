//! Journeys of the connection.

use crate::discord::{FakeDiscord, Fault, Told};
use crate::support::{Running, ana, receipt, until_health};
use countersign_port::testkit::sample_card;
use countersign_port::{Adapter, Health, Outcome};
use std::time::{Duration, Instant};

fn noted() -> countersign_port::Receipt {
    receipt(Outcome::Noted, "Noted.", None)
}

fn told() -> Told {
    Told::Privately("Noted.".to_owned())
}

#[tokio::test]
async fn health_says_how_it_stands() {
    let fake = FakeDiscord::start().await;
    let bridge = Running::start(&fake, vec![]);
    assert_eq!(bridge.adapter.health(), Health::Starting);
    until_health(&bridge.adapter, |health| *health == Health::Up).await;
    bridge.end().await;
}

#[tokio::test]
async fn while_discord_is_away_it_keeps_trying_and_connects_soon_after() {
    let fake = FakeDiscord::start().await;
    fake.set_down(true);
    let bridge = Running::start(&fake, vec![noted()]);
    let down = until_health(&bridge.adapter, |health| matches!(health, Health::Down(_))).await;
    assert_eq!(down, Health::Down("Discord cannot be reached: it answered HTTP 502".to_owned()));
    fake.set_down(false);
    let began = Instant::now();
    let message = bridge.post(&sample_card("ls")).await;
    assert_eq!(fake.press(&message.0, "Approve", &ana()).await, told());
    assert!(began.elapsed() < Duration::from_secs(6));
    assert_eq!(bridge.adapter.health(), Health::Up);
    bridge.end().await;
}

#[tokio::test]
async fn no_other_gateway_is_dialled_than_the_one_that_was_named() {
    let fake = FakeDiscord::start().await;
    // serenity asks once more, and falls back to the real gateway where it gets no answer.
    fake.fail("GET /gateway ", 1, Fault::Html(502));
    let bridge = Running::start(&fake, vec![]);
    until_health(&bridge.adapter, |health| *health == Health::Up).await;
    assert!(fake.calls().contains(&"GET /gateway 502".to_owned()));
    assert_eq!(fake.identified(), 1);
    bridge.end().await;
}

#[tokio::test]
async fn a_broken_connection_is_resumed_and_presses_go_on() {
    let fake = FakeDiscord::start().await;
    let bridge = Running::start(&fake, vec![noted(), noted()]);
    let message = bridge.post(&sample_card("ls")).await;
    fake.until_online().await;
    fake.drop_gateway();
    assert_eq!(fake.press(&message.0, "Approve", &ana()).await, told());
    fake.ask_to_reconnect();
    assert_eq!(fake.press(&message.0, "Approve", &ana()).await, told());
    assert_eq!(fake.identified(), 1, "both times the session was resumed");
    bridge.end().await;
}

#[tokio::test]
async fn a_forgotten_session_is_begun_anew() {
    let fake = FakeDiscord::start().await;
    let bridge = Running::start(&fake, vec![noted()]);
    let message = bridge.post(&sample_card("ls")).await;
    fake.until_online().await;
    fake.forget_sessions();
    assert_eq!(fake.press(&message.0, "Approve", &ana()).await, told());
    assert_eq!(fake.identified(), 2);
    bridge.end().await;
}

#[tokio::test]
async fn after_an_outage_the_connection_comes_back_by_itself() {
    let fake = FakeDiscord::start().await;
    let bridge = Running::start(&fake, vec![noted()]);
    let message = bridge.post(&sample_card("ls")).await;
    fake.until_online().await;
    fake.set_down(true);
    until_health(&bridge.adapter, |health| matches!(health, Health::Down(_))).await;
    fake.set_down(false);
    assert_eq!(fake.press(&message.0, "Approve", &ana()).await, told());
    until_health(&bridge.adapter, |health| *health == Health::Up).await;
    bridge.end().await;
}

#[tokio::test]
async fn a_refused_token_ends_the_adapter_before_the_gateway_is_dialled() {
    let fake = FakeDiscord::start().await;
    fake.refuse_token();
    let (fatal, health) = Running::start(&fake, vec![]).fatal().await;
    assert!(fatal.0.contains("`[discord] token`"), "{fatal}");
    assert_eq!(health, Health::Failed(fatal.0));
    assert_eq!(fake.calls(), ["GET /gateway/bot 401"]);
}

#[tokio::test]
async fn a_token_that_is_withdrawn_ends_the_adapter() {
    let fake = FakeDiscord::start().await;
    let bridge = Running::start(&fake, vec![]);
    until_health(&bridge.adapter, |health| *health == Health::Up).await;
    fake.refuse_token();
    let (fatal, _) = bridge.fatal().await;
    assert!(fatal.0.contains("`[discord] token`"), "{fatal}");
}

#[tokio::test]
async fn it_stops_promptly_whatever_it_does() {
    let fake = FakeDiscord::start().await;
    fake.set_down(true);
    let bridge = Running::start(&fake, vec![]);
    until_health(&bridge.adapter, |health| matches!(health, Health::Down(_))).await;
    bridge.end().await;

    fake.set_down(false);
    let bridge = Running::start(&fake, vec![]);
    fake.until_online().await;
    bridge.end().await;
}
