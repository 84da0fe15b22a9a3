//! Whether every command of a shell text is permitted.
//!
//! INVARIANT: after the chain has said no, nothing else says yes; only `compat` brings back
//! ConnectOnion's second look, which compares `Bash(ls *)` with `ls -F && rm -rf /` as a whole.

use super::bash::{self, Unread};
use super::cover::CoverCheck;
use super::permission::{Permission, PermissionSource, Permissions, command_fits};
use countersign_policy::call::Call;
use countersign_policy::paths::Directories;
use countersign_policy::shell::{Scan, Via};

/// What the permissions say about a shell text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Chain {
    /// Every command is permitted.
    Permitted {
        /// How many commands there are.
        commands: usize,
        /// The last permission that was needed.
        key: String,
        /// Who gave it.
        source: PermissionSource,
    },
    /// Some command is not.
    Refused(String),
    /// It cannot be read with certainty.
    Unreadable(String),
}

/// ConnectOnion's own answer, by its own reading of the text.
///
/// # Errors
/// What its parser gives up on: the agent's tool fails, and no person is asked.
pub(super) fn literal(call: &Call, text: &str, given: &Permissions) -> Result<Chain, String> {
    let commands = bash::read(text).map_err(|unread| format!("{unread}: {}", words_of(unread)))?;
    let mut last = None;
    for command in &commands {
        let text = command.text();
        let mut found = None;
        for permission in given.allowed() {
            // Only `command` is looked at here, whatever else stands under `when`.
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

/// The safe answer: what ConnectOnion's parser reads and what bash would run must both be known,
/// and every command that bash would run must be permitted, with its redirects and whatever it runs
/// in its turn.
pub(super) fn strict(
    call: &Call,
    text: &str,
    scan: &Scan<'_>,
    given: &Permissions,
    dirs: Directories<'_>,
) -> Chain {
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
