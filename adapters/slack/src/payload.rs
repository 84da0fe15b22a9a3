//! What people did, out of the payloads that Slack sends.

use crate::ids;
use countersign_port::MessageRef;
use serde_json::{Value, json};

/// The id of the window that asks for text, and of its one input.
pub(crate) const WINDOW: &str = "countersign_text";

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
    let (channel, ts) =
        (text(payload, "/container/channel_id")?, text(payload, "/container/message_ts")?);
    Some(ButtonPress {
        user: owned(payload, "/user/id")?,
        message: ids::reference(channel, ts),
        token: owned(action, value)?,
        trigger: owned(payload, "/trigger_id").unwrap_or_default(),
        respond: owned(payload, "/response_url").unwrap_or_default(),
    })
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
    })
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
mod tests {
    use super::*;

    fn written(event: Value) -> Option<SlackAction> {
        read("events_api", &json!({"event": event}), "UBOT")
    }

    #[test]
    fn a_persons_words_are_read_as_they_typed_them_and_a_bots_are_not() {
        let event = json!({"type": "message", "user": "U1", "channel": "C1", "channel_type": "im",
            "text": "not &lt;now&gt; &amp;amp; see <https://x.org|x.org>, <https://y.org> <@UBOT>",
            "thread_ts": "1.2", "parent_user_id": "UBOT"});
        let message = WrittenMessage {
            user: "U1".to_owned(),
            channel: "C1".to_owned(),
            text: "not <now> &amp; see x.org, https://y.org <@UBOT>".to_owned(),
            thread: Some((ids::reference("C1", "1.2"), "UBOT".to_owned())),
            private: true,
        };
        assert_eq!(written(event.clone()), Some(SlackAction::Message(message)));
        for (key, value) in [("bot_id", "B1"), ("user", "UBOT"), ("subtype", "message_changed")] {
            let mut event = event.clone();
            event.as_object_mut().map(|event| event.insert(key.to_owned(), value.into()));
            assert_eq!(written(event), None, "{key}");
        }
    }

    #[test]
    fn the_bots_own_way_into_a_channel_changes_its_access_and_nobody_elses_does() {
        let joined = |user: &str| written(json!({"type": "member_joined_channel", "user": user}));
        assert_eq!(joined("UBOT"), Some(SlackAction::Access));
        assert_eq!(joined("U1"), None);
        assert_eq!(written(json!({"type": "channel_unarchive"})), Some(SlackAction::Access));
    }

    #[test]
    fn only_our_own_window_and_only_buttons_and_menus_are_read() {
        let asked = AskedText { token: "t".to_owned(), message: ids::reference("C1", "1.2") };
        let submitted = |callback: &str| {
            let values = json!({WINDOW: {WINDOW: {"value": "use trash-put"}}});
            let view = json!({"callback_id": callback, "private_metadata": asked.metadata(),
                "state": {"values": values}});
            json!({"type": "view_submission", "user": {"id": "U1"}, "view": view})
        };
        let text = WindowText {
            user: "U1".to_owned(),
            asked: asked.clone(),
            text: "use trash-put".to_owned(),
        };
        let ours = read("interactive", &submitted(WINDOW), "UBOT");
        assert_eq!(ours, Some(SlackAction::Window(text)));
        assert_eq!(read("interactive", &submitted("other"), "UBOT"), None);
        let pressed = |action: Value| {
            json!({"type": "block_actions", "user": {"id": "U1"}, "actions": [action],
                "container": {"channel_id": "C1", "message_ts": "1.2"}})
        };
        let button = pressed(json!({"type": "button", "value": "t"}));
        assert!(read("interactive", &button, "UBOT").is_some());
        let date = pressed(json!({"type": "datepicker", "value": "t"}));
        assert_eq!(read("interactive", &date, "UBOT"), None);
    }
}
