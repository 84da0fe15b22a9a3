//! Keeps a gateway connection and answers what comes over it.

use crate::answer::answer;
use crate::errors::Problem;
use crate::gateway::{self, Gateway, Notice};
use crate::receive::Incoming;
use crate::{Config, Shared};
use countersign_port::{CancellationToken, Fatal, Health, Presses};
use std::sync::Arc;
use std::time::Duration;
use tokio::time::{Instant, MissedTickBehavior, interval, sleep};
use tracing::{info, warn};

/// Between two looks at the connection.
const LOOK: Duration = Duration::from_secs(1);
/// How long serenity may try to get a lost connection back before it is replaced. Doubled with every
/// vain try, because Discord grants 1000 sessions a day.
const PATIENCE: Duration = Duration::from_secs(10);
const MOST_PATIENCE: Duration = Duration::from_secs(160);
/// Discord wants a heartbeat every 41 s; after this long without one the connection is dead.
const SILENCE: Duration = Duration::from_secs(150);
/// A connection that ends sooner counts as a vain try.
const SETTLED: Duration = Duration::from_secs(60);
/// The longest pause between two tries to connect.
const PAUSE: Duration = Duration::from_secs(5);

/// How a connection came to its end.
enum End {
    /// The daemon stops.
    Stopped,
    /// Try again; `settled` where it had stood for a while.
    Lost { why: String, settled: bool },
}

/// Receives presses until `stop`.
pub(crate) async fn receive(
    shared: &Arc<Shared>,
    presses: Arc<dyn Presses>,
    stop: CancellationToken,
) -> Result<(), Fatal> {
    let mut vain = 0;
    loop {
        let end = connection(shared, &presses, &stop, vain).await?;
        match end {
            End::Stopped => return Ok(()),
            End::Lost { why, settled } => {
                vain = if settled { 0 } else { vain + 1 };
                warn!(why, "no connection to Discord; trying again");
                shared.set(Health::Down(why));
            }
        }
        let pause = PAUSE.min(Duration::from_millis(250) * 2_u32.saturating_pow(vain));
        tokio::select! {
            () = stop.cancelled() => return Ok(()),
            () = sleep(pause) => {}
        }
    }
}

/// One connection from its beginning to its end.
async fn connection(
    shared: &Arc<Shared>,
    presses: &Arc<dyn Presses>,
    stop: &CancellationToken,
    vain: u32,
) -> Result<End, Fatal> {
    let lost = |why: String, settled| Ok(End::Lost { why, settled });
    let opened = tokio::select! {
        () = stop.cancelled() => return Ok(End::Stopped),
        opened = open(shared) => opened,
    };
    let mut gateway = match opened {
        Ok(gateway) => gateway,
        Err(problem @ Problem::Unauthorized) => return Err(Fatal(problem.to_string())),
        Err(problem) => return lost(problem.to_string(), false),
    };
    let mut watch = Watch::new(MOST_PATIENCE.min(PATIENCE * 2_u32.saturating_pow(vain)));
    let mut look = interval(LOOK);
    look.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        tokio::select! {
            () = stop.cancelled() => {
                gateway.close().await;
                return Ok(End::Stopped);
            }
            notice = gateway.next() => match notice {
                Notice::Up => {
                    watch.up();
                    info!("connected to Discord");
                    shared.set(Health::Up);
                }
                Notice::Interaction(interaction) => {
                    if let Some(incoming) = Incoming::read(&interaction) {
                        take(shared.clone(), presses.clone(), incoming);
                    }
                }
                Notice::Ended(Some(error)) if gateway::is_refusal(&error) => {
                    return Err(Fatal(Problem::Unauthorized.to_string()));
                }
                Notice::Ended(error) => {
                    let why = error.map(|error| format!(": {error}")).unwrap_or_default();
                    return lost(format!("Discord's gateway ended the connection{why}"), watch.settled());
                }
            },
            _ = look.tick() => {
                if shared.rest.is_refused() {
                    return Err(Fatal(Problem::Unauthorized.to_string()));
                }
                let (connected, latency) = gateway.life().await;
                match watch.look(connected, latency, Instant::now()) {
                    Seen::Alive => {}
                    Seen::Away => {
                        let why = "the connection to Discord's gateway is being restored";
                        shared.set(Health::Down(why.to_owned()));
                    }
                    Seen::Back => shared.set(Health::Up),
                    Seen::Dead => {
                        let why = "the connection to Discord's gateway does not come back";
                        return lost(why.to_owned(), watch.settled());
                    }
                }
            }
        }
    }
}

/// Refuses to start where the gateway's address cannot be had: serenity would dial the real one.
async fn open(shared: &Shared) -> Result<Gateway, Problem> {
    let url = gateway::address(&shared.rest).await?;
    let Config { api_url, token } = &shared.config;
    Gateway::open(api_url, token, url).await.map_err(Problem::Unreachable)
}

/// Answers one press in a task of its own: nothing waits for another press.
fn take(shared: Arc<Shared>, presses: Arc<dyn Presses>, incoming: Incoming) {
    tokio::spawn(async move {
        answer(&shared.rest, &shared.turns, presses.as_ref(), &incoming).await;
    });
}

/// Notices a dead connection.
struct Watch {
    patience: Duration,
    first_up: Option<Instant>,
    up_now: bool,
    /// Since when it is not connected.
    away_since: Option<Instant>,
    /// The last sign of life, and what it was.
    heard: (Instant, Option<Duration>),
}

#[derive(Debug, PartialEq, Eq)]
enum Seen {
    Alive,
    /// It just went away.
    Away,
    /// It just came back.
    Back,
    Dead,
}

impl Watch {
    fn new(patience: Duration) -> Self {
        let now = Instant::now();
        let heard = (now, None);
        Self { patience, first_up: None, up_now: false, away_since: Some(now), heard }
    }

    fn up(&mut self) {
        let now = Instant::now();
        self.first_up.get_or_insert(now);
        (self.up_now, self.away_since) = (true, None);
        self.heard.0 = now;
    }

    /// Whether it stood long enough for the next connection not to be a hasty one.
    fn settled(&self) -> bool {
        self.first_up.is_some_and(|up| up.elapsed() >= SETTLED)
    }

    fn look(&mut self, connected: bool, latency: Option<Duration>, now: Instant) -> Seen {
        if latency != self.heard.1 {
            self.heard = (now, latency);
        }
        if now - self.heard.0 >= SILENCE {
            return Seen::Dead;
        }
        if connected {
            self.away_since = None;
            // The first time counts once Discord has said so.
            let was_up = self.first_up.is_some();
            let back = was_up && !std::mem::replace(&mut self.up_now, was_up);
            return if back { Seen::Back } else { Seen::Alive };
        }
        let since = *self.away_since.get_or_insert(now);
        if now - since >= self.patience {
            return Seen::Dead;
        }
        if std::mem::take(&mut self.up_now) { Seen::Away } else { Seen::Alive }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: Duration = Duration::from_secs(1);

    #[tokio::test]
    async fn a_connection_that_goes_away_may_come_back_within_its_patience() {
        let mut watch = Watch::new(10 * SECOND);
        watch.up();
        let now = Instant::now();
        assert_eq!(watch.look(true, None, now), Seen::Alive);
        assert_eq!(watch.look(false, None, now + SECOND), Seen::Away);
        assert_eq!(watch.look(false, None, now + 9 * SECOND), Seen::Alive);
        assert_eq!(watch.look(true, None, now + 10 * SECOND), Seen::Back);
        assert_eq!(watch.look(false, None, now + 11 * SECOND), Seen::Away);
        assert_eq!(watch.look(false, None, now + 21 * SECOND), Seen::Dead);
    }

    #[tokio::test]
    async fn a_connection_that_never_stands_is_dead_after_its_patience() {
        let mut watch = Watch::new(10 * SECOND);
        let now = Instant::now();
        assert_eq!(watch.look(false, None, now + 9 * SECOND), Seen::Alive);
        assert_eq!(watch.look(false, None, now + 11 * SECOND), Seen::Dead);
        assert!(!watch.settled());
    }

    #[tokio::test]
    async fn a_connection_without_heartbeats_is_dead_though_it_looks_connected() {
        let mut watch = Watch::new(10 * SECOND);
        watch.up();
        let now = Instant::now();
        assert_eq!(watch.look(true, Some(SECOND), now + 100 * SECOND), Seen::Alive);
        assert_eq!(watch.look(true, Some(SECOND), now + 249 * SECOND), Seen::Alive);
        assert_eq!(watch.look(true, Some(SECOND), now + 250 * SECOND), Seen::Dead);
    }
}
