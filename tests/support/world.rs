//! A daemon with both chats and an inbox, and the texts that each shows of an ask.

use crate::{
    chats::both,
    daemon::Daemon,
    discord_server::{FakeDiscord, Person},
    inbox_visitor::Visitor,
    process::run,
    telegram_server::{ANA, GROUP, Telegram},
};
use serde_json::{Value, json};

/// All surfaces.
pub struct World {
    pub telegram: Telegram,
    pub discord: FakeDiscord,
    pub daemon: Daemon,
}

/// The texts that the surfaces show of one ask.
#[derive(Debug)]
pub struct Shown {
    pub telegram: String,
    pub discord: String,
    pub inbox: String,
    pub terminal: String,
    /// Buttons in Telegram.
    pub buttons: Vec<String>,
    /// Message ids, for presses.
    pub message: i64,
    pub reference: String,
}

impl World {
    /// Starts everything; `config` is appended after `[approvers]`, where answering in the inbox is
    /// on.
    pub async fn start(config: &str) -> Self {
        let (telegram, discord) = (Telegram::start().await, FakeDiscord::start().await);
        let config = format!("{}inbox = true\n{config}", both(&telegram, &discord));
        let daemon = Daemon::start(&config).await;
        discord.until_online().await;
        Self { telegram, discord, daemon }
    }

    /// The texts of the only open ask on every surface.
    pub async fn shown(&self, ask: &str) -> Shown {
        let tail = format!("ask {ask}");
        let look = || self.telegram.open_cards(GROUP).into_iter().find(|c| c.text.contains(&tail));
        let card = self.telegram.until("the card in Telegram", look).await;
        let posted = self.discord.until(|message| !message.is_over()).await;
        let visitor = Visitor::enter(&self.daemon.inbox).await;
        let inbox = visitor.follow().await.card(|card| card["card"]["ask"] == ask).await;
        let terminal = run(&self.daemon, &["pending", "--full"]).await;
        assert_eq!(terminal.code, Some(0), "{terminal:?}");
        Shown {
            telegram: card.text.clone(),
            discord: posted.text.clone(),
            inbox: texts(&inbox),
            terminal: terminal.stdout,
            buttons: card.buttons.iter().flatten().cloned().collect(),
            message: card.id,
            reference: posted.reference,
        }
    }

    /// Submits a call that has to be asked; returns the ask and its texts on every surface.
    pub async fn asked(&self, call: &Value) -> (String, Shown) {
        let ask = self.daemon.ask(call).await;
        let shown = self.shown(&ask).await;
        (ask, shown)
    }

    /// Denies an ask, and waits until no chat shows buttons any more.
    pub async fn close(&self, ask: &str) {
        self.daemon.answer(ask, &json!({"decision": "deny"})).await;
        let none = || self.telegram.open_cards(GROUP).is_empty().then_some(());
        self.telegram.until("no open card in Telegram", none).await;
        self.discord.until_all(|message| message.is_over()).await;
    }

    /// Ana presses a button of a card in Telegram; returns the reply.
    pub async fn press(&self, message: i64, label: &str) -> String {
        self.telegram.press(GROUP, message, label, ANA).await.text
    }

    /// Asserts that no rule of the platforms was broken.
    pub fn is_clean(&self) {
        assert_eq!(self.telegram.violations(), Vec::<String>::new());
        assert_eq!(self.discord.violations(), Vec::<String>::new());
    }
}

/// Ana's account on Discord.
pub fn ana() -> Person {
    Person::new(&ANA.id.to_string(), "Ana")
}

/// Every text in a JSON value, one per line.
pub fn texts(value: &Value) -> String {
    match value {
        Value::String(text) => format!("{text}\n"),
        Value::Array(items) => items.iter().map(texts).collect(),
        Value::Object(map) => map.values().map(texts).collect(),
        _ => String::new(),
    }
}

impl Shown {
    /// All surfaces with their names.
    pub fn each(&self) -> [(&'static str, &str); 4] {
        [
            ("Telegram", &self.telegram),
            ("Discord", &self.discord),
            ("the inbox", &self.inbox),
            ("the terminal", &self.terminal),
        ]
    }

    /// Asserts that every surface shows this.
    pub fn all_say(&self, words: &str) {
        for (surface, text) in self.each() {
            assert!(text.contains(words), "{surface} lacks {words:?}: {text}");
        }
    }
}
