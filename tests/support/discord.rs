//! A fake Discord: REST v10 as far as cards need it, the gateway, and the people in a channel. It
//! refuses what the real one refuses, and has its deadline of 3 seconds.
//!
//! `let fake = FakeDiscord::start().await;` and
//! `[discord] api_url = fake.url(), token = fake.token(), targets = [{ channel = CHANNEL }]`; then
//! `fake.until(|card| …)` for a card,
//! `fake.press(&card.reference, "Approve", &Person::new("4211", "Ana"))` for the reply to the
//! presser, and `fake.violations()`, which must be empty. References are `channel/message`, as in
//! the adapter.
#![allow(
    dead_code,
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::string_slice,
    clippy::panic,
    reason = "a stand-in fails by panicking, and no test uses all of it"
)]

#[path = "discord/direct.rs"]
mod direct;
#[path = "discord/gateway.rs"]
mod gateway;
#[path = "discord/interactions.rs"]
mod interactions;
#[path = "discord/markdown.rs"]
pub mod markdown;
#[path = "discord/messages.rs"]
mod messages;
#[path = "discord/people.rs"]
mod people;
#[path = "discord/rest.rs"]
mod rest;
#[path = "discord/rules.rs"]
mod rules;
#[path = "discord/world.rs"]
mod world;

use axum::{Router, routing};
use serde_json::Value;
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;
use tokio::sync::watch;

pub use people::{Person, Told};
pub use world::{Fault, Posted};
use world::{Out, State};

/// The channel that exists at the start; [`FakeDiscord::add_channel`] adds others.
pub const CHANNEL: &str = "600000000000000001";
pub const GUILD: &str = "500000000000000001";
pub const BOT: &str = "900000000000000001";
pub const TOKEN: &str = "OTAwMDAwMDAwMDAwMDAwMDAx.GfAkE0.a-token-that-is-good-for-nothing";

/// The timeout of every wait.
const SOON: Duration = Duration::from_secs(20);

/// A running fake. Clones refer to the same one; it ends with the test's runtime.
#[derive(Clone)]
pub struct FakeDiscord {
    state: Arc<Mutex<State>>,
    changed: watch::Sender<()>,
    url: String,
}

impl FakeDiscord {
    /// Starts on a free port.
    pub async fn start() -> Self {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let state = Arc::new(Mutex::new(State::new()));
        let fake = Self { state, changed: watch::channel(()).0, url };
        let app = Router::new()
            .route("/gateway", routing::get(gateway::connect))
            .route("/gateway/", routing::get(gateway::connect))
            .fallback(rest::any)
            .with_state(fake.clone());
        tokio::spawn(async move { axum::serve(listener, app).await });
        fake
    }

    /// The value of `api_url`.
    pub fn url(&self) -> &str {
        &self.url
    }

    /// The accepted token.
    pub fn token(&self) -> &'static str {
        TOKEN
    }

    // --- current state

    /// All messages of the bot that are not deleted, oldest first, without ephemeral ones.
    pub fn messages(&self) -> Vec<Posted> {
        let state = self.lock();
        let public = state.messages.iter().filter(|it| !it.deleted && it.private_to.is_none());
        public.map(Posted::of).collect()
    }

    /// The messages with buttons, oldest first.
    pub fn open_messages(&self) -> Vec<Posted> {
        let state = self.lock();
        let public = state.messages.iter().filter(|it| !it.deleted && it.private_to.is_none());
        public.map(Posted::of).filter(|it| !it.is_over()).collect()
    }

    /// Notifies of every change.
    pub fn changes(&self) -> watch::Receiver<()> {
        self.changed.subscribe()
    }

    /// The message with the reference `channel/id`.
    pub fn message(&self, reference: &str) -> Option<Posted> {
        self.messages().into_iter().find(|message| message.reference == reference)
    }

    /// Waits for a message that fits.
    pub async fn until(&self, wanted: impl Fn(&Posted) -> bool) -> Posted {
        self.wait("a message", || self.messages().into_iter().find(&wanted)).await
    }

    /// Waits until every message fits.
    pub async fn until_all(&self, wanted: impl Fn(&Posted) -> bool) {
        self.wait("all messages", || self.messages().iter().all(&wanted).then_some(())).await;
    }

    /// Requests that the real Discord accepts but that break its rules.
    pub fn violations(&self) -> Vec<String> {
        self.lock().violations.clone()
    }

    /// Every request so far, as `METHOD /path status`.
    pub fn calls(&self) -> Vec<String> {
        self.lock().calls.clone()
    }

    /// Waits until there were so many requests whose `METHOD /path status` begins like this.
    pub async fn until_called(&self, times: usize, begins: &str) {
        let count = || self.calls().iter().filter(|it| it.starts_with(begins)).count();
        self.wait("requests", || (count() >= times).then_some(())).await;
    }

    /// Waits until the bot is connected to the gateway.
    pub async fn until_online(&self) {
        self.wait("the bot to connect", || self.lock().online().then_some(())).await;
    }

    /// Returns whether the bot is connected to the gateway.
    pub fn is_online(&self) -> bool {
        self.lock().online()
    }

    /// The number of IDENTIFYs received by the gateway.
    pub fn identified(&self) -> usize {
        self.lock().identified
    }

    /// The number of uploaded files.
    pub fn uploads(&self) -> usize {
        self.lock().uploads
    }

    /// Sets the permissions of everybody in the server, including the bot.
    pub fn give_everyone(&self, permissions: u64) {
        self.change(|state| state.permissions = permissions);
    }

    // --- faults

    /// The next `times` requests whose `METHOD /path ` (with the space) contains `on` have this
    /// fault.
    pub fn fail(&self, on: &str, times: usize, fault: Fault) {
        self.change(|state| state.faults.push((on.to_owned(), times, fault)));
    }

    /// Answers everything with 502 and ends the gateway's connections, or works again.
    pub fn set_down(&self, down: bool) {
        self.change(|state| {
            state.down = down;
            if down {
                state.tell_connections(|| Out::Drop);
            }
        });
    }

    /// Refuses the token from now on: 401, and 4004 on the gateway.
    pub fn refuse_token(&self) {
        self.change(|state| {
            state.token_refused = true;
            state.tell_connections(|| Out::Close(4004));
        });
    }

    /// Accepts the token again.
    pub fn accept_token(&self) {
        self.change(|state| state.token_refused = false);
    }

    /// Closes every gateway connection with this code at IDENTIFY or RESUME, such as 4014; `None`
    /// accepts them again.
    pub fn refuse_gateway(&self, code: Option<u16>) {
        self.change(|state| {
            state.gateway_refusal = code;
            if let Some(code) = code {
                state.tell_connections(|| Out::Close(code));
            }
        });
    }

    /// Drops the gateway's connection; the session can be resumed.
    pub fn drop_gateway(&self) {
        self.change(|state| state.tell_connections(|| Out::Drop));
    }

    /// Closes the gateway's connection with this code.
    pub fn close_gateway(&self, code: u16) {
        self.change(|state| state.tell_connections(|| Out::Close(code)));
    }

    /// Asks the bot to reconnect (op 7).
    pub fn ask_to_reconnect(&self) {
        self.change(|state| state.tell_connections(|| Out::Reconnect));
    }

    /// Removes the sessions: a RESUME gets an invalid session, and the bot has to IDENTIFY.
    pub fn forget_sessions(&self) {
        self.change(|state| {
            state.tell_connections(|| Out::Drop);
            state.sessions.clear();
        });
    }

    /// Takes the bot's right to see the channel (50001) or to write in it (50013), or removes the
    /// channel (10003).
    pub fn take_channel(&self, channel: &str, code: i64) {
        self.change(|state| state.channels.get_mut(channel).unwrap().refusal = Some(code));
    }

    /// Gives the bot its rights in the channel back.
    pub fn give_channel(&self, channel: &str) {
        self.change(|state| state.channels.get_mut(channel).unwrap().refusal = None);
    }

    /// Archives a thread; a locked one is not reopened by a message.
    pub fn archive(&self, thread: &str, locked: bool) {
        self.change(|state| {
            let thread = state.channels.get_mut(thread).unwrap();
            (thread.archived, thread.locked) = (true, locked);
        });
    }

    /// Adds a channel or a thread.
    pub fn add_channel(&self, id: &str, name: &str, thread: bool) {
        self.change(|state| state.add_channel(id, name, thread));
    }

    /// The threads that are there: their ids, names, and whether they are archived.
    pub fn threads(&self) -> Vec<(String, String, bool)> {
        let state = self.lock();
        let threads = state.channels.iter().filter(|(_, it)| it.thread);
        let mut threads: Vec<_> =
            threads.map(|(id, it)| (id.clone(), it.name.clone(), it.archived)).collect();
        threads.sort();
        threads
    }

    /// Takes the bot's right to make public threads, or gives it back.
    pub fn let_make_threads(&self, may: bool) {
        self.change(|state| {
            if may { state.permissions |= 1 << 35 } else { state.permissions &= !(1 << 35) }
        });
    }

    /// Deletes a thread with its messages, as a person does.
    pub fn delete_thread(&self, id: &str) {
        self.change(|state| {
            state.channels.remove(id);
            let inside = state.messages.iter_mut().filter(|it| it.channel == id);
            inside.for_each(|message| message.deleted = true);
        });
    }

    /// Deletes a message, as a person does.
    pub fn delete(&self, reference: &str) {
        self.change(|state| {
            let id = reference.rsplit('/').next().unwrap();
            state.message_mut(id).unwrap().deleted = true;
        });
    }

    /// Turns rate limits off.
    pub fn without_limits(&self) {
        self.change(|state| state.limits = false);
    }

    // --- internals

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap()
    }

    fn change<T>(&self, change: impl FnOnce(&mut State) -> T) -> T {
        let result = change(&mut self.lock());
        self.changed.send_replace(());
        result
    }

    async fn wait<T>(&self, what: &str, mut ready: impl FnMut() -> Option<T>) -> T {
        let mut changed = self.changed.subscribe();
        let found = async {
            loop {
                if let Some(found) = ready() {
                    return found;
                }
                changed.changed().await.unwrap();
            }
        };
        match tokio::time::timeout(SOON, found).await {
            Ok(found) => found,
            Err(_) => panic!("waited in vain for {what}; calls: {:#?}", self.calls()),
        }
    }

    /// Sends an event to every session.
    fn dispatch(&self, kind: &str, data: &Value) {
        self.change(|state| state.sessions.iter_mut().for_each(|it| it.dispatch(kind, data)));
    }
}
