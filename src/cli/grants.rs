//! `countersign grants`: what was approved for longer than once, and what asks since a review.

use super::{Context, complete, say};
use anyhow::Result;
use clap::builder::{PossibleValuesParser, TypedValueParser};
use countersign_domain::{By, GrantScope, wire::GrantView};
use countersign_policy::{Rule, file};
use countersign_tokens::clock;
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
    scope: Option<GrantScope>,
    #[command(subcommand)]
    command: Option<GrantsCommand>,
}

#[cfg(test)]
impl GrantsArgs {
    pub(super) fn revokes(&self) -> bool {
        matches!(self.command, Some(GrantsCommand::Revoke { .. }))
    }
}

#[derive(Debug, clap::Subcommand)]
enum GrantsCommand {
    /// Revoke a grant; needs the approver's token. It works at once
    Revoke {
        /// The grant, as `countersign grants` shows it
        #[arg(value_name = "ID", add = complete::grants())]
        grant: String,
    },
    /// Print what was approved for always as a rules file, in which the last match wins
    Export,
}

pub(super) async fn run(context: &Context, args: GrantsArgs) -> Result<()> {
    match args.command {
        Some(GrantsCommand::Revoke { grant }) => {
            let gone = context.approver()?.revoke(&grant).await?;
            say::out(&format!("Revoked: {}", say::literal(&gone.rule)))
        }
        Some(GrantsCommand::Export) => say::out(&exported(&context.reader()?.grants().await?)?),
        None => {
            let mut grants = context.reader()?.grants().await?;
            grants.retain(|grant| args.scope.is_none_or(|scope| grant.scope == scope));
            if args.json {
                say::json(&json!({ "grants": grants }))
            } else if grants.is_empty() {
                say::out("There are no grants.")
            } else {
                let now = clock::now_ms();
                let shown: Vec<_> = grants.iter().map(|grant| show(grant, now)).collect();
                say::lines(&shown.join("\n"))
            }
        }
    }
}

/// The grants for always as rules of a file.
fn exported(grants: &[GrantView]) -> Result<String> {
    let always = grants.iter().filter(|grant| grant.scope == GrantScope::Always);
    let rules: Vec<Rule> = always.map(|grant| Rule::allow(&grant.tool, &grant.pattern)).collect();
    Ok(file::append("{}", &rules)?)
}

/// The scopes by name.
fn scope() -> impl TypedValueParser<Value = GrantScope> {
    PossibleValuesParser::new(GrantScope::ALL.map(GrantScope::word))
        .try_map(|word| GrantScope::of_word(&word).ok_or("no such scope"))
}

/// A grant on one line.
pub(super) fn line(grant: &GrantView) -> String {
    show(grant, clock::now_ms())
}

fn show(grant: &GrantView, now_ms: i64) -> String {
    let GrantView { id, rule, created_at, .. } = grant;
    let until = grant.expires_at.as_ref().map(|at| format!(" until {}", until(at, now_ms)));
    let scope = grant.scope.name();
    let session = match grant.scope {
        GrantScope::Always | GrantScope::Review => String::new(),
        _ => format!(" in {}", grant.session),
    };
    let name = match &grant.by {
        By::Person { name, .. } => name,
        _ => "nobody",
    };
    let given = match clock::from_rfc3339(created_at) {
        Some(at) => clock::relative(at, now_ms),
        None => created_at.clone(),
    };
    say::literal(&format!(
        "{id}  {rule}  {scope}{session}{}, by {name} {given}{}",
        until.unwrap_or_default(),
        used(grant, now_ms).unwrap_or_default(),
    ))
}

/// How often it was used; `None` where nobody counts.
fn used(grant: &GrantView, now_ms: i64) -> Option<String> {
    let used = match grant.used? {
        0 => return Some(", never used".to_owned()),
        1 => "once".to_owned(),
        times => format!("{times} times"),
    };
    let at = grant.last_used_at.as_deref().and_then(clock::from_rfc3339)?;
    let last = clock::relative(at, now_ms);
    let call = grant.last_call.as_deref()?;
    Some(format!(", used {used}, last {last} for `{call}`"))
}

/// A time that is to come: of this day without its date.
fn until(rfc3339: &str, now_ms: i64) -> String {
    let Some(at) = clock::from_rfc3339(rfc3339) else { return rfc3339.to_owned() };
    let then = clock::local(at);
    let now = clock::local(now_ms);
    let (Some((day, time)), Some((today, _))) = (then.split_once(' '), now.split_once(' ')) else {
        return then;
    };
    let time = time.get(..5).unwrap_or(time);
    if day == today { time.to_owned() } else { format!("{day} {time}") }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests fail by panicking")]
    use super::*;

    /// A grant that was given at `now` and holds for so many milliseconds.
    fn shown(now: i64, lasts: i64, later: i64) -> String {
        let grant = json!({"id": "g1", "rule": "shell: git push *", "scope": "session",
            "ask": "a1", "tool": "shell_exec", "pattern": "git push *", "verdict": "allow",
            "agent": "claude-code", "session": "s9",
            "by": {"kind": "person", "platform": "telegram", "id": "5", "name": "Ana"},
            "created_at": clock::rfc3339(now), "expires_at": clock::rfc3339(now + lasts)});
        show(&serde_json::from_value(grant).unwrap(), now + later)
    }

    #[test]
    fn a_grant_shows_its_rule_its_reach_and_who_gave_it_when() {
        const HOUR: i64 = 3_600_000;
        // Noon in this machine's zone: an hour later is the same day.
        let noon = clock::from_local("2026-11-21 12:00").unwrap();
        let wanted = "g1  shell: git push *  session in s9 until 13:00, by Ana 2 min ago";
        assert_eq!(shown(noon, HOUR, 120_000), wanted);
        let wanted = "g1  shell: git push *  session in s9 until 2026-11-22 12:00, by Ana 2 h ago";
        assert_eq!(shown(noon, 24 * HOUR, 2 * HOUR), wanted);
    }

    #[test]
    fn a_grant_shows_how_often_it_was_used_and_for_what_last() {
        let now = clock::now_ms();
        let used = |more: serde_json::Value| {
            let mut grant = json!({"id": "g1", "rule": "shell: ls *", "scope": "always",
                "ask": "a1", "tool": "shell_exec", "pattern": "ls *", "verdict": "allow",
                "agent": "a", "session": "s", "by": {"kind": "timeout"}, "created_at": ""});
            grant.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
            used(&serde_json::from_value(grant).unwrap(), now)
        };
        assert_eq!(used(json!({})), None);
        assert_eq!(used(json!({"used": 0})).as_deref(), Some(", never used"));
        let at = clock::rfc3339(now - 180_000);
        let twice = json!({"used": 2, "last_used_at": at, "last_call": "ls src"});
        assert_eq!(used(twice).as_deref(), Some(", used 2 times, last 3 min ago for `ls src`"));
    }
}
