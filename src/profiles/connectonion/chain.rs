//! Decides whether every command of a shell text is permitted.
//!
//! INVARIANT: after the chain has refused a text, nothing else permits it. Only `compat` brings
//! back ConnectOnion's second check, which compares `Bash(ls *)` with `ls -F && rm -rf /` as a
//! whole.

use super::bash::{self, Unread};
use super::cover::CoverCheck;
use super::permission::{Permission, PermissionSource, Permissions, command_fits};
use countersign_policy::call::Call;
use countersign_policy::paths::Directories;
use countersign_policy::shell::{Scan, Via};

/// The result of checking a shell text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Chain {
    /// Every command is permitted.
    Permitted {
        /// Number of commands.
        commands: usize,
        /// The last permission that was needed.
        key: String,
        /// The source of that permission.
        source: PermissionSource,
    },
    /// Some command is not permitted.
    Refused(String),
    /// The text cannot be read with certainty.
    Unreadable(String),
}

/// Returns ConnectOnion's own answer, by its own reading of the text.
///
/// # Errors
/// When its parser gives up: the agent's tool fails, and no person is asked.
pub(super) fn literal(call: &Call, text: &str, given: &Permissions) -> Result<Chain, String> {
    let commands = bash::read(text).map_err(|unread| format!("{unread}: {}", words_of(unread)))?;
    let mut last = None;
    for command in &commands {
        let text = command.text();
        let mut found = None;
        // The first entry that matches counts, whatever its source.
        for permission in given.allowed() {
            // Only `command` is checked here, whatever else `when` contains.
            if permission.key.fits(&text)? && command_fits(permission, &text) {
                found = Some(permission);
                break;
            }
        }
        let Some(found) = found else {
            return Ok(Chain::Refused(format!("Nothing permits `{text}`.")));
        };
        last = Some(found);
    }
    Ok(match last {
        Some(last) => permitted(commands.len(), last),
        None => Chain::Refused(format!("Nothing permits {}.", call.tool)),
    })
}

fn permitted(commands: usize, last: &Permission) -> Chain {
    Chain::Permitted { commands, key: last.key.text().to_owned(), source: last.source }
}

fn words_of(unread: Unread) -> &'static str {
    match unread {
        Unread::Unsupported => "ConnectOnion's parser does not know a construct of the command",
        Unread::Unmatched => "a quote or bracket of the command is never closed",
        Unread::Syntax => "ConnectOnion's parser cannot read the command",
        Unread::Empty => "there is no command in the text",
    }
}

/// Returns the safe answer. Both ConnectOnion's parser and our scanner must read the text. Every
/// command that bash would run must be permitted, with its redirects and everything that it runs in
/// turn.
pub(super) fn strict(
    call: &Call,
    text: &str,
    scan: &Scan<'_>,
    given: &Permissions,
    dirs: Directories<'_>,
) -> Chain {
    // The tool's own name, without a condition on the command, permits every command.
    let whole = |one: &&Permission| {
        one.key.text() == call.tool
            && one.when.iter().all(|(name, _)| name != "command")
            && one.fits_args(&call.args, false)
    };
    if let Some(tool_wide) = given.allowed().find(whole) {
        return permitted(scan.commands.len(), tool_wide);
    }
    if let Err(unread) = bash::read(text) {
        return Chain::Unreadable(format!("The command cannot be read: {}.", words_of(unread)));
    }
    if let Some(refusal) = &scan.refusal {
        return Chain::Unreadable(format!("The command cannot be read with certainty: {refusal}."));
    }
    let judge = CoverCheck { call, text, given, dirs };
    let mut last = None;
    for command in scan.commands.iter().filter(|command| command.via != Via::Guess) {
        match judge.command(command, 0) {
            Ok(found) => last = found.or(last),
            Err(reason) => return Chain::Refused(reason),
        }
    }
    match last {
        Some(last) => permitted(scan.commands.len(), last),
        None => Chain::Refused("There is no command in the text that a permission names.".into()),
    }
}
