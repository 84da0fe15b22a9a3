//! The fixture: both chats, agents that ask and people who press, around daemons that come and go.

use super::{agents, ledger::Ledger, people};
use crate::{
    daemon::{AGENT, APPROVER, Daemon},
    discord_server::{self, FakeDiscord},
    telegram_server::{self, ANA, GROUP, TOKEN, Telegram},
};
use rand::{Rng, SeedableRng, rngs::StdRng};
use serde_json::Value;
use std::{path::PathBuf, sync::Arc, time::Duration};
use tokio::{sync::watch, task::JoinSet};
use tokio_util::sync::CancellationToken;

/// Everything but the daemons.
pub struct Fixture {
    pub telegram: Telegram,
    pub discord: FakeDiscord,
    pub ledger: Ledger,
    /// One for each daemon.
    pub entrances: Vec<Entrance>,
    /// Nobody asks for anything new.
    pub no_new_asks: CancellationToken,
    /// Nobody presses any more.
    pub no_more_presses: CancellationToken,
}

/// A way in to one daemon, whether it is up or not.
pub struct Entrance {
    /// Its config, for commands of the program.
    pub config: PathBuf,
    /// The inbox's address while the daemon is up.
    pub inbox: watch::Sender<Option<String>>,
    http: reqwest::Client,
}

impl Entrance {
    /// The way in to this daemon.
    pub fn to(daemon: &Daemon) -> Self {
        let socket = daemon.dir.path().join("countersign.sock");
        let http = reqwest::Client::builder().unix_socket(socket).no_proxy().build().unwrap();
        Self { config: daemon.config(), inbox: watch::Sender::new(None), http }
    }

    /// Waits until the daemon is up.
    pub async fn open(&self) -> String {
        let mut inbox = self.inbox.subscribe();
        let address = inbox.wait_for(Option::is_some).await.unwrap();
        address.clone().unwrap()
    }

    /// A GET; `None` when the daemon went away.
    pub async fn get(&self, path: &str) -> Option<(u16, Value)> {
        self.open().await;
        read(self.http.get(format!("http://daemon{path}")).bearer_auth(AGENT)).await
    }

    /// A POST as an agent; `None` when the daemon went away.
    pub async fn hand_in(&self, call: &Value) -> Option<(u16, Value)> {
        self.open().await;
        let request = self.http.post("http://daemon/v1/calls?wait=20").bearer_auth(AGENT);
        read(request.json(call)).await
    }

    /// A POST as an approver; `None` when the daemon went away.
    pub async fn answer(&self, ask: &str, answer: &Value) -> Option<(u16, Value)> {
        self.open().await;
        let url = format!("http://daemon/v1/asks/{ask}/answer");
        read(self.http.post(url).bearer_auth(APPROVER).json(answer)).await
    }

    /// The event stream, from after this event on; `None` when the daemon is away.
    pub async fn events(&self, after: i64) -> Option<reqwest::Response> {
        self.open().await;
        let request = self.http.get("http://daemon/v1/events").bearer_auth(APPROVER);
        request.header("last-event-id", after.to_string()).send().await.ok()
    }
}

async fn read(request: reqwest::RequestBuilder) -> Option<(u16, Value)> {
    let response = request.send().await.ok()?;
    let status = response.status().as_u16();
    Some((status, response.json().await.ok()?))
}

impl Fixture {
    /// A fixture without daemons. Discord's limits are off: they are not what is tried here.
    pub async fn start() -> Self {
        let (telegram, discord) = (Telegram::start().await, FakeDiscord::start().await);
        discord.without_limits();
        Self {
            telegram,
            discord,
            ledger: Ledger::default(),
            entrances: Vec::new(),
            no_new_asks: CancellationToken::new(),
            no_more_presses: CancellationToken::new(),
        }
    }

    /// The config of a daemon of this fixture.
    pub fn config(&self) -> String {
        format!(
            "[telegram]\ntoken = \"{TOKEN}\"\napi_url = \"{}\"\ntargets = [{{ chat = {GROUP} }}]\n\
             [discord]\ntoken = \"{}\"\napi_url = \"{}\"\ntargets = [{{ channel = \"{}\" }}]\n\
             [approvers]\ntelegram = [{}]\ndiscord = [\"9\"]\ninbox = true\n",
            self.telegram.url(),
            self.discord.token(),
            self.discord.url(),
            discord_server::CHANNEL,
            ANA.id
        )
    }

    /// A entrance that is open more often than not, for somebody who picks one.
    pub fn entrance(&self, rng: &mut StdRng) -> &Entrance {
        &self.entrances[rng.random_range(0..self.entrances.len())]
    }

    /// Sends everybody to work: agents, and people who press.
    pub fn spawn_people(self: &Arc<Self>, seed: u64, agents: u64) -> (JoinSet<()>, JoinSet<()>) {
        let rng = |n: u64| StdRng::seed_from_u64(seed.wrapping_mul(1_000).wrapping_add(n));
        let (mut asking, mut pressing) = (JoinSet::new(), JoinSet::new());
        for n in 0..agents {
            asking.spawn(agents::over_http(self.clone(), format!("h{n}"), rng(n)));
        }
        asking.spawn(agents::by_command(self.clone(), "c0".to_owned(), rng(100)));
        for n in 0..3 {
            pressing.spawn(people::in_telegram(self.clone(), rng(200 + n)));
            pressing.spawn(people::in_discord(self.clone(), rng(210 + n)));
        }
        pressing.spawn(people::at_the_inbox(self.clone(), rng(220)));
        pressing.spawn(people::with_the_token(self.clone(), rng(230)));
        pressing.spawn(people::who_only_watch(self.clone()));
        (asking, pressing)
    }

    /// An interesting moment: at random, or right after something was seen from outside.
    pub async fn moment(&self, rng: &mut StdRng) {
        let patience = Duration::from_millis(rng.random_range(20..500));
        let kind = rng.random_range(0..6);
        let seen = async {
            match kind {
                0 => self.telegram.next_call("sendmessage").await,
                1 => self.telegram.next_call("answercallbackquery").await,
                2 => drop(self.discord.changes().changed().await),
                3 => drop(self.ledger.pressed.subscribe().changed().await),
                4 => drop(self.ledger.happened.subscribe().changed().await),
                _ => std::future::pending().await,
            }
        };
        if tokio::time::timeout(patience, seen).await.is_ok() {
            tokio::time::sleep(Duration::from_micros(rng.random_range(0..6_000))).await;
        }
    }

    /// Something goes wrong with a platform, now and then.
    pub fn trouble(&self, rng: &mut StdRng) {
        use discord_server::Fault as Discord;
        use telegram_server::Fault as Telegram;
        let telegram = [
            Telegram::DropBefore,
            Telegram::DropAfter,
            Telegram::Garbled,
            Telegram::BadGateway,
            Telegram::RetryAfter(1),
        ];
        let discord = [
            Discord::DropBefore,
            Discord::DropAfter,
            Discord::Garbage,
            Discord::Html(502),
            Discord::Limited { retry_after: 0.5, global: false },
        ];
        let at = rng.random_range(0..5);
        match rng.random_range(0..8) {
            0 => self.telegram.fail("*", telegram[at].clone(), 1),
            1 => self.discord.fail("/messages", 1, discord[at].clone()),
            _ => {}
        }
    }
}
