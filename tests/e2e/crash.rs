//! The daemon is killed again and again, at random and at telling moments, under load from agents
//! and from people on every surface. Afterwards everything that anybody saw has to be true at once.
//!
//! `COUNTERSIGN_CRASHES=200` kills more often, `COUNTERSIGN_SEED=n` repeats a run's choices.

mod agents;
pub mod fixture;
pub mod judge;
mod ledger;
mod people;
mod shared;

use crate::{
    daemon::Daemon,
    telegram_server::{ANA, GROUP},
};
use fixture::{Entrance, Fixture};
use futures::future::join_all;
use rand::{Rng, SeedableRng, rngs::StdRng};
use std::{
    collections::BTreeMap,
    sync::Arc,
    time::{Duration, Instant},
};
use tokio::time::timeout;

/// How often the short form kills, in all of its scenarios together.
const KILLS: u64 = 8;
/// How many scenarios there are at the same time.
const SCENARIOS: u64 = 4;

/// How long everybody may take to end what they have begun.
const SETTLING_LIMIT: Duration = Duration::from_secs(90);

/// What one scenario went through.
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
    let scenarios =
        (0..SCENARIOS).map(|n| tokio::spawn(survive(kills.div_ceil(SCENARIOS), seed ^ n)));
    let scenarios = join_all(scenarios)
        .await
        .into_iter()
        .map(|scenario| scenario.expect("every promise holds"));
    let all = scenarios.reduce(|a, b| Figures {
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
    let mut fixture = Fixture::start().await;
    let mut daemon = Daemon::start(&fixture.config()).await;
    fixture.entrances.push(Entrance::to(&daemon));
    let fixture = Arc::new(fixture);
    let (mut asking, mut pressing) = fixture.spawn_people(seed, 8);
    fixture.entrances[0].inbox.send_replace(Some(daemon.inbox.clone()));
    for kill in 0..kills {
        fixture.trouble(&mut rng);
        fixture.moment(&mut rng).await;
        fixture.entrances[0].inbox.send_replace(None);
        daemon.kill().await;
        while rng.random_bool(0.2) {
            // It dies again before it is up.
            let life = Duration::from_millis(rng.random_range(0..150));
            if timeout(life, daemon.run()).await.is_ok() {
                fixture.entrances[0].inbox.send_replace(Some(daemon.inbox.clone()));
            }
            fixture.entrances[0].inbox.send_replace(None);
            daemon.kill().await;
        }
        daemon.run().await;
        fixture.entrances[0].inbox.send_replace(Some(daemon.inbox.clone()));
        acknowledged_presses_stand(&fixture, &daemon, kill).await;
        assert!(!gave_up(&mut asking) && !gave_up(&mut pressing), "somebody broke off, see above");
    }
    let lost_copies = close(&fixture, &mut asking, &mut pressing).await;
    let cases = judge(&fixture, &daemon).await;
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
async fn acknowledged_presses_stand(fixture: &Fixture, daemon: &Daemon, kill: u64) {
    let mut unproven: BTreeMap<_, _> = fixture.ledger.take_unproven().into_iter().collect();
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
    fixture: &Arc<Fixture>,
    asking: &mut tokio::task::JoinSet<()>,
    pressing: &mut tokio::task::JoinSet<()>,
) -> usize {
    fixture.no_new_asks.cancel();
    let answered = async {
        while let Some(ended) = asking.join_next().await {
            ended.expect("an agent gets its answer");
        }
    };
    timeout(SETTLING_LIMIT, answered).await.expect("every waiting agent gets its answer");
    // One more look at the log, by the reader who was there all the time.
    fixture.no_more_presses.cancel();
    while let Some(ended) =
        timeout(SETTLING_LIMIT, pressing.join_next()).await.expect("people stop pressing")
    {
        ended.expect("people are told the truth");
    }
    cards_end(fixture).await
}

/// Waits until every card shows the end. A copy in Telegram whose sending a crash kept from being
/// noted cannot be found again (Telegram lists no messages): it has to tell the truth when it is
/// pressed.
async fn cards_end(fixture: &Fixture) -> usize {
    let newest_are_closed = || {
        let mut newest = BTreeMap::new();
        for message in fixture.telegram.messages(GROUP) {
            if let Some(case) = judge::case_in(&message.text) {
                newest.insert(case, message.is_over());
            }
        }
        newest.values().all(|closed| *closed).then_some(())
    };
    let mut changes = fixture.telegram.changes();
    let closed = async {
        while newest_are_closed().is_none() {
            changes.changed().await.unwrap();
        }
    };
    timeout(SETTLING_LIMIT, closed).await.expect("Telegram's cards end");
    let mut changes = fixture.discord.changes();
    let closed = async {
        while !fixture.discord.open_messages().is_empty() {
            changes.changed().await.unwrap();
        }
    };
    let ended = timeout(SETTLING_LIMIT, closed).await;
    let (open, calls) = (fixture.discord.open_messages(), fixture.discord.calls());
    assert!(ended.is_ok(), "Discord's cards end: {open:#?} {:#?}", calls.iter().rev().take(20));
    let lost = fixture.telegram.open_cards(GROUP);
    for copy in &lost {
        let told = fixture.telegram.press(GROUP, copy.id, "Approve", ANA).await;
        let pressed = judge::case_in(&copy.text).unwrap();
        let press = fixture.ledger.presses(&pressed, "Ana (telegram)", true);
        fixture.ledger.told(&pressed, press, Some(told.text));
    }
    let none_left = || fixture.telegram.open_cards(GROUP).is_empty().then_some(());
    fixture.telegram.until("copies to be redrawn once pressed", none_left).await;
    lost.len()
}

/// Checks every promise on everything that was seen.
async fn judge(fixture: &Fixture, daemon: &Daemon) -> BTreeMap<String, ledger::Case> {
    let (_, open) = daemon.get("/v1/asks?state=open", crate::daemon::APPROVER).await;
    assert_eq!(open["asks"], serde_json::json!([]), "everything has ended");
    // A reader who was there all the time, and went on where it was told whenever its line broke,
    // missed nothing of the log.
    let (seen, last) = (fixture.ledger.events(), fixture.ledger.resume());
    // A reader waits at a gap in the numbers until it is sure that nothing comes to fill it.
    let quiet = async {
        let mut happened = fixture.ledger.happened.subscribe();
        let began = Instant::now();
        loop {
            let silent = timeout(Duration::from_millis(500), happened.changed()).await.is_err();
            let all = judge::ends(&fixture.ledger.events()).1.is_empty();
            if silent && (all || began.elapsed() > SETTLING_LIMIT) {
                return;
            }
        }
    };
    tokio::select! {
        () = people::read_events(fixture, 0) => {}
        () = quiet => {}
    }
    let events = fixture.ledger.events();
    let missed: Vec<_> = events.range(..=last).filter(|(id, _)| !seen.contains_key(id)).collect();
    assert!(missed.is_empty(), "the event stream left out {missed:?}");
    let (ends, mut wrong) = judge::ends(&events);
    let cases = fixture.ledger.cases();
    for (case, seen) in &cases {
        match ends.get(case) {
            Some(end) => wrong.extend(judge::contradictions(case, seen, end)),
            None => wrong.push(format!("{case} never came to an end")),
        }
    }
    let waits = |is_over: bool, text| (text, !is_over);
    let copies = fixture.telegram.messages(GROUP).into_iter().map(|m| waits(m.is_over(), m.text));
    let others = fixture.discord.messages().into_iter().map(|m| waits(m.is_over(), m.text));
    for (text, is_open) in copies.chain(others) {
        let Some(end) = judge::case_in(&text).and_then(|case| ends.get(&case)) else { continue };
        if is_open || !text.contains(&end.line()) {
            wrong.push(format!("a card (open: {is_open}) says {text:?}, but {end:?}"));
        }
    }
    assert!(wrong.is_empty(), "{} contradictions: {wrong:#?}", wrong.len());
    cases
}
