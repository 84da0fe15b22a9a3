//! Tests of the connection to the gateway.

use crate::discord::{FakeDiscord, Fault, Told};
use crate::support::{Running, ana, receipt};
use countersign_port::{Adapter, Outcome, Receiving};
use countersign_port_testkit::sample_card;
use std::time::{Duration, Instant};

fn noted() -> countersign_port::Receipt {
    receipt(Outcome::Noted, "Noted.", None)
}

fn told() -> Told {
    Told::Privately("Noted.".to_owned())
}

#[tokio::test]
async fn it_says_from_when_on_presses_arrive() {
    let fake = FakeDiscord::start().await;
    let bridge = Running::start(&fake, vec![]);
    assert_eq!(bridge.adapter.signals().receiving(), Receiving::Starting);
    bridge.listens().await;
    bridge.end().await;
}

#[tokio::test]
async fn while_discord_is_away_it_keeps_trying_and_connects_soon_after() {
    let fake = FakeDiscord::start().await;
    fake.set_down(true);
    let bridge = Running::start(&fake, vec![noted()]);
    assert_eq!(bridge.deaf().await, "Discord cannot be reached: it answered HTTP 502");
    fake.set_down(false);
    let began = Instant::now();
    let message = bridge.post(&sample_card("ls")).await;
    assert_eq!(fake.press(&message.0, "Approve", &ana()).await, told());
    assert!(began.elapsed() < Duration::from_secs(6));
    assert_eq!(bridge.adapter.signals().receiving(), Receiving::Listening);
    bridge.end().await;
}

#[tokio::test]
async fn no_other_gateway_is_dialled_than_the_one_that_was_named() {
    let fake = FakeDiscord::start().await;
    // serenity asks once more, and falls back to the real gateway where it gets no answer.
    fake.fail("GET /gateway ", 1, Fault::Html(502));
    let bridge = Running::start(&fake, vec![]);
    bridge.listens().await;
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
    bridge.deaf().await;
    fake.set_down(false);
    assert_eq!(fake.press(&message.0, "Approve", &ana()).await, told());
    bridge.listens().await;
    bridge.end().await;
}

#[tokio::test]
async fn a_refused_token_is_said_before_the_gateway_is_dialled_and_tried_again_now_and_then() {
    let fake = FakeDiscord::start().await;
    fake.refuse_token();
    let bridge = Running::start(&fake, vec![noted()]);
    let why = bridge.deaf().await;
    assert!(why.contains("`[discord] token`"), "{why}");
    fake.accept_token();
    let began = Instant::now();
    bridge.listens().await;
    assert!(began.elapsed() < Duration::from_secs(20));
    let refused = fake.calls().iter().filter(|call| call.ends_with(" 401")).count();
    assert_eq!(refused, 1, "refusals are counted: {:?}", fake.calls());
    let message = bridge.post(&sample_card("ls")).await;
    assert_eq!(fake.press(&message.0, "Approve", &ana()).await, told());
    bridge.end().await;
}

#[tokio::test]
async fn a_token_that_is_withdrawn_is_said_and_taken_again_when_discord_does() {
    let fake = FakeDiscord::start().await;
    let bridge = Running::start(&fake, vec![noted()]);
    bridge.listens().await;
    fake.refuse_token();
    let why = bridge.deaf().await;
    assert!(why.contains("`[discord] token`"), "{why}");
    fake.accept_token();
    bridge.listens().await;
    let message = bridge.post(&sample_card("ls")).await;
    assert_eq!(fake.press(&message.0, "Approve", &ana()).await, told());
    bridge.end().await;
}

#[tokio::test]
async fn close_codes_that_end_a_bot_for_good_are_said_and_outlived() {
    let fake = FakeDiscord::start().await;
    let bridge = Running::start(&fake, vec![noted(); 9]);
    let message = bridge.post(&sample_card("ls")).await;
    for (code, part) in [(4004, "`[discord] token`"), (4013, "(4013)"), (4014, "(4014)")] {
        bridge.listens().await;
        fake.refuse_gateway(Some(code));
        let why = bridge
            .receiving(|now| matches!(now, Receiving::Deaf { why, .. } if why.contains(part)));
        why.await;
        fake.refuse_gateway(None);
        assert_eq!(fake.press(&message.0, "Approve", &ana()).await, told(), "{code}");
    }
    bridge.end().await;
}

#[tokio::test]
async fn it_stops_promptly_whatever_it_does() {
    let fake = FakeDiscord::start().await;
    fake.set_down(true);
    let bridge = Running::start(&fake, vec![]);
    bridge.deaf().await;
    bridge.end().await;

    fake.set_down(false);
    let bridge = Running::start(&fake, vec![]);
    fake.until_online().await;
    bridge.end().await;
}
