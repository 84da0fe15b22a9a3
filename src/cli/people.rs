//! `countersign approvers`, `duty` and `passkeys`: who could answer a call and why, who is on duty,
//! and what people sign in to the inbox with.

use super::{
    Context,
    caller::{self, GivenCall},
    complete, policy,
    say::{self, Cell, Colour},
    when::{when, when_in_full},
};
use crate::{config::Config, daemon};
use anyhow::Result;
use countersign_domain::wire::{CountsView, PasskeyView, PossibleAnswererView};
use countersign_gate::{call::Call, links};
use countersign_people::{
    answerers::Answerers,
    routes::Moment,
    rules::{SeenCall, requirements},
};
use countersign_policy::{Decision, Layers, Matcher, Mode, Rules, Verdict};
use countersign_store::AbsentPeople;
use countersign_tokens::clock;
use serde_json::{Value, json};
use std::collections::BTreeSet;

#[derive(Debug, clap::Args)]
pub(super) struct ApproversArgs {
    #[command(subcommand)]
    command: ApproversCommand,
}

#[derive(Debug, clap::Subcommand)]
enum ApproversCommand {
    /// Show who could answer a call, and why; nothing runs and nobody is asked
    Explain(WhoArgs),
}

#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  countersign approvers explain -- terraform apply
  countersign approvers explain --agent codex --tool write_file --args '{\"path\": \".env\"}'")]
struct WhoArgs {
    /// Who asks
    #[arg(long, default_value = "cli")]
    agent: String,
    /// The conversation
    #[arg(long, default_value = "explain")]
    session: String,
    /// The machine that asks [default: this one]
    #[arg(long)]
    host: Option<String>,
    #[command(flatten)]
    call: GivenCall,
}

pub(super) fn approvers(context: &Context, args: ApproversArgs) -> Result<()> {
    let ApproversCommand::Explain(args) = args.command;
    let call = call(args)?;
    let config = context.config()?;
    let approvers = daemon::approvers(&config.approvers);
    let (facts, decision) = decide(context, &config, &call)?;
    let text = match decision.verdict {
        Verdict::Ask => {
            let facts = &Matcher::new(&facts, &decision.effects);
            let critical = decision.critical;
            let seen = SeenCall { call: &call, facts, critical };
            let required = requirements(&approvers.rules, &approvers.people, seen);
            // Who is away is in the daemon's store.
            let absent = AbsentPeople::default();
            let at = Moment { now_ms: clock::now_ms(), absent: &absent };
            let people = &approvers.people;
            let routes = &config.routes;
            let plan = routes.plan(people, seen, at);
            let steps = routes.steps(people, seen, at);
            let answerers = Answerers::of(&approvers, &required, &absent);
            lines(&answerers.shown_at(routes, plan.as_ref(), &steps))
        }
        verdict => {
            let rule = decision.rule.map(|rule| format!(" ({rule})")).unwrap_or_default();
            format!("Nobody is asked: your rules {} this{rule}.", verdict.word())
        }
    };
    // Names and rules are quoted, which may contain hidden characters.
    say::literal_lines(text.lines())
}

fn call(args: WhoArgs) -> Result<Call> {
    let WhoArgs { agent, session, host, call: given } = args;
    let args = given.args("nothing to explain: give -- CMD, or --args JSON")?;
    let cwd = std::env::current_dir().ok().map(|folder| folder.display().to_string());
    let host = host.or_else(caller::host);
    let call = Call { cwd, host, ..Call::new(agent, session, given.tool, args) };
    call.check().map_err(anyhow::Error::new)?;
    Ok(call)
}

/// What the rules file makes of the call, without grants: those are in the daemon's store.
fn decide(
    context: &Context,
    config: &Config,
    call: &Call,
) -> Result<(countersign_policy::Call, Decision)> {
    let loaded = policy::load_named(context, None)?;
    let guardrail = daemon::guardrail(config, &daemon::rules_path(config));
    let grants = Rules::default();
    let layers = Layers::new(&loaded.rules, &grants, &guardrail, clock::now_ms());
    let mut facts = call.for_policy(policy::home().as_deref());
    let links = links::look(&countersign_policy::lookups(&facts));
    countersign_policy::follow(&mut facts, links);
    let decision = countersign_policy::decide(&facts, &layers, Mode::Default);
    Ok((facts, decision))
}

/// As lines, people marked by whether they could answer.
fn lines(answerers: &Answerers) -> String {
    let Answerers { required, people, problems, shown } = answerers;
    let person = |it: &PossibleAnswererView| {
        let mark = match it.counts {
            CountsView::Yes => "✓",
            CountsView::No => "✗",
            CountsView::ByRole => "·",
        };
        let why = if it.why.is_empty() { String::new() } else { format!(": {}", it.why) };
        format!("{mark} {}{why}", it.who)
    };
    let people: Vec<String> = people.iter().map(person).collect();
    [required, &people, problems, shown].map(|lines| lines.as_slice()).concat().join("\n")
}

#[derive(Debug, clap::Args)]
#[command(after_help = "\
It reads the config and asks no daemon, so it does not know who wrote /away. /duty in a chat
does.")]
pub(super) struct DutyArgs {
    /// Print it as JSON
    #[arg(long)]
    json: bool,
}

pub(super) fn duty(context: &Context, args: &DutyArgs) -> Result<()> {
    let config = context.config()?;
    let now = clock::now_ms();
    let nobody = BTreeSet::new();
    let turns: Vec<Value> = config
        .routes
        .rotas
        .iter()
        .map(|rota| {
            let until = rota.next_change(now).map(clock::rfc3339);
            json!({"rota": rota.name, "person": rota.on_duty(now, &nobody), "until": until})
        })
        .collect();
    if args.json {
        return say::json(&json!({ "duty": turns }));
    }
    let text = |turn: &Value, key: &str| {
        turn.get(key).and_then(Value::as_str).unwrap_or_default().to_owned()
    };
    let line = |turn: &Value| {
        let [rota, person, until] = ["rota", "person", "until"].map(|key| text(turn, key));
        say::literal(&format!("{rota}: {person} until {}", when_in_full(&until)))
    };
    let lines: Vec<String> = turns.iter().map(line).collect();
    if lines.is_empty() {
        say::out("No rota is configured ([[rotas]] in the config).")
    } else {
        say::out(&lines.join("\n"))
    }
}

#[derive(Debug, clap::Args)]
#[command(
    args_conflicts_with_subcommands = true,
    after_help = "\
People add passkeys themselves, on the inbox's page, after they have signed in another way."
)]
pub(super) struct PasskeysArgs {
    /// Print them as JSON
    #[arg(long)]
    json: bool,
    #[command(subcommand)]
    command: Option<PasskeysCommand>,
}

#[cfg(test)]
impl PasskeysArgs {
    pub(super) fn removes(&self) -> bool {
        self.command.is_some()
    }
}

#[derive(Debug, clap::Subcommand)]
enum PasskeysCommand {
    /// Remove a passkey, and sign out who is signed in with it. It works at once
    Remove {
        /// The passkey, as `countersign passkeys` shows it
        #[arg(value_name = "ID", add = complete::passkeys())]
        passkey: String,
    },
}

pub(super) async fn passkeys(context: &Context, args: PasskeysArgs) -> Result<()> {
    let client = context.approver()?;
    match args.command {
        Some(PasskeysCommand::Remove { passkey }) => {
            let gone = client.remove_passkey(&passkey).await?;
            let name = say::literal(&gone.name);
            let person = say::literal(&gone.person);
            say::out(&format!("Removed: {name} of {person}. Nobody signs in with it any more."))
        }
        None => {
            let none = "Nobody has a passkey.";
            say::list("passkeys", &client.passkeys().await?, row, none, args.json)
        }
    }
}

fn row(passkey: &PasskeyView) -> Vec<Cell> {
    let (colour, state) = if passkey.accepted {
        (Colour::Green, "accepted")
    } else {
        (Colour::Yellow, "its person left")
    };
    let used = passkey.last_used_at.as_deref().map(|at| format!("used {}", when(at)));
    vec![
        Cell::plain(&passkey.id),
        Cell::plain(&say::literal(&passkey.person)),
        Cell::plain(&say::literal(&passkey.name)),
        Cell::coloured(colour, state),
        Cell::plain(&format!("added {}", when(&passkey.created_at))),
        Cell::plain(&used.unwrap_or_else(|| "never used".to_owned())),
    ]
}
