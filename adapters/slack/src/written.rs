//! From what somebody wrote to the bot to the answer, which they alone see.

use crate::answer::PrivatePlace;
use crate::bot::SlackBot;
use crate::ids;
use crate::payload::WrittenMessage;
use crate::rich::{reply_in_slack, spoken, words};
use countersign_port::{
    BotCommand, Outcome, Presses, Target, Written, WrittenWords, command_in, hand_over,
    pairing_code,
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
    let words = read(&text, reply_to.is_some(), core.commands());
    let is_command = matches!(words, Written::Command(..));
    let is_code = matches!(words, Written::Code(_));
    let target = Target(channel.clone());
    let place_name = ids::place_in_words(&channel);
    let is_of_card = reply_to.is_some();
    let written = WrittenWords {
        presser,
        target,
        place: place_name,
        // They alone see the answer.
        seen_at: Vec::new(),
        to: reply_to,
        words,
    };
    let (mut reply, shown) = hand_over(core, written).await;
    // In a thread, where Slack takes no command of its own, it is written behind a mention.
    let names_commands =
        if is_command { !is_of_card } else { !is_code && reply.outcome == Outcome::Unknown };
    if names_commands {
        reply = reply_in_slack(reply, core.commands());
    }
    // Anybody can write to the bot; each answer takes a call of our allowance.
    if !reply.is_refusal() || bot.reply_limit.allows(&user, Instant::now()) {
        place.tell(bot, spoken(&reply)).await;
    }
    if let Some((message, card)) = shown {
        bot.redraw(&message, Some(card)).await;
    }
}

/// What somebody's words are.
fn read(text: &str, in_thread: bool, commands: &[BotCommand]) -> Written {
    match (pairing_code(text), command(text, in_thread, commands)) {
        (Some(code), _) => Written::Code(code.to_owned()),
        (None, Some((name, rest))) => Written::Command(name, rest),
        (None, None) if in_thread => Written::Reply(text.to_owned()),
        (None, None) => Written::Command(String::new(), text.to_owned()),
    }
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
