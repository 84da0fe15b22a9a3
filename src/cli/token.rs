//! `countersign token`: agents by name.

use super::{
    Context, complete,
    say::{self, Cell, Colour},
    when::{self, when},
};
use anyhow::{Result, bail};
use clap::Subcommand;
use countersign_domain::wire::{
    AddTokenRequest, NewTokenReply, TokenLimits, TokenScope, TokenState, TokenView,
};

#[derive(Debug, clap::Args)]
#[command(after_help = "\
An agent with a token of its own has the token's name on cards and in the history, whatever it calls
itself, and reads and cancels only what it asked. All others share [daemon] agent_token, or the
socket: they are the agent `default`.")]
pub(super) struct TokenArgs {
    #[command(subcommand)]
    command: TokenCommand,
}

#[derive(Debug, Subcommand)]
enum TokenCommand {
    /// Make a token for an agent, and print it this one time
    Add {
        /// The agent's name
        #[arg(value_name = "NAME")]
        agent: String,
        /// When it ends by itself, such as 30d or 12h; never without this
        #[arg(long, value_name = "TIME", value_parser = when::days)]
        expires: Option<u64>,
        /// Let the agent read what all agents ask; it still cancels only its own
        #[arg(long)]
        sees_all: bool,
        /// How many asks it may have open at once; one more pauses it
        #[arg(long, value_name = "N", value_parser = limit())]
        max_open: Option<u32>,
        /// How many new asks it may have in a minute; one more pauses it
        #[arg(long, value_name = "N", value_parser = limit())]
        per_minute: Option<u32>,
        /// How many asks one of its sessions may have; one more pauses it
        #[arg(long, value_name = "N", value_parser = limit())]
        per_task: Option<u32>,
        /// Only a daemon with this profile accepts the agent's calls
        #[arg(long, value_name = "PROFILE")]
        profile: Option<String>,
        /// Only this target or route shows what it asks, besides the inbox
        #[arg(long, value_name = "NAME")]
        target: Option<String>,
        /// Print it as JSON
        #[arg(long)]
        json: bool,
    },
    /// List the tokens, never themselves
    List {
        /// Print them as JSON
        #[arg(long)]
        json: bool,
    },
    /// Give an agent another token, and print it this one time
    Rotate {
        /// The agent's name
        #[arg(value_name = "NAME", add = complete::agents())]
        agent: String,
        /// How long the token before is accepted too, at most 1h; not at all without this
        #[arg(long, value_name = "TIME", value_parser = when::seconds)]
        overlap: Option<u64>,
        /// Print it as JSON
        #[arg(long)]
        json: bool,
    },
    /// Resume an agent that a limit has paused
    Resume {
        /// The agent's name
        #[arg(value_name = "NAME", add = complete::agents())]
        agent: String,
    },
    /// Revoke an agent's token and cancel what it asks. It works at once, at every daemon
    Revoke {
        /// The agent's name
        #[arg(value_name = "NAME", add = complete::agents())]
        agent: String,
    },
}

pub(super) async fn run(context: &Context, args: TokenArgs) -> Result<()> {
    let client = context.approver()?;
    match args.command {
        TokenCommand::Add {
            agent: name,
            expires: expires_in_s,
            sees_all,
            max_open,
            per_minute,
            per_task,
            profile,
            target,
            json,
        } => {
            let limits = TokenLimits { max_open, per_minute, per_task };
            let scope = TokenScope { profile, target };
            let new = AddTokenRequest { name, expires_in_s, sees_all, limits, scope };
            show_new(&client.add_token(&new).await?, json)
        }
        TokenCommand::Rotate { agent, overlap, json } => {
            let overlap = overlap.unwrap_or_default();
            if overlap > 3_600 {
                bail!("--overlap is longer than 1h; the token before is accepted for 1h at most");
            }
            show_new(&client.rotate_token(&agent, overlap).await?, json)
        }
        TokenCommand::List { json } => {
            let none = "No agent has a token of its own.";
            say::list("tokens", &client.tokens().await?, row, none, json)
        }
        TokenCommand::Resume { agent } => {
            let resumed = client.resume_agent(&agent).await?;
            say::out(&format!("Resumed: {}.", say::literal(&resumed.name)))
        }
        TokenCommand::Revoke { agent } => {
            let gone = client.revoke_token(&agent).await?;
            let name = say::literal(&gone.name);
            say::out(&format!("Revoked: {name}. What it asked is cancelled."))
        }
    }
}

/// The token on stdout, alone, so that a script can keep it; what to do with it on stderr.
fn show_new(new: &NewTokenReply, json: bool) -> Result<()> {
    if json {
        return say::json(new);
    }
    say::out(&new.token)?;
    say::aside(&format!(
        "The token of the agent {}. It is not shown again. Set it as COUNTERSIGN__CLIENT__TOKEN, \
         or as [client] token in the agent's config.",
        say::literal(&new.agent.name)
    ));
    Ok(())
}

fn row(token: &TokenView) -> Vec<Cell> {
    let (colour, state) = match token.state {
        TokenState::Active if token.paused.is_some() => (Colour::Yellow, "paused"),
        TokenState::Active => (Colour::Green, "active"),
        TokenState::Expired => (Colour::Yellow, "expired"),
        TokenState::Revoked => (Colour::Red, "revoked"),
    };
    let used = token
        .last_used_at
        .as_deref()
        .map_or("never used".to_owned(), |at| format!("last used {}", when(at)));
    let end = token.expires_at.as_deref().map_or("no end".to_owned(), |at| {
        let ends = if token.state == TokenState::Expired { "ended" } else { "ends" };
        format!("{ends} {}", when(at))
    });
    vec![
        Cell::plain(&token.name),
        Cell::coloured(colour, state),
        Cell::plain(if token.sees_all { "reads all asks" } else { "reads its own asks" }),
        Cell::plain(&format!("made {}", when(&token.created_at))),
        Cell::plain(&used),
        Cell::plain(&end),
        Cell::plain(&limits(token)),
        Cell::plain(&scope(&token.scope)),
    ]
}

/// The limits of an agent, and which of them has paused it.
fn limits(token: &TokenView) -> String {
    let TokenLimits { max_open, per_minute, per_task } = token.limits;
    let limits = [
        max_open.map(|most| format!("{most} open")),
        per_minute.map(|most| format!("{most} a minute")),
        per_task.map(|most| format!("{most} a task")),
    ];
    let limits: Vec<String> = limits.into_iter().flatten().collect();
    let limits = if limits.is_empty() { "no limits".to_owned() } else { limits.join(", ") };
    match &token.paused {
        Some(pause) => {
            format!("{limits}: paused {}, {}", when(&pause.since), say::literal(&pause.why))
        }
        None => limits,
    }
}

/// What a token is for.
fn scope(scope: &TokenScope) -> String {
    let profile = scope.profile.as_ref().map(|name| format!("profile {}", say::literal(name)));
    let target = scope.target.as_ref().map(|name| format!("shown at {}", say::literal(name)));
    let all: Vec<String> = profile.into_iter().chain(target).collect();
    if all.is_empty() { "for everything".to_owned() } else { all.join(", ") }
}

fn limit() -> clap::builder::RangedI64ValueParser<u32> {
    clap::value_parser!(u32).range(1..)
}
