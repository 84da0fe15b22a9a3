//! A Telegram Bot API server on this machine, with people in its chats. It refuses what the real
//! one refuses, breaks when told to, and everything that happens in it can be awaited.
#![allow(
    dead_code,
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::string_slice,
    reason = "tests fail by panicking, and each uses only a part"
)]

#[path = "telegram/http.rs"]
mod http;
#[path = "telegram/limits.rs"]
mod limits;
#[path = "telegram/people.rs"]
mod people;
#[path = "telegram/rules.rs"]
mod rules;
#[path = "telegram/world.rs"]
mod world;

use serde_json::json;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;
use tokio::sync::watch;
use world::{Chat, World};

/// The token that the server knows.
pub const TOKEN: &str = "7000:a-token-for-tests";
/// The bot's own id.
pub const BOT: i64 = 7000;
/// The bot's name, without `@`.
pub const BOT_NAME: &str = "countersign_test_bot";
/// A group that is there from the start.
pub const GROUP: i64 = -1_001_000_000_001;
/// A forum that is there from the start, with topic 7 (open) and 8 (closed).
pub const FORUM: i64 = -1_001_000_000_002;

/// How long anything may take before a test fails.
const PATIENCE: Duration = Duration::from_secs(15);

/// The server; it ends when this is dropped.
pub struct Telegram {
    url: String,
    shared: Arc<Shared>,
    server: tokio::task::JoinHandle<()>,
}

/// Somebody with an account.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Person {
    pub id: i64,
    pub name: &'static str,
}

/// Somebody who may press.
pub const ANA: Person = Person { id: 4211, name: "Ana" };
/// Somebody else.
pub const BEN: Person = Person { id: 4212, name: "Ben" };
/// A stranger.
pub const EVE: Person = Person { id: 6666, name: "Eve" };

/// What the presser of a button was told.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Told {
    pub text: String,
    /// A box that must be closed, not a fleeting line.
    pub alert: bool,
}

/// A message of the bot, as a person sees it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Message {
    pub id: i64,
    pub text: String,
    pub buttons: Vec<Vec<String>>,
    /// Name and content of its own file.
    pub file: Option<(String, String)>,
    pub reply_to: Option<i64>,
    pub topic: Option<i64>,
    /// Opens the reply box.
    pub force_reply: bool,
    pub edits: u32,
}

/// What goes wrong.
#[derive(Debug, Clone)]
pub enum Fault {
    /// 429, come back after so many seconds.
    RetryAfter(u64),
    /// 502 with an HTML page, as from the proxy before the real server.
    BadGateway,
    /// The line breaks before anything is done.
    DropBefore,
    /// The thing is done, then the line breaks.
    DropAfter,
    /// Half of an answer, though the thing is done.
    Garbled,
    /// The Bot API's own refusal.
    Refuse(u16, &'static str),
}

struct Shared {
    world: Mutex<World>,
    changed: watch::Sender<()>,
}

/// Life cycle and what goes wrong.
impl Telegram {
    /// Starts a server with [`GROUP`], [`FORUM`] and nobody's private chat.
    pub async fn start() -> Self {
        let mut world = World { next_update: 900_000_001, ..World::default() };
        world.chats.insert(GROUP, Chat::default());
        let topics = BTreeMap::from([(7, true), (8, false)]);
        world.chats.insert(FORUM, Chat { topics, ..Chat::default() });
        let shared = Arc::new(Shared { world: Mutex::new(world), changed: watch::Sender::new(()) });
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let app = axum::Router::new().fallback(http::serve).with_state(Arc::clone(&shared));
        let server = tokio::spawn(async move { axum::serve(listener, app).await.unwrap() });
        Self { url, shared, server }
    }

    /// For `[telegram] api_url`.
    pub fn url(&self) -> &str {
        &self.url
    }

    /// For `[telegram] token`.
    pub fn token(&self) -> &str {
        TOKEN
    }

    /// The next `times` calls of `method` (`*` for any) go wrong.
    pub fn fail(&self, method: &str, fault: Fault, times: u32) {
        self.change(|world| world.faults.push((method.to_lowercase(), fault, times)));
    }

    /// Every chat takes so many messages and edits in a minute, as real groups do.
    pub fn limit(&self, a_minute: u32) {
        self.change(|world| world.limits.a_minute = Some(a_minute));
    }

    /// Breaks every connection until told otherwise.
    pub fn set_down(&self, down: bool) {
        self.change(|world| world.down = down);
    }

    /// What goes wrong with this method is over.
    pub fn mend(&self, method: &str) {
        let method = method.to_lowercase();
        self.change(|world| world.faults.retain(|(name, ..)| *name != method));
    }

    /// The token is not known any more.
    pub fn refuse_token(&self) {
        self.change(|world| world.token_refused = true);
    }

    /// It is known again.
    pub fn accept_token(&self) {
        self.change(|world| world.token_refused = false);
    }

    /// Somebody set a webhook.
    pub fn set_webhook(&self, set: bool) {
        self.change(|world| world.webhook = set);
    }

    /// The chat refuses everything with this, such as `(403, "Forbidden: bot was kicked from …")`.
    pub fn lose_chat(&self, chat: i64, code: u16, description: &'static str) {
        self.change(|world| world.chats.get_mut(&chat).unwrap().gone = Some((code, description)));
    }

    /// The chat takes the bot again; Telegram tells of that whoever wants to know.
    pub fn regain_chat(&self, chat: i64) {
        self.change(|world| {
            world.chats.get_mut(&chat).unwrap().gone = None;
            if world.allowed.iter().any(|kind| kind == "my_chat_member") {
                let member = |status| json!({"user": world::bot_js(), "status": status});
                world.push(json!({"my_chat_member": {
                    "chat": world::chat_js(chat), "from": world::person_js(ANA), "date": 1_795_000_000,
                    "old_chat_member": member("left"), "new_chat_member": member("member"),
                }}));
            }
        });
    }

    /// The group becomes a supergroup with another number.
    pub fn migrate(&self, chat: i64, to: i64) {
        self.change(|world| {
            world.chats.get_mut(&chat).unwrap().moved_to = Some(to);
            world.chats.insert(to, Chat::default());
        });
    }

    /// Forgets what was not fetched, as the real server does with presses after 150 s.
    pub fn forget_updates(&self) {
        self.change(|world| world.updates.clear());
    }

    /// A person deletes a message.
    pub fn delete(&self, chat: i64, message: i64) {
        self.change(|world| world.stored(chat, message).deleted = true);
    }
}

impl Telegram {
    fn world(&self) -> MutexGuard<'_, World> {
        self.shared.world.lock().unwrap()
    }

    fn change<T>(&self, change: impl FnOnce(&mut World) -> T) -> T {
        self.shared.change(change)
    }
}

impl Drop for Telegram {
    fn drop(&mut self) {
        self.server.abort();
    }
}

impl Shared {
    fn change<T>(&self, change: impl FnOnce(&mut World) -> T) -> T {
        let changed = change(&mut self.world.lock().unwrap());
        self.changed.send_replace(());
        changed
    }
}
