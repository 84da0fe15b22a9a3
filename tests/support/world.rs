//! A daemon with both chats and an inbox, and what each of them shows of an ask.

use crate::{
    chats::both,
    daemon::Daemon,
    discord_server::{FakeDiscord, Person},
    inbox_visitor::Visitor,
    process::run,
    telegram_server::{ANA, GROUP, Telegram},
};
use serde_json::{Value, json};

/// All surfaces at once.
pub struct World {
    pub telegram: Telegram,
    pub discord: FakeDiscord,
    pub daemon: Daemon,
}

/// What the surfaces show of one ask: text as people read it.
#[derive(Debug)]
pub struct Shown {
    pub telegram: String,
    pub discord: String,
    pub inbox: String,
    pub terminal: String,
    /// Buttons in Telegram.
    pub buttons: Vec<String>,
    /// Message ids, to press.
    pub message: i64,
    pub reference: String,
}

impl World {
    /// Starts everything; `config` comes behind `[approvers]`, where answering by the inbox is on.
    pub async fn start(config: &str) -> Self {
        let (telegram, discord) = (Telegram::start().await, FakeDiscord::start().await);
        let config = format!("{}inbox = true\n{config}", both(&telegram, &discord));
        let daemon = Daemon::start(&config).await;
        discord.until_online().await;
        Self { telegram, discord, daemon }
    }

    /// What every surface shows of the one ask that is open.
    pub async fn shown(&self, ask: &str) -> Shown {
        let tail = format!("ask {ask}");
        let look = || self.telegram.open_cards(GROUP).into_iter().find(|c| c.text.contains(&tail));
        let card = self.telegram.until("the card in Telegram", look).await;
        let posted = self.discord.until(|message| !message.buttons.is_empty()).await;
        let visitor = Visitor::enter(&self.daemon.inbox).await;
        let inbox = visitor.follow().await.card(|card| card["card"]["ask"] == ask).await;
        let terminal = run(&self.daemon, &["pending"]).await;
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

    /// Hands a call in that has to be asked, and what every surface shows of it.
    pub async fn asked(&self, call: &Value) -> (String, Shown) {
        let ask = self.daemon.ask(call).await;
        let shown = self.shown(&ask).await;
        (ask, shown)
    }

    /// Denies an ask and waits until no chat has buttons any more.
    pub async fn close(&self, ask: &str) {
        self.daemon.answer(ask, &json!({"decision": "deny"})).await;
        let none = || self.telegram.open_cards(GROUP).is_empty().then_some(());
        self.telegram.until("no open card in Telegram", none).await;
        self.discord.until_all(|message| message.buttons.is_empty()).await;
    }

    /// Ana presses a button of a card in Telegram; what she is told.
    pub async fn press(&self, message: i64, label: &str) -> String {
        self.telegram.press(GROUP, message, label, ANA).await.text
    }

    /// Nobody broke a rule of the platforms.
    pub fn is_clean(&self) {
        assert_eq!(self.telegram.violations(), Vec::<String>::new());
        assert_eq!(self.discord.violations(), Vec::<String>::new());
    }
}

/// Ana, as Discord knows her.
pub fn ana() -> Person {
    Person::new(&ANA.id.to_string(), "Ana")
}

/// Every text of a JSON value, a line for each.
pub fn texts(value: &Value) -> String {
    match value {
        Value::String(text) => format!("{text}\n"),
        Value::Array(items) => items.iter().map(texts).collect(),
        Value::Object(map) => map.values().map(texts).collect(),
        _ => String::new(),
    }
}

impl Shown {
    /// All surfaces, with their names.
    pub fn each(&self) -> [(&'static str, &str); 4] {
        [
            ("Telegram", &self.telegram),
            ("Discord", &self.discord),
            ("the inbox", &self.inbox),
            ("the terminal", &self.terminal),
        ]
    }

    /// Every surface says this.
    pub fn all_say(&self, words: &str) {
        for (surface, text) in self.each() {
            assert!(text.contains(words), "{surface} lacks {words:?}: {text}");
        }
    }
}
