//! The list of commands that Telegram shows beside its input field.

use crate::api::{BotApi, Failure, PATIENCE};
use crate::errors::sentence;
use crate::page::{Page, Style};
use crate::retry::patiently;
use countersign_port::{BotCommand, CommandReply, ReplyPiece};
use serde::{Deserialize, de::IgnoredAny};
use teloxide::payloads::{GetMyCommands, SetMyCommands};
use teloxide::types::BotCommand as Listed;

/// The most that Telegram takes.
const MOST: usize = 100;
/// What a message takes, in characters; some are left for "and more".
const ROOM: usize = 4_000;

/// A command as it is listed there now.
#[derive(Deserialize)]
struct There {
    command: String,
    #[serde(default)]
    description: String,
}

/// Lists our commands where they are not listed so already; others' stay. Failing is no fault: the
/// commands work unlisted.
pub(crate) async fn register(api: BotApi, commands: &'static [BotCommand]) {
    if let Err(failure) = try_register(&api, commands).await {
        let why = sentence(&failure);
        tracing::warn!(why, "telegram does not list the bot's commands; they work nonetheless");
    }
}

async fn try_register(api: &BotApi, commands: &[BotCommand]) -> Result<(), Failure> {
    if commands.is_empty() {
        return Ok(());
    }
    let get = GetMyCommands::new();
    let there: Vec<There> = patiently(|| api.call(&get, PATIENCE)).await?;
    let there: Vec<(String, String)> =
        there.into_iter().map(|it| (it.command, it.description)).collect();
    let Some(wanted) = changed(&there, commands) else { return Ok(()) };
    let listed = wanted.into_iter().map(|(name, about)| Listed::new(name, about));
    let set = SetMyCommands::new(listed.collect::<Vec<_>>());
    patiently(|| api.call::<_, IgnoredAny>(&set, PATIENCE)).await?;
    tracing::info!("telegram lists the bot's commands");
    Ok(())
}

/// The whole list as it should be; `None` where it is so.
fn changed(there: &[(String, String)], commands: &[BotCommand]) -> Option<Vec<(String, String)>> {
    let ours = commands.iter().map(|it| (it.name.to_owned(), it.description.to_owned()));
    let others = there.iter().filter(|(name, _)| commands.iter().all(|it| it.name != name));
    let wanted: Vec<_> = ours.chain(others.cloned()).take(MOST).collect();
    (wanted != there).then_some(wanted)
}

/// What the bot says, as one message: what does not fit is counted.
pub(crate) fn page(reply: &CommandReply) -> Page {
    let (mut page, mut room) = (Page::default(), ROOM);
    for (at, line) in reply.lines.iter().enumerate() {
        let length: usize = line.iter().map(|piece| text(piece).chars().count()).sum();
        let Some(left) = room.checked_sub(length + 1) else {
            page.add(Style::Plain, format!("\n… and {} lines more.", reply.lines.len() - at));
            break;
        };
        room = left;
        if at > 0 {
            page.add(Style::Plain, "\n");
        }
        for piece in line {
            match piece {
                ReplyPiece::Words(words) => page.add(Style::Plain, words.clone()),
                // SECURITY: as code it pings nobody and links nowhere.
                ReplyPiece::Literal(text) => page.add(Style::Code, text.clone()),
            }
        }
    }
    page
}

fn text(piece: &ReplyPiece) -> &str {
    match piece {
        ReplyPiece::Words(text) | ReplyPiece::Literal(text) => text,
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests fail by panicking")]

    use super::*;
    use countersign_port::Outcome;

    const DENY: BotCommand = BotCommand { name: "deny", description: "No.", parameters: &[] };

    fn entry(name: &str, about: &str) -> (String, String) {
        (name.to_owned(), about.to_owned())
    }

    #[test]
    fn a_list_that_stands_is_left_alone_and_others_commands_stay() {
        assert_eq!(changed(&[], &[DENY]).unwrap(), [entry("deny", "No.")]);
        assert_eq!(changed(&[entry("deny", "No.")], &[DENY]), None);
        let both = [entry("deny", "No."), entry("weather", "Rain.")];
        assert_eq!(changed(&both, &[DENY]), None);
        let old = [entry("weather", "Rain."), entry("deny", "Never.")];
        assert_eq!(changed(&old, &[DENY]).unwrap(), both);
    }

    #[test]
    fn what_does_not_fit_into_a_message_is_counted() {
        let long = ReplyPiece::Literal("<x>".repeat(500));
        let lines = vec![vec![ReplyPiece::Words("a7f3 ".to_owned()), long]; 5];
        let shown = page(&CommandReply { outcome: Outcome::Noted, lines }).text();
        assert!(shown.chars().count() <= 4_096, "{}", shown.chars().count());
        assert!(shown.ends_with("\n… and 3 lines more."), "{shown}");
    }
}
