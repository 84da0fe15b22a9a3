//! `countersign completions SHELL`, and what a shell completes: ids, agents and sessions, as the
//! daemon knows them.

use super::{Context, say};
use anyhow::{Context as _, Result};
use clap_complete::{
    Shell,
    engine::{ArgValueCompleter, CompletionCandidate},
    env::Shells,
};
use countersign_client::Client;
use countersign_domain::wire::{HistoryQuery, PasskeyView, TokenState};
use std::{collections::BTreeSet, ffi::OsStr, future::Future, time::Duration};

#[derive(Debug, clap::Args)]
#[command(after_help = "\
The script asks countersign itself, so it also completes ids and sessions of the running daemon.
Load it at the start of each shell, so that it fits the installed version:
  echo 'source <(countersign completions bash)' >> ~/.bashrc
  echo 'source <(countersign completions zsh)' >> ~/.zshrc
  echo 'countersign completions fish | source' >> ~/.config/fish/config.fish")]
pub(super) struct CompletionsArgs {
    /// For which shell
    #[arg(value_enum)]
    shell: Shell,
}

pub(super) fn run(args: &CompletionsArgs) -> Result<()> {
    let shells = Shells::builtins();
    let name = args.shell.to_string();
    let completer = shells.completer(&name).context("this shell has no completions")?;
    let mut script = Vec::new();
    let program = "countersign";
    completer.write_registration(VARIABLE, program, program, program, &mut script)?;
    say::out(String::from_utf8_lossy(&script).trim_end())
}

/// The variable with which a shell's script asks for completions.
pub(super) const VARIABLE: &str = "COUNTERSIGN_COMPLETE";

/// The time for the daemon to reply. A person waits for it with the cursor still.
const TIMEOUT: Duration = Duration::from_secs(1);

/// Completes the id of an open ask.
pub(super) fn asks() -> ArgValueCompleter {
    of(async |client: Client| {
        let asks = client.cards().await.unwrap_or_default();
        asks.into_iter()
            .map(|ask| {
                let title = ask.card.as_ref().and_then(|card| card.get("title")?.as_str());
                (ask.id, title.map(say::literal).unwrap_or_default())
            })
            .collect()
    })
}

/// Completes the id of an open or a closed ask.
pub(super) fn all_asks() -> ArgValueCompleter {
    of(async |client: Client| {
        let closed = client.history(&HistoryQuery::default()).await.map(|page| page.asks);
        let open = client.pending().await.unwrap_or_default();
        let open = open.into_iter().map(|ask| (ask.id, say::literal(&ask.call.tool)));
        let closed = closed.unwrap_or_default().into_iter();
        open.chain(closed.map(|ask| (ask.id, say::literal(&ask.title)))).collect()
    })
}

/// Completes the id of a grant.
pub(super) fn grants() -> ArgValueCompleter {
    of(async |client: Client| {
        let grants = client.grants().await.unwrap_or_default();
        grants.into_iter().map(|grant| (grant.id, say::literal(&grant.rule))).collect()
    })
}

/// Completes the name of an agent with a token.
pub(super) fn agents() -> ArgValueCompleter {
    of(async |client: Client| {
        let tokens = client.tokens().await.unwrap_or_default();
        let in_use = tokens.into_iter().filter(|token| token.state != TokenState::Revoked);
        in_use.map(|token| (token.name, String::new())).collect()
    })
}

/// Completes the id of a passkey.
pub(super) fn passkeys() -> ArgValueCompleter {
    of(async |client: Client| {
        let passkeys = client.passkeys().await.unwrap_or_default();
        let named = |it: &PasskeyView| say::literal(&format!("{} of {}", it.name, it.person));
        passkeys.into_iter().map(|it| (it.id.clone(), named(&it))).collect()
    })
}

/// Completes a session that has an open ask.
pub(super) fn sessions() -> ArgValueCompleter {
    of(async |client: Client| {
        let asks = client.pending().await.unwrap_or_default();
        let named = asks.into_iter().map(|ask| (ask.call.session, say::literal(&ask.call.agent)));
        named.collect::<BTreeSet<_>>().into_iter().collect()
    })
}

fn of<F>(find: impl Fn(Client) -> F + Send + Sync + 'static) -> ArgValueCompleter
where
    F: Future<Output = Vec<(String, String)>>,
{
    ArgValueCompleter::new(move |typed: &OsStr| {
        let typed = typed.to_str().unwrap_or_default();
        let found = client().map(|client| {
            super::wait(async { Ok(tokio::time::timeout(TIMEOUT, find(client)).await?) })
        });
        let found = found.and_then(Result::ok).unwrap_or_default();
        let fitting =
            found.into_iter().filter(|(word, _)| word.starts_with(typed) && is_safe(word));
        fitting.map(|(word, help)| CompletionCandidate::new(word).help(Some(help.into()))).collect()
    })
}

/// A client of the daemon that the environment or the usual config names.
fn client() -> Option<Client> {
    Context::new(None).reader().ok()
}

/// Returns whether a shell takes the word for nothing but itself.
// SECURITY: an agent names its session, and a shell writes what we print into a command line.
fn is_safe(word: &str) -> bool {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_.:/@".contains(c);
    !word.starts_with('-') && !word.is_empty() && word.chars().all(plain)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_session_that_a_shell_would_run_or_split_is_not_offered() {
        for word in ["a1b2", "claude-code:s_9", "me@host/1.2"] {
            assert!(is_safe(word), "{word}");
        }
        for word in ["", "-x", "shell 7", "$(id)", "a;b", "a\nb", "`id`", "ü", "a'b", "~"] {
            assert!(!is_safe(word), "{word}");
        }
    }
}
