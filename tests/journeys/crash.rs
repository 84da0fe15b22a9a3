//! The daemon is killed again and again, at random and at telling moments, under load from agents
//! and from people on every surface. Afterwards everything that anybody saw has to be true at once.
//!
//! `COUNTERSIGN_CRASHES=200` kills more often, `COUNTERSIGN_SEED=n` repeats a run's choices.

mod agents;
pub mod judge;
mod ledger;
mod people;
mod shared;
pub mod town;

use crate::{
    daemon::Daemon,
    telegram_server::{ANA, GROUP},
};
use futures::future::join_all;
use rand::{Rng, SeedableRng, rngs::StdRng};
use std::{
    collections::BTreeMap,
    sync::Arc,
    time::{Duration, Instant},
};
use tokio::time::timeout;
use town::{Door, Town};

/// How often the short form kills, in all of its towns together.
const KILLS: u64 = 8;
/// How many towns there are at the same time.
const TOWNS: u64 = 4;

/// How long everybody may take to end what they have begun.
const EVENING: Duration = Duration::from_secs(90);

/// What one town went through.
#[derive(Debug, Default, Clone, Copy)]
struct Figures {
    kills: u64,
    asks: usize,
    presses: usize,
    acknowledged: usize,
    /// Copies of cards in Telegram that a crash kept from being known.
    lost_copies: usize,
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nothing_is_lost_or_answered_twice_when_the_daemon_is_killed_at_any_moment() {
    let began = Instant::now();
    let kills = number("COUNTERSIGN_CRASHES").unwrap_or(KILLS);
    let seed = number("COUNTERSIGN_SEED").unwrap_or_else(rand::random);
    println!("COUNTERSIGN_CRASHES={kills} COUNTERSIGN_SEED={seed}");
    let towns = (0..TOWNS).map(|n| tokio::spawn(survive(kills.div_ceil(TOWNS), seed ^ n)));
    let towns = join_all(towns).await.into_iter().map(|town| town.expect("a town's promises"));
    let all = towns.reduce(|a, b| Figures {
        kills: a.kills + b.kills,
        asks: a.asks + b.asks,
        presses: a.presses + b.presses,
        acknowledged: a.acknowledged + b.acknowledged,
        lost_copies: a.lost_copies + b.lost_copies,
    });
    println!("{:?} in {:?}", all.unwrap(), began.elapsed());
}

/// A number from the environment.
pub fn number(name: &str) -> Option<u64> {
    Some(std::env::var(name).ok()?.parse().expect("a number"))
}

async fn survive(kills: u64, seed: u64) -> Figures {
    let mut rng = StdRng::seed_from_u64(seed);
    let mut town = Town::found().await;
    let mut daemon = Daemon::start(&town.config()).await;
    town.doors.push(Door::to(&daemon));
    let town = Arc::new(town);
    let (mut asking, mut pressing) = town.wake(seed, 8);
    town.doors[0].inbox.send_replace(Some(daemon.inbox.clone()));
    for kill in 0..kills {
        town.trouble(&mut rng);
        town.moment(&mut rng).await;
        town.doors[0].inbox.send_replace(None);
        daemon.kill().await;
        while rng.random_bool(0.2) {
            // It dies again before it is up.
            let life = Duration::from_millis(rng.random_range(0..150));
            if timeout(life, daemon.run()).await.is_ok() {
                town.doors[0].inbox.send_replace(Some(daemon.inbox.clone()));
            }
            town.doors[0].inbox.send_replace(None);
            daemon.kill().await;
        }
        daemon.run().await;
        town.doors[0].inbox.send_replace(Some(daemon.inbox.clone()));
        acknowledged_presses_stand(&town, &daemon, kill).await;
        assert!(!gave_up(&mut asking) && !gave_up(&mut pressing), "somebody broke off, see above");
    }
    let lost_copies = close(&town, &mut asking, &mut pressing).await;
    let cases = judge(&town, &daemon).await;
    let presses = cases.values().flat_map(|case| &case.presses);
    Figures {
        kills,
        asks: cases.len(),
        presses: presses.clone().count(),
        acknowledged: presses.filter(|press| press.is_acknowledged()).count(),
        lost_copies,
    }
}

/// Whether somebody's task ended, which it does only by panicking.
fn gave_up(tasks: &mut tokio::task::JoinSet<()>) -> bool {
    tasks.try_join_next().is_some()
}

/// What was acknowledged before the crash stands after it.
async fn acknowledged_presses_stand(town: &Town, daemon: &Daemon, kill: u64) {
    let mut unproven: BTreeMap<_, _> = town.ledger.take_unproven().into_iter().collect();
    if unproven.is_empty() {
        return;
    }
    for ask in daemon.all_in("answered").await {
        let case = judge::case_in(ask["call"]["args"]["command"].as_str().unwrap()).unwrap();
        let Some(press) = unproven.remove(&case) else { continue };
        let verdict = if press.approves { "allow" } else { "deny" };
        assert_eq!(ask["verdict"], verdict, "after kill {kill}: {press:?}, but {ask}");
    }
    assert!(unproven.is_empty(), "after kill {kill}: acknowledged, and not answered: {unproven:?}");
}

/// Everybody ends what they have begun and goes home; returns how many lost copies were found.
async fn close(
    town: &Arc<Town>,
    asking: &mut tokio::task::JoinSet<()>,
    pressing: &mut tokio::task::JoinSet<()>,
) -> usize {
    town.evening.cancel();
    let answered = async {
        while let Some(ended) = asking.join_next().await {
            ended.expect("an agent gets its answer");
        }
    };
    timeout(EVENING, answered).await.expect("every waiting agent gets its answer");
    // One more look at the log, by the reader who was there all the time.
    town.night.cancel();
    while let Some(ended) = timeout(EVENING, pressing.join_next()).await.expect("people go home") {
        ended.expect("people are told the truth");
    }
    cards_end(town).await
}

/// Waits until every card shows the end. A copy in Telegram whose sending a crash kept from being
/// noted cannot be found again (Telegram lists no messages): it has to tell the truth when it is
/// pressed.
async fn cards_end(town: &Town) -> usize {
    let newest_are_closed = || {
        let mut newest = BTreeMap::new();
        for message in town.telegram.messages(GROUP) {
            if let Some(case) = judge::case_in(&message.text) {
                newest.insert(case, message.buttons.is_empty());
            }
        }
        newest.values().all(|closed| *closed).then_some(())
    };
    let mut changes = town.telegram.changes();
    let closed = async {
        while newest_are_closed().is_none() {
            changes.changed().await.unwrap();
        }
    };
    timeout(EVENING, closed).await.expect("Telegram's cards end");
    let mut changes = town.discord.changes();
    let closed = async {
        while !town.discord.open_messages().is_empty() {
            changes.changed().await.unwrap();
        }
    };
    let ended = timeout(EVENING, closed).await;
    let (open, calls) = (town.discord.open_messages(), town.discord.calls());
    assert!(ended.is_ok(), "Discord's cards end: {open:#?} {:#?}", calls.iter().rev().take(20));
    let lost = town.telegram.open_cards(GROUP);
    for copy in &lost {
        let told = town.telegram.press(GROUP, copy.id, "Approve", ANA).await;
        let pressed = judge::case_in(&copy.text).unwrap();
        let press = town.ledger.presses(&pressed, "Ana (telegram)", true);
        town.ledger.told(&pressed, press, Some(told.text));
    }
    let none_left = || town.telegram.open_cards(GROUP).is_empty().then_some(());
    town.telegram.until("copies to be redrawn once pressed", none_left).await;
    lost.len()
}

/// Checks every promise on everything that was seen.
async fn judge(town: &Town, daemon: &Daemon) -> BTreeMap<String, ledger::Case> {
    let (_, open) = daemon.get("/v1/asks?state=open", crate::daemon::AGENT).await;
    assert_eq!(open["asks"], serde_json::json!([]), "everything has ended");
    // A reader who was there all the time, and went on where it was told whenever its line broke,
    // missed nothing of what stands in the log.
    let (seen, last) = (town.ledger.events(), town.ledger.resume());
    // A reader waits at a gap in the numbers until it is sure that nothing comes to fill it.
    let quiet = async {
        let mut happened = town.ledger.happened.subscribe();
        let began = Instant::now();
        loop {
            let silent = timeout(Duration::from_millis(500), happened.changed()).await.is_err();
            let all = judge::ends(&town.ledger.events()).1.is_empty();
            if silent && (all || began.elapsed() > EVENING) {
                return;
            }
        }
    };
    tokio::select! {
        () = people::read_events(town, 0) => {}
        () = quiet => {}
    }
    let events = town.ledger.events();
    let missed: Vec<_> = events.range(..=last).filter(|(id, _)| !seen.contains_key(id)).collect();
    assert!(missed.is_empty(), "the event stream left out {missed:?}");
    let (ends, mut wrong) = judge::ends(&events);
    let cases = town.ledger.cases();
    for (case, seen) in &cases {
        match ends.get(case) {
            Some(end) => wrong.extend(judge::contradictions(case, seen, end)),
            None => wrong.push(format!("{case} never came to an end")),
        }
    }
    let copies = town.telegram.messages(GROUP).into_iter().map(|m| (m.text, m.buttons.len()));
    let copies =
        copies.chain(town.discord.messages().into_iter().map(|m| (m.text, m.buttons.len())));
    for (text, buttons) in copies {
        let Some(end) = judge::case_in(&text).and_then(|case| ends.get(&case)) else { continue };
        if buttons > 0 || !text.contains(&end.line()) {
            wrong.push(format!("a card with {buttons} buttons says {text:?}, but {end:?}"));
        }
    }
    assert!(wrong.is_empty(), "{} contradictions: {wrong:#?}", wrong.len());
    cases
}
