//! From what somebody did to what they are told. Slack has its acknowledgement already.

use crate::bot::{SlackBot, put};
use crate::payload::{AskedText, ButtonPress, SlackAction, SlashCommand, WINDOW, WindowText};
use crate::rich::{RichText, escape, reply_in_slack, spoken, words};
use crate::{ids, written};
use countersign_port::{
    CommandCall, Outcome, PairingMessage, Press, Presses, Receipt, TEXT_NOT_NOW, Target, TextReply,
    command_in, pairing_code,
};
use serde_json::{Value, json};
use std::time::{Duration, Instant};
use tokio::time::Instant as Tick;
use tracing::{debug, warn};

/// How long after a press a window can be opened: Slack allows 3 s.
const WINDOW_WITHIN: Duration = Duration::from_millis(2500);

/// Hands to the core what somebody did, and tells them what came of it. `me` is the bot's own user.
pub(crate) async fn take(
    bot: &SlackBot,
    core: &dyn Presses,
    action: SlackAction,
    (me, came): (&str, Instant),
) {
    match action {
        SlackAction::Button(press) => button(bot, core, press, came).await,
        SlackAction::Window(text) => window(bot, core, text).await,
        SlackAction::Slash(command) => slash(bot, core, command).await,
        SlackAction::Message(message) => written::take(bot, core, message, me).await,
        SlackAction::Access => bot.signals.access_changed(),
    }
}

async fn button(bot: &SlackBot, core: &dyn Presses, press: ButtonPress, came: Instant) {
    let ButtonPress { user, message, token, trigger, respond, chosen } = press;
    let place = PrivatePlace::Response(respond);
    let presser = match bot.people.presser(&bot.api, &user).await {
        Ok(presser) => presser,
        Err(why) => return place.tell(bot, words(why)).await,
    };
    let press = Press { presser, message: Some(message.clone()), token: token.clone() };
    let Receipt { outcome, sentence, card } = match chosen {
        None => core.press(press).await,
        Some(chosen) => core.press_with(press, chosen).await,
    };
    if outcome == Outcome::TextWanted {
        let asked = AskedText { token, message };
        let in_time = came.elapsed() < WINDOW_WITHIN;
        if !in_time || !open(bot, &trigger, &asked, &sentence).await {
            place.tell(bot, words(TEXT_NOT_NOW)).await;
        }
        return;
    }
    tokio::join!(place.tell(bot, words(&sentence)), bot.redraw(&message, card));
}

async fn window(bot: &SlackBot, core: &dyn Presses, given: WindowText) {
    let WindowText { user, asked: AskedText { token, message }, text } = given;
    let channel = ids::parts(&message).map_or("", |(channel, _)| channel);
    let place = PrivatePlace::member(channel, &user);
    let presser = match bot.people.presser(&bot.api, &user).await {
        Ok(presser) => presser,
        Err(why) => return place.tell(bot, words(why)).await,
    };
    let reply = TextReply { presser, message: Some(message.clone()), token: Some(token), text };
    let Receipt { sentence, card, .. } = core.reply(reply).await;
    tokio::join!(place.tell(bot, words(&sentence)), bot.redraw(&message, card));
}

async fn slash(bot: &SlackBot, core: &dyn Presses, command: SlashCommand) {
    let SlashCommand { user, channel, text, respond } = command;
    let place = PrivatePlace::Response(respond);
    let presser = match bot.people.presser(&bot.api, &user).await {
        Ok(presser) => presser,
        Err(why) => return place.tell(bot, words(why)).await,
    };
    if let Some(code) = pairing_code(&text) {
        let place_name = ids::place_in_words(&channel);
        let target = Target(channel);
        let code = code.to_owned();
        let sent = PairingMessage { presser, place: place_name, target, code };
        let Receipt { outcome, sentence, .. } = core.pair(sent).await;
        if outcome != Outcome::Unknown || bot.reply_limit.allows(&user, Tick::now()) {
            place.tell(bot, words(&sentence)).await;
        }
        return;
    }
    let text = text.trim_start().trim_start_matches('/');
    let line = format!("/{text}");
    let (name, rest) = command_in(&line, core.commands()).unwrap_or(("", text));
    let name = name.to_owned();
    let rest = rest.to_owned();
    // The presser alone sees the answer.
    let call = CommandCall { presser, targets: Vec::new(), message: None, name, rest };
    let reply = reply_in_slack(core.command(call).await, core.commands());
    place.tell(bot, spoken(&reply)).await;
}

/// Opens a window that asks for text; whether it did.
async fn open(bot: &SlackBot, trigger: &str, asked: &AskedText, sentence: &str) -> bool {
    let opened = bot.api.write("views.open", &view(trigger, asked, sentence)).await;
    if let Err(problem) = &opened {
        debug!(%problem, "a window for text could not be opened");
    }
    opened.is_ok()
}

fn view(trigger: &str, asked: &AskedText, sentence: &str) -> Value {
    let plain = |text: &str| json!({"type": "plain_text", "text": text, "emoji": false});
    let label: String = sentence.chars().take(2_000).collect();
    let label = if label.trim().is_empty() { "Your answer".to_owned() } else { label };
    let input = json!({"type": "plain_text_input", "action_id": WINDOW, "multiline": true,
        "min_length": 1, "max_length": 3_000});
    let block = json!({"type": "input", "block_id": WINDOW, "label": plain(&label),
        "element": input});
    json!({"trigger_id": trigger, "view": {"type": "modal", "callback_id": WINDOW,
        "private_metadata": asked.metadata(), "title": plain("countersign"),
        "submit": plain("Send"), "close": plain("Cancel"), "blocks": [block]}})
}

/// Where somebody is told something.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum PrivatePlace {
    /// At the address that came with what they did: it works for half an hour, in any channel.
    Response(String),
    /// In a channel that they are in, or in a thread there.
    Member { channel: String, user: String, thread: Option<String> },
}

impl PrivatePlace {
    /// In a channel that this person is in.
    pub(crate) fn member(channel: &str, user: &str) -> Self {
        Self::Member { channel: channel.to_owned(), user: user.to_owned(), thread: None }
    }

    /// Tells it, where there is something to tell. What they did counts even where that
    /// fails.
    pub(crate) async fn tell(&self, bot: &SlackBot, text: RichText) {
        let plain = text.plain();
        let Some(block) = text.block() else { return };
        let fallback = escape(&plain);
        let told = match self {
            Self::Response(url) => {
                let body = json!({"response_type": "ephemeral", "replace_original": false,
                    "text": fallback, "blocks": [block]});
                bot.api.respond(url, &body).await
            }
            Self::Member { channel, user, thread } => {
                let mut body = json!({"channel": channel, "user": user, "text": fallback,
                    "blocks": [block]});
                if let Some(thread) = thread {
                    put(&mut body, "thread_ts", thread.as_str().into());
                }
                bot.api.write("chat.postEphemeral", &body).await.map(drop)
            }
        };
        if let Err(problem) = told {
            warn!(%problem, "the reply to a person's action failed");
        }
    }
}
