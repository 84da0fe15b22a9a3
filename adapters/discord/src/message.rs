//! The bodies of Discord's requests, and which files stay with a message.

use crate::card::RenderedCard;
use crate::markdown::{one_line, sentence_with_link};
use countersign_port::{Card, Reminder, TextFile, cut};
use serde::{Deserialize, Serialize};
use serenity::all::{
    CreateActionRow, CreateAllowedMentions, CreateInputText, InputTextStyle, MessageFlags, RoleId,
    UserId,
};

/// The id of the one input of a modal.
pub(crate) const INPUT: &str = "text";

/// Whom a new message notifies.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Rings<'a> {
    /// Those who follow the channel, and this role.
    Aloud(Option<&'a str>),
    /// Nobody: it belongs to a burst.
    Silently,
}

/// A message to be sent, or what it is to become.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct MessageBody {
    content: String,
    components: Vec<CreateActionRow>,
    /// SECURITY: empty but for the configured role, so that no text pings anybody.
    allowed_mentions: CreateAllowedMentions,
    flags: MessageFlags,
    #[serde(skip_serializing_if = "Option::is_none")]
    attachments: Option<Vec<Keep>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    nonce: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    enforce_nonce: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    message_reference: Option<Reference>,
    /// What is uploaded with it.
    #[serde(skip)]
    pub files: Vec<TextFile>,
}

/// A file that a message has already.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub(crate) struct AttachedFile {
    /// Discord's id of it.
    pub id: String,
    /// As it was uploaded.
    pub filename: String,
    /// In bytes.
    pub size: u64,
}

/// The message that another replies to.
#[derive(Debug, Clone, Serialize)]
struct Reference {
    message_id: String,
    fail_if_not_exists: bool,
}

/// An attachment of the message after the request: one that is there, or the n-th upload.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
struct Keep {
    id: String,
    filename: String,
}

impl MessageBody {
    /// A new message. Within some minutes Discord returns the first one for a repeated `card.id`.
    pub(crate) fn post(card: &Card, drawn: RenderedCard, rings: Rings<'_>) -> Self {
        let mut body = Self::edit(drawn, &[]);
        match rings {
            Rings::Silently => body.flags |= MessageFlags::SUPPRESS_NOTIFICATIONS,
            Rings::Aloud(None) => {}
            Rings::Aloud(Some(role)) => {
                if let Some(id) = role.parse().ok().filter(|id| *id > 0).map(RoleId::new) {
                    body.content.push_str(&format!("\n<@&{id}>"));
                    body.allowed_mentions = CreateAllowedMentions::new().roles([id]);
                }
            }
        }
        body.nonce = Some(card.id.clone());
        body.enforce_nonce = Some(true);
        body
    }

    /// The same for this channel. Discord compares the ids of all channels, and a card whose thread
    /// was deleted is posted again in another one.
    pub(crate) fn in_channel(mut self, channel: &str) -> Self {
        let last = channel
            .char_indices()
            .rev()
            .nth(2)
            .map_or(channel, |(at, _)| channel.get(at..).unwrap_or_default());
        self.nonce = self.nonce.map(|id| format!("{id}{last}"));
        self
    }

    /// The first message of a thread, which notifies nobody. Within some minutes Discord returns
    /// the first one for a repeated `id`.
    pub(crate) fn head(name: &str, id: &str) -> Self {
        let mut body = Self::plain(name);
        body.content.insert_str(0, "🧵 ");
        body.flags |= MessageFlags::SUPPRESS_NOTIFICATIONS;
        (body.nonce, body.enforce_nonce) = (Some(id.to_owned()), Some(true));
        body
    }

    /// What a message with these files is to become.
    pub(crate) fn edit(drawn: RenderedCard, attached: &[AttachedFile]) -> Self {
        let mut keep = Vec::new();
        let mut files = Vec::new();
        for file in drawn.files {
            let same = |old: &&AttachedFile| {
                old.filename == file.name && old.size == file.text.len() as u64
            };
            let id = match attached.iter().find(same) {
                Some(old) => old.id.clone(),
                None => {
                    files.push(file.clone());
                    (files.len() - 1).to_string()
                }
            };
            keep.push(Keep { id, filename: file.name });
        }
        Self {
            content: drawn.content,
            components: drawn.rows,
            allowed_mentions: CreateAllowedMentions::new(),
            flags: MessageFlags::SUPPRESS_EMBEDS,
            attachments: Some(keep),
            nonce: None,
            enforce_nonce: None,
            message_reference: None,
            files,
        }
    }

    /// A text that answers nobody.
    pub(crate) fn plain(text: &str) -> Self {
        let content = sentence_with_link(text);
        Self::edit(RenderedCard { content, rows: Vec::new(), files: Vec::new() }, &[])
    }

    /// A sentence that only the presser sees.
    pub(crate) fn whisper(sentence: &str) -> Self {
        let mut body = Self::plain(sentence);
        body.flags |= MessageFlags::EPHEMERAL;
        body
    }

    /// A sentence as a reply to a message, which may be gone.
    pub(crate) fn reply(sentence: &str, to: &str) -> Self {
        let mut body = Self::plain(sentence);
        let message_id = to.to_owned();
        body.message_reference = Some(Reference { message_id, fail_if_not_exists: false });
        body
    }

    /// A reminder in reply to a card. It mentions these people and nobody else.
    pub(crate) fn reminder(reminder: &Reminder, to: &str) -> Self {
        let mut body = Self::reply(&reminder.text, to);
        body.content.insert_str(0, "⏰ ");
        let ids = reminder.people.iter().filter_map(|it| it.id.parse().ok());
        let people: Vec<UserId> = ids.filter(|id| *id > 0).map(UserId::new).collect();
        for person in &people {
            body.content.push_str(&format!(" <@{person}>"));
        }
        body.allowed_mentions = CreateAllowedMentions::new().users(people).replied_user(false);
        body
    }
}

/// A window that asks for free text. It comes back with `token`.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct Modal {
    custom_id: String,
    title: String,
    components: Vec<CreateActionRow>,
}

impl Modal {
    /// The window for the button `token`.
    pub(crate) fn new(token: &str, sentence: &str) -> Self {
        let sentence = one_line(sentence);
        let input = CreateInputText::new(InputTextStyle::Paragraph, "Your answer", INPUT)
            .placeholder(shorten(&sentence, 100))
            .min_length(1)
            .max_length(4000);
        Self {
            custom_id: token.to_owned(),
            title: shorten(&sentence, 45),
            components: vec![CreateActionRow::InputText(input)],
        }
    }
}

/// The first answer to an interaction.
#[derive(Debug, Clone)]
pub(crate) enum InteractionResponse {
    /// Redraw the pressed message.
    Update(MessageBody),
    /// Tell the presser alone.
    Whisper(MessageBody),
    /// Ask the presser for text.
    Ask(Modal),
    /// Say nothing.
    Nothing,
    /// Tell the person who wrote a command that its answer takes a moment.
    Wait,
}

impl InteractionResponse {
    /// The request's JSON and its uploads.
    pub(crate) fn parts(&self) -> (serde_json::Value, &[TextFile]) {
        match self {
            Self::Update(body) => (serde_json::json!({"type": 7, "data": body}), &body.files),
            Self::Whisper(body) => (serde_json::json!({"type": 4, "data": body}), &body.files),
            Self::Ask(modal) => (serde_json::json!({"type": 9, "data": modal}), &[]),
            Self::Nothing => (serde_json::json!({"type": 6}), &[]),
            Self::Wait => {
                let data = serde_json::json!({"flags": MessageFlags::EPHEMERAL});
                (serde_json::json!({"type": 5, "data": data}), &[])
            }
        }
    }
}

/// A line cut to what a window's title or field takes.
fn shorten(text: &str, most: usize) -> String {
    if text.trim().is_empty() { "Your answer".to_owned() } else { cut(text, most) }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "tests fail by panicking")]

    use super::*;
    use crate::card::draw;
    use countersign_port::Mention;
    use countersign_port_testkit::sample_card;
    use serde_json::{Value, json};

    fn posted(rings: Rings<'_>) -> Value {
        let card = sample_card("echo <@&7> @everyone");
        serde_json::to_value(MessageBody::post(&card, draw(&card), rings)).unwrap()
    }

    #[test]
    fn a_new_card_mentions_the_configured_role_or_nobody_and_a_redraw_nobody() {
        let body = posted(Rings::Aloud(Some("42")));
        assert!(body["content"].as_str().unwrap().ends_with("\n<@&42>"), "{body}");
        assert_eq!(body["allowed_mentions"]["roles"], json!(["42"]));
        assert_eq!(body["allowed_mentions"]["parse"], json!([]));
        for nobody in [posted(Rings::Aloud(None)), posted(Rings::Aloud(Some("0")))] {
            assert_eq!(nobody["allowed_mentions"]["roles"], json!([]));
            assert!(!nobody["content"].as_str().unwrap().contains("<@&42>"));
        }
        let card = sample_card("ls");
        let edit = serde_json::to_value(MessageBody::edit(draw(&card), &[])).unwrap();
        assert_eq!(edit["allowed_mentions"]["roles"], json!([]));
    }

    #[test]
    fn a_reminder_mentions_people_by_their_numbers_and_nobody_else() {
        let person = |id: &str| Mention { id: id.to_owned(), name: "@everyone".to_owned() };
        let people = vec![person("42"), person("@everyone"), person("0")];
        let reminder = Reminder { text: "<@7> waits".to_owned(), people };
        let body = serde_json::to_value(MessageBody::reminder(&reminder, "9")).unwrap();
        assert!(body["content"].as_str().unwrap().ends_with(" waits <@42>"), "{body}");
        let mentions = &body["allowed_mentions"];
        assert_eq!((&mentions["users"], &mentions["parse"]), (&json!(["42"]), &json!([])));
        assert_eq!(mentions["replied_user"], json!(false));
        assert_eq!(body["message_reference"]["message_id"], "9");
    }

    #[test]
    fn a_card_of_a_burst_is_silent() {
        let silent = |body: &Value| body["flags"].as_u64().unwrap() & 1 << 12 != 0;
        assert!(silent(&posted(Rings::Silently)) && !silent(&posted(Rings::Aloud(Some("42")))));
    }
}
