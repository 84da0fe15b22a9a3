//! The people in the channels and what they are told.

use super::{BOT, FakeDiscord, GUILD, markdown};
use serde_json::{Value, json};
use std::time::{Duration, Instant};

/// Discord waits this long for the first answer to a press.
pub(super) const DEADLINE: Duration = Duration::from_secs(3);

/// A member of the server.
#[derive(Debug, Clone)]
pub struct Person {
    pub id: String,
    pub name: String,
    pub roles: Vec<String>,
}

impl Person {
    pub fn new(id: &str, name: &str) -> Self {
        Self { id: id.to_owned(), name: name.to_owned(), roles: Vec::new() }
    }

    pub fn with_role(mut self, role: &str) -> Self {
        self.roles.push(role.to_owned());
        self
    }
}

/// What a presser saw.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Told {
    /// Words that only they see.
    Privately(String),
    /// Words that everybody sees. A card's answer never is.
    Publicly(String),
    /// A window that asks for text, with its title.
    Asked(String),
    /// The message was redrawn, or nothing visible happened.
    Nothing,
    /// "This interaction failed."
    Failed,
}

impl Told {
    /// The words, if there were any.
    pub fn words(self) -> Option<String> {
        match self {
            Self::Privately(words) | Self::Publicly(words) | Self::Asked(words) => Some(words),
            Self::Nothing | Self::Failed => None,
        }
    }
}

/// A press on its way.
pub(super) struct Interaction {
    pub id: String,
    pub token: String,
    pub person: String,
    pub channel: String,
    pub message: Option<String>,
    /// 3 a button, 5 a window's text.
    pub kind: u64,
    pub sent: Instant,
    /// The type of the first answer.
    pub answered: Option<u64>,
    pub modal: Option<Value>,
    pub told: Vec<Told>,
}

impl FakeDiscord {
    /// A person presses the button with this label on the message `channel/id`, once the bot is
    /// online, and sees what comes of it.
    pub async fn press(&self, reference: &str, label: &str, person: &Person) -> Told {
        let message = self.message(reference).expect("the message stands");
        let at = message.buttons.iter().position(|it| it == label);
        let at = at.unwrap_or_else(|| panic!("no button `{label}` among {:?}", message.buttons));
        self.press_token(reference, &message.tokens[at], person).await
    }

    /// The same with what the button carries, whether it (still) stands there or not.
    pub async fn press_token(&self, reference: &str, token: &str, person: &Person) -> Told {
        self.until_online().await;
        let data = json!({"component_type": 2, "custom_id": token, "id": 2});
        let id = self.interact(3, reference, data, person);
        self.outcome(&id).await
    }

    /// Waits until the last press has a first answer.
    pub async fn until_answered(&self) {
        let last = || self.lock().interactions.last().and_then(|it| it.answered);
        self.wait("a first answer", last).await;
    }

    /// A person fills the window that their last press on this message opened.
    pub async fn give_text(&self, reference: &str, text: &str, person: &Person) -> Told {
        self.until_online().await;
        let modal = self.open_window(reference, person).expect("a window is open");
        let input = &modal["components"][0]["components"][0];
        let length = text.chars().count() as u64;
        assert!(length <= input["max_length"].as_u64().unwrap_or(4000), "it takes no such text");
        let input = json!({"type": 4, "id": 2, "custom_id": input["custom_id"], "value": text});
        let data = json!({
            "custom_id": modal["custom_id"],
            "components": [{"type": 1, "id": 1, "components": [input]}],
        });
        let id = self.interact(5, reference, data, person);
        self.outcome(&id).await
    }

    fn open_window(&self, reference: &str, person: &Person) -> Option<Value> {
        let message = reference.rsplit('/').next().map(str::to_owned);
        let state = self.lock();
        let mut opened = state.interactions.iter().rev();
        let opened = opened.find(|it| it.person == person.id && it.message == message)?;
        opened.modal.clone()
    }

    fn interact(&self, kind: u64, reference: &str, data: Value, person: &Person) -> String {
        let (channel, message_id) = reference.split_once('/').unwrap();
        let (id, payload) = self.change(|state| {
            let id = state.next_id();
            let message = state.message_mut(message_id).expect("the message stands").json();
            let token = format!("interaction-token-{id}-{}", "x".repeat(60));
            let payload =
                payload(&id, &token, kind, data, person, message, state.channel_json(channel));
            state.interactions.push(Interaction {
                id: id.clone(),
                token,
                person: person.id.clone(),
                channel: channel.to_owned(),
                message: Some(message_id.to_owned()),
                kind,
                sent: Instant::now(),
                answered: None,
                modal: None,
                told: Vec::new(),
            });
            (id, payload)
        });
        self.dispatch("INTERACTION_CREATE", &payload);
        id
    }

    /// Waits for the first answer, and for words if the answer was a redrawing.
    async fn outcome(&self, id: &str) -> Told {
        let answered = self.wait("an answer", || self.seen(id, |it| it.answered));
        let Ok(kind) = tokio::time::timeout(DEADLINE, answered).await else {
            return Told::Failed;
        };
        let words = self.wait("words", || self.seen(id, |it| it.told.first().cloned()));
        let patience = match kind {
            // An empty answer: what happened may be told later.
            6 => Duration::from_secs(4),
            7 => Duration::from_secs(2),
            _ => DEADLINE,
        };
        tokio::time::timeout(patience, words).await.unwrap_or(Told::Nothing)
    }

    fn seen<T>(&self, id: &str, look: impl Fn(&Interaction) -> Option<T>) -> Option<T> {
        let state = self.lock();
        state.interactions.iter().find(|it| it.id == id).and_then(look)
    }
}

impl Interaction {
    pub fn tell(&mut self, content: &str, private: bool) {
        let words = markdown::read(content);
        let told = if private { Told::Privately(words) } else { Told::Publicly(words) };
        self.told.push(told);
    }
}

fn payload(
    id: &str,
    token: &str,
    kind: u64,
    data: Value,
    person: &Person,
    message: Value,
    channel: Value,
) -> Value {
    json!({
        "id": id, "application_id": BOT, "type": kind, "data": data, "token": token, "version": 1,
        "guild_id": GUILD, "guild": {"id": GUILD, "locale": "en-US", "features": []},
        "channel_id": channel["id"], "channel": channel, "message": message,
        "member": {
            "user": {
                "id": person.id, "username": person.name.to_lowercase(), "discriminator": "0",
                "global_name": person.name, "avatar": null, "public_flags": 0, "flags": 0,
            },
            "roles": person.roles, "nick": null, "avatar": null, "premium_since": null,
            "joined_at": "2026-01-01T00:00:00.000000+00:00", "deaf": false, "mute": false,
            "pending": false, "communication_disabled_until": null, "flags": 0,
            "permissions": "2147483647",
        },
        "app_permissions": "2147483647", "locale": "en-US", "guild_locale": "en-US",
        "entitlements": [], "entitlement_sku_ids": [],
        "authorizing_integration_owners": {"0": GUILD}, "context": 0,
        "attachment_size_limit": 10_485_760,
    })
}
