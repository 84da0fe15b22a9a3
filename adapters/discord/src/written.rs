//! From what somebody wrote in a channel to the answer to it, which is posted as a reply.

use crate::answer::{presser, reference};
use crate::bot::DiscordBot;
use crate::commands::spoken;
use crate::message::MessageBody;
use countersign_port::{
    MessageRef, Presser, Presses, Target, Written, WrittenWords, command_in, hand_over,
    pairing_code,
};
use serenity::all::{Message, MessageReferenceKind};
use tokio::time::Instant;
use tracing::{debug, warn};

/// What is said to a reply whose text Discord does not show us.
const UNREAD: &str = "Discord shows me the text of a reply only when it mentions me. Reply again \
                      with the mention on, or press `Deny with reason…` on the card.";

/// A message that people addressed to the bot.
#[derive(Debug, Clone, PartialEq)]
struct AddressedMessage {
    /// Without the mention of the bot.
    text: String,
    /// The message of ours that it replies to.
    to: Option<MessageRef>,
    /// Where it is.
    channel: String,
    id: String,
    /// Whether nobody else sees the answer.
    private: bool,
}

/// Hands to the core what somebody wrote to the bot `me`, and tells them what came of it.
pub(crate) async fn take(shared: &DiscordBot, core: &dyn Presses, message: &Message, me: &str) {
    let Some(words) = words(message, me) else { return };
    if let Some(why) = second_hand(message) {
        return say(shared, &words, why, true).await;
    }
    let roles = message.member.as_ref().map(|member| &member.roles);
    let writer = presser(&message.author, roles);
    let Some(written) = read(&words, writer, core) else {
        return say(shared, &words, UNREAD, true).await;
    };
    let (reply, shown) = hand_over(core, written).await;
    say(shared, &words, &spoken(&reply), reply.is_refusal()).await;
    if let Some((at, card)) = &shown
        && let Err(error) = shared.update(at, card).await
    {
        debug!(ask = card.ask, %error, "an answered card is left to the core to redraw");
    }
}

/// What the words are; `None` for a reply whose text Discord does not show.
fn read(message: &AddressedMessage, presser: Presser, core: &dyn Presses) -> Option<WrittenWords> {
    let AddressedMessage { text, to, channel, private, .. } = message;
    let known = command_in(text, core.commands());
    let words = match (pairing_code(text), to) {
        (Some(code), _) => Written::Code(code.to_owned()),
        (None, Some(_)) if known.is_none() && text.is_empty() => return None,
        (None, Some(_)) if known.is_none() => Written::Reply(text.clone()),
        (None, _) => {
            let (name, rest) = known.unwrap_or_default();
            Written::Command(name.to_owned(), rest.to_owned())
        }
    };
    let target = Target(channel.clone());
    let (place, seen_at) = if *private {
        ("a direct message".to_owned(), Vec::new())
    } else {
        (format!("the channel {channel}"), vec![target.clone()])
    };
    Some(WrittenWords { presser, target, place, seen_at, to: to.clone(), words })
}

/// Says something as a reply; what anybody can make the bot say, not too often.
async fn say(shared: &DiscordBot, to: &AddressedMessage, sentence: &str, limited: bool) {
    let speaks = !limited || shared.reply_limit.allows(&to.channel, Instant::now());
    if sentence.trim().is_empty() || !speaks {
        return;
    }
    let body = MessageBody::reply(sentence, &to.id);
    if let Err(problem) = shared.rest.post(&to.channel, &body).await {
        warn!(%problem, "a message could not be answered");
    }
}

/// Why a message does not hold its writer's own words, written now; `None` where it does.
// SECURITY: what is forwarded or sent for somebody has their name, and another's words.
fn second_hand(message: &Message) -> Option<&'static str> {
    let forwarded = message.message_reference.as_ref().is_some_and(|reference| {
        // A reply is the only other kind.
        reference.kind != MessageReferenceKind::Default
    });
    if forwarded || !message.message_snapshots.is_empty() {
        return Some("This is a forwarded message, so nothing changed. Write it yourself.");
    }
    if message.application_id.is_some() || message.interaction_metadata.is_some() {
        return Some("This was sent for you, so nothing changed. Write it yourself.");
    }
    let edited = message.edited_timestamp.is_some();
    edited.then_some("This was edited, so nothing changed. Write it anew.")
}

/// What a message says to the bot `me`; `None` where it is not meant for it.
// Without the privileged intent Discord leaves the text out, unless the message mentions the bot,
// as replies do by default, or is in a private channel.
fn words(message: &Message, me: &str) -> Option<AddressedMessage> {
    if message.author.bot || message.webhook_id.is_some() {
        return None;
    }
    let ours = message.referenced_message.as_deref().filter(|it| it.author.id.to_string() == me);
    let to = ours.map(reference);
    let private = message.guild_id.is_none();
    if to.is_none() && !private && !message.mentions.iter().any(|it| it.id.to_string() == me) {
        return None;
    }
    let text = message.content.replace(&format!("<@{me}>"), "").replace(&format!("<@!{me}>"), "");
    let channel = message.channel_id.to_string();
    let id = message.id.to_string();
    Some(AddressedMessage { text: text.trim().to_owned(), to, channel, id, private })
}
