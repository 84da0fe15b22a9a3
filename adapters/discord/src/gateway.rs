//! The connection over which presses arrive.
//!
//! serenity's client lives in a runtime of its own: its tasks outlive the client they belong to, so
//! ending that runtime is the one sure and quick way to be rid of a connection, whatever its state.

use crate::config::is_discord;
use crate::errors::Problem;
use crate::rest::Rest;
use countersign_port::RetryScope;
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
}
