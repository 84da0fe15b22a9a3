//! Those who press, on every surface, and one who only watches.

use super::{fixture::Fixture, judge::case_in, ledger::Happened};
use crate::{
    discord_server::{Person, Told},
    inbox_visitor::Visitor,
    telegram_server::{ANA, EVE, GROUP},
};
use rand::{Rng, rngs::StdRng};
use serde_json::{Value, json};
use std::{sync::Arc, time::Duration};
use tokio::time::timeout;

/// How long somebody looks at a chat in which nothing happens.
const GLANCE: Duration = Duration::from_millis(300);
/// After this a press counts as never answered; a crash can lose the answer, but not the truth.
const PATIENCE: Duration = Duration::from_secs(8);

/// Ana, on her phone; sometimes Eve, who may not.
pub async fn in_telegram(fixture: Arc<Fixture>, mut rng: StdRng) {
    let telegram = &fixture.telegram;
    let mut changes = telegram.changes();
    while !fixture.no_more_presses.is_cancelled() {
        changes.mark_unchanged();
        let cards = telegram.open_cards(GROUP);
        if cards.is_empty() {
            let _ = timeout(GLANCE, changes.changed()).await;
            continue;
        }
        let card = &cards[rng.random_range(0..cards.len())];
        let Some(case) = case_in(&card.text) else { continue };
        think(&mut rng).await;
        let approves = rng.random_bool(0.6);
        let label = if approves { "Approve" } else { "Deny" };
        let Some(button) = telegram.standing_button(GROUP, card.id, label) else { continue };
        if rng.random_bool(0.05) {
            let query = telegram.press_data(GROUP, card.id, &button, EVE);
            if let Ok(told) = timeout(PATIENCE, telegram.told(&query)).await {
                let fault = told.text.starts_with("This could not be recorded")
                    || told.text.starts_with("Connection to the database lost");
                assert!(fault || told.text.starts_with("You may not answer this"), "{told:?}");
            }
            continue;
        }
        let press = fixture.ledger.presses(&case, "Ana (telegram)", approves);
        let query = telegram.press_data(GROUP, card.id, &button, ANA);
        let told = timeout(PATIENCE, telegram.told(&query)).await;
        fixture.ledger.told(&case, press, told.ok().map(|told| told.text));
    }
}

/// Rik, in Discord.
pub async fn in_discord(fixture: Arc<Fixture>, mut rng: StdRng) {
    let (discord, rik) = (&fixture.discord, Person::new("9", "Rik"));
    let mut changes = discord.changes();
    while !fixture.no_more_presses.is_cancelled() {
        changes.mark_unchanged();
        let cards = discord.open_messages();
        if cards.is_empty() || !discord.is_online() {
            let _ = timeout(GLANCE, changes.changed()).await;
            continue;
        }
        let card = &cards[rng.random_range(0..cards.len())];
        let Some(case) = case_in(&card.text) else { continue };
        think(&mut rng).await;
        let approves = rng.random_bool(0.6);
        let label = if approves { "Approve" } else { "Deny" };
        let Some(at) = card.buttons.iter().position(|button| button == label) else { continue };
        let press = fixture.ledger.presses(&case, "Rik (discord)", approves);
        let told = discord.press_token(&card.reference, &card.tokens[at], &rik).await;
        // "This interaction failed": nothing was acknowledged.
        let words = if told == Told::Failed { None } else { told.words() };
        fixture.ledger.told(&case, press, words);
    }
}

/// Somebody with the inbox open, who goes in again whenever the page is gone.
pub async fn at_the_inbox(fixture: Arc<Fixture>, mut rng: StdRng) {
    while !fixture.no_more_presses.is_cancelled() {
        let address = fixture.entrance(&mut rng).inbox.borrow().clone();
        let visit = async { visit(&fixture, &mut rng, address.as_deref()?).await };
        if visit.await.is_none() {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    }
}

/// One visit, until the page is gone.
async fn visit(fixture: &Fixture, rng: &mut StdRng, address: &str) -> Option<()> {
    let visitor = Visitor::try_enter(address).await.ok()?;
    let mut board = visitor.try_follow().await.ok()?;
    while !fixture.no_more_presses.is_cancelled() {
        if let Ok(event) = timeout(GLANCE, board.next()).await {
            event?;
        }
        let open = |card: &&Value| card["card"]["tone"] == "open";
        let cards: Vec<_> = board.cards.iter().filter(open).collect();
        if cards.is_empty() || rng.random_bool(0.7) {
            continue;
        }
        let card = &cards[rng.random_range(0..cards.len())]["card"];
        let Some(case) = case_in(&card.to_string()) else { continue };
        let approves = rng.random_bool(0.6);
        let label = if approves { "Approve" } else { "Deny" };
        let mut buttons =
            card["buttons"].as_array()?.iter().flat_map(|row| row.as_array().unwrap());
        let button = buttons.find(|button| button["label"] == label)?;
        let (id, token) = (card["id"].as_str()?, button["token"].as_str()?);
        let press = fixture.ledger.presses(&case, "the local inbox", approves);
        let told = visitor.try_press(id, token, None).await.ok();
        let words = told.as_ref().and_then(|(_, told)| told["sentence"].as_str());
        fixture.ledger.told(&case, press, words.map(str::to_owned));
        told?;
    }
    Some(())
}

/// A script with the approver's token.
pub async fn with_the_token(fixture: Arc<Fixture>, mut rng: StdRng) {
    while !fixture.no_more_presses.is_cancelled() {
        tokio::time::sleep(Duration::from_millis(rng.random_range(20..120))).await;
        let entrance = fixture.entrance(&mut rng);
        let list = tokio::select! {
            list = entrance.get("/v1/asks?state=open") => list,
            () = fixture.no_more_presses.cancelled() => return,
        };
        let Some((200, list)) = list else { continue };
        let asks = list["asks"].as_array().unwrap();
        if asks.is_empty() {
            continue;
        }
        let ask = &asks[rng.random_range(0..asks.len())];
        let case = case_in(ask["call"]["args"]["command"].as_str().unwrap()).unwrap();
        let approves = rng.random_bool(0.6);
        let answer = json!({"decision": if approves { "approve" } else { "deny" }});
        let press = fixture.ledger.presses(&case, "the approver's token", approves);
        let told = tokio::select! {
            told = entrance.answer(ask["id"].as_str().unwrap(), &answer) => told,
            () = fixture.no_more_presses.cancelled() => None,
        };
        let words = told.filter(|(status, _)| *status == 200);
        let words = words.and_then(|(_, told)| told["message"].as_str().map(str::to_owned));
        fixture.ledger.told(&case, press, words);
    }
}

/// Reads the event stream, over every restart, from where the last one broke.
pub async fn who_only_watch(fixture: Arc<Fixture>) {
    while !fixture.no_more_presses.is_cancelled() {
        tokio::select! {
            () = read_events(&fixture, fixture.ledger.resume()) => {}
            () = fixture.no_more_presses.cancelled() => return,
        }
    }
}

/// Reads what happened after this event, until the stream breaks.
pub async fn read_events(fixture: &Fixture, after: i64) {
    for entrance in fixture.entrances.iter().filter(|entrance| entrance.inbox.borrow().is_some()) {
        let Some(mut stream) = entrance.events(after).await else { continue };
        let mut text = String::new();
        while let Ok(Some(chunk)) = stream.chunk().await {
            text.push_str(&String::from_utf8_lossy(&chunk));
            while let Some(end) = text.find("\n\n") {
                let event: String = text.drain(..end + 2).collect();
                let line = |name| event.lines().find_map(|l| l.strip_prefix(name)).map(str::trim);
                let (Some(resume), Some(kind)) = (line("id:"), line("event:")) else { continue };
                let data: Value = serde_json::from_str(line("data:").unwrap()).unwrap();
                let ask = data["ask"]["id"].as_str().map(str::to_owned);
                let told = match kind {
                    "asked" => data["ask"]["call"]["args"]["command"].clone(),
                    _ => data["data"].clone(),
                };
                let event = Happened { kind: kind.to_owned(), ask, data: told };
                fixture.ledger.happened(data["id"].as_i64().unwrap(), event);
                fixture.ledger.go_on_at(resume.parse().unwrap());
            }
        }
        return;
    }
    // Nobody is up: look again soon.
    tokio::time::sleep(Duration::from_millis(10)).await;
}

/// A person looks before they press.
async fn think(rng: &mut StdRng) {
    tokio::time::sleep(Duration::from_millis(rng.random_range(0..60))).await;
}
