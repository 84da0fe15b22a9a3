//! From what somebody wrote to the bot to the answer, which they alone see.

use crate::bot::SlackBot;
use crate::ids;
use crate::payload::WrittenMessage;
use crate::private::PrivatePlace;
use crate::rich::{RichText, in_slack, reply_in_slack, spoken, words};
use countersign_port::{
    BotCommand, Card, CommandCall, Knock, MessageRef, Outcome, Presser, Presses, Receipt, Target,
    TextReply, command_in, pairing_code,
};
use tokio::time::Instant;

/// Hands to the core what somebody wrote, where it is meant for the bot `me`: a direct message, a
/// mention, or a reply to one of its cards.
pub(crate) async fn take(bot: &SlackBot, core: &dyn Presses, written: WrittenMessage, me: &str) {
    let mention = format!("<@{me}>");
    let reply_to = written.thread.as_ref().filter(|(_, by)| by == me).map(|(at, _)| at.clone());
    let is_mention = written.text.contains(&mention);
    let is_meant = reply_to.is_some() || written.private || is_mention;
    let text = written.text.replace(&mention, "").trim().to_owned();
    if !is_meant || text.is_empty() {
        return;
    }
    let WrittenMessage { user, channel, thread, second_hand, .. } = written;
    let thread = thread.as_ref().and_then(|(at, _)| ids::parts(at).ok());
    let thread = thread.map(|(_, ts)| ts.to_owned());
    let place = PrivatePlace::Member { channel: channel.clone(), user: user.clone(), thread };
    if let Some(why) = second_hand {
        if bot.reply_limit.allows(&user, Instant::now()) {
            place.tell(bot, words(why)).await;
        }
        return;
    }
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
    let known = command(text, reply_to.is_some(), core.commands());
    if let (Some(message), None) = (&reply_to, &known) {
        let (text, at) = (text.to_owned(), Some(message.clone()));
        let reply = TextReply { presser, message: at, token: None, text };
        let mut receipt = core.reply(reply).await;
        if receipt.outcome == Outcome::Unknown {
            receipt.sentence = in_slack(&receipt.sentence, core.commands());
        }
        return of_receipt(receipt, reply_to);
    }
    let (name, rest) = known.unwrap_or_else(|| (String::new(), text.to_owned()));
    // They alone see the answer.
    let call = CommandCall { presser, targets: Vec::new(), message: reply_to, name, rest };
    let is_of_card = call.message.is_some();
    let mut reply = core.command(call).await;
    // In a thread, where Slack takes no command of its own, it is written behind a mention.
    if !is_of_card {
        reply = reply_in_slack(reply, core.commands());
    }
    let kind = if reply.is_refusal() { Answered::Refusal } else { Answered::Otherwise };
    HandedWords { says: spoken(&reply), kind, shows: None }
}

/// The command in what somebody wrote, and what follows it. Slack keeps a slash at the beginning of
/// a message for its own commands, so one is not needed.
// FAIL-CLOSED: in the thread of a card it is. Words alone never approve anything there: "approve
// only if the tests pass" is a reason.
fn command(text: &str, in_thread: bool, commands: &[BotCommand]) -> Option<(String, String)> {
    let slashed = format!("/{text}");
    let found = command_in(text, commands);
    let found = found.or_else(|| command_in(&slashed, commands).filter(|_| !in_thread));
    found.map(|(name, rest)| (name.to_owned(), rest.to_owned()))
}

fn of_receipt(receipt: Receipt, message: Option<MessageRef>) -> HandedWords {
    let Receipt { outcome, sentence, card } = receipt;
    let kind = match outcome {
        Outcome::NotAllowed | Outcome::Unknown => Answered::Refusal,
        _ => Answered::Otherwise,
    };
    HandedWords { says: words(&sentence), kind, shows: message.zip(card) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_needs_a_slash_in_the_thread_of_a_card_only() {
        let approve = BotCommand { name: "approve", description: "Yes.", parameters: &[] };
        let read = |text, in_thread| command(text, in_thread, &[approve]);
        let found = |rest: &str| Some(("approve".to_owned(), rest.to_owned()));
        assert_eq!(read("approve a7f3", false), found("a7f3"));
        assert_eq!(read("/approve a7f3", false), found("a7f3"));
        assert_eq!(read("approve only if the tests pass", true), None);
        assert_eq!(read("/approve yes", true), found("yes"));
        assert_eq!(read("approval", false), None);
    }
}
