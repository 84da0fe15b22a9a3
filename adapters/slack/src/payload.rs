//! What people did, out of the payloads that Slack sends.

use crate::ids;
use countersign_port::MessageRef;
use serde_json::{Value, json};

/// The id of the window that asks for text, and of its one input.
pub(crate) const WINDOW: &str = "countersign_text";

/// What the id of a button begins with that submits what is ticked.
pub(crate) const SUBMIT: &str = "submit:";

/// What somebody did, with Slack's word for who did it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum SlackAction {
    /// Pressed a button of a message, or chose from its menu.
    Button(ButtonPress),
    /// Wrote into the window that a button opened.
    Window(WindowText),
    /// Used the slash command.
    Slash(SlashCommand),
    /// Wrote a message.
    Message(WrittenMessage),
    /// Changed where the bot may write.
    Access,
}

/// A press on a message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ButtonPress {
    pub user: String,
    pub message: MessageRef,
    pub token: String,
    /// What opens a window, once and for 3 s.
    pub trigger: String,
    /// Where to answer the presser alone.
    pub respond: String,
    /// The tokens of the options that are ticked; `None` where the button submits none.
    pub chosen: Option<Vec<String>>,
}

/// The text of a window.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct WindowText {
    pub user: String,
    pub asked: AskedText,
    pub text: String,
}

/// What a window carries along: for which button it asks, and on which message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct AskedText {
    pub token: String,
    pub message: MessageRef,
}

/// A slash command.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct SlashCommand {
    pub user: String,
    pub channel: String,
    pub text: String,
    pub respond: String,
}

/// A message that somebody wrote where the bot reads.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct WrittenMessage {
    pub user: String,
    pub channel: String,
    pub text: String,
    /// The message whose thread it is in, and who wrote that.
    pub thread: Option<(MessageRef, String)>,
    /// Whether it is a direct message.
    pub private: bool,
    /// Why it does not hold its writer's own words, written now.
    pub second_hand: Option<&'static str>,
}

impl AskedText {
    /// As a window carries it.
    pub(crate) fn metadata(&self) -> String {
        json!({"token": self.token, "message": self.message.0}).to_string()
    }

    fn read(metadata: &str) -> Option<Self> {
        let metadata: Value = serde_json::from_str(metadata).ok()?;
        let text = |key| metadata.get(key).and_then(Value::as_str).map(str::to_owned);
        Some(Self { token: text("token")?, message: MessageRef(text("message")?) })
    }
}

/// What somebody did; `None` for everything that is not for us. `me` is the bot's own user.
pub(crate) fn read(kind: &str, payload: &Value, me: &str) -> Option<SlackAction> {
    match kind {
        "interactive" => match text(payload, "/type")? {
            "block_actions" => button(payload).map(SlackAction::Button),
            "view_submission" => window(payload).map(SlackAction::Window),
            _ => None,
        },
        "slash_commands" => slash(payload).map(SlackAction::Slash),
        "events_api" => event(payload.get("event")?, me),
        _ => None,
    }
}

/// Slack's id for what was done, the same each time that it is delivered.
pub(crate) fn id(payload: &Value) -> Option<&str> {
    text(payload, "/trigger_id").or_else(|| text(payload, "/event_id"))
}

fn button(payload: &Value) -> Option<ButtonPress> {
    let action = payload.pointer("/actions/0")?;
    let value = match text(action, "/type")? {
        "button" => "/value",
        "overflow" | "static_select" => "/selected_option/value",
        _ => return None,
    };
    let channel = text(payload, "/container/channel_id")?;
    let ts = text(payload, "/container/message_ts")?;
    Some(ButtonPress {
        user: owned(payload, "/user/id")?,
        message: ids::reference_in(channel, ts, text(payload, "/container/thread_ts")),
        token: owned(action, value)?,
        trigger: owned(payload, "/trigger_id").unwrap_or_default(),
        respond: owned(payload, "/response_url").unwrap_or_default(),
        chosen: text(action, "/action_id")
            .filter(|id| id.starts_with(SUBMIT))
            .map(|_| ticked(payload)),
    })
}

/// What the presser has ticked in the boxes of the message.
fn ticked(payload: &Value) -> Vec<String> {
    let rows = payload.pointer("/state/values").and_then(Value::as_object);
    let elements = rows.into_iter().flat_map(|rows| rows.values()).filter_map(Value::as_object);
    let boxes = elements.flat_map(|row| row.values());
    let boxes = boxes.filter(|it| text(it, "/type") == Some("checkboxes"));
    let options = boxes.filter_map(|it| it.get("selected_options")?.as_array()).flatten();
    options.filter_map(|option| owned(option, "/value")).collect()
}

fn window(payload: &Value) -> Option<WindowText> {
    text(payload, "/view/callback_id").filter(|id| *id == WINDOW)?;
    let value = format!("/view/state/values/{WINDOW}/{WINDOW}/value");
    Some(WindowText {
        user: owned(payload, "/user/id")?,
        asked: AskedText::read(text(payload, "/view/private_metadata")?)?,
        text: owned(payload, &value)?,
    })
}

fn slash(payload: &Value) -> Option<SlashCommand> {
    Some(SlashCommand {
        user: owned(payload, "/user_id")?,
        channel: owned(payload, "/channel_id")?,
        text: owned(payload, "/text").unwrap_or_default(),
        respond: owned(payload, "/response_url").unwrap_or_default(),
    })
}

fn event(event: &Value, me: &str) -> Option<SlackAction> {
    match text(event, "/type")? {
        "message" => message(event, me).map(SlackAction::Message),
        "member_joined_channel" => {
            text(event, "/user").filter(|user| *user == me).map(|_| SlackAction::Access)
        }
        "channel_unarchive" | "group_unarchive" => Some(SlackAction::Access),
        _ => None,
    }
}

/// A person's own words: neither edits, nor joins, nor what a bot says.
fn message(event: &Value, me: &str) -> Option<WrittenMessage> {
    let by_bot = event.get("bot_id").is_some() || text(event, "/user") == Some(me);
    let told = text(event, "/subtype").is_some_and(|it| !matches!(it, "thread_broadcast"));
    if by_bot || told {
        return None;
    }
    let channel = text(event, "/channel")?;
    let thread = text(event, "/thread_ts").zip(text(event, "/parent_user_id"));
    Some(WrittenMessage {
        user: owned(event, "/user")?,
        channel: channel.to_owned(),
        text: unmarked(text(event, "/text")?),
        thread: thread.map(|(ts, by)| (ids::reference(channel, ts), by.to_owned())),
        private: text(event, "/channel_type") == Some("im"),
        second_hand: second_hand(event),
    })
}

// SECURITY: what is shared or sent for somebody has their name, and another's words. Previews of links
// come later, as a change of the message.
fn second_hand(event: &Value) -> Option<&'static str> {
    let has = |names: &[&str]| {
        let is_set = |value: &Value| {
            !value.is_null() && value != false && value.as_array().is_none_or(|it| !it.is_empty())
        };
        names.iter().any(|name| event.get(*name).is_some_and(is_set))
    };
    if has(&["attachments"]) {
        return Some("This shares another message, so nothing changed. Write it yourself.");
    }
    if has(&["app_id", "bot_profile"]) {
        return Some("This was sent for you, so nothing changed. Write it yourself.");
    }
    has(&["edited"]).then_some("This was edited, so nothing changed. Write it anew.")
}

/// What somebody typed: Slack marks links and mentions in it and escapes three characters.
fn unmarked(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, from)) = rest.split_once('<') {
        out.push_str(before);
        let Some((mark, after)) = from.split_once('>') else {
            out.push('<');
            rest = from;
            continue;
        };
        match mark.split_once('|') {
            _ if mark.starts_with(['@', '#', '!']) => out.push_str(&format!("<{mark}>")),
            Some((_, label)) => out.push_str(label),
            None => out.push_str(mark),
        }
        rest = after;
    }
    out.push_str(rest);
    out.replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&")
}

fn text<'v>(value: &'v Value, path: &str) -> Option<&'v str> {
    value.pointer(path).and_then(Value::as_str)
}

fn owned(value: &Value, path: &str) -> Option<String> {
    text(value, path).map(str::to_owned)
}

#[cfg(test)]
mod tests;
