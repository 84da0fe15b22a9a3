//! `countersign approvers explain -- CMD`: who could answer a call, and why.

use super::{Context, Exit, caller, exit::Misused, policy, say};
use crate::{config::Config, daemon};
use anyhow::{Context as _, Result};
use countersign_domain::exact_json;
use countersign_gate::{call::Call, links};
use countersign_people::{
    answerers::{AnswerCounts, Answerers, PossibleAnswerer},
    routes::Moment,
    rules::{SeenCall, requirements},
};
use countersign_policy::{Decision, Layers, Matcher, Mode, Rules, Verdict};
use countersign_store::AbsentPeople;
use countersign_tokens::clock;

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
    /// The tool, when it is not the shell
    #[arg(long, default_value = "shell_exec", value_name = "NAME")]
    tool: String,
    /// The tool's arguments, as JSON
    #[arg(long, value_name = "JSON", conflicts_with = "command")]
    args: Option<String>,
    /// The command, after --
    #[arg(last = true, value_name = "CMD")]
    command: Vec<String>,
}

pub(super) fn run(context: &Context, args: ApproversArgs) -> Result<Exit> {
    let ApproversCommand::Explain(args) = args.command;
    let call = call(args)?;
    let config = context.config()?;
    let approvers = daemon::approvers(&config.approvers);
    let (facts, decision) = decide(context, &config, &call)?;
    let text = match decision.verdict {
        Verdict::Ask => {
            let (facts, critical) = (&Matcher::new(&facts, &decision.effects), decision.critical);
            let seen = SeenCall { call: &call, facts, critical };
            let required = requirements(&approvers.rules, &approvers.people, seen);
            // Who is away is in the daemon's store.
            let absent = AbsentPeople::default();
            let at = Moment { now_ms: clock::now_ms(), absent: &absent };
            let (people, routes) = (&approvers.people, &config.routes);
            let (plan, steps) = (routes.plan(people, seen, at), routes.steps(people, seen, at));
            let answerers = Answerers::of(&approvers, &required, &absent);
            lines(&answerers.shown_at(routes, plan.as_ref(), &steps))
        }
        verdict => {
            let rule = decision.rule.map(|rule| format!(" ({rule})")).unwrap_or_default();
            format!("Nobody is asked: your rules {} this{rule}.", verdict.word())
        }
    };
    // Names and rules are quoted, which may contain hidden characters.
    let lines: Vec<_> = text.lines().map(say::literal).collect();
    say::out(&lines.join("\n"))?;
    Ok(Exit::Good)
}

fn call(args: WhoArgs) -> Result<Call> {
    let WhoArgs { agent, session, host, tool, args, command } = args;
    let args = match args {
        Some(json) => exact_json::from_str(&json).context("--args is not JSON")?,
        None if command.is_empty() => {
            let say = "say what to explain: -- CMD, or --args JSON";
            return Err(Misused(say.into()).into());
        }
        None => caller::shell_or_text(&command)?,
    };
    let cwd = std::env::current_dir().ok().map(|folder| folder.display().to_string());
    let host = host.or_else(caller::host);
    let call = Call { cwd, host, ..Call::new(agent, session, &tool, args) };
    call.check().map_err(anyhow::Error::new)?;
    Ok(call)
}

/// What the rules file makes of the call, without grants: those are in the daemon's store.
fn decide(
    context: &Context,
    config: &Config,
    call: &Call,
) -> Result<(countersign_policy::Call, Decision)> {
    let loaded = policy::load_rules(context)?;
    let guardrail = daemon::guardrail(config, &daemon::rules_path(config));
    let grants = Rules::default();
    let (rules, now_ms) = (&loaded, clock::now_ms());
    let layers = Layers { agent: None, rules, grants: &grants, guardrail: &guardrail, now_ms };
    let mut facts = call.for_policy(policy::home().as_deref());
    let links = links::look(&countersign_policy::sights(&facts));
    countersign_policy::follow(&mut facts, links);
    let decision = countersign_policy::decide(&facts, &layers, Mode::Default);
    Ok((facts, decision))
}

/// As lines, people marked by whether they could answer.
fn lines(answerers: &Answerers) -> String {
    let Answerers { required, people, problems, shown } = answerers;
    let person = |it: &PossibleAnswerer| {
        let mark = match it.counts {
            AnswerCounts::Yes => "✓",
            AnswerCounts::No => "✗",
            AnswerCounts::ByRole => "·",
        };
        let why = if it.why.is_empty() { String::new() } else { format!(": {}", it.why) };
        format!("{mark} {}{why}", it.who)
    };
    let people: Vec<String> = people.iter().map(person).collect();
    [required, &people, problems, shown].map(|lines| lines.as_slice()).concat().join("\n")
}
