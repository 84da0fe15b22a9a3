//! ConnectOnion's agents over their own wire, with cards in Telegram and Discord.

mod cards;
mod clients;
mod lines;

use crate::{
    connectonion_peer::{Ran, Wire, batch, call, wanted},
    daemon::{AGENT, APPROVER, Daemon},
    discord_server::{CHANNEL, FakeDiscord, Person, Posted},
    telegram_server::{ANA, GROUP, Message, TOKEN, Telegram},
};
use serde_json::{Value, json};

const QUERY: &str = "agent=shop-bot&session=seven&cwd=/home/ana/shop";

fn with_telegram(telegram: &Telegram) -> String {
    format!(
        "[policy]\nprofile = \"connectonion\"\n[telegram]\ntoken = \"{TOKEN}\"\napi_url = \"{}\"\n\
         targets = [{{ chat = {GROUP} }}]\n[approvers]\ntelegram = [{}]\ninbox = true\n",
        telegram.url(),
        ANA.id
    )
}

async fn telegram() -> (Telegram, Daemon, Wire) {
    let telegram = Telegram::start().await;
    let daemon = Daemon::start(&with_telegram(&telegram)).await;
    let wire = Wire::connect(&daemon, AGENT, QUERY).await;
    (telegram, daemon, wire)
}

async fn discord() -> (FakeDiscord, Daemon, Wire) {
    let discord = FakeDiscord::start().await;
    let daemon = Daemon::start(&format!(
        "[policy]\nprofile = \"connectonion\"\n[discord]\ntoken = \"{}\"\napi_url = \"{}\"\n\
         targets = [{{ channel = \"{CHANNEL}\" }}]\n[approvers]\ndiscord = [\"{}\"]\n",
        discord.token(),
        discord.url(),
        ana().id
    ))
    .await;
    discord.until_online().await;
    let wire = Wire::connect(&daemon, AGENT, QUERY).await;
    (discord, daemon, wire)
}

fn ana() -> Person {
    Person::new("4211", "Ana")
}

async fn card(telegram: &Telegram) -> Message {
    telegram.until("an open card", || telegram.open_cards(GROUP).pop()).await
}

async fn closed(telegram: &Telegram, id: i64) -> Message {
    let done = || Some(telegram.message(GROUP, id)).filter(|message| message.is_over());
    telegram.until("a closed card", done).await
}

async fn posted(discord: &FakeDiscord, words: &str) -> Posted {
    discord.until(|message| !message.is_over() && message.text.contains(words)).await
}

fn install() -> Vec<Value> {
    vec![
        call("c1", "bash", json!({ "command": "npm install", "description": "Install packages" })),
        call("c2", "write", json!({ "file_path": "config.json", "content": "{}" })),
        call("c3", "bash", json!({ "command": "npm run deploy" })),
    ]
}

fn ids(ids: &[&str]) -> Vec<String> {
    ids.iter().map(|id| (*id).to_owned()).collect()
}
