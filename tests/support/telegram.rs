//! A fake Telegram Bot API server with people in its chats. It refuses what the real one refuses,
//! has faults on demand, and lets tests await everything that happens.
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

/// The accepted token.
pub const TOKEN: &str = "7000:a-token-for-tests";
/// The bot's own id.
pub const BOT: i64 = 7000;
/// The bot's name, without `@`.
pub const BOT_NAME: &str = "countersign_test_bot";
/// A group that exists from the start.
pub const GROUP: i64 = -1_001_000_000_001;
/// A forum that exists from the start, with the topics 7 (open) and 8 (closed).
pub const FORUM: i64 = -1_001_000_000_002;

/// The timeout of every wait.
const PATIENCE: Duration = Duration::from_secs(15);

/// The server; it ends when this is dropped.
pub struct Telegram {
    url: String,
    shared: Arc<Shared>,
    server: tokio::task::JoinHandle<()>,
}

/// A user.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Person {
    pub id: i64,
    pub name: &'static str,
}

impl Person {
    /// Whether this config names them. In an address, a port may have the digits of their id.
    pub fn is_named_in(&self, config: &str) -> bool {
        let id = self.id.to_string();
        config.lines().any(|line| !line.contains("127.0.0.1") && line.contains(&id))
    }
}

/// An approver.
pub const ANA: Person = Person { id: 4211, name: "Ana" };
/// Another user.
pub const BEN: Person = Person { id: 4212, name: "Ben" };
/// A stranger.
pub const EVE: Person = Person { id: 6666, name: "Eve" };

/// The reply that a presser saw.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Told {
    pub text: String,
    /// An alert that has to be closed, instead of a notification.
    pub alert: bool,
}

/// A message of the bot as a person sees it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Message {
    pub id: i64,
    pub text: String,
    pub buttons: Vec<Vec<String>>,
    /// Name and content of its file.
    pub file: Option<(String, String)>,
    pub reply_to: Option<i64>,
    pub topic: Option<i64>,
    /// The one who sees it, where the others do not.
    pub only_for: Option<i64>,
    /// Where its links lead.
    pub links: Vec<String>,
    /// The message asks for a reply.
    pub force_reply: bool,
    pub edits: u32,
}

impl Message {
    /// Whether nothing on it waits for an answer: a settled card may offer Undo, or a late yes.
    pub fn is_over(&self) -> bool {
        self.buttons
            .iter()
            .flatten()
            .all(|label| label == "Undo" || label.starts_with("Approve the next"))
    }
}

/// The fault of a call.
#[derive(Debug, Clone)]
pub enum Fault {
    /// 429 with this many seconds.
    RetryAfter(u64),
    /// 502 with an HTML page, as the proxy before the real server sends it.
    BadGateway,
    /// The connection is lost before the call is handled.
    DropBefore,
    /// The call is handled, then the connection is lost.
    DropAfter,
    /// Half of a response, though the call is handled.
    Garbled,
    /// An error response of the Bot API.
    Refuse(u16, &'static str),
}

struct Shared {
    world: Mutex<World>,
    changed: watch::Sender<()>,
}

/// Life cycle and faults.
impl Telegram {
    /// Starts a server with [`GROUP`], [`FORUM`] and no private chats.
    pub async fn start() -> Self {
        let commands = json!([]);
        let mut world = World { next_update: 900_000_001, commands, ..World::default() };
        world.chats.insert(GROUP, Chat::default());
        let topics = BTreeMap::from([(7, true), (8, false)]);
        world.chats.insert(FORUM, Chat { topics, manages_topics: true, ..Chat::default() });
        let shared = Arc::new(Shared { world: Mutex::new(world), changed: watch::Sender::new(()) });
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let app = axum::Router::new().fallback(http::serve).with_state(Arc::clone(&shared));
        let server = tokio::spawn(async move { axum::serve(listener, app).await.unwrap() });
        Self { url, shared, server }
    }

    /// The value of `[telegram] api_url`.
    pub fn url(&self) -> &str {
        &self.url
    }

    /// The value of `[telegram] token`.
    pub fn token(&self) -> &str {
        TOKEN
    }

    /// The next `times` calls of `method` (`*` for any) have this fault.
    pub fn fail(&self, method: &str, fault: Fault, times: u32) {
        self.change(|world| world.faults.push((method.to_lowercase(), fault, times)));
    }

    /// Limits every chat to this many messages and edits per minute, as real groups are.
    pub fn limit(&self, a_minute: u32) {
        self.change(|world| world.limits.a_minute = Some(a_minute));
    }

    /// Every chat has the limits of a real group: five messages and edits at once, then one a
    /// second, and 20 in a minute.
    pub fn limit_as_a_group(&self) {
        self.change(|world| {
            (world.limits.at_once, world.limits.a_minute) = (Some(5), Some(20));
        });
    }

    /// Drops every connection, or works again.
    pub fn set_down(&self, down: bool) {
        self.change(|world| world.down = down);
    }

    /// Removes the faults of this method.
    pub fn mend(&self, method: &str) {
        let method = method.to_lowercase();
        self.change(|world| world.faults.retain(|(name, ..)| *name != method));
    }

    /// Refuses the token.
    pub fn refuse_token(&self) {
        self.change(|world| world.token_refused = true);
    }

    /// Accepts it again.
    pub fn accept_token(&self) {
        self.change(|world| world.token_refused = false);
    }

    /// Sets or removes a webhook.
    pub fn set_webhook(&self, set: bool) {
        self.change(|world| world.webhook = set);
    }

    /// The chat refuses everything with this error, such as
    /// `(403, "Forbidden: bot was kicked from …")`.
    pub fn lose_chat(&self, chat: i64, code: u16, description: &'static str) {
        self.change(|world| world.chats.get_mut(&chat).unwrap().gone = Some((code, description)));
    }

    /// The chat accepts the bot again; Telegram sends an update about it if the bot asked for such.
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

    /// Makes somebody an administrator of a group, perhaps an anonymous one. Telegram sends an
    /// update about it if the bot asked for such and is an administrator itself.
    pub fn make_admin(&self, chat: i64, person: Person, anonymous: bool) {
        self.change(|world| {
            world.chats.get_mut(&chat).unwrap().admins.push((person, anonymous));
            world.tell_member_changed(chat, person);
        });
    }

    /// Makes them a mere member again.
    pub fn remove_admin(&self, chat: i64, person: Person) {
        self.change(|world| {
            let admins = &mut world.chats.get_mut(&chat).unwrap().admins;
            admins.retain(|(admin, _)| *admin != person);
            world.tell_member_changed(chat, person);
        });
    }

    /// Takes the bot's right to manage topics, or gives it back; Telegram sends an update about it.
    pub fn let_manage_topics(&self, may: bool) {
        self.change(|world| {
            world.chats.get_mut(&FORUM).unwrap().manages_topics = may;
            let member = json!({"user": world::bot_js(), "status": "administrator",
                "can_manage_topics": may});
            world.push(json!({"my_chat_member": {"chat": world::chat_js(FORUM),
                "from": world::person_js(ANA), "date": 1_795_000_000,
                "old_chat_member": member, "new_chat_member": member}}));
        });
    }

    /// The topics that the bot made: their numbers, names, and whether they are open.
    pub fn made_topics(&self) -> Vec<(i64, String, bool)> {
        let world = self.world();
        let forum = &world.chats[&FORUM];
        let made = forum.topic_names.iter();
        let still = made.filter_map(|(id, name)| Some((*id, name.clone(), *forum.topics.get(id)?)));
        still.collect()
    }

    /// Deletes a topic with its messages, as a person does.
    pub fn delete_topic(&self, topic: i64) {
        self.change(|world| {
            let forum = world.chats.get_mut(&FORUM).unwrap();
            forum.topics.remove(&topic);
            for message in forum.messages.values_mut() {
                message.deleted |= message.js["message_thread_id"] == topic;
            }
        });
    }

    /// The group becomes a supergroup with another id.
    pub fn migrate(&self, chat: i64, to: i64) {
        self.change(|world| {
            world.chats.get_mut(&chat).unwrap().moved_to = Some(to);
            world.chats.insert(to, Chat::default());
        });
    }

    /// Drops the updates that were not fetched, as the real server does with presses after 150 s.
    pub fn forget_updates(&self) {
        self.change(|world| world.updates.clear());
    }

    /// Deletes a message, as a person does.
    pub fn delete(&self, chat: i64, message: i64) {
        self.change(|world| world.stored(chat, message).deleted = true);
    }
}

impl World {
    fn tell_member_changed(&mut self, chat: i64, person: Person) {
        if !self.allowed.iter().any(|kind| kind == "chat_member") {
            return;
        }
        let member = json!({"user": world::person_js(person), "status": "member"});
        self.push(json!({"chat_member": {"chat": world::chat_js(chat),
            "from": world::person_js(ANA), "date": 1_795_000_000, "old_chat_member": member,
            "new_chat_member": member}}));
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
