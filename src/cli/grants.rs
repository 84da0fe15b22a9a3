//! `countersign grants`: what was approved for longer than once.

use super::{Context, Exit, say, token};
use crate::client::Client;
use anyhow::Result;
use serde_json::{Value, json};

#[derive(Debug, clap::Args)]
#[command(args_conflicts_with_subcommands = true)]
pub(super) struct Args {
    /// Print them as JSON
    #[arg(long)]
    json: bool,
    #[command(subcommand)]
    act: Option<Act>,
}

#[cfg(test)]
impl Args {
    pub(super) fn revokes(&self) -> bool {
        self.act.is_some()
    }
}

#[derive(Debug, clap::Subcommand)]
enum Act {
    /// Take a grant back; needs the approver's token. It works at once
    Revoke {
        /// The grant, as `countersign grants` shows it
        #[arg(value_name = "ID")]
        grant: String,
    },
}

pub(super) async fn run(context: &Context, args: Args) -> Result<Exit> {
    match args.act {
        Some(Act::Revoke { grant }) => {
            let gone = token::approver(context)?.revoke(&grant).await?;
            let rule = gone.pointer("/revoked/rule").and_then(Value::as_str).unwrap_or(&grant);
            say::out(&format!("Revoked: {}", say::literal(rule)))?;
        }
        None => {
            let grants = reader(context)?.grants().await?;
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

/// Approvers see every grant. Whoever has no approver's token sees what may cover agents of any
/// session.
fn reader(context: &Context) -> Result<Client> {
    match token::approver(context) {
        Err(error) if error.is::<token::NoToken>() => context.client(),
        client => client,
    }
}

fn show(grant: &Value) -> String {
    let text = |key: &str| grant.get(key).and_then(Value::as_str).map(say::literal);
    let until = text("expires_at").map(|at| format!(" until {at}")).unwrap_or_default();
    let session = match text("scope").as_deref() {
        Some("always") | None => String::new(),
        Some(_) => format!(" in {}", text("session").unwrap_or_default()),
    };
    let name = grant.pointer("/by/name").and_then(Value::as_str).map(say::literal);
    format!(
        "{}  {}  {}{session}{until}, by {} at {}",
        text("id").unwrap_or_default(),
        text("rule").unwrap_or_default(),
        text("scope").unwrap_or_default(),
        name.unwrap_or_else(|| "nobody".into()),
        text("created_at").unwrap_or_default(),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_grant_shows_its_rule_its_reach_and_who_gave_it() {
        let grant = json!({"id": "g1", "rule": "shell: git push *", "scope": "session",
            "session": "s9", "by": {"kind": "person", "name": "Ana"},
            "created_at": "2026-11-21T00:00:00Z", "expires_at": "2026-11-21T01:00:00Z"});
        assert_eq!(
            show(&grant),
            "g1  shell: git push *  session in s9 until 2026-11-21T01:00:00Z, by Ana at \
             2026-11-21T00:00:00Z"
        );
    }
}
