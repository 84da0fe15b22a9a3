//! Keeps a gateway connection and answers what comes over it.

use crate::answer::answer;
use crate::errors::Problem;
use crate::gateway::{self, Gateway, Notice};
use crate::receive::Incoming;
use crate::watch::{Seen, Watch};
use crate::{Config, Shared};
use countersign_port::{CancellationToken, Fatal, Health, Presses};
use std::sync::Arc;
use std::time::Duration;
use tokio::time::{Instant, MissedTickBehavior, interval, sleep};
use tracing::{debug, info, warn};

/// Between two looks at the connection.
const LOOK: Duration = Duration::from_secs(1);
/// How long serenity may try to get a lost connection back before it is replaced. Doubled with every
/// session that did not last, because Discord grants 1000 of them a day.
const PATIENCE: Duration = Duration::from_secs(10);
const MOST_PATIENCE: Duration = Duration::from_secs(160);
/// The longest pause between two tries to connect.
const PAUSE: Duration = Duration::from_secs(5);

/// How a connection came to its end.
enum End {
    /// The daemon stops.
    Stopped,
    /// Discord was not reached at all.
    Unreached(String),
    /// It was reached; `settled` where the connection had stood for a while.
    Lost { why: String, settled: bool },
}

/// Receives presses until `stop`.
pub(crate) async fn receive(
    shared: &Arc<Shared>,
    presses: Arc<dyn Presses>,
    stop: CancellationToken,
) -> Result<(), Fatal> {
    let (mut tries, mut hasty) = (0_u32, 0_u32);
    loop {
        let patience = MOST_PATIENCE.min(PATIENCE * 2_u32.saturating_pow(hasty));
        let why = match connection(shared, &presses, &stop, patience).await? {
            End::Stopped => return Ok(()),
            End::Unreached(why) => {
                tries = tries.saturating_add(1);
                why
            }
            End::Lost { why, settled } => {
                hasty = if settled { 0 } else { hasty.saturating_add(1) };
                tries = hasty;
                why
            }
        };
        down(shared, why);
        let pause = PAUSE.min(Duration::from_millis(250) * 2_u32.saturating_pow(tries));
        tokio::select! {
            () = stop.cancelled() => return Ok(()),
            () = sleep(pause) => {}
        }
    }
}

/// Says what is wrong, once.
fn down(shared: &Shared, why: String) {
    if shared.set(Health::Down(why.clone())) {
        warn!(why, "no connection to Discord; trying again");
    } else {
        debug!(why, "still no connection to Discord");
    }
}

/// One connection from its beginning to its end.
async fn connection(
    shared: &Arc<Shared>,
    presses: &Arc<dyn Presses>,
    stop: &CancellationToken,
    patience: Duration,
) -> Result<End, Fatal> {
    let opened = tokio::select! {
        () = stop.cancelled() => return Ok(End::Stopped),
        opened = open(shared) => opened,
    };
    let mut gateway = match opened {
        Ok(gateway) => gateway,
        Err(problem @ Problem::Unauthorized) => return Err(Fatal(problem.to_string())),
        Err(problem) => return Ok(End::Unreached(problem.to_string())),
    };
    let mut watch = Watch::new(patience);
    let mut look = interval(LOOK);
    look.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        let over = tokio::select! {
            () = stop.cancelled() => {
                gateway.close().await;
                return Ok(End::Stopped);
            }
            notice = gateway.next() => hear(shared, presses, &mut watch, notice)?,
            _ = look.tick() => check(shared, &gateway, &mut watch).await?,
        };
        if let Some(why) = over {
            return Ok(End::Lost { why, settled: watch.settled() });
        }
    }
}

/// Refuses to start where the gateway's address cannot be had: serenity would dial the real one.
async fn open(shared: &Shared) -> Result<Gateway, Problem> {
    let url = gateway::address(&shared.rest).await?;
    let Config { api_url, token } = &shared.config;
    Gateway::open(api_url, token, url).await.map_err(Problem::Unreachable)
}

/// Takes in what the connection reports; why it is over, if it is.
fn hear(
    shared: &Arc<Shared>,
    presses: &Arc<dyn Presses>,
    watch: &mut Watch,
    notice: Notice,
) -> Result<Option<String>, Fatal> {
    match notice {
        Notice::Up => {
            watch.up(Instant::now());
            info!("connected to Discord");
            shared.set(Health::Up);
            Ok(None)
        }
        Notice::Interaction(interaction) => {
            if let Some(incoming) = Incoming::read(&interaction) {
                take(shared.clone(), presses.clone(), incoming);
            }
            Ok(None)
        }
        Notice::Ended(Some(error)) if gateway::is_refusal(&error) => {
            Err(Fatal(Problem::Unauthorized.to_string()))
        }
        Notice::Ended(Some(error)) => Ok(Some(format!("Discord's gateway ended it: {error}"))),
        Notice::Ended(None) => Ok(Some("Discord's gateway ended the connection".to_owned())),
    }
}

/// Looks after the connection; why it is to be replaced, if it is.
async fn check(
    shared: &Shared,
    gateway: &Gateway,
    watch: &mut Watch,
) -> Result<Option<String>, Fatal> {
    if shared.rest.is_refused() {
        return Err(Fatal(Problem::Unauthorized.to_string()));
    }
    let (connected, latency) = gateway.life().await;
    match watch.look(connected, latency, Instant::now()) {
        Seen::Alive => {}
        Seen::Away => down(shared, "the connection to its gateway is being restored".to_owned()),
        Seen::Back => {
            shared.set(Health::Up);
        }
        Seen::Dead => return Ok(Some("its gateway does not answer any more".to_owned())),
    }
    Ok(None)
}

/// Answers one press in a task of its own: nothing waits for another press.
fn take(shared: Arc<Shared>, presses: Arc<dyn Presses>, incoming: Incoming) {
    tokio::spawn(async move {
        answer(&shared.rest, &shared.turns, presses.as_ref(), &incoming).await;
    });
}
