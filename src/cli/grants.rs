//! `countersign grants`: what was approved for longer than once.

use super::{Context, Exit, complete, say, token};
use crate::{ask::By, client::Client};
use anyhow::Result;
use clap::builder::{PossibleValuesParser, TypedValueParser};
use countersign_protocol::{GrantReach, GrantView};
use serde_json::json;

#[derive(Debug, clap::Args)]
#[command(args_conflicts_with_subcommands = true)]
pub(super) struct GrantsArgs {
    /// Print them as JSON
    #[arg(long)]
    json: bool,
    /// Only those of one scope
    // `--scope=VALUE` alone: the guardrail takes a separate word for a sub-command.
    #[arg(long, value_name = "SCOPE", require_equals = true, value_parser = scope())]
    scope: Option<GrantReach>,
    #[command(subcommand)]
    command: Option<GrantsCommand>,
}

#[cfg(test)]
impl GrantsArgs {
    pub(super) fn revokes(&self) -> bool {
        self.command.is_some()
    }
}

#[derive(Debug, clap::Subcommand)]
enum GrantsCommand {
    /// Take a grant back; needs the approver's token. It works at once
    Revoke {
        /// The grant, as `countersign grants` shows it
        #[arg(value_name = "ID", add = complete::grants())]
        grant: String,
    },
}

pub(super) async fn run(context: &Context, args: GrantsArgs) -> Result<Exit> {
    match args.command {
        Some(GrantsCommand::Revoke { grant }) => {
            let gone = token::approver(context)?.revoke(&grant).await?;
            say::out(&format!("Revoked: {}", say::literal(&gone.rule)))?;
        }
        None => {
            let mut grants = reader(context)?.grants().await?;
            grants.retain(|grant| args.scope.is_none_or(|scope| grant.scope == scope));
            if args.json {
                say::json(&json!({ "grants": grants }))?;
            } else if grants.is_empty() {
                say::out("There are no grants.")?;
            } else {
                let shown: Vec<_> = grants.iter().map(show).collect();
                say::out(&shown.join("\n"))?;
            }
        }
    }
    Ok(Exit::Good)
}

/// The scopes by name.
fn scope() -> impl TypedValueParser<Value = GrantReach> {
    PossibleValuesParser::new(["session", "timed", "always"]).map(|name| match &*name {
        "session" => GrantReach::Session,
        "timed" => GrantReach::Timed,
        _ => GrantReach::Always,
    })
}

/// Approvers see every grant. Without an approver's token, only those are seen that may cover agents
/// of any session.
fn reader(context: &Context) -> Result<Client> {
    match token::approver(context) {
        Err(error) if error.is::<token::NoToken>() => context.client(),
        client => client,
    }
}

fn show(grant: &GrantView) -> String {
    let GrantView { id, rule, created_at, .. } = grant;
    let until = grant.expires_at.as_ref().map(|at| format!(" until {at}")).unwrap_or_default();
    let (scope, session) = match grant.scope {
        GrantReach::Always => ("always", String::new()),
        GrantReach::Session => ("session", format!(" in {}", grant.session)),
        GrantReach::Timed => ("timed", format!(" in {}", grant.session)),
    };
    let name = match &grant.by {
        By::Person { name, .. } => name,
        _ => "nobody",
    };
    let missing = grant.missing.as_ref().map(|why| format!(" — does not hold: {why}"));
    say::literal(&format!(
        "{id}  {rule}  {scope}{session}{until}, by {name} at {created_at}{}",
        missing.unwrap_or_default()
    ))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests fail by panicking")]
    use super::*;

    #[test]
    fn a_grant_shows_its_rule_its_reach_and_who_gave_it() {
        let grant = json!({"id": "g1", "rule": "shell: git push *", "scope": "session",
            "ask": "a1", "tool": "shell_exec", "pattern": "git push *", "verdict": "allow",
            "agent": "claude-code", "session": "s9",
            "by": {"kind": "person", "platform": "telegram", "id": "5", "name": "Ana"},
            "created_at": "2026-11-21T00:00:00Z", "expires_at": "2026-11-21T01:00:00Z"});
        assert_eq!(
            show(&serde_json::from_value(grant).unwrap()),
            "g1  shell: git push *  session in s9 until 2026-11-21T01:00:00Z, by Ana at \
             2026-11-21T00:00:00Z"
        );
    }
}
