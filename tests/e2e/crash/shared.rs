//! The same fixture around three daemons that share a PostgreSQL store: the leader is killed, frozen
//! past its lease and cut off from the store, and the database ends all of its connections, is
//! restarted, crashes and hangs.
//!
//! `COUNTERSIGN_FAILOVERS=20` is the long form: the one that kills the leader waits for another to
//! lead.

use super::{
    Fixture, acknowledged_presses_stand, close, fixture::Entrance, gave_up, judge, number,
};
use crate::{
    daemon::{AGENT, Daemon},
    line::{Line, Loses},
    postgres::Postgres,
    server::{Server, Stop},
};
use rand::{Rng, SeedableRng, rngs::StdRng, seq::IndexedRandom};
use std::{
    collections::BTreeMap,
    sync::Arc,
    time::{Duration, Instant},
};

/// What a round does to a daemon or to the store.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Blow {
    Kill,
    Freeze,
    CutOff,
    EndConnections,
    RestartServer,
    CrashServer,
    HangServer,
}

/// Every round of the short form waits for nobody.
const SHORT: [Blow; 5] =
    [Blow::Kill, Blow::EndConnections, Blow::CrashServer, Blow::Kill, Blow::RestartServer];
const LONG: [Blow; 7] = [
    Blow::Kill,
    Blow::Freeze,
    Blow::CutOff,
    Blow::EndConnections,
    Blow::RestartServer,
    Blow::CrashServer,
    Blow::HangServer,
];

/// A lease holds for 15 s: who is frozen or cut off for longer has lost it.
const PAST_THE_LEASE: Duration = Duration::from_secs(17);

/// The promise: another daemon leads within this.
const TAKEOVER: Duration = Duration::from_secs(20);

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nothing_is_lost_when_three_daemons_share_a_store_and_their_leader_falls() {
    let server = Server::start().await;
    let postgres = match &server {
        Some(server) => Some(Postgres::on(server.url()).await),
        None => Postgres::fresh().await,
    };
    let Some(postgres) = postgres else { return };
    let rounds = number("COUNTERSIGN_FAILOVERS");
    let seed = number("COUNTERSIGN_SEED").unwrap_or_else(rand::random);
    println!("COUNTERSIGN_FAILOVERS={rounds:?} COUNTERSIGN_SEED={seed}");
    let mut rng = StdRng::seed_from_u64(seed);
    let mut fixture = Fixture::start().await;
    let (mut daemons, mut lines) = (Vec::new(), Vec::new());
    for _ in 0..3 {
        let line = Line::to(&postgres.url()).await;
        let config = format!("{}[store]\nurl = \"{}\"\n", fixture.config(), line.url);
        let daemon = Daemon::start(&config).await;
        fixture.entrances.push(Entrance::to(&daemon));
        daemons.push(daemon);
        lines.push(line);
    }
    let fixture = Arc::new(fixture);
    let (mut asking, mut pressing) = fixture.spawn_people(seed, 8);
    for (entrance, daemon) in fixture.entrances.iter().zip(&daemons) {
        entrance.inbox.send_replace(Some(daemon.inbox.clone()));
    }
    let (mut blows, mut takeovers) = (BTreeMap::<Blow, u64>::new(), Vec::new());
    for round in 0..rounds.unwrap_or(SHORT.len() as u64) {
        fixture.moment(&mut rng).await;
        let blow = match rounds {
            None => SHORT[round as usize % SHORT.len()],
            Some(_) => *LONG.choose(&mut rng).unwrap(),
        };
        *blows.entry(blow).or_default() += 1;
        let at = match rounds {
            None => rng.random_range(0..daemons.len()),
            Some(_) => leader(&daemons).await,
        };
        let other = &daemons[(at + 1) % daemons.len()];
        let before = epoch(other).await;
        let began = Instant::now();
        let struck = fixture.clone();
        match blow {
            Blow::EndConnections => postgres.end_connections().await,
            Blow::RestartServer | Blow::CrashServer | Blow::HangServer => match &server {
                Some(server) => strike(server, blow, rounds.is_some(), &mut rng).await,
                None => postgres.end_connections().await,
            },
            Blow::Kill => {
                struck.entrances[at].inbox.send_replace(None);
                daemons[at].kill().await;
                if rounds.is_some() {
                    takeovers.push(taken_over(&daemons[(at + 1) % 3], before, began).await);
                }
                daemons[at].run().await;
            }
            Blow::Freeze | Blow::CutOff => {
                struck.entrances[at].inbox.send_replace(None);
                hold_back(&daemons[at], &lines[at], blow, true);
                takeovers.push(taken_over(other, before, began).await);
                tokio::time::sleep(PAST_THE_LEASE.saturating_sub(began.elapsed())).await;
                hold_back(&daemons[at], &lines[at], blow, false);
            }
        }
        struck.entrances[at].inbox.send_replace(Some(daemons[at].inbox.clone()));
        works(&daemons[at]).await;
        acknowledged_presses_stand(&fixture, &daemons[at], round).await;
        assert!(!gave_up(&mut asking) && !gave_up(&mut pressing), "somebody broke off, see above");
    }
    let lost_copies = close(&fixture, &mut asking, &mut pressing).await;
    let cases = judge(&fixture, &daemons[0]).await;
    let presses: usize = cases.values().map(|case| case.presses.len()).sum();
    println!(
        "{blows:?}, {} asks, {presses} presses, {lost_copies} lost copies; taken over after {takeovers:.1?}",
        cases.len()
    );
    drop((daemons, lines));
    postgres.drop().await;
}

/// The server is away for a moment; in the long form for up to longer than a lease.
async fn strike(server: &Server, blow: Blow, long: bool, rng: &mut StdRng) {
    let most = if long { 20_000 } else { 1_000 };
    let away = tokio::time::sleep(Duration::from_millis(rng.random_range(0..most)));
    match blow {
        Blow::HangServer => {
            server.freeze(true);
            away.await;
            server.freeze(false);
        }
        _ => {
            let how = if blow == Blow::CrashServer { Stop::Immediate } else { Stop::Fast };
            server.stop(how).await;
            away.await;
            server.start_again().await;
        }
    }
}

fn hold_back(daemon: &Daemon, line: &Line, blow: Blow, back: bool) {
    match blow {
        Blow::Freeze => daemon.signal(if back { "STOP" } else { "CONT" }),
        _ => line.loses(if back { Loses::Everything } else { Loses::Nothing }),
    }
}

/// How `/readyz` shows who leads for Telegram.
async fn telegram(daemon: &Daemon) -> serde_json::Value {
    daemon.get("/readyz", AGENT).await.1["adapters"]["telegram"]["leader"].clone()
}

async fn epoch(daemon: &Daemon) -> i64 {
    telegram(daemon).await["epoch"].as_i64().unwrap_or(0)
}

/// Waits until a daemon has its store again.
async fn works(daemon: &Daemon) {
    let began = Instant::now();
    while daemon.get("/readyz", AGENT).await.0 != 200 {
        assert!(began.elapsed() < TAKEOVER, "its store does not come back: {}", daemon.said());
    }
}

/// Which daemon leads, once one does.
async fn leader(daemons: &[Daemon]) -> usize {
    let began = Instant::now();
    loop {
        for (at, daemon) in daemons.iter().enumerate() {
            let ready = daemon.get("/readyz", AGENT).await.1;
            if ready["adapters"]["telegram"]["leader"]["holder"] == ready["daemon"] {
                return at;
            }
        }
        assert!(began.elapsed() < TAKEOVER, "nobody leads");
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
}

/// Waits until another daemon leads; how long that took.
async fn taken_over(daemon: &Daemon, before: i64, began: Instant) -> Duration {
    while epoch(daemon).await <= before {
        assert!(began.elapsed() < TAKEOVER, "nobody takes over within {TAKEOVER:?}");
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    began.elapsed()
}
