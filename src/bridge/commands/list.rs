//! The commands as data: every platform offers the same ones.

use countersign_port::{BotCommand, CommandParameter};

const ID: CommandParameter = CommandParameter {
    name: "id",
    description: "The ask, as /pending shows it; its first three letters are enough",
    required: true,
};

const TIME: CommandParameter = CommandParameter {
    name: "time",
    description: "How long, such as 20m, or `until 18:00`",
    required: false,
};

const BACK: CommandParameter = CommandParameter {
    name: "time",
    description: "How far back, such as 24h; 7d without it",
    required: false,
};

/// Every command, in the order in which people see them.
pub(crate) const COMMANDS: &[BotCommand] = &[
    BotCommand { name: "pending", description: "What waits for an answer", parameters: &[] },
    BotCommand {
        name: "approve",
        description: "Approve an ask once; also as a reply to its card",
        parameters: &[
            ID,
            CommandParameter {
                name: "yes",
                description: "`yes`, for a critical ask",
                required: false,
            },
        ],
    },
    BotCommand {
        name: "deny",
        description: "Deny an ask, with a reason for the agent; also as a reply to its card",
        parameters: &[
            ID,
            CommandParameter {
                name: "reason",
                description: "Why, in words for the agent",
                required: false,
            },
        ],
    },
    BotCommand {
        name: "grants",
        description: "What is remembered, and for how long",
        parameters: &[],
    },
    BotCommand {
        name: "edit",
        description: "Change a command or new text, to be approved on its card",
        parameters: &[
            ID,
            CommandParameter {
                name: "text",
                description: "The whole text that it is to be instead",
                required: true,
            },
        ],
    },
    BotCommand {
        name: "undo",
        description: "Revoke what an answer stored, within ten minutes; also as a reply to its \
                      card",
        parameters: &[ID],
    },
    BotCommand { name: "status", description: "How countersign is", parameters: &[] },
    BotCommand {
        name: "login",
        description: "A link for you alone that signs you in to the inbox, in a private chat",
        parameters: &[],
    },
    BotCommand {
        name: "pause",
        description: "Let no call run, and stop all deadlines, until /resume",
        parameters: &[CommandParameter {
            name: "how",
            description: "`hold` calls (the default), or `deny` them",
            required: false,
        }],
    },
    BotCommand { name: "resume", description: "End the pause", parameters: &[] },
    BotCommand {
        name: "away",
        description: "Get no direct messages and no duty until /back",
        parameters: &[TIME],
    },
    BotCommand { name: "back", description: "End /away and /snooze", parameters: &[] },
    BotCommand {
        name: "snooze",
        description: "Get no direct messages and no reminders for a while",
        parameters: &[TIME],
    },
    BotCommand { name: "duty", description: "Who is on duty", parameters: &[] },
    BotCommand {
        name: "digest",
        description: "How many requests, how fast answered, by whom; rules that would save some",
        parameters: &[BACK],
    },
    BotCommand { name: "help", description: "These commands", parameters: &[] },
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_command_fits_every_platform() {
        let is_name = |name: &str| {
            (1..=32).contains(&name.len()) && name.bytes().all(|b| b.is_ascii_lowercase())
        };
        let fits = |text: &str| (1..=100).contains(&text.chars().count());
        for command in COMMANDS {
            assert!(is_name(command.name) && fits(command.description), "{command:?}");
            let required: Vec<bool> = command.parameters.iter().map(|it| it.required).collect();
            assert!(required.is_sorted_by(|one, next| one >= next), "{command:?}");
            for parameter in command.parameters {
                assert!(is_name(parameter.name) && fits(parameter.description), "{parameter:?}");
            }
        }
        let mut names: Vec<&str> = COMMANDS.iter().map(|command| command.name).collect();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), COMMANDS.len());
    }
}
