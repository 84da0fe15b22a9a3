//! All surfaces press the same ask at the same moment, and the deadline falls right then: one
//! winner, and everybody else is told who it was, in the same words.
//!
//! `COUNTERSIGN_RACES=500` runs more rounds, `COUNTERSIGN_SEED=n` repeats a run's choices.

use crate::{
    crash::{fixture::Fixture, judge::End, number},
    daemon::{Daemon, LONG, shell},
    discord_server::{Person, Posted},
    inbox_visitor::Visitor,
    telegram_server::{ANA, GROUP},
};
use futures::{StreamExt, stream};
use rand::{Rng, SeedableRng, rngs::StdRng};
use serde_json::{Value, json};
use std::{collections::BTreeMap, sync::Arc, time::Duration};

/// How many rounds the short form runs.
const ROUNDS: u64 = 24;
/// How many are run at the same time.
const AT_ONCE: usize = 12;

/// What a surface's presser was told, with their name and whether they approved.
type Told = (&'static str, bool, String);

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn of_all_surfaces_and_the_deadline_at_once_one_wins_and_every_loser_is_told_who() {
    let rounds = number("COUNTERSIGN_RACES").unwrap_or(ROUNDS);
    let seed = number("COUNTERSIGN_SEED").unwrap_or_else(rand::random);
    println!("COUNTERSIGN_RACES={rounds} COUNTERSIGN_SEED={seed}");
    let fixture = Arc::new(Fixture::start().await);
    let daemon = Arc::new(Daemon::start(&fixture.config()).await);
    fixture.discord.until_online().await;
    let race = |n| {
        let rng = StdRng::seed_from_u64(seed.wrapping_add(n));
        tokio::spawn(round(fixture.clone(), daemon.clone(), n, rng))
    };
    let races = stream::iter(0..rounds).map(race).buffer_unordered(AT_ONCE);
    let winners: Vec<_> = races.map(|won| won.expect("a round")).collect().await;
    let mut won: BTreeMap<String, usize> = BTreeMap::new();
    for winner in winners {
        *won.entry(winner).or_default() += 1;
    }
    println!("{rounds} rounds, won by {won:?}");
}

/// One ask, pressed on every surface at once; returns who won.
async fn round(fixture: Arc<Fixture>, daemon: Arc<Daemon>, n: u64, mut rng: StdRng) -> String {
    let case = format!("case-r-{n}");
    let mut call = shell(&format!("git push origin {case}"));
    call["session"] = json!(case);
    // Requests of one folder that come at once share a message.
    call["cwd"] = json!(format!("/home/ana/{case}"));
    let has_deadline = rng.random_bool(0.6);
    if has_deadline {
        call["expires_in_s"] = json!(3);
    }
    let visitor = Visitor::enter(&daemon.inbox).await;
    let mut board = visitor.follow().await;
    let id = daemon.ask(&call).await;
    let here = |text: &str| text.contains(&format!("{case}\n"));
    let open = |card: &Value| card["card"]["tone"] == "open" && card["card"]["ask"] == json!(id);
    let cards = async {
        tokio::join!(
            board.card(open),
            fixture.telegram.until("a card", || {
                let card =
                    fixture.telegram.open_cards(GROUP).into_iter().find(|it| here(&it.text))?;
                // The phone still shows them when the deadline has taken them away.
                let button = |label| fixture.telegram.button(GROUP, card.id, label);
                Some((card.id, ["Approve", "Deny"].map(button)))
            }),
            stands_in_discord(&fixture, here),
        )
    };
    let (page, chat, channel) = tokio::select! {
        cards = cards => cards,
        // A slow machine: there is nothing left to race for.
        _ = daemon.closed(&id) => return "expired unseen".to_owned(),
    };
    if has_deadline {
        aim_at_the_deadline(&daemon, &id, &mut rng).await;
    }
    let said =
        press_everywhere(&fixture, &daemon, (&visitor, &page), chat, &channel, &id, &mut rng);
    let said = tokio::time::timeout(LONG, said).await.expect("everybody is told something");
    let end = end(&daemon.closed(&id).await);
    for (by, approves, told) in &said {
        let won = end.kind == "answered" && end.by() == *by;
        let right = match (won, *approves) {
            (true, true) => "Approved once.".to_owned(),
            (true, false) => "Denied.".to_owned(),
            (false, _) => end.too_late(),
        };
        assert_eq!(*told, right, "{by} in {end:?}; all: {said:?}");
        assert!(!won || *approves == end.approves(), "{by} in {end:?}");
    }
    if end.kind == "answered" { end.by() } else { end.kind }
}

/// Waits for the open card in Discord.
async fn stands_in_discord(fixture: &Fixture, here: impl Fn(&str) -> bool) -> Posted {
    let mut changes = fixture.discord.changes();
    loop {
        let open = fixture.discord.open_messages();
        if let Some(card) = open.into_iter().find(|card| here(&card.text)) {
            return card;
        }
        changes.changed().await.unwrap();
    }
}

/// Waits until about the moment at which the ask expires: a little before, or a little after.
async fn aim_at_the_deadline(daemon: &Daemon, id: &str, rng: &mut StdRng) {
    let ask = daemon.read(id).await;
    let deadline: jiff::Timestamp = ask["deadline"].as_str().unwrap().parse().unwrap();
    let left = deadline.as_millisecond() - jiff::Timestamp::now().as_millisecond();
    let aim = u64::try_from(left - rng.random_range(-5..150)).unwrap_or(0);
    tokio::time::sleep(Duration::from_millis(aim)).await;
}

async fn press_everywhere(
    fixture: &Fixture,
    daemon: &Daemon,
    (visitor, page): (&Visitor, &Value),
    (chat, buttons): (i64, [String; 2]),
    channel: &Posted,
    id: &str,
    rng: &mut StdRng,
) -> [Told; 4] {
    let approves: [bool; 4] = rng.random();
    let delays: [Duration; 4] =
        std::array::from_fn(|_| Duration::from_micros(rng.random_range(0..4_000)));
    let label = |approves: bool| if approves { "Approve" } else { "Deny" };
    let rik = Person::new("9", "Rik");
    let decision = json!({"decision": if approves[3] { "approve" } else { "deny" }});
    let button = &buttons[usize::from(!approves[0])];
    let at = channel.buttons.iter().position(|button| button == label(approves[1])).unwrap();
    let in_telegram = async {
        tokio::time::sleep(delays[0]).await;
        let query = fixture.telegram.press_data(GROUP, chat, button, ANA);
        fixture.telegram.told(&query).await.text
    };
    let in_discord = async {
        tokio::time::sleep(delays[1]).await;
        let told = fixture.discord.press_token(&channel.reference, &channel.tokens[at], &rik).await;
        told.words().unwrap_or_default()
    };
    let at_the_inbox = async {
        tokio::time::sleep(delays[2]).await;
        visitor.press_label(page, label(approves[2]), None).await
    };
    let with_the_token = async {
        tokio::time::sleep(delays[3]).await;
        let (_, told) = daemon.answer(id, &decision).await;
        told["message"].as_str().unwrap_or_default().to_owned()
    };
    let said = tokio::join!(in_telegram, in_discord, at_the_inbox, with_the_token);
    [
        ("Ana (telegram)", approves[0], said.0),
        ("Rik (discord)", approves[1], said.1),
        ("the local inbox", approves[2], said.2),
        ("the approver's token", approves[3], said.3),
    ]
}

/// How the ask ended, from how the API shows it.
fn end(ask: &Value) -> End {
    let mut answer = ask["answer"].clone();
    let at: jiff::Timestamp = answer["at"].as_str().unwrap().parse().unwrap();
    answer["at"] = json!(at.as_millisecond());
    let kind = ask["state"].as_str().unwrap().to_owned();
    End { ask: ask["id"].as_str().unwrap().to_owned(), kind, answer }
}
