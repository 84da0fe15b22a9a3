//! `countersign parked`: runs that wait without a process, and how they go on.

use super::{
    Context, Exit, caller, complete, good,
    park::{self, NotOurs, ParkingHost, ResumedCall, Start, WhileParked},
    say::{self, Cell},
    signals::Signals,
    when::when,
};
use anyhow::{Context as _, Result, bail};
use countersign_bridge::card::terminal;
use countersign_client::{Client, ClientError};
use countersign_domain::wire::{AskState, ParkedView};
use serde_json::json;
use std::{collections::HashSet, time::Duration};
use tokio::time::sleep;

/// Between two looks for runs that were answered.
const LOOK: Duration = Duration::from_secs(2);

#[derive(Debug, clap::Args)]
#[command(args_conflicts_with_subcommands = true)]
pub(super) struct ParkedArgs {
    /// Print them as JSON
    #[arg(long)]
    json: bool,
    #[command(subcommand)]
    command: Option<ParkedCommand>,
}

#[cfg(test)]
impl ParkedArgs {
    pub(super) fn changes(&self) -> bool {
        self.command.is_some()
    }
}

#[derive(Debug, clap::Subcommand)]
enum ParkedCommand {
    /// Go on with the runs of this machine that were answered, or with one
    Resume(ResumeArgs),
    /// Give a run up: its ask is cancelled, and nobody resumes it
    Drop {
        /// The ask that it waits for
        #[arg(value_name = "ASK", add = complete::all_asks())]
        ask: String,
    },
}

#[derive(Debug, clap::Args)]
#[command(after_help = "\
Starts the agent again with the options of the first time, with the environment of this command. Its
conversation has to be on this machine. One that parks again is left parked.")]
struct ResumeArgs {
    /// The ask that it waits for
    #[arg(value_name = "ASK", add = complete::all_asks(), conflicts_with = "watch")]
    ask: Option<String>,
    /// Keep looking for runs that were answered, until stopped
    #[arg(long)]
    watch: bool,
    /// Also start what was not started by you on this machine; the refusal shows what that is
    #[arg(long, requires = "ask")]
    yes: bool,
}

pub(super) async fn run(context: &Context, args: ParkedArgs) -> Result<Exit> {
    match args.command {
        None => list(context, args.json).await.map(good),
        Some(ParkedCommand::Drop { ask }) => {
            context.reader()?.drop_parked(&ask).await?;
            say::out("Given up.").map(good)
        }
        Some(ParkedCommand::Resume(args)) => resume(context, args).await,
    }
}

async fn list(context: &Context, as_json: bool) -> Result<()> {
    let mut parked = context.reader()?.parked().await?;
    if as_json {
        parked.iter_mut().for_each(|it| it.ask.card = None);
        say::json(&json!({ "parked": parked }))
    } else {
        let rows = parked.into_iter().map(row).collect::<Result<Vec<_>>>()?;
        say::rows(&rows, "No run is parked.")
    }
}

/// A run on one line: its ask, what it waits for, its cost, what runs next and where.
fn row(parked: ParkedView) -> Result<Vec<Cell>> {
    let ParkedView { ask, run, cost_usd, since, resuming } = parked;
    let waits = match (ask.state, resuming) {
        (AskState::Open, _) => "waits".to_owned(),
        (_, true) => "is being resumed".to_owned(),
        (_, false) => ask.reason.clone().unwrap_or_default(),
    };
    let cost = cost_usd.map_or("cost unknown".to_owned(), |cost| format!("${cost:.2} so far"));
    let card = terminal::of(ask).context("the daemon is of another version: it sends no cards")?;
    let cells = [card.ask, waits, format!("since {}", when(&since)), cost, card.title];
    let at = match run.host {
        Some(host) => format!("{} on {host}", run.cwd),
        None => run.cwd,
    };
    Ok(cells.iter().chain([&at]).map(|text| Cell::plain(text)).collect())
}

async fn resume(context: &Context, args: ResumeArgs) -> Result<Exit> {
    let mut signals = Signals::that_interrupt()?;
    park::check()?;
    let client = context.client()?;
    // Before the folder changes: the config may be named from this one.
    let hook = park::hook(context)?;
    if let Some(id) = args.ask {
        let all = client.parked().await?;
        let mut like = all.into_iter().filter(|it| it.ask.id.starts_with(&id));
        let (Some(parked), None) = (like.next(), like.next()) else {
            bail!("no parked run waits for `{id}`; `countersign parked` lists them");
        };
        park::check_here(&parked.run)?;
        return go_on(&hook, client, parked, args.yes, &mut signals).await;
    }
    let mut last = Exit::Good;
    // Each is refused once, and not at every look.
    let mut refused = HashSet::new();
    loop {
        let ready = tokio::select! {
            ready = answered_here(&client) => ready,
            () = signals.any() => return Ok(Exit::Interrupted),
        };
        match ready {
            Ok(ready) => {
                for parked in ready {
                    let id = parked.ask.id.clone();
                    if refused.contains(&id) {
                        continue;
                    }
                    let going = go_on(&hook, client.clone(), parked, false, &mut signals);
                    last = match going.await {
                        Ok(Exit::Interrupted) => return Ok(Exit::Interrupted),
                        Ok(exit) => exit,
                        Err(error) => {
                            if error.is::<NotOurs>() {
                                refused.insert(id);
                            }
                            say::problem(&error);
                            Exit::of(&error)
                        }
                    };
                }
            }
            Err(error) if !args.watch => return Err(error.into()),
            Err(error) => tracing::debug!(%error, "parked runs are looked for again"),
        }
        if !args.watch {
            return Ok(last);
        }
        tokio::select! {
            () = sleep(LOOK) => {}
            () = signals.any() => return Ok(Exit::Interrupted),
        }
    }
}

/// The parked runs that were answered, that nobody resumes, and that can go on here.
async fn answered_here(client: &Client) -> Result<Vec<ParkedView>, ClientError> {
    let here = caller::host();
    let ready = |it: &ParkedView| {
        let is_answered = it.ask.state != AskState::Open && !it.resuming;
        is_answered && it.run.host == here && park::check_here(&it.run).is_ok()
    };
    Ok(client.parked().await?.into_iter().filter(ready).collect())
}

/// Goes on with a run, to its end or until it is parked again.
async fn go_on(
    hook: &str,
    client: Client,
    parked: ParkedView,
    confirmed: bool,
    signals: &mut Signals,
) -> Result<Exit> {
    let right = client.resume_run(&parked.ask.id).await?;
    if !confirmed {
        park::check_ours(&parked.ask.id, &parked.ask.call.session, &right.run)?;
    }
    std::env::set_current_dir(&right.run.cwd).with_context(|| right.run.cwd.clone())?;
    let start = Start::Resumed(ResumedCall::of(&parked, right.epoch));
    let while_parked = WhileParked::Leave;
    ParkingHost { hook, client, run: right.run, while_parked }.serve(start, signals).await
}
