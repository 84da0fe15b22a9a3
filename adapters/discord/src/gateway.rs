//! The gateway connection over which presses arrive: kept, watched, and what comes over it answered.
//!
//! serenity's client lives in a runtime of its own: its tasks outlive the client they belong to, so
//! ending that runtime is the one sure and quick way to be rid of a connection, whatever its state.
//! Whether it is dead is found out here, whatever serenity thinks of it.

use crate::answer::Incoming;
use crate::answer::answer;
use crate::bot::DiscordBot;
use crate::commands::register;
use crate::errors::Problem;
use crate::platform::{DiscordConfig, is_discord};
use crate::rest::Rest;
use crate::written;
use countersign_port::{CancellationToken, Presses, RetryScope};
use serde_json::Value;
use serenity::all::{
    Client, ClientBuilder, Context, EventHandler, GatewayError, GatewayIntents, HttpBuilder,
    Interaction, Message, Ready, ResumedEvent, ShardManager,
};
use serenity::gateway::ConnectionStage;
use std::sync::Arc;
use std::time::Duration;
use tokio::runtime::{Builder, Runtime};
use tokio::sync::{mpsc, oneshot};
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
    /// It had been up for a while.
    Settled(String),
    /// It had not been up for long.
    Hasty(String),
    /// Discord closed it for good: nothing changes until the bot's settings do.
    Refused(String),
}

/// Receives presses until `stop`.
pub(crate) async fn receive(
    shared: &Arc<DiscordBot>,
    presses: Arc<dyn Presses>,
    stop: CancellationToken,
) {
    let mut tries = 0_u32;
    let mut hasty = 0_u32;
    loop {
        let patience = MOST_PATIENCE.min(PATIENCE * 2_u32.saturating_pow(hasty));
        let end = connection(shared, &presses, &stop, patience).await;
        (tries, hasty) = match end {
            End::Stopped => return,
            End::Unreached(_) => (tries.saturating_add(1), hasty),
            End::Settled(_) => (0, 0),
            End::Hasty(_) | End::Refused(_) => (hasty.saturating_add(1), hasty.saturating_add(1)),
        };
        let (why, longest) = match end {
            End::Stopped => return,
            End::Unreached(why) | End::Settled(why) | End::Hasty(why) => (why, PAUSE),
            End::Refused(why) => (why, REFUSED_PAUSE),
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
    let mut watch = Watch::new(patience);
    let mut me = None;
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
    let url = address(&shared.rest).await?;
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
            let looking = shared.clone();
            let core = presses.clone();
            tokio::spawn(async move { register(&looking, core.commands()).await });
            if shared.signals.listening() {
                info!("connected to Discord");
            }
            None
        }
        Notice::Interaction(interaction) => {
            if let Some(incoming) = Incoming::read(&interaction) {
                let shared = shared.clone();
                let core = presses.clone();
                // In a task of its own: nothing waits for another press.
                tokio::spawn(async move { answer(&shared, &*core, &incoming).await });
            }
            None
        }
        Notice::Message(message) => {
            if let Some(me) = me.clone() {
                let shared = shared.clone();
                let core = presses.clone();
                tokio::spawn(async move { written::take(&shared, &*core, &message, &me).await });
            }
            None
        }
        Notice::Ended(error) => {
            if let Some(why) = error.as_ref().and_then(refusal) {
                return Some(End::Refused(why));
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
    if watch.settled() { End::Settled(why) } else { End::Hasty(why) }
}

/// How long a farewell may take; serenity hears of it within 500 ms.
const FAREWELL: Duration = Duration::from_secs(1);

/// What the connection reports.
#[derive(Debug)]
pub(crate) enum Notice {
    /// It is up (again); whose it is, where Discord says so.
    Up(Option<String>),
    /// Somebody did something.
    Interaction(Box<Interaction>),
    /// Somebody wrote something.
    Message(Box<Message>),
    /// It ended for good.
    Ended(Option<serenity::Error>),
}

/// A connection to Discord's gateway.
pub(crate) struct Gateway {
    _runtime: Life,
    notices: mpsc::UnboundedReceiver<Notice>,
    shards: Arc<ShardManager>,
}

/// Where the gateway is. Asks with the token, so that a refused one is found before it is dialled.
///
/// serenity would dial the real gateway where this fails; we do not start it then.
pub(crate) async fn address(rest: &Rest) -> Result<String, Problem> {
    let told = rest.get("/gateway/bot").await?;
    let left = told.pointer("/session_start_limit/remaining").and_then(Value::as_u64);
    if left == Some(0) {
        let wait = told.pointer("/session_start_limit/reset_after").and_then(Value::as_u64);
        let after = Duration::from_millis(wait.unwrap_or(60_000));
        return Err(Problem::Wait { after, scope: RetryScope::Account });
    }
    let url = told.get("url").and_then(Value::as_str).map(str::to_owned);
    url.ok_or_else(|| Problem::Unreachable("its answer names no gateway".to_owned()))
}

impl Gateway {
    /// Connects to the gateway at `url`.
    pub(crate) async fn open(api_url: &str, token: &str, url: String) -> Result<Self, String> {
        let mut runtime = Builder::new_multi_thread();
        runtime.worker_threads(1).thread_name("discord-gateway").enable_all();
        let runtime = runtime.build().map_err(|error| error.to_string())?;
        let runtime = Life(Some(runtime));
        let (notify, notices) = mpsc::unbounded_channel();
        let (hand_over, shards) = oneshot::channel();
        let client = builder(api_url, token).event_handler(Handler(notify.clone()));
        runtime.spawn(async move {
            let started = async {
                let mut client: Client = client.await?;
                *client.ws_url.lock().await = url;
                let _ = hand_over.send(client.shard_manager.clone());
                client.start().await
            };
            let _ = notify.send(Notice::Ended(started.await.err()));
        });
        let shards = shards.await.map_err(|_| "the gateway client does not start".to_owned())?;
        Ok(Self { _runtime: runtime, notices, shards })
    }

    /// The next thing that happens.
    pub(crate) async fn next(&mut self) -> Notice {
        self.notices.recv().await.unwrap_or(Notice::Ended(None))
    }

    /// What serenity says of the connection: whether it is up, and its latency, which changes with
    /// every heartbeat.
    pub(crate) async fn life(&self) -> (bool, Option<Duration>) {
        let runners = self.shards.runners.lock().await;
        let runner = runners.values().next();
        let connected = runner.is_some_and(|runner| runner.stage == ConnectionStage::Connected);
        (connected, runner.and_then(|runner| runner.latency))
    }

    /// Says farewell, so that Discord shows the bot as away at once.
    pub(crate) async fn close(self) {
        let _ = tokio::time::timeout(FAREWELL, self.shards.shutdown_all()).await;
    }
}

/// A runtime that ends, with all its tasks and at once, when it is dropped.
struct Life(Option<Runtime>);

impl Life {
    fn spawn(&self, task: impl Future<Output = ()> + Send + 'static) {
        self.0.as_ref().map(|runtime| runtime.spawn(task));
    }
}

impl Drop for Life {
    fn drop(&mut self) {
        if let Some(runtime) = self.0.take() {
            runtime.shutdown_background();
        }
    }
}

/// Why Discord closed the connection for good, and how to fix it: its close codes 4004 and 4010 to
/// 4014.
pub(crate) fn refusal(error: &serenity::Error) -> Option<String> {
    let serenity::Error::Gateway(error) = error else { return None };
    let why = match error {
        GatewayError::InvalidAuthentication => return Some(Problem::Unauthorized.to_string()),
        GatewayError::InvalidShardData => "it refuses the shard (4010)",
        GatewayError::OverloadedShard => "the bot is in too many servers for one connection (4011)",
        GatewayError::Closed(Some(frame)) if u16::from(frame.code) == 4012 => {
            "it does not know this version of its API any more (4012)"
        }
        GatewayError::InvalidGatewayIntents => "it refuses the intents as invalid (4013)",
        GatewayError::DisallowedGatewayIntents => "it refuses the intents (4014)",
        _ => return None,
    };
    Some(format!(
        "Discord's gateway closes every connection: {why}; look at the bot in the developer \
         portal, and \
         whether a newer countersign is out"
    ))
}

/// serenity ignores another API address unless its limiter is off.
fn builder(api_url: &str, token: &str) -> ClientBuilder {
    let http = HttpBuilder::new(token);
    let http =
        if is_discord(api_url) { http } else { http.proxy(api_url).ratelimiter_disabled(true) };
    ClientBuilder::new_with_http(http.build(), INTENTS)
}

/// Replies to cards and words in private channels. None of them is privileged.
const INTENTS: GatewayIntents =
    GatewayIntents::GUILD_MESSAGES.union(GatewayIntents::DIRECT_MESSAGES);

struct Handler(mpsc::UnboundedSender<Notice>);

#[serenity::async_trait]
impl EventHandler for Handler {
    async fn ready(&self, _: Context, ready: Ready) {
        let _ = self.0.send(Notice::Up(Some(ready.user.id.to_string())));
    }

    async fn resume(&self, _: Context, _: ResumedEvent) {
        let _ = self.0.send(Notice::Up(None));
    }

    async fn message(&self, _: Context, message: Message) {
        let _ = self.0.send(Notice::Message(Box::new(message)));
    }

    async fn interaction_create(&self, _: Context, interaction: Interaction) {
        let _ = self.0.send(Notice::Interaction(Box::new(interaction)));
    }
}

/// Discord wants a heartbeat every 41 s; after this long without one the connection is dead.
const SILENCE: Duration = Duration::from_secs(150);
/// A connection that ends sooner was a hasty one.
const SETTLED: Duration = Duration::from_secs(60);

/// What is known of a connection's life.
pub(crate) struct Watch {
    patience: Duration,
    first_up: Option<Instant>,
    up_now: bool,
    /// Since when it is not connected.
    away_since: Option<Instant>,
    /// The last sign of life, and what it was.
    heard: (Instant, Option<Duration>),
}

/// What a look shows.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum ConnectionChange {
    /// Nothing new.
    Alive,
    /// It just went away.
    Away,
    /// It just came back.
    Back,
    /// It will not come back by itself.
    Dead,
}

impl Watch {
    /// For a connection that may be away for as long as `patience`.
    pub(crate) fn new(patience: Duration) -> Self {
        let now = Instant::now();
        let heard = (now, None);
        Self { patience, first_up: None, up_now: false, away_since: Some(now), heard }
    }

    /// Discord says that it is up (again).
    pub(crate) fn up(&mut self, now: Instant) {
        self.first_up.get_or_insert(now);
        (self.up_now, self.away_since) = (true, None);
        self.heard.0 = now;
    }

    /// Whether it was up long enough for the next connection not to be a hasty one.
    pub(crate) fn settled(&self) -> bool {
        self.first_up.is_some_and(|up| up.elapsed() >= SETTLED)
    }

    /// Whether serenity calls it connected, and the latency of its last heartbeat.
    pub(crate) fn look(
        &mut self,
        connected: bool,
        latency: Option<Duration>,
        now: Instant,
    ) -> ConnectionChange {
        if latency != self.heard.1 {
            self.heard = (now, latency);
        }
        if now - self.heard.0 >= SILENCE {
            return ConnectionChange::Dead;
        }
        if connected {
            self.away_since = None;
            // The first time counts once Discord has said so.
            let was_up = self.first_up.is_some();
            let back = was_up && !std::mem::replace(&mut self.up_now, was_up);
            return if back { ConnectionChange::Back } else { ConnectionChange::Alive };
        }
        let since = *self.away_since.get_or_insert(now);
        if now - since >= self.patience {
            return ConnectionChange::Dead;
        }
        if std::mem::take(&mut self.up_now) {
            ConnectionChange::Away
        } else {
            ConnectionChange::Alive
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests fail by panicking")]

    use super::*;
    use tokio::io::AsyncReadExt;

    #[tokio::test]
    async fn a_gateway_behind_tls_is_greeted_in_tls() {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let url = format!("wss://localhost:{}", address.port());
        let api = format!("http://{address}");
        let opening = tokio::spawn(async move { Gateway::open(&api, "token", url).await });
        // The first to come is serenity's own request for the gateway, which it may do without.
        drop(listener.accept().await.unwrap());
        let (mut dialled, _) = listener.accept().await.unwrap();
        let mut first = [0; 1];
        dialled.read_exact(&mut first).await.unwrap();
        assert_eq!(first, [0x16], "a TLS handshake begins with a record of type 22");
        drop(opening.await.unwrap().unwrap());
    }

    const SECOND: Duration = Duration::from_secs(1);

    #[tokio::test]
    async fn a_connection_that_goes_away_may_come_back_within_its_patience() {
        let mut watch = Watch::new(10 * SECOND);
        let now = Instant::now();
        watch.up(now);
        assert_eq!(watch.look(true, None, now), ConnectionChange::Alive);
        assert_eq!(watch.look(false, None, now + SECOND), ConnectionChange::Away);
        assert_eq!(watch.look(false, None, now + 9 * SECOND), ConnectionChange::Alive);
        assert_eq!(watch.look(true, None, now + 10 * SECOND), ConnectionChange::Back);
        assert_eq!(watch.look(false, None, now + 11 * SECOND), ConnectionChange::Away);
        assert_eq!(watch.look(false, None, now + 21 * SECOND), ConnectionChange::Dead);
    }

    #[tokio::test]
    async fn a_connection_that_never_stands_is_dead_after_its_patience() {
        let mut watch = Watch::new(10 * SECOND);
        let now = Instant::now();
        assert_eq!(watch.look(false, None, now + 9 * SECOND), ConnectionChange::Alive);
        assert_eq!(watch.look(false, None, now + 11 * SECOND), ConnectionChange::Dead);
        assert!(!watch.settled());
    }

    #[tokio::test]
    async fn a_connection_without_heartbeats_is_dead_though_it_looks_connected() {
        let mut watch = Watch::new(10 * SECOND);
        let now = Instant::now();
        watch.up(now);
        assert_eq!(watch.look(true, Some(SECOND), now + 100 * SECOND), ConnectionChange::Alive);
        assert_eq!(watch.look(true, Some(SECOND), now + 249 * SECOND), ConnectionChange::Alive);
        assert_eq!(watch.look(true, Some(SECOND), now + 250 * SECOND), ConnectionChange::Dead);
    }
}
