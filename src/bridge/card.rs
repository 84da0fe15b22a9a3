//! An ask as a card: what a person sees before they answer, and after. Pure.

use super::token::{Pressed, Token};
use crate::{
    clock,
    gate::{
        ask::{Answer, Ask, By, Decision, Scope, Silence, State},
        call::{Batch, Behind, Call},
        question::{Choice, Question},
    },
};
use countersign_policy::profiles::{Choice as Way, Life, Then};
use countersign_port::{Block, Button, ButtonStyle, Card, Field, Tone, visible};
use serde_json::{Map, Value};

const LABEL: usize = 34;
const EFFECTS: usize = 8;
/// How many calls of a batch are named, and how much of each.
const BATCH: usize = 5;
const GLANCE: usize = 60;

/// Draws the ask as it stands now.
#[must_use]
pub fn draw(ask: &Ask, nonce: &str) -> Card {
    let mut blocks = Vec::new();
    match ask.body.call.questions.get(ask.progress.current()) {
        Some(question) if ask.is_open() => asked(ask, question, &mut blocks),
        _ if ask.is_question() => settled(ask, &mut blocks),
        _ => wanted(&ask.body.call, &mut blocks),
    }
    blocks.extend(words(ask));
    if !ask.body.prompt.is_empty() {
        blocks.push(quote("prompt", &ask.body.prompt.join("\n")));
    }
    blocks.push(Block::Fields { fields: facts(ask) });
    blocks.extend(notes(ask));
    if let Some(answer) = ask.answer() {
        blocks.push(Block::Outcome { text: outcome(ask, answer) });
    }
    Card {
        id: nonce.to_owned(),
        ask: ask.id.clone(),
        revision: u32::try_from(ask.version).unwrap_or(u32::MAX),
        tone: tone(&ask.state),
        title: title(ask),
        blocks,
        buttons: if ask.is_open() { buttons(ask, nonce) } else { Vec::new() },
        deadline: ask.deadline_at.filter(|_| ask.is_open() && ask.body.silence == Silence::Deny),
    }
}

fn title(ask: &Ask) -> String {
    let call = &ask.body.call;
    let agent = line(&call.agent);
    if ask.is_question() {
        return match call.questions.len() {
            1 => format!("{agent} asks a question"),
            many if ask.is_open() => {
                format!("{agent} asks question {} of {many}", ask.progress.current() + 1)
            }
            many => format!("{agent} asks {many} questions"),
        };
    }
    match command(&call.args) {
        Some(_) => format!("{agent} wants to run a command"),
        None => format!("{agent} wants to use {}", line(&call.tool)),
    }
}

fn tone(state: &State) -> Tone {
    match state {
        State::Open => Tone::Open,
        State::Answered(answer) | State::Expired(answer)
            if answer.decision == Decision::Approve =>
        {
            Tone::Approved
        }
        State::Answered(_) => Tone::Denied,
        State::Expired(_) => Tone::Expired,
        State::Cancelled(_) => Tone::Cancelled,
    }
}

/// What the call would do: the command first, never raw JSON where there is a command.
fn wanted(call: &Call, blocks: &mut Vec<Block>) {
    let mut rest = call.args.clone();
    let mut shown = |keys: &[&str], label: &str| {
        let Some(args) = rest.as_object_mut() else { return };
        let Some(key) = keys.iter().find(|key| args.get(**key).is_some_and(Value::is_string))
        else {
            return;
        };
        if let Some(Value::String(text)) = args.shift_remove(*key) {
            blocks.push(code(label, &text));
        }
    };
    if let Some(text) = command(&call.args) {
        shown(&["command", "cmd"], "command");
        if rest == call.args {
            blocks.push(code("command", &text));
            rest = without(&rest, &["command", "cmd"]);
        }
    } else {
        shown(&["file_path", "path", "notebook_path"], "file");
        shown(&["url"], "address");
        shown(&["old_string", "old_text"], "old text");
        shown(&["new_string", "new_text", "new_source"], "new text");
        shown(&["content", "contents"], "content");
    }
    if call.args.get("description").and_then(Value::as_str) == call.description.as_deref() {
        rest = without(&rest, &["description"]);
    }
    let empty = matches!(&rest, Value::Null) || rest.as_object().is_some_and(Map::is_empty);
    if !empty {
        let text = serde_json::to_string_pretty(&rest).unwrap_or_else(|_| rest.to_string());
        blocks.push(code("arguments", &text));
    } else if blocks.is_empty() {
        blocks.push(Block::Note { text: "It has no arguments.".to_owned() });
    }
}

fn without(value: &Value, keys: &[&str]) -> Value {
    let mut value = value.clone();
    if let Some(map) = value.as_object_mut() {
        for key in keys {
            map.shift_remove(*key);
        }
    }
    value
}

/// The command text of a call, where it has one.
fn command(args: &Value) -> Option<String> {
    let found = args.get("command").or_else(|| args.get("cmd"))?;
    match found {
        Value::String(text) => Some(text.clone()),
        Value::Array(words) => {
            let words = words.iter().map(Value::as_str).collect::<Option<Vec<_>>>()?;
            Some(words.iter().map(|word| quoted(word)).collect::<Vec<_>>().join(" "))
        }
        _ => None,
    }
}

/// A word of an argument list, so that blanks in it cannot pass for two words.
fn quoted(word: &str) -> String {
    let plain = |c: char| c.is_alphanumeric() || "_-./:=@%+,".contains(c);
    if !word.is_empty() && word.chars().all(plain) {
        return word.to_owned();
    }
    format!("'{}'", word.replace('\'', r"'\''"))
}

fn asked(ask: &Ask, question: &Question, blocks: &mut Vec<Block>) {
    let label = question.header.as_deref().unwrap_or("question");
    blocks.push(quote(label, &question.question));
    let described = question.options.iter().any(|option| option.description.is_some());
    if described || crowded(question) {
        let field = |(at, option): (usize, &Choice)| {
            let said = option.description.as_deref().unwrap_or_default();
            let dash = if said.is_empty() { "" } else { " — " };
            Field {
                name: (at + 1).to_string(),
                value: visible(&format!("{}{dash}{said}", option.label)),
            }
        };
        blocks.push(Block::Fields {
            fields: question.options.iter().enumerate().map(field).collect(),
        });
    }
    for preview in question.options.iter().filter_map(|option| {
        option
            .preview
            .as_deref()
            .map(|preview| code(&format!("preview: {}", option.label), preview))
    }) {
        blocks.push(preview);
    }
    if question.multi_select {
        let text = "Several can be chosen; then press Submit.".to_owned();
        blocks.push(Block::Note { text });
    }
    blocks.extend(so_far(ask));
}

fn settled(ask: &Ask, blocks: &mut Vec<Block>) {
    for question in &ask.body.call.questions {
        blocks.push(quote(question.header.as_deref().unwrap_or("question"), &question.question));
    }
    blocks.extend(so_far(ask));
}

fn so_far(ask: &Ask) -> Option<Block> {
    let given = ask.answer().and_then(|answer| answer.answers.clone());
    let answers = given.unwrap_or_else(|| ask.progress.answers(&ask.body.call.questions));
    let field = |(question, answer): (&String, &Value)| {
        let answer = match answer {
            Value::String(text) => text.clone(),
            Value::Array(labels) => {
                labels.iter().filter_map(Value::as_str).collect::<Vec<_>>().join(", ")
            }
            other => other.to_string(),
        };
        Field { name: visible(question), value: visible(&answer) }
    };
    let fields: Vec<_> = answers.iter().map(field).collect();
    (!fields.is_empty()).then_some(Block::Fields { fields })
}

/// What the agent says about it.
fn words(ask: &Ask) -> Vec<Block> {
    let call = &ask.body.call;
    let said = [("reason", &call.reason), ("description", &call.description)];
    let said = said.into_iter().filter_map(|(label, text)| Some((label, text.as_deref()?)));
    said.filter(|(_, text)| !text.trim().is_empty() && !asks(call, text))
        .map(|(label, text)| quote(label, text))
        .collect()
}

fn asks(call: &Call, text: &str) -> bool {
    call.questions.iter().any(|question| question.question == text)
}

fn facts(ask: &Ask) -> Vec<Field> {
    let call = &ask.body.call;
    let fact = |name: &str, value: &str| Field { name: name.to_owned(), value: visible(value) };
    let mut facts = vec![fact("agent", &call.agent), fact("session", &shortened(&call.session))];
    facts.extend(call.host.as_deref().map(|host| fact("host", host)));
    facts.extend(call.worker.as_deref().map(|worker| fact("worker", worker)));
    facts.extend(call.cwd.as_deref().map(|cwd| fact("folder", cwd)));
    facts.push(fact("tool", &call.tool));
    if !ask.is_question() {
        facts.push(fact("asked because", &ask.body.why));
    }
    facts.extend(call.batch_remaining.as_ref().and_then(batch).map(|text| fact("batch", &text)));
    facts
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
    let file = || ["file_path", "path", "url"].iter().find_map(|key| args.get(key)?.as_str());
    let Some(doing) = command(&args).or_else(|| file().map(str::to_owned)) else {
        return line(&call.tool);
    };
    let mut short: String = doing.chars().take(GLANCE).collect();
    if doing.chars().count() > GLANCE {
        short.push('…');
    }
    format!("{}: {}", line(&call.tool), line(&short))
}

/// Long random names say enough with their first characters.
fn shortened(session: &str) -> String {
    if session.chars().count() <= 20 {
        return session.to_owned();
    }
    session.chars().take(8).chain(['…']).collect()
}

fn notes(ask: &Ask) -> Vec<Block> {
    let body = &ask.body;
    let mut notes = Vec::new();
    let mut note = |text: String| notes.push(Block::Note { text });
    if body.critical {
        note("Critical: it asks every time, whatever the rules say.".to_owned());
    }
    if let Some(at) = ask.deadline_at.filter(|_| ask.is_open())
        && body.silence == Silence::Approve
    {
        note(format!("If nobody answers, it is approved at {}.", clock::short(at)));
    }
    if !body.effects.is_empty() {
        let more = body.effects.len().saturating_sub(EFFECTS);
        let some = body.effects.iter().take(EFFECTS).map(|effect| line(effect));
        let mut text = format!("Touches: {}", some.collect::<Vec<_>>().join("; "));
        if more > 0 {
            text.push_str(&format!("; and {more} more"));
        }
        note(text);
    }
    if ask.is_open() {
        let remembering = [
            ("Always", Scope::Always),
            ("This session", Scope::Session),
            ("Always what begins so", Scope::Prefix),
            ("Always exactly this", Scope::Exact),
        ];
        for (button, scope) in remembering {
            let told = match scope {
                // What Always stores stands there already.
                Scope::Session => body.offers(scope) && !body.offers(Scope::Always),
                Scope::Exact => offers_exact(ask),
                _ => body.offers(scope),
            };
            if told {
                let rules = body.stores(scope).into_iter().map(|rule| line(&rule));
                let until = match body.lasts {
                    Life::Session => ", until the session ends",
                    Life::Durable => "",
                };
                note(format!("{button} stores: {}{until}", rules.collect::<Vec<_>>().join(", ")));
            }
        }
    }
    if let Some(problem) = body.rules_problem.as_deref().filter(|_| ask.is_open()) {
        note(format!("The last good rules are in force: {}", line(problem)));
    }
    notes
}

fn outcome(ask: &Ask, answer: &Answer) -> String {
    let at = clock::short(answer.at);
    let reason = answer.reason.as_deref().map(line).unwrap_or_default();
    match (&ask.state, answer.decision, &answer.by) {
        (State::Cancelled(_), ..) => format!("Cancelled at {at}: {reason}"),
        (State::Expired(_), Decision::Approve, _) => format!("Approved at {at}: {reason}"),
        (State::Expired(_), Decision::Deny, _) => format!("Expired at {at}: {reason}"),
        (_, Decision::Approve, By::Policy { grant }) => {
            format!("Approved at {at} by the grant {}", line(grant))
        }
        (_, Decision::Approve, by) if ask.is_question() => {
            format!("Answered by {} at {at}", line(&by.to_string()))
        }
        (_, Decision::Approve, by) => {
            let scope = match answer.scope {
                None | Some(Scope::Once) => "once".to_owned(),
                Some(Scope::Session) => "for this session".to_owned(),
                Some(Scope::Always) if ask.body.lasts == Life::Session => {
                    "for this session".to_owned()
                }
                Some(Scope::Always) => "always".to_owned(),
                Some(Scope::Exact) => "always, exactly this,".to_owned(),
                Some(Scope::Prefix) => "always, commands that begin so,".to_owned(),
                Some(Scope::Timed(seconds)) => {
                    format!("for {}", clock::span(i64::from(seconds) * 1000))
                }
            };
            format!("Approved {scope} by {} at {at}", line(&by.to_string()))
        }
        (_, Decision::Deny, by) => {
            let because = if reason.is_empty() { String::new() } else { format!(": {reason}") };
            let then = match answer.then {
                Then::GoOn => "",
                Then::Stop => ", and told to stop",
                Then::Explain => ", and told to explain itself",
            };
            format!("Denied by {} at {at}{then}{because}", line(&by.to_string()))
        }
    }
}

fn buttons(ask: &Ask, nonce: &str) -> Vec<Vec<Button>> {
    let step = if ask.is_question() { ask.progress.current() } else { 0 };
    let button = |label: &str, style, pressed| {
        let token = Token { nonce: nonce.to_owned(), step, pressed }.write()?;
        Some(Button { token, label: label.to_owned(), style })
    };
    let row = |buttons: &[Option<Button>]| buttons.iter().flatten().cloned().collect::<Vec<_>>();
    let Some(question) = ask.body.call.questions.get(step) else {
        return permission(ask, &button);
    };
    let options = question.options.iter().enumerate().map(|(at, option)| {
        let chosen = ask.progress.chosen.contains(&at);
        let style = if chosen { ButtonStyle::Chosen } else { ButtonStyle::Choice };
        button(&label(question, at, option), style, Pressed::Choose(at))
    });
    let options: Vec<_> = options.flatten().collect();
    let per_row = match options.len() {
        0..=4 => 1,
        5..=8 => 2,
        _ => 5,
    };
    let mut rows: Vec<_> = options.chunks(per_row).map(<[Button]>::to_vec).collect();
    let submit = || button("Submit", ButtonStyle::Submit, Pressed::Submit);
    rows.push(row(&[
        question.multi_select.then(submit).flatten(),
        button("Other…", ButtonStyle::Text, Pressed::Text),
        button("Decline", ButtonStyle::Deny, Pressed::Deny),
    ]));
    rows
}

/// The buttons under a wish for permission: yes and no first, what is remembered next, other ways to
/// say no last.
fn permission(
    ask: &Ask,
    button: &impl Fn(&str, ButtonStyle, Pressed) -> Option<Button>,
) -> Vec<Vec<Button>> {
    let body = &ask.body;
    let approve = |label: &str, scope| {
        body.offers(scope).then(|| button(label, ButtonStyle::Always, Pressed::Approve(scope)))?
    };
    let deny = |choice, label, then| {
        let offered = body.choices.contains(&choice) && body.deny != then;
        offered.then(|| button(label, ButtonStyle::Deny, Pressed::DenyAnd(then)))?
    };
    let plain_deny = match body.deny {
        Then::GoOn => "Deny",
        Then::Stop => "Deny and stop",
        Then::Explain => "Deny and explain",
    };
    let rows = [
        vec![
            button("Approve", ButtonStyle::Approve, Pressed::Approve(Scope::Once)),
            approve("Always", Scope::Always),
            button(plain_deny, ButtonStyle::Deny, Pressed::Deny),
        ],
        vec![
            approve("10 minutes", Scope::Timed(600)),
            approve("This session", Scope::Session),
            approve("24 hours", Scope::Timed(86_400)),
        ],
        vec![
            approve("Always what begins so", Scope::Prefix),
            approve("Always exactly this", Scope::Exact).filter(|_| offers_exact(ask)),
        ],
        vec![
            deny(Way::Skip, "Skip", Then::GoOn),
            deny(Way::DenyAndStop, "Deny and stop", Then::Stop),
            deny(Way::DenyAndExplain, "Deny and explain", Then::Explain),
        ],
    ];
    let rows = rows.into_iter().map(|row| row.into_iter().flatten().collect::<Vec<_>>());
    rows.filter(|row| !row.is_empty()).collect()
}

/// Whether remembering only this very call is less than what Always remembers.
fn offers_exact(ask: &Ask) -> bool {
    ask.body.offers(Scope::Exact) && ask.body.exact != ask.body.always
}

/// Whether the options' labels do not fit on buttons, which then carry numbers.
fn crowded(question: &Question) -> bool {
    let long = |option: &Choice| visible(&option.label).chars().count() > LABEL;
    question.options.len() > 8 || question.options.iter().any(long)
}

fn label(question: &Question, at: usize, option: &Choice) -> String {
    if crowded(question) { (at + 1).to_string() } else { visible(&option.label).replace('\n', " ") }
}

/// Text from outside within the card's own words: one line, so that it cannot pass for another of them.
fn line(text: &str) -> String {
    visible(text).replace('\n', " ⏎ ")
}

fn code(label: &str, text: &str) -> Block {
    Block::Code { label: label.to_owned(), text: visible(text) }
}

fn quote(label: &str, text: &str) -> Block {
    Block::Quote { label: visible(label), text: visible(text) }
}

#[cfg(test)]
mod tests;
