//! A fake Slack: the Web API as far as cards need it, Socket Mode, and the people in its channels.
//! It refuses what the real one refuses, and has its deadline of 3 seconds.
//!
//! `let fake = FakeSlack::start().await;` and
//! `[slack] api_url = fake.url(), token = fake.token(), app_token = fake.app_token(), targets =
//! [{ channel = CHANNEL }]`; then `fake.until(|card| …)` for a card,
//! `fake.press(&card.reference, "Approve", &Person::new("U4211", "Ana"))` for what the presser is
//! told, and `fake.violations()`, which must be empty. References are `channel/ts`, as in the
//! adapter.
#![allow(
    dead_code,
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::string_slice,
    clippy::panic,
    reason = "a stand-in fails by panicking, and no test uses all of it"
)]

#[path = "slack/api.rs"]
mod api;
#[path = "slack/blocks.rs"]
pub mod blocks;
#[path = "slack/people.rs"]
mod people;
#[path = "slack/sockets.rs"]
mod sockets;
#[path = "slack/world.rs"]
mod world;

use axum::{Router, routing};
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;
use tokio::sync::watch;

pub use people::{Person, Told};
pub use world::{Fault, Posted};
use world::{Out, State};

/// The channel that exists at the start; others are added by [`FakeSlack::add_channel`].
pub const CHANNEL: &str = "C0000000001";
pub const TEAM: &str = "T0000000001";
pub const BOT: &str = "U0BOT00001";
pub const TOKEN: &str = "xoxb-111111111111-222222222222-FakeBotTokenForTests0001";
pub const APP_TOKEN: &str = "xapp-1-A0000000001-333333333333-fffffffffffffffffffffff";

/// The timeout of every wait.
const SOON: Duration = Duration::from_secs(20);

/// A running fake. Clones refer to the same one; it ends with the test's runtime.
#[derive(Clone)]
pub struct FakeSlack {
    state: Arc<Mutex<State>>,
    changed: watch::Sender<()>,
    url: String,
}

impl FakeSlack {
    /// Starts on a free port.
    pub async fn start() -> Self {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let state = Arc::new(Mutex::new(State::new()));
        let fake = Self { state, changed: watch::channel(()).0, url };
        let app = Router::new()
            .route("/link", routing::get(sockets::connect))
            .route("/api/{method}", routing::any(api::call))
            .route("/actions/{key}", routing::post(api::respond))
            .route("/upload/{file}", routing::post(api::upload))
            .with_state(fake.clone());
        tokio::spawn(async move { axum::serve(listener, app).await });
        fake
    }

    /// The value of `api_url`.
    pub fn url(&self) -> &str {
        &self.url
    }

    /// The accepted tokens.
    pub fn token(&self) -> &'static str {
        TOKEN
    }

    pub fn app_token(&self) -> &'static str {
        APP_TOKEN
    }

    // --- current state

    /// All messages of the bot that everybody sees, oldest first.
    pub fn messages(&self) -> Vec<Posted> {
        let state = self.lock();
        let cards = state.messages.iter().filter(|it| it.is_card());
        cards.map(|message| state.posted(message)).collect()
    }

    /// The blocks of a message, as they were sent.
    pub fn blocks(&self, reference: &str) -> serde_json::Value {
        self.change(|state| state.message_mut(reference).unwrap().blocks.clone())
    }

    /// Notifies of every change.
    pub fn changes(&self) -> watch::Receiver<()> {
        self.changed.subscribe()
    }

    /// The message with the reference `channel/ts`.
    pub fn message(&self, reference: &str) -> Option<Posted> {
        self.messages().into_iter().find(|message| message.reference == reference)
    }

    /// Waits for a message that fits.
    pub async fn until(&self, wanted: impl Fn(&Posted) -> bool) -> Posted {
        self.wait("a message", || self.messages().into_iter().find(&wanted)).await
    }

    /// Requests that the real Slack accepts but that break its rules, and refusals that a careful
    /// client never gets.
    pub fn violations(&self) -> Vec<String> {
        self.lock().violations.clone()
    }

    /// Every call so far, as `method outcome`.
    pub fn calls(&self) -> Vec<String> {
        self.lock().calls.clone()
    }

    /// The number of connections that were ever opened.
    pub fn connected(&self) -> usize {
        self.lock().connected
    }

    /// Waits until presses reach the bot.
    pub async fn until_online(&self) {
        self.wait("the bot to connect", || self.lock().is_online().then_some(())).await;
    }

    /// Waits until so many connections were ever opened, and one of them is open.
    pub async fn until_connected(&self, times: usize) {
        let ready = || {
            let state = self.lock();
            (state.connected >= times && state.is_online()).then_some(())
        };
        self.wait("another connection", ready).await;
    }

    /// The number of connections that are open now.
    pub fn open_connections(&self) -> usize {
        self.lock().sockets.len()
    }

    /// Waits until one connection is open, and no other.
    pub async fn until_alone(&self) {
        let alone = || (self.open_connections() == 1).then_some(());
        self.wait("the old connection to end", alone).await;
    }

    /// Waits until no connection is open.
    pub async fn until_offline(&self) {
        let none = || (self.open_connections() == 0).then_some(());
        self.wait("all connections to end", none).await;
    }

    // --- faults

    /// The next `times` calls of this method have this fault.
    pub fn fail(&self, method: &str, times: usize, fault: Fault) {
        self.change(|state| state.faults.push((method.to_owned(), times, fault)));
    }

    /// Answers everything with 502 and ends the connections, or works again.
    pub fn set_down(&self, down: bool) {
        self.change(|state| {
            state.down = down;
            if down {
                state.tell_sockets(|| Out::Drop);
            }
        });
    }

    /// Refuses the bot's token from now on; connections stay.
    pub fn refuse_token(&self) {
        self.change(|state| state.token_refused = true);
    }

    /// Accepts the bot's token again.
    pub fn accept_token(&self) {
        self.change(|state| state.token_refused = false);
    }

    /// Refuses the app's token from now on, and ends the connections.
    pub fn refuse_app_token(&self) {
        self.change(|state| {
            state.app_token_refused = true;
            state.tell_sockets(|| Out::Drop);
        });
    }

    /// Drops all connections.
    pub fn drop_sockets(&self) {
        self.change(|state| state.tell_sockets(|| Out::Drop));
    }

    /// Leaves the connections open, but neither sends nor takes anything over them any more.
    pub fn make_zombies(&self) {
        self.change(|state| state.sockets.iter_mut().for_each(|it| it.zombie = true));
    }

    /// Asks for another connection, and closes the old ones a while after that.
    pub fn refresh(&self) {
        self.change(|state| state.tell_sockets(|| Out::Refresh("warning")));
    }

    /// Switches Socket Mode off.
    pub fn disable_link(&self) {
        self.change(|state| state.tell_sockets(|| Out::Refresh("link_disabled")));
    }

    /// Archives a channel, or takes it out of the archive, which the bot is told.
    pub fn archive(&self, channel: &str, archived: bool) {
        self.change(|state| state.channel(channel).archived = archived);
        if !archived {
            self.event(serde_json::json!({"type": "channel_unarchive", "channel": channel}));
        }
    }

    /// Removes the bot from a channel, or invites it, which it is told.
    pub fn invite(&self, channel: &str, is_member: bool) {
        self.change(|state| state.channel(channel).bot = is_member);
        if is_member {
            let event = serde_json::json!({"type": "member_joined_channel", "user": BOT, "channel": channel});
            self.event(event);
        }
    }

    /// Adds a channel that the bot is in; `D…` is a direct message.
    pub fn add_channel(&self, id: &str, name: &str) {
        self.change(|state| state.add_channel(id, name));
    }

    /// Adds somebody to the workspace who has done nothing yet.
    pub fn add_person(&self, person: &Person) {
        self.change(|state| state.people.insert(person.id.clone(), person.clone()));
    }

    /// Deletes a message, as a person does.
    pub fn delete(&self, reference: &str) {
        self.change(|state| state.message_mut(reference).unwrap().deleted = true);
    }

    /// Takes a scope away from the app, as where it was installed before it asked for that.
    pub fn drop_scope(&self, scope: &str) {
        self.change(|state| state.scopes.retain(|it| it != scope));
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

    /// Waits until something is ready; asked after every change.
    pub async fn wait<T>(&self, what: &str, mut ready: impl FnMut() -> Option<T>) -> T {
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
}
