//! Keeps a gateway connection and answers what comes over it.

use crate::answer::answer;
use crate::commands::register;
use crate::config::DiscordConfig;
use crate::errors::Problem;
use crate::gateway::{self, Gateway, Notice};
use crate::receive::Incoming;
use crate::shared::DiscordBot;
use crate::watch::{ConnectionChange, Watch};
use crate::written;
use countersign_port::{CancellationToken, Presses};
use std::sync::Arc;
use std::time::Duration;
use tokio::time::{Instant, MissedTickBehavior, interval, sleep};
use tracing::{debug, info, warn};

/// Between two looks at the connection.
const LOOK: Duration = Duration::from_secs(1);
/// How long serenity may try to get a lost connection back before it is replaced. Doubled with
/// every session that did not last, because Discord grants 1000 of them a day.
const PATIENCE: Duration = Duration::from_secs(10);
const MOST_PATIENCE: Duration = Duration::from_secs(160);
/// The longest pause between two tries to connect.
const PAUSE: Duration = Duration::from_secs(5);
/// The same where Discord refuses every connection: 1000 of them a day are one in 86 s.
const REFUSED_PAUSE: Duration = Duration::from_secs(120);

/// How a connection came to its end.
enum End {
    /// The daemon stops.
    Stopped,
    /// Discord was not reached at all.
    Unreached(String),
    /// It was reached.
    Lost { why: String, kind: Lost },
}

/// What kind of a connection was lost.
enum Lost {
    /// It had been up for a while.
    Settled,
    /// It had not been up for long.
    Hasty,
    /// Discord closed it for good: nothing changes until the bot's settings do.
    Refused,
}

/// Receives presses until `stop`.
pub(crate) async fn receive(
    shared: &Arc<DiscordBot>,
    presses: Arc<dyn Presses>,
    stop: CancellationToken,
) {
    let (mut tries, mut hasty) = (0_u32, 0_u32);
    loop {
        let patience = MOST_PATIENCE.min(PATIENCE * 2_u32.saturating_pow(hasty));
        let mut longest = PAUSE;
        let why = match connection(shared, &presses, &stop, patience).await {
            End::Stopped => return,
            End::Unreached(why) => {
                tries = tries.saturating_add(1);
                why
            }
            End::Lost { why, kind } => {
                hasty = if matches!(kind, Lost::Settled) { 0 } else { hasty.saturating_add(1) };
                tries = hasty;
                if matches!(kind, Lost::Refused) {
                    longest = REFUSED_PAUSE;
                }
                why
            }
        };
        deaf(shared, why);
        let pause = longest.min(Duration::from_millis(250) * 2_u32.saturating_pow(tries.min(16)));
        tokio::select! {
            () = stop.cancelled() => return,
            () = sleep(pause) => {}
        }
    }
}

/// Says what is wrong, once.
fn deaf(shared: &DiscordBot, why: String) {
    if shared.signals.deaf(&*why) {
        warn!(why, "Discord brings no presses; trying again");
    } else {
        debug!(why, "Discord still brings no presses");
    }
}

/// One connection from its beginning to its end.
async fn connection(
    shared: &Arc<DiscordBot>,
    presses: &Arc<dyn Presses>,
    stop: &CancellationToken,
    patience: Duration,
) -> End {
    let opened = tokio::select! {
        () = stop.cancelled() => return End::Stopped,
        opened = open(shared) => opened,
    };
    let mut gateway = match opened {
        Ok(gateway) => gateway,
        Err(problem) => return End::Unreached(problem.to_string()),
    };
    let (mut watch, mut me) = (Watch::new(patience), None);
    let mut look = interval(LOOK);
    look.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        let over = tokio::select! {
            () = stop.cancelled() => {
                gateway.close().await;
                return End::Stopped;
            }
            notice = gateway.next() => hear((shared, presses), &mut watch, &mut me, notice),
            _ = look.tick() => check(shared, &gateway, &mut watch).await,
        };
        if let Some(end) = over {
            return end;
        }
    }
}

/// Refuses to start where the gateway's address cannot be had: serenity would dial the real one.
async fn open(shared: &DiscordBot) -> Result<Gateway, Problem> {
    let url = gateway::address(&shared.rest).await?;
    let DiscordConfig { api_url, token, .. } = &shared.config;
    Gateway::open(api_url, token, url).await.map_err(Problem::Unreachable)
}

/// Takes in what the connection reports; how it ended, if it did.
fn hear(
    (shared, presses): (&Arc<DiscordBot>, &Arc<dyn Presses>),
    watch: &mut Watch,
    me: &mut Option<String>,
    notice: Notice,
) -> Option<End> {
    match notice {
        Notice::Up(named) => {
            watch.up(Instant::now());
            if named.is_some() {
                *me = named;
            }
            let (looking, core) = (shared.clone(), presses.clone());
            tokio::spawn(async move { register(&looking, core.commands()).await });
            if shared.signals.listening() {
                info!("connected to Discord");
            }
            None
        }
        Notice::Interaction(interaction) => {
            if let Some(incoming) = Incoming::read(&interaction) {
                take(shared.clone(), presses.clone(), incoming);
            }
            None
        }
        Notice::Message(message) => {
            if let Some(me) = me.clone() {
                let (shared, core) = (shared.clone(), presses.clone());
                tokio::spawn(async move { written::take(&shared, &*core, &message, &me).await });
            }
            None
        }
        Notice::Ended(error) => {
            if let Some(why) = error.as_ref().and_then(gateway::refusal) {
                return Some(End::Lost { why, kind: Lost::Refused });
            }
            let why = error.map_or_else(
                || "Discord's gateway ended the connection".to_owned(),
                |error| format!("Discord's gateway ended it: {error}"),
            );
            Some(lost(watch, why))
        }
    }
}

/// Looks after the connection; how it ended, if it is to be replaced.
async fn check(shared: &DiscordBot, gateway: &Gateway, watch: &mut Watch) -> Option<End> {
    if shared.rest.is_refused() {
        return Some(lost(watch, Problem::Unauthorized.to_string()));
    }
    let (connected, latency) = gateway.life().await;
    match watch.look(connected, latency, Instant::now()) {
        ConnectionChange::Alive => {}
        ConnectionChange::Away => {
            deaf(shared, "the connection to its gateway is being restored".to_owned())
        }
        ConnectionChange::Back => {
            shared.signals.listening();
        }
        ConnectionChange::Dead => {
            return Some(lost(watch, "its gateway does not answer any more".to_owned()));
        }
    }
    None
}

fn lost(watch: &Watch, why: String) -> End {
    End::Lost { why, kind: if watch.settled() { Lost::Settled } else { Lost::Hasty } }
}

/// Answers one press in a task of its own: nothing waits for another press.
fn take(shared: Arc<DiscordBot>, presses: Arc<dyn Presses>, incoming: Incoming) {
    tokio::spawn(async move {
        answer(&shared, presses.as_ref(), &incoming).await;
    });
}
