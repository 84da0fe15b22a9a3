//! The short facts on a card: who asks, from where, and what waits behind it.

use crate::card::{Sheet, call::words, fact, glance};
use countersign_gate::{
    ask::Ask,
    call::{Batch, Behind, Call},
};
use countersign_policy::{
    argument_names::{COMMANDS, FILES, URLS},
    tools::of_server,
};
use countersign_port::{Field, brief, line};
use serde_json::Value;

/// How many calls of a batch are named, and how much of each.
const BATCH: usize = 5;
const GLANCE: usize = 60;
/// How long each part of the second line is at most.
const PART: usize = 40;
/// How much of a session's name tells it from others.
const SHORT: usize = 10;

/// Agent, project and machine, on a line.
pub(crate) fn origin(call: &Call) -> String {
    let short = |text: &str| brief(&line(text), PART);
    let project = project(call);
    let host = call.host.as_deref().map(short);
    let place = match (project, host) {
        (Some(project), Some(host)) => Some(format!("{project} on {host}")),
        (None, Some(host)) => Some(format!("on {host}")),
        (project, None) => project,
    };
    let agent = match subagent(call) {
        Some(subagent) => format!("{} › {}", short(&call.agent), short(subagent)),
        None => short(&call.agent),
    };
    let agent = match &call.claims {
        Some(claims) => format!("{agent} (says it is {})", short(claims)),
        None => agent,
    };
    [Some(agent), place].into_iter().flatten().collect::<Vec<_>>().join(" · ")
}

/// The name of the thread of the call's session: agent, project, and the session in short.
#[must_use]
pub fn thread_name(call: &Call) -> String {
    let short = |text: &str, most| brief(&line(text), most);
    let parts = [Some(short(&call.agent, PART)), project(call), Some(short(&call.session, SHORT))];
    let parts = parts.into_iter().flatten().filter(|part| !part.is_empty());
    parts.collect::<Vec<_>>().join(" · ")
}

fn project(call: &Call) -> Option<String> {
    let project = call.cwd.as_deref()?.trim_end_matches('/').rsplit('/').next()?;
    (!project.is_empty()).then(|| brief(&line(project), PART))
}

/// The subagent that makes the call, in its agent's own words.
fn subagent(call: &Call) -> Option<&str> {
    let named = call.meta.as_ref()?.get("agent_type")?.as_str()?.trim();
    (!named.is_empty()).then_some(named)
}

/// Writes what is rarely needed; the reason for asking only where the card does not say it already.
pub(super) fn draw(ask: &Ask, says_why: bool, details: &mut Sheet) {
    let call = &ask.body.call;
    // An open card says most of it on its second line.
    let second_line = if ask.is_open() { origin(call) } else { String::new() };
    let unsaid =
        |name: &str, value: &str| (!second_line.contains(&line(value))).then(|| fact(name, value));
    let mut facts: Vec<Field> = unsaid("agent", &call.agent).into_iter().collect();
    facts.push(fact("session", &shortened(&call.session)));
    facts.extend(call.claims.as_deref().and_then(|claims| unsaid("says it is", claims)));
    facts.extend(subagent(call).and_then(|name| unsaid("subagent", name)));
    facts.extend(call.host.as_deref().and_then(|host| unsaid("host", host)));
    facts.extend(call.worker.as_deref().map(|worker| fact("worker", worker)));
    facts.extend(call.cwd.as_deref().map(|cwd| fact("folder", cwd)));
    match of_server(&call.tool) {
        Some((server, tool)) => {
            facts.extend([fact("tool", tool), fact("server", server), fact("name", &call.tool)]);
        }
        None => facts.push(fact("tool", &call.tool)),
    }
    if !ask.is_question() && !says_why {
        facts.push(fact("why", &ask.body.why));
    }
    facts.extend(ask.body.rule.as_deref().map(|rule| fact("rule", rule)));
    facts.extend(call.batch_remaining.as_ref().and_then(batch).map(|text| fact("batch", &text)));
    if let Some(answer) = ask.answer() {
        // The first line says when.
        facts.push(fact("decided by", &answer.by.to_string()));
        facts.extend(answer.reason.as_deref().map(|reason| fact("reason given", reason)));
    }
    details.fields(facts);
}

/// What waits behind a call, as far as a glance goes.
fn batch(batch: &Batch) -> Option<String> {
    let (count, calls): (usize, &[Behind]) = match batch {
        Batch::Count(count) => (usize::try_from(*count).unwrap_or(usize::MAX), &[]),
        Batch::Calls(calls) => (calls.len(), calls),
    };
    let wait = match count {
        0 => return None,
        1 => "1 more waits behind this one".to_owned(),
        _ => format!("{count} more wait behind this one"),
    };
    let named: Vec<_> = calls.iter().take(BATCH).map(behind).collect();
    let rest = calls.len().saturating_sub(BATCH);
    let rest = if rest > 0 { format!("; and {rest} more") } else { String::new() };
    Some(if named.is_empty() { wait } else { format!("{wait}: {}{rest}", named.join("; ")) })
}

/// A call that comes later: its tool, and the beginning of what it would do.
fn behind(call: &Behind) -> String {
    let args = match &call.arguments {
        Value::String(text) => serde_json::from_str(text).unwrap_or_default(),
        args => args.clone(),
    };
    let named = || FILES.iter().chain(URLS);
    let file = || named().find_map(|key| args.get(*key)?.as_str());
    let command = || COMMANDS.iter().find_map(|key| words(args.get(*key)?));
    let tool = glance(&call.tool, GLANCE);
    match command().or_else(|| file().map(str::to_owned)) {
        Some(doing) => format!("{tool}: {}", glance(&doing, GLANCE)),
        None => tool,
    }
}

/// Long random names say enough with their first characters.
fn shortened(session: &str) -> String {
    if session.chars().count() <= 20 {
        return session.to_owned();
    }
    session.chars().take(8).chain(['…']).collect()
}
