//! From what somebody wrote to the bot to the answer, which they alone see.

use crate::bot::SlackBot;
use crate::ids;
use crate::payload::WrittenMessage;
use crate::private::PrivatePlace;
use crate::rich::{RichText, spoken, words};
use countersign_port::{
    Card, CommandCall, Knock, MessageRef, Outcome, Presser, Presses, Receipt, Target, TextReply,
    command_in, pairing_code,
};
use tokio::time::Instant;

/// Hands to the core what somebody wrote, where it is meant for the bot `me`: a direct message, a
/// mention, or a reply to one of its cards.
pub(crate) async fn take(bot: &SlackBot, core: &dyn Presses, written: WrittenMessage, me: &str) {
    let mention = format!("<@{me}>");
    let reply_to = written.thread.as_ref().filter(|(_, by)| by == me).map(|(at, _)| at.clone());
    let is_meant = reply_to.is_some() || written.private || written.text.contains(&mention);
    let text = written.text.replace(&mention, "").trim().to_owned();
    if !is_meant || text.is_empty() {
        return;
    }
    let WrittenMessage { user, channel, thread, .. } = written;
    let thread = thread.as_ref().and_then(|(at, _)| ids::parts(at).ok());
    let thread = thread.map(|(_, ts)| ts.to_owned());
    let place = PrivatePlace::Member { channel: channel.clone(), user: user.clone(), thread };
    let presser = match bot.people.presser(&bot.api, &user).await {
        Ok(presser) => presser,
        Err(why) if bot.reply_limit.allows(&user, Instant::now()) => {
            return place.tell(bot, words(why)).await;
        }
        Err(_) => return,
    };
    let handed = handed(core, presser, (reply_to, &channel), &text).await;
    // Anybody can write to the bot; each answer takes a call of our allowance.
    let told = match handed.kind {
        Answered::Refusal => bot.reply_limit.allows(&user, Instant::now()),
        Answered::Otherwise => true,
    };
    if told {
        place.tell(bot, handed.says).await;
    }
    if let Some((message, card)) = handed.shows {
        bot.redraw(&message, Some(card)).await;
    }
}

/// What the core made of somebody's words.
struct HandedWords {
    says: RichText,
    kind: Answered,
    /// A card that is different now.
    shows: Option<(MessageRef, Card)>,
}

/// Whether anybody could make the bot say it.
enum Answered {
    Refusal,
    Otherwise,
}

async fn handed(
    core: &dyn Presses,
    presser: Presser,
    (reply_to, channel): (Option<MessageRef>, &str),
    text: &str,
) -> HandedWords {
    if let Some(code) = pairing_code(text) {
        let (target, place) = (Target(channel.to_owned()), ids::place_in_words(channel));
        let receipt = core.knock(Knock { presser, target, place, code: code.to_owned() }).await;
        return of_receipt(receipt, None);
    }
    let known = command_in(text, core.commands());
    if let (Some(message), None) = (&reply_to, known) {
        let (text, at) = (text.to_owned(), Some(message.clone()));
        let reply = TextReply { presser, message: at, token: None, text };
        return of_receipt(core.reply(reply).await, reply_to);
    }
    let (name, rest) = known.unwrap_or(("", text));
    let (name, rest) = (name.to_owned(), rest.to_owned());
    // They alone see the answer.
    let call = CommandCall { presser, targets: Vec::new(), message: reply_to, name, rest };
    let reply = core.command(call).await;
    let kind = if reply.is_refusal() { Answered::Refusal } else { Answered::Otherwise };
    HandedWords { says: spoken(&reply), kind, shows: None }
}

fn of_receipt(receipt: Receipt, message: Option<MessageRef>) -> HandedWords {
    let Receipt { outcome, sentence, card } = receipt;
    let kind = match outcome {
        Outcome::NotAllowed | Outcome::Unknown => Answered::Refusal,
        _ => Answered::Otherwise,
    };
    HandedWords { says: words(&sentence), kind, shows: message.zip(card) }
}
