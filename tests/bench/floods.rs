//! What a flood looks like in a chat with the limits of a real one, with and without messages that
//! are shared: `cargo bench --bench floods`.
//!
//! It runs by the clock, for about twenty minutes: without shared messages each card and each of
//! its redraws waits for its turn. `COUNTERSIGN_FLOOD=40` takes fewer requests.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::print_stdout,
    clippy::cast_precision_loss,
    unreachable_pub,
    reason = "a bench may panic, and prints"
)]

#[allow(unused_imports, reason = "nobody presses in it here")]
#[path = "../support/discord.rs"]
mod discord;
#[path = "../support/telegram.rs"]
mod telegram;

use countersign::{
    bridge::{Term, deliver},
    gate::{
        Audience, Choices, Gate, GateSettings, Limits, OnTimeout, Policy, SubmitOutcome,
        ask::{Ask, Scope},
        call::Call,
    },
    people::{
        answer::Action,
        approvers::{Approvers, Local, Who},
        routes::Routes,
    },
    policy::Guardrail,
    profiles::Profile,
    store::{Database, Store},
};
use countersign_port::{
    Adapter, CancellationToken, Card, MessageRef, NamedAdapter, Pace, Posting, Presses, SendError,
    Signals, Target, async_trait,
};
use discord::{CHANNEL, FakeDiscord};
use serde_json::json;
use std::{
    sync::Arc,
    time::{Duration, Instant},
};
use telegram::{GROUP, Telegram};
use tokio::sync::watch;

/// How often it is looked how far the chat is.
const LOOK: Duration = Duration::from_millis(100);
/// The name of the request that another agent has beside the flood.
const OTHER: &str = "git push origin other";

#[tokio::main]
async fn main() {
    let flood = std::env::var("COUNTERSIGN_FLOOD").ok().and_then(|count| count.parse().ok());
    let flood = flood.unwrap_or(200);
    println!("{flood} requests of one agent and one of another, into one chat");
    println!(
        "{:<34} {:>12} {:>12} {:>10} {:>12}",
        "", "answerable", "the other's", "messages", "closed"
    );
    tokio::join!(
        telegram(flood, true),
        telegram(flood, false),
        discord(flood, true),
        discord(flood, false)
    );
}

async fn telegram(flood: usize, shares: bool) {
    let server = Telegram::start().await;
    server.limit_as_a_group();
    let (token, api_url) = (server.token().to_owned(), server.url().to_owned());
    let adapter = countersign_telegram::Telegram::new(countersign_telegram::TelegramConfig {
        token,
        api_url,
    });
    let chat = FloodedChat::open("telegram", adapter, GROUP.to_string(), shares).await;
    let messages = || -> Vec<(String, bool)> {
        let messages = server.messages(GROUP).into_iter();
        messages.map(|it| (it.text.clone(), !it.buttons.is_empty())).collect()
    };
    chat.flood(flood, messages).await;
}

async fn discord(flood: usize, shares: bool) {
    let server = FakeDiscord::start().await;
    let (token, api_url) = (server.token().to_owned(), server.url().to_owned());
    let config = countersign_discord::DiscordConfig { token, api_url, mention: None };
    let adapter = countersign_discord::Discord::new(config);
    let chat = FloodedChat::open("discord", adapter, CHANNEL.to_owned(), shares).await;
    let messages = || -> Vec<(String, bool)> {
        let messages = server.messages().into_iter();
        messages.map(|it| (it.text.clone(), !it.buttons.is_empty())).collect()
    };
    chat.flood(flood, messages).await;
}

/// A daemon's core with one chat.
struct FloodedChat {
    what: String,
    gate: Arc<Gate>,
    store: Store,
    _folder: tempfile::TempDir,
}

impl FloodedChat {
    async fn open(
        name: &'static str,
        adapter: impl Adapter + 'static,
        target: String,
        shares: bool,
    ) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let database = Database::Sqlite(folder.path().join("flood.db"));
        let store = Store::open(&database).await.unwrap();
        let gate = Gate::new(store.clone(), choices(name, &target));
        let hour = Duration::from_secs(3600);
        let fence = store.take_lease(name, "bench", hour).await.unwrap().unwrap();
        let (term, stop) = (Arc::new(Term::new(fence, None)), CancellationToken::new());
        let adapter = NamedAdapter { name, adapter: Arc::new(MaybePaced { adapter, shares }) };
        let adapters = watch::channel([].into()).1;
        let (delivering, own) = (gate.clone(), store.clone());
        tokio::spawn(deliver(delivering, own, adapter, adapters, target, term, stop));
        let how = if shares { "shared messages" } else { "a card for each" };
        Self { what: format!("{name}, {how}"), gate, store, _folder: folder }
    }

    /// `messages` are the texts in the chat, each with whether it has buttons.
    async fn flood(&self, flood: usize, messages: impl Fn() -> Vec<(String, bool)>) {
        let began = Instant::now();
        let mut asks = Vec::new();
        for n in 0..flood {
            asks.push(self.ask("noisy", &format!("git push origin build-{n}")).await);
        }
        asks.push(self.ask("quiet", OTHER).await);
        let mut other = None;
        loop {
            let stands = || messages().iter().any(|(text, _)| text.contains(OTHER));
            other = other.or_else(|| stands().then(|| began.elapsed()));
            let late = self.store.late_cards(i64::MAX).await.unwrap();
            if other.is_some() && late.iter().all(|late| late.cards == 0) {
                break;
            }
            tokio::time::sleep(LOOK).await;
        }
        let (answerable, posted) = (began.elapsed(), messages().len());
        let closing = Instant::now();
        for ask in asks {
            let who =
                Who { platform: "api", id: "api".into(), name: "Ben".into(), roles: Vec::new() };
            let _ = self.gate.answer(ask, who, Action::Approve { scope: Scope::Once }).await;
        }
        while messages().iter().any(|(_, open)| *open) {
            tokio::time::sleep(LOOK).await;
        }
        let [answerable, other, closed] = [answerable, other.unwrap(), closing.elapsed()]
            .map(|it| format!("{:.1} s", it.as_secs_f64()));
        println!("{:<34} {answerable:>12} {other:>12} {posted:>10} {closed:>12}", self.what);
    }

    async fn ask(&self, agent: &str, command: &str) -> Ask {
        let call = json!({"agent": agent, "session": "s", "tool": "shell_exec", "cwd": "/home/a",
            "args": {"command": command}});
        let call: Call = serde_json::from_value(call).unwrap();
        match self.gate.submit(call, false).await.unwrap() {
            SubmitOutcome::Asked(ask, _) => *ask,
            SubmitOutcome::Ruled(decision) => panic!("{command} is not asked: {decision:?}"),
        }
    }
}

fn choices(adapter: &str, target: &str) -> Choices {
    let policy = Policy::open(Profile::Standard, None, None, Guardrail::default(), false);
    let settings = GateSettings {
        late_yes_s: 86_400,
        timeout_ms: 86_400_000,
        on_timeout: OnTimeout::Deny,
        mode: None,
        home: None,
        host: "here".to_owned(),
        daemon: "bench".to_owned(),
        inbox: String::new(),
        limits: Limits { asks_a_minute_per_session: u64::MAX, ..Limits::default() },
        keep_ms: 86_400_000,
    };
    let approvers = Approvers { local: Local::On, ..Approvers::default() };
    let audience = vec![Audience {
        adapter: adapter.to_owned(),
        target: target.to_owned(),
        thread_idle_ms: None,
    }];
    Choices {
        policy: Arc::new(policy.unwrap()),
        approvers,
        audience,
        routes: Routes::default(),
        reviews: Vec::new(),
        settings,
    }
}

/// An adapter that may keep to itself how fast its platform takes messages, so that none is shared.
struct MaybePaced<A> {
    adapter: A,
    shares: bool,
}

#[async_trait]
impl<A: Adapter> Adapter for MaybePaced<A> {
    fn signals(&self) -> &Signals {
        self.adapter.signals()
    }

    fn pace(&self, target: &Target) -> Option<Pace> {
        self.adapter.pace(target).filter(|_| self.shares)
    }

    async fn post(
        &self,
        target: &Target,
        card: &Card,
        posting: Posting,
    ) -> Result<MessageRef, SendError> {
        self.adapter.post(target, card, posting).await
    }

    async fn update(&self, message: &MessageRef, card: &Card) -> Result<(), SendError> {
        self.adapter.update(message, card).await
    }

    async fn run(&self, presses: Arc<dyn Presses>, stop: CancellationToken) {
        self.adapter.run(presses, stop).await;
    }
}
