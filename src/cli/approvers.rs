//! `countersign approvers explain -- CMD`: who could answer a call, and why.

use super::{Context, Exit, caller, exit::Misused, policy, say};
use crate::{
    clock,
    config::Config,
    daemon,
    gate::{
        answer_rules::{SeenCall, requirements},
        approvers::{Approvers, Local},
        ask::{
            plan::{PlannedTarget, RoutePlan},
            requirement::{Exclusion, Requirement, VoteCount},
        },
        call::Call,
        people::NamedPerson,
        routes::Moment,
    },
    links,
    policy::{Decision, Layers, Mode, Rules, Verdict},
    store::AbsentPeople,
};
use anyhow::{Context as _, Result};

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
            let (effects, critical) = (&decision.effects, decision.critical);
            let seen = SeenCall { call: &call, facts: &facts, effects, critical };
            let required = requirements(&approvers.rules, &approvers.people, seen);
            // Who is away is in the daemon's store.
            let absent = AbsentPeople::default();
            let at = Moment { now_ms: clock::now_ms(), absent: &absent };
            let plan = config.routes.plan(&approvers.people, seen, at);
            let shown = shown_at(&config, plan.as_ref());
            format!("{}\n{shown}", explain(&approvers, &required))
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
        Some(json) => serde_json::from_str(&json).context("--args is not JSON")?,
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
) -> Result<(crate::policy::Call, Decision)> {
    let loaded = policy::load_rules(context)?;
    let guardrail = daemon::guardrail(config, &daemon::rules_path(config));
    let grants = Rules::default();
    let (rules, now_ms) = (&loaded, clock::now_ms());
    let layers = Layers { agent: None, rules, grants: &grants, guardrail: &guardrail, now_ms };
    let mut facts = call.for_policy(policy::home().as_deref());
    let links = links::look(&countersign_policy::sights(&facts));
    countersign_policy::follow(&mut facts, links);
    let decision = crate::policy::decide(&facts, &layers, Mode::Default);
    Ok((facts, decision))
}

fn explain(approvers: &Approvers, required: &[Requirement]) -> String {
    let mut lines: Vec<String> = required.iter().map(required_by).collect();
    if required.is_empty() {
        lines.push("No answer rule fits: one approval or denial of anybody decides.".to_owned());
    }
    let people = approvers.people.named.iter().map(|person| named(person, required));
    lines.extend(people);
    lines.extend(nameless(approvers, required));
    lines.extend(required.iter().filter_map(|it| too_few(approvers, it)));
    lines.join("\n")
}

/// `push: shown at Ana (telegram) and room (telegram); then at Ben (telegram).`
fn shown_at(config: &Config, plan: Option<&RoutePlan>) -> String {
    let list = |targets: &[PlannedTarget]| {
        let names = targets.iter().map(|it| format!("{} ({})", it.name, it.adapter));
        names.collect::<Vec<_>>().join(", ")
    };
    match plan {
        None if config.routes.list.is_empty() => "Every target shows it.".to_owned(),
        None => "No route fits: every target shows it.".to_owned(),
        Some(plan) if plan.targets.is_empty() => format!("{}: the inbox shows it.", plan.route),
        Some(plan) => {
            let mut line = format!("{}: shown at {}", plan.route, list(&plan.targets));
            if !plan.fallback.is_empty() {
                line.push_str(&format!("; where one fails, at {}", list(&plan.fallback)));
            }
            line + "."
        }
    }
}

/// A sentence where fewer people can approve than have to. Roles may bring more.
fn too_few(approvers: &Approvers, it: &Requirement) -> Option<String> {
    let people = &approvers.people;
    let by_role = people.groups.iter().any(|group| it.group.as_ref() == Some(&group.name));
    let can = people.named.iter().filter(|who| it.admits(Some(&who.name), &who.groups).is_ok());
    let (can, needed) = (can.count(), it.needed());
    let by_name = it.needed() > 1 && it.count == VoteCount::People && !by_role;
    (by_name && can < needed).then(|| {
        format!(
            "Nobody can approve this now: {} needs {needed} people and {can} can. Name more \
             people, or say whose machine asks ([[people]] hosts).",
            it.rule
        )
    })
}

/// `deploys: 2 approvals of ops; 1 denial denies; not the one who asks (Ana).`
fn required_by(it: &Requirement) -> String {
    let some = |count: usize, what: &str| match count {
        1 => format!("1 {what}"),
        many => format!("{many} {what}s"),
    };
    let of = it.group.as_ref().map(|group| format!(" of {group}")).unwrap_or_default();
    let (needed, denials) = (some(it.needed(), "approval"), some(it.denials(), "denial"));
    let deny = if it.denials() == 1 { "denies" } else { "deny" };
    let mut line = format!("{}: {needed}{of}; {denials} {deny}", it.rule);
    if it.count == VoteCount::Accounts {
        line.push_str("; each account counts");
    }
    match &it.exclude {
        Exclusion::Nobody => {}
        Exclusion::Requester { person: Some(person) } => {
            line.push_str(&format!("; not the one who asks ({person})"));
        }
        Exclusion::Requester { person: None } => line.push_str(
            "; not the one who asks, whom nobody knows here ([[people]] hosts), so one more \
             approves",
        ),
    }
    line.push('.');
    line
}

fn named(person: &NamedPerson, required: &[Requirement]) -> String {
    let mut places: Vec<&str> = person.identities.keys().map(String::as_str).collect();
    if person.token.is_some() && !places.contains(&"api") {
        places.push("api");
    }
    let places: Vec<&str> =
        places.into_iter().map(|it| if it == "api" { "token" } else { it }).collect();
    let on = if places.is_empty() { "nowhere".to_owned() } else { places.join(", ") };
    let why = required.iter().map(|it| it.admits(Some(&person.name), &person.groups));
    let why: Vec<String> = why.filter_map(|it| it.err().map(|why| why.to_string())).collect();
    // One requirement that admits them is enough: their vote counts for that one.
    match required.is_empty() || why.len() < required.len() {
        true => format!("✓ {} ({on})", person.name),
        false => format!("✗ {} ({on}): {}", person.name, why.join(" ")),
    }
}

/// People of lists without names, members by role, and this machine.
fn nameless(approvers: &Approvers, required: &[Requirement]) -> Vec<String> {
    let none = std::collections::BTreeSet::new();
    let why = required.iter().map(|it| it.admits(None, &none).err().map(|why| why.to_string()));
    let why: Option<Vec<String>> = why.collect();
    let mark = |who: String| match &why {
        Some(why) if !why.is_empty() => format!("✗ {who}: {}", why.join(" ")),
        _ => format!("✓ {who}"),
    };
    let lists = approvers.chats.iter().filter(|(_, members)| members.count() > 0);
    let lists = lists.map(|(chat, it)| mark(format!("{} on {chat} without a name", it.count())));
    let roles = approvers.people.groups.iter();
    let roles = roles.map(|it| format!("· {}: everyone with its role in the chat", it.name));
    let here = (approvers.local == Local::On)
        .then(|| mark("the inbox of this machine, and the approver's token".to_owned()));
    lists.chain(roles).chain(here).collect()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests fail by panicking")]
    use super::*;
    use serde_json::json;
    use std::collections::BTreeMap;

    #[test]
    fn each_person_is_marked_with_the_reason_why_they_could_not_answer() {
        let person = |name: &str, group: Option<&str>| NamedPerson {
            name: name.to_owned(),
            identities: BTreeMap::from([("telegram".to_owned(), ["1".to_owned()].into())]),
            groups: group.into_iter().map(str::to_owned).collect(),
            ..NamedPerson::default()
        };
        let mut approvers = Approvers::default();
        approvers.people.named = vec![person("Ana", Some("ops")), person("Ben", None)];
        let required: Requirement = serde_json::from_value(json!({
            "rule": "deploys", "group": "ops", "approvals": 2, "deny": 1, "count": "people",
            "exclude": {"who": "requester", "person": "Cid"},
        }))
        .unwrap();
        assert_eq!(
            explain(&approvers, &[required]),
            "deploys: 2 approvals of ops; 1 denial denies; not the one who asks (Cid).\n\
             ✓ Ana (telegram)\n\
             ✗ Ben (telegram): Only members of ops may answer this.\n\
             Nobody can approve this now: deploys needs 2 people and 1 can. Name more people, or \
             say whose machine asks ([[people]] hosts)."
        );
        let anybody = "No answer rule fits: one approval or denial of anybody decides.\n\
                       ✓ Ana (telegram)\n✓ Ben (telegram)";
        assert_eq!(explain(&approvers, &[]), anybody);
    }
}
