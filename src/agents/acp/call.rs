//! A tool call of the protocol as a call of ours.

use crate::{acp::AcpMessage, latest::Latest};
use countersign_domain::call::{Accepts, Call};
use countersign_policy::{argument_names, tools};
use serde_json::{Map, Value, json};

/// The call that a permission request is about, without its agent and session.
pub(super) struct AcpCall {
    pub(super) tool: String,
    pub(super) args: Value,
    title: Option<String>,
}

impl AcpCall {
    /// Reads a `ToolCallUpdate`, with all that is known of it.
    pub(super) fn read(fields: &Map<String, Value>) -> Self {
        let text = |name: &str| fields.get(name).and_then(Value::as_str).map(str::to_owned);
        let title = text("title").filter(|title| !title.trim().is_empty());
        let kind = text("kind").unwrap_or_default();
        let mut args = match fields.get("rawInput") {
            Some(Value::Object(input)) => input.clone(),
            None | Some(Value::Null) => Map::new(),
            // A patch as one text, for example.
            Some(other) => Map::from_iter([("input".to_owned(), other.clone())]),
        };
        let told = named(fields).map(str::to_owned);
        let tool = told.unwrap_or_else(|| tool(&kind, &args).to_owned());
        if tools::kind_of(&tool) == tools::Kind::Edit {
            add_changes(&mut args, fields);
        }
        add_locations(&mut args, &tool, fields);
        // FAIL-CLOSED: a title is words for people and may be cut, so nothing is read out of it. A
        // tool of which nothing else is known has no rule that allows it.
        if args.is_empty() {
            args.extend(title.clone().map(|title| ("title".to_owned(), json!(title))));
            args.extend(fields.get("content").map(|it| ("content".to_owned(), it.clone())));
        }
        Self { tool, args: Value::Object(args), title }
    }

    pub(super) fn of(self, agent: &str, session: &str) -> Call {
        Call {
            description: self.title,
            accepts: vec![Accepts::Stop],
            ..Call::new(agent, session, &self.tool, self.args)
        }
    }
}

/// The tool's own name, where the agent tells it (claude-agent-acp does).
fn named(fields: &Map<String, Value>) -> Option<&str> {
    let meta = fields.get("_meta")?.get("claudeCode")?;
    meta.get("toolName")?.as_str().filter(|name| !name.is_empty())
}

/// The tool for a kind of the protocol. A kind is a category, so it counts only with the argument
/// that such a tool works on.
fn tool<'k>(kind: &'k str, args: &Map<String, Value>) -> &'k str {
    let has = |names: &[&str]| names.iter().any(|name| args.contains_key(*name));
    match kind {
        "execute" if has(argument_names::COMMANDS) => "shell_exec",
        "edit" => "edit_file",
        "read" if has(argument_names::FILES) => "read_file",
        "fetch" if has(argument_names::URLS) => "web_fetch",
        "" => "other",
        kind => kind,
    }
}

/// The diffs of the content beside the input: each file counts.
fn add_changes(args: &mut Map<String, Value>, fields: &Map<String, Value>) {
    let content = fields.get("content").and_then(Value::as_array);
    let change = |part: &Value| {
        let path = part.get("path").filter(|_| part["type"] == "diff")?;
        let old = part.get("oldText").filter(|text| !text.is_null());
        Some(json!({
            "path": path, "old_text": old.unwrap_or(&json!("")), "new_text": part["newText"],
        }))
    };
    let changes: Vec<Value> = content.into_iter().flatten().filter_map(change).collect();
    if changes.is_empty() {
        return;
    }
    let shown = argument_names::CHANGES.iter().chain(argument_names::NEW_TEXTS);
    let shown = shown.chain(argument_names::PATCHES).chain(argument_names::CONTENTS);
    // The input says it itself; then the content adds only paths, which `add_locations` names.
    if shown.into_iter().any(|name| args.contains_key(*name)) {
        let paths = changes.iter().map(|change| change["path"].clone()).collect();
        args.entry("files").or_insert(Value::Array(paths));
    } else {
        args.insert("changes".to_owned(), Value::Array(changes));
    }
}

/// The files that the agent says it works on, where its input names none.
fn add_locations(args: &mut Map<String, Value>, tool: &str, fields: &Map<String, Value>) {
    let names_files = argument_names::FILES.iter().chain(argument_names::CHANGES);
    let reads_or_writes = !matches!(
        tools::kind_of(tool),
        tools::Kind::Shell | tools::Kind::Fetch | tools::Kind::Question | tools::Kind::Skill
    );
    if !reads_or_writes || names_files.into_iter().any(|name| args.contains_key(*name)) {
        return;
    }
    let locations = fields.get("locations").and_then(Value::as_array);
    let path = |location: &Value| location.get("path").cloned();
    let paths: Vec<Value> = locations.into_iter().flatten().filter_map(path).collect();
    if !paths.is_empty() {
        args.insert("paths".to_owned(), Value::Array(paths));
    }
}

// A permission request may name its call and leave out what updates have told of it before.

/// The largest call that is remembered, in bytes.
const LARGEST: usize = 1 << 20;

/// The latest calls.
#[derive(Debug, Default)]
pub(super) struct ToolCalls(Latest<CallName, Map<String, Value>>);

/// The session and the id of a call.
type CallName = (String, String);

impl ToolCalls {
    /// Takes note of an update, if it tells of a tool call.
    pub(super) fn note(&mut self, update: &AcpMessage, size: usize) {
        let told = update.params.get("update").and_then(Value::as_object);
        let Some((session, told)) = update.text("sessionId").zip(told) else { return };
        let kind = told.get("sessionUpdate").and_then(Value::as_str);
        if !matches!(kind, Some("tool_call" | "tool_call_update")) || size > LARGEST {
            return;
        }
        let mut fields = told.clone();
        fields.remove("sessionUpdate");
        let Some(name) = name(session, &fields) else { return };
        let whole = self.whole(&name, fields);
        self.0.note(name, whole);
    }

    /// The call of a permission request, with what was told of it before.
    pub(super) fn of(&self, session: &str, call: &Map<String, Value>) -> Map<String, Value> {
        match name(session, call) {
            Some(name) => self.whole(&name, call.clone()),
            None => call.clone(),
        }
    }

    /// These fields over those that are known.
    fn whole(&self, name: &CallName, fields: Map<String, Value>) -> Map<String, Value> {
        let mut whole = self.0.of(name).cloned().unwrap_or_default();
        whole.extend(fields.into_iter().filter(|(_, value)| !value.is_null()));
        whole
    }
}

fn name(session: &str, call: &Map<String, Value>) -> Option<CallName> {
    let id = call.get("toolCallId").and_then(Value::as_str)?;
    Some((session.to_owned(), id.to_owned()))
}
