//! What is critical takes two presses, wherever people press.

use crate::{
    chats::both,
    daemon::{Daemon, shell},
    discord_server::{FakeDiscord, Person},
    inbox_visitor::Visitor,
    telegram_server::{ANA, EVE, GROUP, Telegram},
};
use serde_json::Value;

const COMMAND: &str = "sudo rm -rf --no-preserve-root /";
const ONE_PRESS: &str = "This is critical, so one press does not approve it.";

async fn start() -> (Telegram, FakeDiscord, Daemon) {
    let (telegram, discord) = (Telegram::start().await, FakeDiscord::start().await);
    let daemon = Daemon::start(&both(&telegram, &discord)).await;
    discord.until_online().await;
    (telegram, discord, daemon)
}

/// A forged token: one press that would approve.
fn approves_at_once(deny: &str) -> String {
    deny.replace(".0.d.", ".0.a.")
}

#[tokio::test]
async fn a_critical_call_takes_two_presses_in_telegram_and_the_second_says_what_will_happen() {
    let (telegram, _discord, daemon) = start().await;
    let waiting = daemon.waiting(shell(COMMAND));
    let card = telegram.card(GROUP).await;
    assert!(
        card.text.starts_with("🛑 CRITICAL sudo rm -rf --no-preserve-root /\n"),
        "{}",
        card.text
    );
    assert_eq!(
        card.buttons,
        [vec!["Deny", "Deny with reason…"], vec!["Review and approve…"]],
        "nothing here approves"
    );
    let stranger = telegram.press(GROUP, card.id, "Review and approve…", EVE).await;
    assert!(stranger.text.starts_with("You may not answer this"), "{}", stranger.text);
    let old = approves_at_once(&telegram.button(GROUP, card.id, "Deny"));
    let told = telegram.told(&telegram.press_data(GROUP, card.id, &old, ANA)).await;
    assert!(told.text.starts_with(ONE_PRESS), "{}", told.text);
    assert_eq!(daemon.open().await.len(), 1, "one press approved nothing");
    let yes = || telegram.standing_button(GROUP, card.id, "Yes, delete /").map(drop);
    telegram.until("the second step", yes).await;
    telegram.press(GROUP, card.id, "‹ Back", ANA).await;
    let review = || telegram.standing_button(GROUP, card.id, "Review and approve…").map(drop);
    telegram.until("the card again", review).await;
    telegram.press(GROUP, card.id, "Review and approve…", ANA).await;
    telegram.until("the second step", yes).await;
    let told = telegram.press(GROUP, card.id, "Yes, delete /", ANA).await;
    assert_eq!(told.text, "Approved once.");
    assert_eq!(waiting.await.unwrap()["verdict"], "allow");
    assert_eq!(telegram.violations(), Vec::<String>::new());
}

#[tokio::test]
async fn a_critical_call_takes_two_presses_in_discord() {
    let (_telegram, discord, daemon) = start().await;
    let ana = Person::new(&ANA.id.to_string(), "Ana");
    let waiting = daemon.waiting(shell(COMMAND));
    let card = discord.until(|message| !message.is_over()).await;
    assert_eq!(card.buttons, ["Deny", "Deny with reason…", "Review and approve…"]);
    let old = approves_at_once(&card.tokens[0]);
    let told = discord.press_token(&card.reference, &old, &ana).await.words().unwrap();
    assert!(told.starts_with(ONE_PRESS), "{told}");
    assert_eq!(daemon.open().await.len(), 1, "one press approved nothing");
    discord.until(|message| message.buttons.iter().any(|it| it.starts_with("Yes, "))).await;
    discord.press(&card.reference, "Yes, delete /", &ana).await;
    assert_eq!(waiting.await.unwrap()["verdict"], "allow");
    assert_eq!(discord.violations(), Vec::<String>::new());
}

#[tokio::test]
async fn a_critical_call_takes_two_presses_in_the_inbox() {
    let daemon = Daemon::start("").await;
    let visitor = Visitor::enter(&daemon.inbox).await;
    let mut board = visitor.follow().await;
    let waiting = daemon.waiting(shell(COMMAND));
    let card = board.card(|card| card["card"]["tone"] == "critical").await;
    let deny = card["card"]["buttons"][0][0]["token"].as_str().unwrap();
    let id = card["card"]["id"].as_str().unwrap();
    let (_, told) = visitor.press(id, &approves_at_once(deny), None).await;
    assert!(told["sentence"].as_str().unwrap().starts_with(ONE_PRESS), "{told}");
    assert_eq!(daemon.open().await.len(), 1, "one press approved nothing");
    let second = |card: &Value| card.to_string().contains("Yes, delete /");
    let view = board.card(second).await;
    let told = visitor.press_label(&view, "Yes, delete /", None).await;
    assert_eq!(told, "Approved once.");
    assert_eq!(waiting.await.unwrap()["verdict"], "allow");
}
