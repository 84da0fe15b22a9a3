//! Application commands: what Discord lists behind a slash, and what people make of it.

use crate::bot::DiscordBot;
use crate::errors::Problem;
use crate::markdown::{escape, units};
use crate::rest::Rest;
use countersign_port::{BotCommand, CommandCall, CommandReply, ReplyPiece};
use serde_json::{Value, json};
use serenity::all::{CommandDataOptionValue, CommandInteraction};
use std::sync::atomic::Ordering;
use tracing::{info, warn};

/// What fits into a message, with room for "and more".
const ROOM: usize = 1_900;
/// Discord's type of an option that takes a text.
const TEXT: u64 = 3;

/// Lists our commands where they are not listed so already, once in the life of the adapter; others
/// stay. Failing is no fault: buttons and replies work without.
pub(crate) async fn register(shared: &DiscordBot, commands: &[BotCommand]) {
    if commands.is_empty() || shared.registered.swap(true, Ordering::Relaxed) {
        return;
    }
    if let Err(problem) = try_register(&shared.rest, commands).await {
        shared.registered.store(false, Ordering::Relaxed);
        warn!(%problem, "Discord does not list the bot's commands; invite it anew with the address \
            that `countersign doctor` prints");
    }
}

async fn try_register(rest: &Rest, commands: &[BotCommand]) -> Result<(), Problem> {
    let me = rest.get("/applications/@me").await?;
    let id = me.get("id").and_then(Value::as_str);
    let id = id.ok_or_else(|| Problem::Unreachable("its answer names no bot".to_owned()))?;
    let path = format!("/applications/{id}/commands");
    let there = rest.get(&path).await?;
    let there = there.as_array().map(Vec::as_slice).unwrap_or_default();
    for command in commands {
        let wanted = described(command);
        let is_registered = there.iter().any(|it| seen(it) == seen(&wanted));
        if !is_registered {
            rest.create(&path, wanted).await?;
            info!(command = command.name, "Discord lists a command of the bot");
        }
    }
    Ok(())
}

/// A command as Discord takes it.
fn described(command: &BotCommand) -> Value {
    let options = command.parameters.iter().map(|it| {
        json!({"type": TEXT, "name": it.name, "description": it.description,
            "required": it.required})
    });
    json!({"type": 1, "name": command.name, "description": command.description,
        "options": options.collect::<Vec<_>>()})
}

/// What people see of a command.
fn seen(command: &Value) -> Vec<Value> {
    let of = |it: &Value| {
        let required = it.get("required").and_then(Value::as_bool).unwrap_or_default();
        json!([it.get("name"), it.get("description"), it.get("type"), required])
    };
    let options = command.get("options").and_then(Value::as_array).into_iter().flatten();
    std::iter::once(of(command)).chain(options.map(of)).collect()
}

/// A command that somebody picked; its answer is theirs alone.
pub(crate) fn call(
    command: &CommandInteraction,
    presser: countersign_port::Presser,
) -> CommandCall {
    let texts = command.data.options.iter().filter_map(|option| match &option.value {
        CommandDataOptionValue::String(text) => Some(text.as_str()),
        _ => None,
    });
    let rest = texts.collect::<Vec<_>>().join(" ");
    let name = command.data.name.clone();
    CommandCall { presser, targets: Vec::new(), message: None, name, rest }
}

/// What the bot says, as plain text that is escaped later; what does not fit is counted.
pub(crate) fn spoken(reply: &CommandReply) -> String {
    let mut text = String::new();
    let mut room = ROOM;
    for (at, line) in reply.lines.iter().enumerate() {
        let pieces = line.iter().map(ReplyPiece::plain);
        let line: String = pieces.collect();
        let Some(left) = room.checked_sub(units(&escape(&line)) + 1) else {
            text.push_str(&format!("\n… and {} lines more.", reply.lines.len() - at));
            break;
        };
        room = left;
        if at > 0 {
            text.push('\n');
        }
        text.push_str(&line);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use countersign_port::{CommandParameter, Outcome};

    #[test]
    fn a_command_that_stands_so_is_known_again_whatever_else_discord_says_of_it() {
        const ID: CommandParameter =
            CommandParameter { name: "id", description: "Which", required: true };
        const WHY: CommandParameter =
            CommandParameter { name: "reason", description: "Why", required: false };
        let deny = BotCommand { name: "deny", description: "No.", parameters: &[ID, WHY] };
        let there = json!({"id": "1", "application_id": "2", "version": "3", "type": 1,
            "name": "deny", "description": "No.", "nsfw": false, "options": [
                {"type": 3, "name": "id", "description": "Which", "required": true},
                {"type": 3, "name": "reason", "description": "Why"}]});
        assert_eq!(seen(&there), seen(&described(&deny)));
        let other = BotCommand { description: "Never.", ..deny };
        assert_ne!(seen(&there), seen(&described(&other)));
        let fewer = BotCommand { parameters: &[], ..deny };
        assert_ne!(seen(&there), seen(&described(&fewer)));
    }

    #[test]
    fn what_does_not_fit_into_a_message_is_counted() {
        let lines = vec![vec![ReplyPiece::Literal("`*".repeat(200))]; 5];
        let spoken = spoken(&CommandReply { outcome: Outcome::Noted, lines });
        assert!(units(&escape(&spoken)) <= 2_000);
        assert!(spoken.ends_with("\n… and 3 lines more."), "{spoken}");
    }
}
