//! The people in the channels, and the replies that they see.

use super::{BOT, CHANNEL, FakeDiscord, GUILD, markdown};
use serde_json::{Value, json};
use std::time::{Duration, Instant};

/// Discord's deadline for the first reply to an interaction.
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

/// The reply that a presser saw.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Told {
    /// An ephemeral message.
    Privately(String),
    /// A message that everybody sees, which a card's reply never is.
    Publicly(String),
    /// A modal that asks for text, with its title.
    Asked(String),
    /// The message was redrawn, or nothing visible happened.
    Nothing,
    /// "This interaction failed."
    Failed,
}

impl Told {
    /// The words of the reply, if there are any.
    pub fn words(self) -> Option<String> {
        match self {
            Self::Privately(words) | Self::Publicly(words) | Self::Asked(words) => Some(words),
            Self::Nothing | Self::Failed => None,
        }
    }
}

/// A press in progress.
pub(super) struct Interaction {
    pub id: String,
    pub token: String,
    pub person: String,
    pub channel: String,
    pub message: Option<String>,
    /// 2 for a command, 3 for a button, 5 for a modal.
    pub kind: u64,
    pub sent: Instant,
    /// The type of the first reply.
    pub answered: Option<u64>,
    pub modal: Option<Value>,
    pub told: Vec<Told>,
}

impl FakeDiscord {
    /// Presses the button with this label on the message `channel/id` once the bot is online, and
    /// returns what the person sees.
    pub async fn press(&self, reference: &str, label: &str, person: &Person) -> Told {
        let message = self.message(reference).expect("the message stands");
        if let Some((_, value)) = message.options.iter().find(|(it, _)| is_labelled(it, label)) {
            return self.choose(reference, value, person).await;
        }
        let at = message.buttons.iter().position(|it| is_labelled(it, label));
        let at = at.unwrap_or_else(|| panic!("no button `{label}` among {:?}", message.buttons));
        self.press_token(reference, &message.tokens[at], person).await
    }

    /// Chooses an option of a select on a message, and returns what the person sees.
    async fn choose(&self, reference: &str, value: &str, person: &Person) -> Told {
        self.until_online().await;
        let data = json!({"component_type": 3, "custom_id": "more", "id": 3, "values": [value]});
        let id = self.interact(3, reference, data, person);
        self.outcome(&id).await
    }

    /// The same with a button's token, whether the button still exists or not.
    pub async fn press_token(&self, reference: &str, token: &str, person: &Person) -> Told {
        // A press while the bot is offline would be lost, as with the real Discord.
        self.until_online().await;
        let data = json!({"component_type": 2, "custom_id": token, "id": 2});
        let id = self.interact(3, reference, data, person);
        self.outcome(&id).await
    }

    /// Runs a command with these values, and returns what the person sees.
    pub async fn command(&self, name: &str, values: &[(&str, &str)], person: &Person) -> Told {
        self.until_online().await;
        let options =
            values.iter().map(|(name, value)| json!({"type": 3, "name": name, "value": value}));
        let data = json!({"id": "42", "name": name, "type": 1,
            "options": options.collect::<Vec<_>>()});
        let id = self.change(|state| state.next_id());
        let token = format!("interaction-token-{id}-{}", "x".repeat(60));
        let mut payload = self.change(|state| {
            state.interactions.push(Interaction {
                id: id.clone(),
                token: token.clone(),
                person: person.id.clone(),
                channel: CHANNEL.to_owned(),
                message: None,
                kind: 2,
                sent: Instant::now(),
                answered: None,
                modal: None,
                told: Vec::new(),
            });
            let channel = state.channel_json(CHANNEL);
            payload(&id, &token, 2, data, person, Value::Null, channel)
        });
        payload.as_object_mut().unwrap().remove("message");
        self.dispatch("INTERACTION_CREATE", &payload);
        self.outcome(&id).await
    }

    /// The names of the registered commands.
    pub fn listed_commands(&self) -> Vec<String> {
        let state = self.lock();
        state.commands.iter().map(|it| it["name"].as_str().unwrap().to_owned()).collect()
    }

    /// Replies to a message of the bot, with its mention on or off; returns the new message's id.
    /// As the real gateway, it sends the message only to sessions with that intent, and without its
    /// text unless it mentions the bot.
    pub async fn reply(&self, reference: &str, text: &str, person: &Person, on: bool) -> String {
        self.reply_of(reference, if on { text } else { "" }, person, on, &json!({})).await
    }

    /// Replies with more fields than those of a person's own words, such as those of a forward.
    pub async fn reply_with(
        &self,
        reference: &str,
        text: &str,
        person: &Person,
        more: &Value,
    ) -> String {
        self.reply_of(reference, text, person, true, more).await
    }

    async fn reply_of(
        &self,
        reference: &str,
        text: &str,
        person: &Person,
        on: bool,
        more: &Value,
    ) -> String {
        self.until_online().await;
        let (channel, to) = reference.split_once('/').unwrap();
        let id = self.change(|state| state.next_id());
        let mut message = self.change(|state| {
            let answered = state.message_mut(to).expect("the message stands").json();
            let mut json = answered.clone();
            json["id"] = json!(id);
            json["author"] = user(person);
            json["member"] = json!({"roles": person.roles, "deaf": false, "mute": false,
                "joined_at": "2026-01-01T00:00:00.000000+00:00", "flags": 0});
            json["guild_id"] = json!(GUILD);
            json["type"] = json!(19);
            json["content"] = json!(text);
            json["edited_timestamp"] = Value::Null;
            json["components"] = json!([]);
            json["attachments"] = json!([]);
            json["mentions"] = if on { json!([super::world::bot()]) } else { json!([]) };
            json["message_reference"] =
                json!({"message_id": to, "channel_id": channel, "guild_id": GUILD});
            json["referenced_message"] = answered;
            json
        });
        let fields = message.as_object_mut().unwrap();
        fields.remove("application_id");
        fields.extend(more.as_object().unwrap().clone());
        self.change(|state| {
            let asked = state.sessions.iter_mut().filter(|it| it.intents & (1 << 9) != 0);
            asked.for_each(|it| it.dispatch("MESSAGE_CREATE", &message));
        });
        id
    }

    /// Waits for the bot's reply to a person's message.
    pub async fn answer_to(&self, message: &str) -> String {
        let said =
            || self.messages().into_iter().find(|it| it.reply_to.as_deref() == Some(message));
        self.wait("an answer to a message", said).await.text
    }

    /// Waits until the last press has a first reply.
    pub async fn until_answered(&self) {
        let last = || self.lock().interactions.last().and_then(|it| it.answered);
        self.wait("a first answer", last).await;
    }

    /// Fills in the modal that the person's last press on this message opened.
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
            state.last_press = payload.clone();
            (id, payload)
        });
        self.dispatch("INTERACTION_CREATE", &payload);
        id
    }

    /// Sends the last press again, and waits until the bot has replied to it once more.
    pub async fn redeliver_press(&self) {
        let replies = || {
            let calls = self.calls().into_iter();
            calls.filter(|call| call.contains("/callback ")).count()
        };
        let before = replies();
        let press = self.lock().last_press.clone();
        self.dispatch("INTERACTION_CREATE", &press);
        self.wait("another reply", || (replies() > before).then_some(())).await;
    }

    /// Waits for the first reply, and for a message if that reply was an edit.
    async fn outcome(&self, id: &str) -> Told {
        let answered = self.wait("an answer", || self.seen(id, |it| it.answered));
        let Ok(kind) = tokio::time::timeout(DEADLINE, answered).await else {
            return Told::Failed;
        };
        let words = self.wait("words", || self.seen(id, |it| it.told.first().cloned()));
        let patience = match kind {
            // A deferred reply: a message may follow later.
            5 | 6 => Duration::from_secs(4),
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

pub(super) fn user(person: &Person) -> Value {
    json!({
        "id": person.id, "username": person.name.to_lowercase(), "discriminator": "0",
        "global_name": person.name, "avatar": null, "public_flags": 0, "flags": 0,
    })
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
            "user": user(person),
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

/// Returns whether a button has this label, possibly followed by a colon and the rule that it
/// stores.
fn is_labelled(shown: &str, label: &str) -> bool {
    shown
        .strip_prefix(label)
        .is_some_and(|rest| rest.is_empty() || rest.starts_with(": ") || rest == "…")
}
