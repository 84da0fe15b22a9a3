//! Commands: what people write to the bot beside pressing buttons.

use crate::{Card, MessageRef, Outcome, PairingMessage, Presser, Presses, Target, TextReply};
use serde::{Deserialize, Serialize};

/// A command that the core takes. An adapter offers the list on its platform, where that has a
/// place for it, and registers it there only when what is there differs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BotCommand {
    /// Its name, 1 to 32 characters `[a-z]`, without a slash.
    pub name: &'static str,
    /// What it does, in one line of at most 100 characters.
    pub description: &'static str,
    /// What may follow it, in order.
    pub parameters: &'static [CommandParameter],
}

/// What may follow a command's name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CommandParameter {
    /// Its name, 1 to 32 characters `[a-z]`.
    pub name: &'static str,
    /// What it is, in one line of at most 100 characters.
    pub description: &'static str,
    /// Whether the command needs it where it is no reply to a card. Those that do come first.
    pub required: bool,
}

/// Words that somebody addressed to the bot.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CommandCall {
    /// Who wrote them, as the platform itself vouches for it.
    pub presser: Presser,
    /// Where others see the answer: every spelling that a target of this place may have. Empty
    /// where the presser alone sees it.
    pub targets: Vec<Target>,
    /// The message that they reply to, where they reply to one of the bot's.
    pub message: Option<MessageRef>,
    /// The command's name without a slash; empty where the words name none of
    /// `Presses::commands`.
    pub name: String,
    /// What follows it, as it was written; the values of the parameters in order, with a
    /// blank between, where the platform has fields for them.
    pub rest: String,
}

/// What the bot says to that.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CommandReply {
    /// What came of it. An adapter whose answers others see answers [`Outcome::NotAllowed`] and
    /// [`Outcome::Unknown`] only now and then: anybody can write to a bot.
    pub outcome: Outcome,
    /// Lines, each of pieces; empty where nothing is to be said.
    pub lines: Vec<Vec<ReplyPiece>>,
}

/// A piece of a line.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ReplyPiece {
    /// The bridge's own words; plain text, to be escaped too.
    Words(String),
    /// Text of an agent or a person, on one line: shown literally, so that it can neither format,
    /// ping, link nor pass for the bridge's own words.
    Literal(String),
    /// A link of the bridge's own, which may be a secret: a platform that can shows its label alone,
    /// so that no lock screen shows where it leads.
    Link {
        /// What it is called.
        label: String,
        /// Where it leads.
        url: String,
    },
}

impl ReplyPiece {
    /// The piece as plain text: of a link its address.
    #[must_use]
    pub fn plain(&self) -> &str {
        match self {
            Self::Words(text) | Self::Literal(text) | Self::Link { url: text, .. } => text,
        }
    }
}

impl CommandReply {
    /// One line of the bridge's own words.
    #[must_use]
    pub fn words(outcome: Outcome, words: impl Into<String>) -> Self {
        Self { outcome, lines: vec![vec![ReplyPiece::Words(words.into())]] }
    }

    /// Nothing at all.
    #[must_use]
    pub fn silence() -> Self {
        Self { outcome: Outcome::Unknown, lines: Vec::new() }
    }

    /// Whether anybody could make the bot say this, as often as they like.
    #[must_use]
    pub fn is_refusal(&self) -> bool {
        matches!(self.outcome, Outcome::NotAllowed | Outcome::Unknown)
    }
}

/// The command among these that a text begins with, and what follows it: `/deny a7f3 no` is
/// `deny` and `a7f3 no`.
#[must_use]
pub fn command_in<'t>(text: &'t str, commands: &[BotCommand]) -> Option<(&'static str, &'t str)> {
    let text = text.trim_start().strip_prefix('/')?;
    let end = text.find(char::is_whitespace).unwrap_or(text.len());
    let (name, rest) = text.split_at_checked(end)?;
    let known = commands.iter().find(|command| command.name.eq_ignore_ascii_case(name))?;
    Some((known.name, rest.trim()))
}

/// The bridge's own words with every command of these as people write it on this platform, such as
/// `/countersign pending` for `/pending`. Not for words with an agent's text in them, which is
/// shown as it is.
#[must_use]
pub fn respelled(words: &str, commands: &[BotCommand], prefix: &str) -> String {
    let mut out = String::with_capacity(words.len());
    let mut rest = words;
    while let Some((before, after)) = rest.split_once('/') {
        out.push_str(before);
        let begins = !out.ends_with(|last: char| last.is_alphanumeric() || last == '/');
        let end = after.find(|next: char| !next.is_ascii_lowercase()).unwrap_or(after.len());
        let name = after.get(..end).unwrap_or_default();
        let ends = !after.get(end..).is_some_and(|rest| rest.starts_with(['/', '-', '_']));
        let known = begins && ends && commands.iter().any(|command| command.name == name);
        out.push_str(if known { prefix } else { "/" });
        rest = after;
    }
    out + rest
}

/// What somebody wrote, as an adapter reads it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Written {
    /// A pairing code.
    Code(String),
    /// A command of the core's without its slash, and what follows it. Other words for the bot are
    /// what follows no command.
    Command(String, String),
    /// A reply to a message of the bot's.
    Reply(String),
}

/// The same with who wrote it, and where.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WrittenWords {
    /// Who wrote them, as the platform itself vouches for it.
    pub presser: Presser,
    /// Where, as cards would have it.
    pub target: Target,
    /// That place in words for people.
    pub place: String,
    /// Where others see the answer, see [`CommandCall::targets`].
    pub seen_at: Vec<Target>,
    /// The message of the bot's that they reply to.
    pub to: Option<MessageRef>,
    /// What they are.
    pub words: Written,
}

/// Hands to the core what somebody wrote, and returns once it is committed or refused: what to
/// tell them, and the card that is different now.
pub async fn hand_over(
    core: &dyn Presses,
    written: WrittenWords,
) -> (CommandReply, Option<(MessageRef, Card)>) {
    let WrittenWords { presser, target, place, seen_at, to, words } = written;
    let receipt = match words {
        Written::Code(code) => core.pair(PairingMessage { presser, target, place, code }).await,
        Written::Reply(text) => {
            core.reply(TextReply { presser, message: to.clone(), token: None, text }).await
        }
        Written::Command(name, rest) => {
            let call = CommandCall { presser, targets: seen_at, message: to, name, rest };
            return (core.command(call).await, None);
        }
    };
    (CommandReply::words(receipt.outcome, receipt.sentence), to.zip(receipt.card))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_is_the_first_word_behind_a_slash_and_its_rest_stays_as_it_was_written() {
        let deny = BotCommand { name: "deny", description: "No.", parameters: &[] };
        let read = |text| command_in(text, &[deny]);
        assert_eq!(read("/deny a7f3 not *now*"), Some(("deny", "a7f3 not *now*")));
        assert_eq!(read(" /Deny\nline one\nline two "), Some(("deny", "line one\nline two")));
        assert_eq!(read("/deny"), Some(("deny", "")));
        for other in ["deny a7f3", "/denyé", "/den", "/", "", "//deny", "/ deny"] {
            assert_eq!(read(other), None, "{other}");
        }
    }

    #[test]
    fn commands_are_named_as_they_are_written_on_the_platform_and_nothing_else_changes() {
        let commands =
            ["deny", "help"].map(|name| BotCommand { name, description: "It.", parameters: &[] });
        let told = |words| respelled(words, &commands, "/bridge ");
        assert_eq!(told("/deny a7f3; /help."), "/bridge deny a7f3; /bridge help.");
        assert_eq!(told("send `/help`"), "send `/bridge help`");
        for other in ["/etc/deny", "a/deny", "/denying", "/deny/x", "//help", "/deny-it", "/"] {
            assert_eq!(told(other), other);
        }
    }
}
