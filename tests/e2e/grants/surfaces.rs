//! Undo and the parts of Always on Discord and in the inbox.

use super::{World, rules, verdict};
use crate::{
    daemon::{Daemon, shell},
    discord_server::{Person, Posted},
    inbox_visitor::Visitor,
    telegram_server::ANA,
};
use serde_json::Value;

const UNDONE: &str = "Undone: shell: cargo build * no longer holds. A call that already runs is \
                      not stopped.";
const ONE_PART: &str = "Approved, and always from now on: shell: cargo test *.";
const TWO_PARTS: &str = "cargo test --lib && git add -A";

fn ana() -> Person {
    Person::new(&ANA.id.to_string(), "Ana")
}

/// Ana presses a button in Discord; what she is told.
async fn press(world: &World, card: &Posted, label: &str) -> String {
    let told = world.discord.press(&card.reference, label, &ana()).await;
    told.words().unwrap_or_default()
}

/// The message in Discord once it has this button.
async fn with_button(world: &World, label: &str) -> Posted {
    let wanted = |card: &Posted| card.buttons.iter().any(|it| it == label);
    world.discord.until(wanted).await
}

/// Whether a card of the inbox has a button with this label in its rows.
fn has_button(card: &Value, label: &str) -> bool {
    let rows = card["card"]["buttons"].as_array().into_iter().flatten();
    let mut buttons = rows.flat_map(|row| row.as_array().into_iter().flatten());
    buttons.any(|button| button["label"] == label)
}

#[tokio::test]
async fn an_always_of_discord_is_undone_there() {
    let world = World::start().await;
    let waiting = world.daemon.waiting(shell("cargo build --release"));
    let card = world.discord.until(|card| !card.is_over()).await;
    press(&world, &card, "Always").await;
    assert_eq!(waiting.await.unwrap()["verdict"], "allow");
    assert_eq!(verdict(&world.daemon, "cargo build --lib").await, "allow");
    let settled = with_button(&world, "Undo").await;
    let eve = Person::new("6666", "Eve");
    let told = world.discord.press(&settled.reference, "Undo", &eve).await.words().unwrap();
    assert!(told.starts_with("You may not answer this"), "{told}");
    let undo = settled.tokens[0].clone();
    assert_eq!(press(&world, &settled, "Undo").await, UNDONE);
    let undone = |card: &Posted| card.buttons.is_empty() && card.text.contains("undone by Ana");
    let after = world.discord.until(undone).await;
    assert_eq!(verdict(&world.daemon, "cargo build --lib").await, "ask");
    assert_eq!(rules(&world.daemon).await, Vec::<String>::new());
    let again = world.discord.press_token(&after.reference, &undo, &ana()).await.words().unwrap();
    assert!(again.starts_with("Already undone by Ana (discord)"), "{again}");
    world.is_clean();
}

#[tokio::test]
async fn an_always_of_the_inbox_is_undone_there() {
    let daemon = Daemon::start("").await;
    let visitor = Visitor::enter(&daemon.inbox).await;
    let mut board = visitor.follow().await;
    let waiting = daemon.waiting(shell("cargo build --release"));
    let card = board.card(|card| card["card"]["tone"] == "open").await;
    visitor.press_label(&card, "Always", None).await;
    assert_eq!(waiting.await.unwrap()["verdict"], "allow");
    assert_eq!(verdict(&daemon, "cargo build --lib").await, "allow");
    let settled = board.card(|card| has_button(card, "Undo")).await;
    assert_eq!(visitor.press_label(&settled, "Undo", None).await, UNDONE);
    let undone = |card: &Value| card.to_string().contains("undone by ");
    let after = board.card(undone).await;
    assert!(!has_button(&after, "Undo"), "{after}");
    assert_eq!(verdict(&daemon, "cargo build --lib").await, "ask");
    let again = visitor.press_label(&settled, "Undo", None).await;
    assert!(again.starts_with("Already undone by the local inbox"), "{again}");
}

#[tokio::test]
async fn the_parts_of_always_are_chosen_in_discord() {
    let world = World::start().await;
    let waiting = world.daemon.waiting(shell(TWO_PARTS));
    let card = world.discord.until(|card| !card.is_over()).await;
    press(&world, &card, "Always…").await;
    let whole = with_button(&world, "2 git add *").await;
    assert!(whole.buttons.contains(&"Store these 2 rules".to_owned()), "{whole:?}");
    press(&world, &whole, "2 git add *").await;
    let fewer = with_button(&world, "– 2 git add *").await;
    assert_eq!(press(&world, &fewer, "Store this 1 rule").await, ONE_PART);
    assert_eq!(waiting.await.unwrap()["verdict"], "allow");
    only_the_first_part_holds(&world.daemon).await;
    world.is_clean();
}

#[tokio::test]
async fn the_parts_of_always_are_chosen_in_the_inbox() {
    let daemon = Daemon::start("").await;
    let visitor = Visitor::enter(&daemon.inbox).await;
    let mut board = visitor.follow().await;
    let waiting = daemon.waiting(shell(TWO_PARTS));
    let card = board.card(|card| has_button(card, "Always…")).await;
    visitor.press_label(&card, "Always…", None).await;
    let whole = board.card(|card| has_button(card, "Store these 2 rules")).await;
    visitor.press_label(&whole, "2 git add *", None).await;
    let fewer = board.card(|card| has_button(card, "– 2 git add *")).await;
    assert_eq!(visitor.press_label(&fewer, "Store this 1 rule", None).await, ONE_PART);
    assert_eq!(waiting.await.unwrap()["verdict"], "allow");
    only_the_first_part_holds(&daemon).await;
}

async fn only_the_first_part_holds(daemon: &Daemon) {
    assert_eq!(rules(daemon).await, ["shell: cargo test *"]);
    assert_eq!(verdict(daemon, "cargo test --doc").await, "allow");
    assert_eq!(verdict(daemon, "git add -A").await, "ask");
}
