//! Presses, and the connections over which they come.

use crate::slack::{FakeSlack, Person, Told};
use crate::support::{Running, ana, receipt};
use countersign_port::{Adapter as _, Outcome, Receiving};
use countersign_port_testkit::{closed, sample_card};
use std::time::{Duration, Instant};

fn noted(times: usize) -> Vec<countersign_port::Receipt> {
    vec![receipt(Outcome::Noted, "Noted.", None); times]
}

#[tokio::test]
async fn a_replaced_connection_is_followed_by_the_next_one_before_it_ends() {
    let fake = FakeSlack::start().await;
    let mut running = Running::start(&fake, noted(4)).await;
    let message = running.post(&sample_card("ls")).await;
    fake.refresh();
    fake.until_connected(2).await;
    for _ in 0..4 {
        let told = fake.press(&message.0, "Approve", &ana()).await;
        assert_eq!(told, Told::Privately("Noted.".to_owned()), "no press falls between the two");
        running.next().await;
    }
    assert_eq!(running.adapter.signals().receiving(), Receiving::Listening);
    assert_eq!(fake.violations(), Vec::<String>::new());
    running.end().await;
}

#[tokio::test]
async fn a_connection_that_only_looks_open_is_replaced_within_seconds() {
    let fake = FakeSlack::start().await;
    let running = Running::start(&fake, noted(1)).await;
    let message = running.post(&sample_card("ls")).await;
    let began = Instant::now();
    fake.make_zombies();
    running.deaf().await;
    fake.until_connected(2).await;
    assert!(began.elapsed() < Duration::from_secs(20), "{:?}", began.elapsed());
    let told = fake.press(&message.0, "Approve", &ana()).await;
    assert!(matches!(told, Told::Privately(_) | Told::Failed), "{told:?}");
    running.end().await;
}

#[tokio::test]
async fn the_same_delivery_twice_is_one_press_and_both_are_acknowledged() {
    let fake = FakeSlack::start().await;
    let mut running = Running::start(&fake, noted(2)).await;
    let message = running.post(&sample_card("ls")).await;
    fake.press(&message.0, "Approve", &ana()).await;
    running.next().await;
    fake.redeliver(&ana()).await;
    let told = fake.press(&message.0, "Deny", &ana()).await;
    assert_eq!(told, Told::Privately("Noted.".to_owned()));
    assert!(running.next().await.token.ends_with(".d"), "the repeated press did not come through");
    assert_eq!(fake.violations(), Vec::<String>::new());
    running.end().await;
}

#[tokio::test]
async fn a_dead_token_is_said_by_its_key_and_a_fresh_one_is_taken_up() {
    let fake = FakeSlack::start().await;
    fake.refuse_token();
    let running = Running::begin(&fake, noted(0));
    let why = running.deaf().await;
    let says = "Slack refuses the bot token (token_revoked); put a fresh one under `[slack] token`";
    assert_eq!(why, says);
    fake.accept_token();
    running.receiving(|now| *now == Receiving::Listening).await;
    // Slack keeps the connection of an app whose bot's token is revoked in the middle of a run.
    fake.refuse_token();
    let card = sample_card("ls");
    let target = crate::support::target();
    let refused = countersign_port::Adapter::post(
        &*running.adapter,
        &target,
        &card,
        countersign_port::Posting::First,
    );
    assert!(matches!(refused.await, Err(countersign_port::SendError::Fatal(_))));
    assert_eq!(running.deaf().await, says);
    running.end().await;
}

#[tokio::test]
async fn the_apps_own_token_and_a_switched_off_socket_mode_are_said_too() {
    let fake = FakeSlack::start().await;
    let running = Running::start(&fake, noted(0)).await;
    fake.disable_link();
    let why = running.deaf().await;
    assert!(why.starts_with("Socket Mode of the app is switched off"), "{why}");
    running.end().await;
    fake.refuse_app_token();
    let running = Running::begin(&fake, noted(0));
    let why = running.deaf().await;
    assert!(why.ends_with("put a fresh one under `[slack] app_token`"), "{why}");
    running.end().await;
}

#[tokio::test]
async fn guests_and_bots_reach_no_core_and_a_member_brings_their_groups() {
    let fake = FakeSlack::start().await;
    let mut running = Running::start(&fake, noted(3)).await;
    let message = running.post(&sample_card("ls")).await;
    let guest = Person::new("U0000000666", "Gus").guest();
    let told = fake.press(&message.0, "Approve", &guest).await;
    let says = "Guests of this workspace cannot answer, so nothing changed.";
    assert_eq!(told, Told::Privately(says.to_owned()));
    let bot = Person::new("U0000000667", "Robo").bot();
    let told = fake.press(&message.0, "Approve", &bot).await;
    assert_eq!(told.words().as_deref(), Some("A bot cannot answer, so nothing changed."));
    let eve = Person::new("U0000000668", "Eve").of_team("T0000000666");
    fake.press(&message.0, "Approve", &eve).await;
    let seen = running.next().await;
    assert_eq!(seen.presser.id, "T0000000666/U0000000668", "the first that the core sees");
    let rik = Person::new("U0000000005", "Rik").in_group("S0000000077");
    // What Slack says of groups counts for half a minute.
    let fresh = Running::start(&fake, noted(1)).await;
    running.end().await;
    let mut running = fresh;
    fake.press(&message.0, "Approve", &rik).await;
    assert_eq!(running.next().await.presser.roles, ["S0000000077"]);
    running.end().await;
}

#[tokio::test]
async fn nobody_counts_as_anybody_while_slack_does_not_say_who_they_are() {
    let fake = FakeSlack::start().await;
    let mut running = Running::start(&fake, noted(1)).await;
    let message = running.post(&sample_card("ls")).await;
    fake.fail("users.info", 1, crate::slack::Fault::Html(502));
    let told = fake.press(&message.0, "Approve", &ana()).await.words().unwrap();
    assert!(told.starts_with("Slack did not say who you are"), "{told}");
    fake.press(&message.0, "Deny", &ana()).await;
    assert!(running.next().await.token.ends_with(".d"), "the first press reached nobody");
    running.end().await;
}

#[tokio::test]
async fn a_reply_in_a_cards_thread_comes_through_and_other_peoples_talk_does_not() {
    let fake = FakeSlack::start().await;
    let card = sample_card("ls");
    let denied = receipt(Outcome::Applied, "Denied.", Some(closed(&card)));
    let mut running = Running::start(&fake, vec![denied]).await;
    let message = running.post(&card).await;
    let ana = ana();
    let talk = fake.say("C0000000001", "lunch?", &ana);
    let reply = fake.reply(&message.0, "not <now> & never", &ana);
    let (talk, told) = tokio::join!(talk, reply);
    assert_eq!((talk, told), (Told::Nothing, Told::Privately("Denied.".to_owned())));
    let reply = running.next().await;
    assert_eq!(
        (reply.text.as_deref(), reply.message),
        (Some("not <now> & never"), Some(message.clone()))
    );
    assert_eq!(fake.message(&message.0).unwrap().buttons, [""; 0], "the card is redrawn");
    assert_eq!(fake.violations(), Vec::<String>::new());
    running.end().await;
}

#[tokio::test]
async fn the_slash_command_is_answered_to_its_writer_and_takes_pairing_codes() {
    let fake = FakeSlack::start().await;
    let mut running = Running::start(&fake, noted(3)).await;
    let told = fake.command("deny a7f3 not *now*", &ana()).await;
    assert_eq!(told, Told::Privately("Noted.".to_owned()));
    let command = running.next().await;
    assert_eq!((&*command.token, command.text.as_deref()), ("/deny", Some("a7f3 not *now*")));
    fake.command("what is this", &ana()).await;
    assert_eq!(running.next().await.token, "/");
    fake.command("pair-7xY_-", &ana()).await;
    let sent = running.next().await.token;
    assert_eq!(sent, "pair-7xY_- at C0000000001 (the channel C0000000001)");
    assert_eq!(fake.violations(), Vec::<String>::new());
    running.end().await;
}
