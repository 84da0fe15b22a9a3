//! Messages that people write to the bot: directly, or in a channel with its mention.

use super::people::user;
use super::world::bot;
use super::{BOT, CHANNEL, FakeDiscord, GUILD, Person};
use serde_json::{Value, json};

/// The intents under which the gateway sends such messages.
const GUILD_MESSAGES: u64 = 1 << 9;
const DIRECT_MESSAGES: u64 = 1 << 12;

impl FakeDiscord {
    /// Sends the bot a direct message; returns the message's id and its channel.
    pub async fn write_directly(&self, text: &str, person: &Person) -> (String, String) {
        let channel = format!("7{}", person.id);
        self.change(|state| {
            state.add_channel(&channel, "", false);
            state.channels.get_mut(&channel).unwrap().direct = true;
        });
        let message = self.written(&channel, text, person, json!([]));
        (self.send_to_bot(message, DIRECT_MESSAGES).await, channel)
    }

    /// Writes in the channel, with a mention of the bot; returns the message's id.
    pub async fn mention_bot(&self, text: &str, person: &Person) -> String {
        let mut message =
            self.written(CHANNEL, &format!("<@{BOT}> {text}"), person, json!([bot()]));
        message["guild_id"] = json!(GUILD);
        message["member"] = json!({"roles": person.roles, "deaf": false, "mute": false,
            "joined_at": "2026-01-01T00:00:00.000000+00:00", "flags": 0});
        self.send_to_bot(message, GUILD_MESSAGES).await
    }

    fn written(&self, channel: &str, text: &str, person: &Person, mentions: Value) -> Value {
        let id = self.change(|state| state.next_id());
        json!({
            "id": id, "channel_id": channel, "author": user(person), "content": text,
            "timestamp": "2026-11-21T12:00:00.000000+00:00", "edited_timestamp": null,
            "tts": false, "mention_everyone": false, "mentions": mentions, "mention_roles": [],
            "attachments": [], "embeds": [], "pinned": false, "type": 0, "flags": 0,
            "components": [],
        })
    }

    async fn send_to_bot(&self, message: Value, intent: u64) -> String {
        self.until_online().await;
        self.change(|state| {
            let asked = state.sessions.iter_mut().filter(|it| it.intents & intent != 0);
            asked.for_each(|it| it.dispatch("MESSAGE_CREATE", &message));
        });
        message["id"].as_str().unwrap().to_owned()
    }
}
