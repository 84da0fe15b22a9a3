//! The first line of a card: what and where, in the agent's own text.

use super::{
    budget,
    call::{self, command},
    change::{self, FileChange},
    named::first,
    web,
};
use countersign_gate::{ask::Ask, call::Call};
use countersign_policy::{
    argument_names::FILES,
    tools::{Kind, kind_of, of_server},
};
use countersign_port::{brief, folded, line, visible};
use serde_json::Value;

/// How long it is at most, in characters, without the count of what is cut.
const MOST: usize = 100;

/// The first line.
pub(super) struct FirstLine {
    pub text: String,
    /// Whether it shows the whole of what would run, so that nothing has to say it again.
    pub whole: bool,
}

/// The first line of an ask's card, open and closed.
pub(super) fn of(ask: &Ask) -> FirstLine {
    let call = &ask.body.call;
    if ask.is_question() {
        let at = if ask.is_open() { ask.progress.current() } else { 0 };
        let question = call.questions.get(at).map(|one| one.question.as_str());
        return shown("", question.unwrap_or_default());
    }
    if ask.body.resumes.is_some() {
        return partly("⏸ ", &ask.body.why);
    }
    if ask.body.review.is_some() {
        return FirstLine { whole: false, text: format!("🔎 Ran: {}", of_call(ask).text) };
    }
    if let Some(budget) = &call.budget {
        return partly("", &budget::title(budget));
    }
    of_call(ask)
}

/// The first line of a call.
fn of_call(ask: &Ask) -> FirstLine {
    let call = &ask.body.call;
    if let Some((_, text)) = command(call) {
        return shown("", &text);
    }
    if let Some(plan) = call::plan(call) {
        let first = plan
            .lines()
            .map(|line| line.trim_start_matches(['#', ' ']))
            .find(|it| !it.trim().is_empty());
        return partly("Plan: ", first.unwrap_or_default());
    }
    if let Some(change) = change::of(call) {
        return edit(&change, &ask.body.effects);
    }
    let file = first(&call.args, FILES).map(|(_, path)| path);
    let url = call.args.get("url").and_then(Value::as_str);
    match (kind_of(&call.tool), file, url) {
        (Kind::Write, Some(path), _) => partly("📝 ", &place(path, &ask.body.effects)),
        (Kind::Read, Some(path), _) => partly("Read ", path),
        (Kind::Fetch, _, Some(url)) => fetch(url),
        _ => tool(call),
    }
}

fn edit(change: &FileChange, effects: &[String]) -> FirstLine {
    let FileChange { paths, added, removed, .. } = change;
    let names: Vec<String> = paths.iter().map(|path| line(&name_of(path))).collect();
    let name = match names.as_slice() {
        [] => "a file".to_owned(),
        [one] => brief(one, MOST / 2),
        many => format!("{} files: {}", many.len(), brief(&many.join(", "), MOST / 2)),
    };
    let outside = paths.iter().map(|path| outside(path, effects)).find(|it| !it.is_empty());
    let outside = outside.unwrap_or_default();
    FirstLine { text: format!("✏️ {name} +{added} −{removed}{outside}"), whole: false }
}

/// The host first: the rest of an address can say anything.
fn fetch(url: &str) -> FirstLine {
    match web::host(url) {
        Some(host) => {
            let FirstLine { text, whole } = shown("", url);
            FirstLine { text: format!("{} · {text}", brief(&line(&host), MOST)), whole }
        }
        None => shown("", url),
    }
}

/// The tool, and the first of its arguments that says something.
fn tool(call: &Call) -> FirstLine {
    let name = match of_server(&call.tool) {
        Some((server, tool)) => format!("{tool} ({server})"),
        None => call.tool.clone(),
    };
    let value = |value: &Value| match value {
        Value::String(text) if !text.trim().is_empty() => Some(text.clone()),
        Value::Number(number) => Some(number.to_string()),
        _ => None,
    };
    let args = call.args.as_object();
    let told = args.and_then(|args| TELLING.iter().find_map(|key| value(args.get(*key)?)));
    let said = told.or_else(|| args.and_then(|args| args.values().find_map(value)));
    match said {
        Some(said) => partly(&format!("{}: ", line(&name)), &said),
        None => partly("", &name),
    }
}

/// The arguments that say most about a call of a tool that is not known.
const TELLING: &[&str] = &["title", "subject", "query", "name", "path", "id"];

/// A text on one line, cut between words where it is long.
fn shown(before: &str, text: &str) -> FirstLine {
    let text = text.trim();
    let whole = line(&folded(&visible(text)));
    let cut = brief(&whole, MOST);
    let text_is_shown = cut == text;
    FirstLine { whole: text_is_shown, text: format!("{before}{cut}") }
}

/// The same where there is more to it.
fn partly(before: &str, text: &str) -> FirstLine {
    FirstLine { whole: false, ..shown(before, text) }
}

/// A file, and whether it lies outside of the project.
fn place(path: &str, effects: &[String]) -> String {
    format!("{}{}", name_of(path), outside(path, effects))
}

fn outside(path: &str, effects: &[String]) -> &'static str {
    let at = format!("{path} (outside the project");
    if effects.iter().any(|effect| effect.contains(&at)) { " ⚠ outside the project" } else { "" }
}

fn name_of(path: &str) -> String {
    path.trim_end_matches('/').rsplit('/').next().unwrap_or(path).to_owned()
}
