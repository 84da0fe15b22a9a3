//! Hooks in an agent's JSON settings: adds, finds and removes our entries, and leaves the rest
//! unchanged.

use jsonc_parser::{
    CollectOptions, ParseOptions,
    ast::{Array, Object, Value as JsonNode},
    common::Ranged,
    cst::{CstArray, CstInputValue, CstNode, CstObject, CstRootNode},
    parse_to_ast, parse_to_serde_value,
};
use serde_json::{Value, json};
use std::{
    fs, iter,
    ops::Range,
    path::{Path, PathBuf},
};

/// The form of the settings of one agent.
#[derive(Debug, Clone, Copy)]
pub(super) struct JsonSettings {
    /// The agent's name in our command.
    pub name: &'static str,
    /// Its name for people.
    pub title: &'static str,
    /// Whether the agent reads comments.
    pub comments: Comments,
    /// The place of a handler below its event.
    pub nesting: HookNesting,
}

/// Whether an agent reads comments in its settings.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Comments {
    /// It does, and they are kept.
    Read,
    /// It does not, and refuses the file.
    Refused,
}

/// The place of a handler below its event.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum HookNesting {
    /// `[{"matcher": …, "hooks": [handler]}]`
    Groups,
    /// `[handler]`
    Flat,
}

/// Our handler of an event.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct HookEntry {
    /// The event.
    pub event: &'static str,
    /// The tools for which the agent runs it, where the event has any.
    pub matcher: Option<&'static str>,
    /// The handlers, with their commands. More than one only where they stand in groups.
    pub handlers: Vec<Value>,
}

impl JsonSettings {
    /// The settings with exactly these handlers of ours; everything else is unchanged, including
    /// order and layout.
    ///
    /// # Errors
    /// A sentence, with line and column where there is one.
    pub(super) fn connect(self, text: &str, entries: &[HookEntry]) -> Result<String, String> {
        let (mark, text) = byte_order_mark(text);
        // Compared first: connecting twice must not move our entries or report a change.
        if self.hooks_in(&self.parse(text)?) == self.wanted(entries) {
            return Ok([mark, text].concat());
        }
        // Old entries are removed first, because the program may have moved since.
        let without = self.without(text)?;
        let groups: Vec<_> = entries.iter().map(|entry| (entry.event, self.group(entry))).collect();
        let in_place = if is_one_line(&without) { insert(&without, &groups) } else { None };
        let connected = match in_place {
            Some(connected) => connected,
            None => self.append(&without, &groups)?,
        };
        // A key that stands there twice: the agent reads the other one.
        if self.hooks_in(&self.parse(&connected)?).len() == self.wanted(entries).len() {
            Ok([mark, &connected].concat())
        } else {
            Err("`hooks`, or an event in it, is there twice; fix it first".to_owned())
        }
    }

    /// The settings without our handlers; everything else is unchanged.
    ///
    /// # Errors
    /// As [`JsonSettings::connect`].
    pub(super) fn disconnect(self, text: &str) -> Result<String, String> {
        let (mark, text) = byte_order_mark(text);
        Ok([mark, &self.without(text)?].concat())
    }

    /// Our handlers, by event.
    ///
    /// # Errors
    /// As [`JsonSettings::connect`].
    pub(super) fn hooks(self, text: &str) -> Result<Vec<(String, Value)>, String> {
        Ok(self.hooks_in(&self.parse(byte_order_mark(text).1)?))
    }

    /// The commands of other programs under an event.
    pub(super) fn others(self, text: &str, event: &str) -> Vec<String> {
        let settings = self.parse(byte_order_mark(text).1).unwrap_or_default();
        let all = self.handlers(&settings).into_iter();
        let others = all.filter(|(of, handler)| of == event && !self.is_ours(handler));
        others.filter_map(|(_, handler)| Some(command(&handler)?.to_owned())).collect()
    }

    /// Which of these settings and the project's switches all hooks off, as a sentence.
    pub(super) fn switched_off(
        self,
        settings: &Path,
        folder: &Path,
        project: &[&str],
    ) -> Option<String> {
        let project = project.iter().map(|name| folder.join(name));
        let is_off = |file: &PathBuf| {
            let text = fs::read_to_string(file).unwrap_or_default();
            let settings = self.parse(byte_order_mark(&text).1).unwrap_or_default();
            settings.get("disableAllHooks") == Some(&Value::Bool(true))
        };
        let off = iter::once(settings.to_owned()).chain(project).find(is_off)?;
        Some(format!("`disableAllHooks` in {} switches all hooks off", off.display()))
    }

    fn without(self, text: &str) -> Result<String, String> {
        if self.hooks_in(&self.parse(text)?).is_empty() {
            return Ok(text.to_owned());
        }
        let alone = if is_one_line(text) {
            remove(text, |entry| self.is_entry_of_ours(entry))
        } else {
            text.to_owned()
        };
        if self.hooks_in(&self.parse(&alone)?).is_empty() {
            return Ok(alone);
        }
        // A group that the user shares with us is left.
        let root = tree(&alone)?;
        if let Some(settings) = root.object_value()
            && let Some(hooks) = settings.object_value("hooks")
            && self.clear(&hooks)
            && let Some(prop) = settings.get("hooks")
        {
            prop.remove();
        }
        Ok(root.to_string())
    }

    fn append(self, text: &str, groups: &[(&str, Value)]) -> Result<String, String> {
        let root = tree(text)?;
        let settings = root.object_value_or_set();
        let wrong = |what: &str| {
            format!("`{what}` is not valid in the settings of {}; fix it first", self.title)
        };
        let hooks = settings.object_value_or_create("hooks").ok_or_else(|| wrong("hooks"))?;
        for (event, group) in groups {
            let there = hooks.array_value_or_create(event);
            there.ok_or_else(|| wrong(&format!("hooks.{event}")))?.append(input(group));
        }
        Ok(ending(text, root.to_string()))
    }

    fn wanted(self, entries: &[HookEntry]) -> Vec<(String, Value)> {
        let each = entries.iter();
        let named = |entry: &HookEntry| {
            let event = entry.event.to_owned();
            entry.handlers.clone().into_iter().map(move |handler| (event.clone(), handler))
        };
        each.flat_map(named).collect()
    }

    fn group(self, entry: &HookEntry) -> Value {
        match (self.nesting, entry.matcher) {
            (HookNesting::Flat, _) => entry.handlers.first().cloned().unwrap_or_default(),
            (HookNesting::Groups, None) => json!({"hooks": entry.handlers}),
            (HookNesting::Groups, Some(matcher)) => {
                json!({"matcher": matcher, "hooks": entry.handlers})
            }
        }
    }

    /// Removes our handlers from every event; returns whether nothing is left.
    fn clear(self, hooks: &CstObject) -> bool {
        for prop in hooks.properties() {
            let Some(entries) = prop.array_value() else { continue };
            if self.clear_event(&entries) && entries.elements().is_empty() {
                prop.remove();
            }
        }
        hooks.properties().is_empty()
    }

    /// Removes our handlers from an event; returns whether there were any.
    fn clear_event(self, entries: &CstArray) -> bool {
        let mut any = false;
        for entry in entries.elements() {
            if self.is_entry_of_ours(&value(&entry)) {
                entry.remove();
                any = true;
                continue;
            }
            let handlers = entry.as_object().and_then(|group| group.array_value("hooks"));
            // In a group that the user shares with us only our handler goes.
            for handler in handlers.iter().flat_map(CstArray::elements) {
                if self.nesting == HookNesting::Groups && self.is_ours(&value(&handler)) {
                    handler.remove();
                    any = true;
                }
            }
        }
        any
    }

    fn hooks_in(self, settings: &Value) -> Vec<(String, Value)> {
        let handlers = self.handlers(settings).into_iter();
        handlers.filter(|(_, handler)| self.is_ours(handler)).collect()
    }

    /// All handlers, by event.
    fn handlers(self, settings: &Value) -> Vec<(String, Value)> {
        let events = settings.get("hooks").and_then(Value::as_object);
        let entries = events.into_iter().flatten().flat_map(|(event, entries)| {
            entries.as_array().into_iter().flatten().map(move |entry| (event, entry))
        });
        let handlers = entries.flat_map(|(event, entry)| {
            self.handlers_of(entry).into_iter().map(move |handler| (event.clone(), handler))
        });
        handlers.collect()
    }

    fn handlers_of(self, entry: &Value) -> Vec<Value> {
        match self.nesting {
            HookNesting::Flat => vec![entry.clone()],
            HookNesting::Groups => {
                entry.get("hooks").and_then(Value::as_array).cloned().unwrap_or_default()
            }
        }
    }

    /// Returns whether an entry of an event holds nothing but handlers of ours.
    fn is_entry_of_ours(self, entry: &Value) -> bool {
        let handlers = self.handlers_of(entry);
        !handlers.is_empty() && handlers.iter().all(|handler| self.is_ours(handler))
    }

    /// Returns whether a handler runs `countersign hook NAME`, wherever the program is.
    fn is_ours(self, handler: &Value) -> bool {
        command(handler).is_some_and(|command| runs_our_hook(command, self.name))
    }

    /// An empty file is an empty object.
    fn parse(self, text: &str) -> Result<Value, String> {
        if text.trim().is_empty() {
            return Ok(json!({}));
        }
        let settings = match self.comments {
            Comments::Refused => strict(text)?,
            Comments::Read => parse_to_serde_value(text, &ParseOptions::default())
                .map_err(|error| error.to_string())?,
        };
        match settings {
            Value::Object(_) => Ok(settings),
            _ => Err("1:1: these settings are not an object in { }".into()),
        }
    }
}

/// Returns whether a command line runs `countersign hook NAME`.
// Compared by words: an older entry may have another path, or options such as `--config`.
pub(super) fn runs_our_hook(command: &str, name: &str) -> bool {
    let words = shlex::split(command).unwrap_or_default();
    let program = words.first().and_then(|program| program.rsplit('/').next());
    let hook = words.windows(2).any(|pair| pair == ["hook", name]);
    hook && program.is_some_and(|program| program.starts_with("countersign"))
}

fn command(handler: &Value) -> Option<&str> {
    handler.get("command").and_then(Value::as_str)
}

// JSON as text: parsed with and without comments, and as a tree that keeps its form.

/// Parses JSON.
fn strict(text: &str) -> Result<Value, String> {
    serde_json::from_str(text).map_err(|error| {
        let what = error.to_string();
        let what = what.split(" at line").next().unwrap_or_default();
        format!("{}:{}: {what}", error.line(), error.column())
    })
}

/// Splits off the mark with which some editors begin a file.
pub(super) fn byte_order_mark(text: &str) -> (&str, &str) {
    match text.strip_prefix('\u{feff}') {
        Some(rest) => ("\u{feff}", rest),
        None => ("", text),
    }
}

/// Parses JSON with comments so that it can be edited in its form; an empty text is an object.
fn tree(text: &str) -> Result<CstRootNode, String> {
    let text = if text.trim().is_empty() { "{}\n" } else { text };
    CstRootNode::parse(text, &ParseOptions::default()).map_err(|error| error.to_string())
}

/// The value of a node.
pub(super) fn value(node: &CstNode) -> Value {
    parse_to_serde_value(&node.to_string(), &ParseOptions::default()).unwrap_or_default()
}

/// Keeps the file's last line ending; a new file gets one.
pub(super) fn ending(before: &str, mut after: String) -> String {
    if before.trim().is_empty() && !after.ends_with('\n') {
        after.push('\n');
    }
    after
}

/// A value that can be added to a tree.
pub(super) fn input(value: &Value) -> CstInputValue {
    match value {
        Value::Null => CstInputValue::Null,
        Value::Bool(truth) => CstInputValue::Bool(*truth),
        Value::Number(number) => CstInputValue::Number(number.to_string()),
        Value::String(text) => CstInputValue::String(text.clone()),
        Value::Array(list) => CstInputValue::Array(list.iter().map(input).collect()),
        Value::Object(map) => CstInputValue::Object(
            map.iter().map(|(key, value)| (key.clone(), input(value))).collect(),
        ),
    }
}

// Edits settings that are one line in place, so that removing our hooks gives back every byte.
//
// The tree of [`super::JsonSettings`] breaks the lines of what it adds to, and cannot join them
// again.

/// Returns whether the settings are one line with something in it.
fn is_one_line(text: &str) -> bool {
    let text = text.trim();
    !text.is_empty() && text != "{}" && !text.contains('\n')
}

/// Adds a group for each event, in front of what is there; `None` where the settings have another
/// shape.
pub(super) fn insert(text: &str, groups: &[(&str, serde_json::Value)]) -> Option<String> {
    let parsed = parse_tree(text)?;
    let root = parsed.as_object()?;
    let mut inserts: Vec<(usize, String, bool)> = Vec::new();
    match root.get("hooks").map(|prop| &prop.value) {
        None => {
            let all: Vec<String> =
                groups.iter().map(|(event, group)| event_text(event, group)).collect();
            let hooks = format!("\"hooks\":{{{}}}", all.join(","));
            inserts.push((root.start() + 1, hooks, root.properties.is_empty()));
        }
        Some(JsonNode::Object(hooks)) => {
            // Reversed, because each goes in front of those before it.
            for (event, group) in groups.iter().rev() {
                inserts.push(match hooks.get(event).map(|prop| &prop.value) {
                    None => {
                        let last = hooks.properties.is_empty() && inserts.is_empty();
                        (hooks.start() + 1, event_text(event, group), last)
                    }
                    Some(JsonNode::Array(there)) => {
                        (there.start() + 1, group.to_string(), there.elements.is_empty())
                    }
                    Some(_) => return None,
                });
            }
        }
        Some(_) => return None,
    }
    // From the back, so that the earlier places stay where they are.
    inserts.sort_by_key(|(at, ..)| std::cmp::Reverse(*at));
    let mut text = text.to_owned();
    for (at, insert, last) in inserts {
        text.insert_str(at, &if last { insert } else { insert + "," });
    }
    Some(text)
}

fn event_text(event: &str, group: &serde_json::Value) -> String {
    format!("{}:[{group}]", serde_json::Value::from(event))
}

/// Removes the entries with nothing but handlers of ours, and what is empty without them.
pub(super) fn remove(text: &str, is_ours: impl Fn(&serde_json::Value) -> bool) -> String {
    let mut text = text.to_owned();
    while let Some(range) = parse_tree(&text).and_then(|parsed| ours(&parsed, &text, &is_ours)) {
        text = cut(&text, range);
    }
    text
}

/// The text without an element of an object or an array, and without one comma.
pub(super) fn cut(text: &str, range: Range<usize>) -> String {
    let head = text.get(..range.start).unwrap_or_default();
    let tail = text.get(range.end..).unwrap_or_default();
    // Ours is the comma behind.
    match (tail.trim_start().strip_prefix(','), head.trim_end().strip_suffix(',')) {
        (Some(tail), _) => [head, tail].concat(),
        (None, Some(head)) => [head, tail].concat(),
        (None, None) => [head, tail].concat(),
    }
}

/// The place of something that is ours alone: all hooks, an event, or a group.
fn ours(
    parsed: &JsonNode<'_>,
    text: &str,
    is_ours: &impl Fn(&serde_json::Value) -> bool,
) -> Option<Range<usize>> {
    let prop = parsed.as_object()?.get("hooks")?;
    let hooks = prop.value.as_object()?;
    let group = |group: &JsonNode<'_>| {
        let json = text.get(group.start()..group.end()).unwrap_or_default();
        let entry = jsonc_parser::parse_to_serde_value(json, &ParseOptions::default());
        entry.is_ok_and(|entry| is_ours(&entry))
    };
    let event =
        |groups: &Array<'_>| !groups.elements.is_empty() && groups.elements.iter().all(group);
    let all = |hooks: &Object<'_>| {
        let mut events = hooks.properties.iter();
        !hooks.properties.is_empty() && events.all(|prop| prop.value.as_array().is_some_and(event))
    };
    if all(hooks) {
        return Some(prop.start()..prop.end());
    }
    hooks.properties.iter().find_map(|prop| {
        let groups = prop.value.as_array()?;
        if event(groups) {
            Some(prop.start()..prop.end())
        } else {
            groups.elements.iter().find(|one| group(one)).map(|one| one.start()..one.end())
        }
    })
}

pub(super) fn parse_tree(text: &str) -> Option<JsonNode<'_>> {
    parse_to_ast(text, &CollectOptions::default(), &ParseOptions::default()).ok()?.value
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "tests fail by panicking")]
    use super::*;

    const COMMAND: &str = "/opt/countersign hook gemini";

    const GROUPS: JsonSettings = JsonSettings {
        name: "gemini",
        title: "Gemini CLI",
        comments: Comments::Read,
        nesting: HookNesting::Groups,
    };
    const FLAT: JsonSettings =
        JsonSettings { name: "gemini", nesting: HookNesting::Flat, ..GROUPS };
    const STRICT: JsonSettings = JsonSettings { comments: Comments::Refused, ..GROUPS };

    fn entries() -> Vec<HookEntry> {
        let entry = |event| HookEntry {
            event,
            matcher: Some(".*"),
            handlers: vec![json!({"type": "command", "command": COMMAND, "timeout": 5})],
        };
        vec![entry("Before"), entry("After")]
    }

    /// Connects twice and takes it out again.
    fn there_and_back(settings: JsonSettings, theirs: &str) -> String {
        let connected = settings.connect(theirs, &entries()).unwrap();
        assert_eq!(settings.hooks(&connected).unwrap().len(), 2, "{connected}");
        assert_eq!(settings.connect(&connected, &entries()), Ok(connected.clone()));
        assert_eq!(settings.disconnect(&connected), Ok(theirs.to_owned()), "{connected}");
        connected
    }

    #[test]
    fn settings_of_every_form_come_back_to_the_byte() {
        for theirs in [
            "{\n  // mine\n  \"a\": 1, // stays\n  /* and\n this */ \"b\": [1,\n 2,],\n}\n",
            "{\r\n  \"a\": 1,\r\n  \"hooks\": {\r\n    \"Before\": [\r\n      {}\r\n    ]\r\n  }\r\n}",
            "\u{feff}{\n  \"a\": 1\n}",
            "\u{feff}{\"a\":1}",
            "{\t\"a\": 1, /* x */ \"hooks\": {\"Other\":[ ]} }",
            "{\n  \"hooks\": {\n    \"Other\": [{\"b\": 1, \"hooks\": [{\"c\": 2}]}]\n  }\n}",
        ] {
            for settings in [GROUPS, FLAT] {
                there_and_back(settings, theirs);
            }
        }
        assert!(there_and_back(GROUPS, "{\r\n  \"a\": 1\r\n}\r\n").contains("hooks\": {\r\n"));
        assert!(there_and_back(STRICT, "\u{feff}{\"a\":1}").starts_with('\u{feff}'));
    }

    #[test]
    fn a_flat_event_holds_the_handler_itself() {
        let connected = FLAT.connect("", &entries()).unwrap();
        let handler = &entries()[0].handlers[0];
        let expected = json!({"hooks": {"Before": [handler], "After": [handler]}});
        assert_eq!(serde_json::from_str::<Value>(&connected).unwrap(), expected);
        let shared =
            r#"{"hooks":{"Before":[{"command":"lint"},{"command":"countersign hook gemini"}]}}"#;
        assert_eq!(FLAT.others(shared, "Before"), ["lint"]);
        let left = r#"{"hooks":{"Before":[{"command":"lint"}]}}"#;
        assert_eq!(FLAT.disconnect(shared), Ok(left.to_owned()));
    }

    #[test]
    fn a_key_that_is_there_twice_is_refused_where_the_agent_reads_the_other_one() {
        for twice in [
            "{\"hooks\": {}, \"hooks\": {\"Before\": []}}",
            "{\n\"hooks\": {},\n\"hooks\": {\"Other\": []}\n}",
            "{\n\"hooks\": {\"Before\": [],\n\"Before\": []}\n}",
        ] {
            let refused = GROUPS.connect(twice, &entries()).unwrap_err();
            assert_eq!(
                refused, "`hooks`, or an event in it, is there twice; fix it first",
                "{twice}"
            );
        }
    }

    #[test]
    fn comments_are_refused_where_the_agent_refuses_them() {
        let text = "{ // mine\n}";
        assert_eq!(STRICT.connect(text, &entries()), Err("1:3: key must be a string".to_owned()));
        assert!(GROUPS.connect(text, &entries()).is_ok());
    }

    #[test]
    fn only_a_command_that_runs_our_hook_is_ours() {
        for (command, ours) in [
            ("countersign hook gemini", true),
            ("'/a b/countersign-dev' --config x hook gemini --gate", true),
            ("countersign hook other", false),
            ("echo countersign hook gemini", false),
            ("countersign 'hook gemini'", false),
            ("countersign hook 'gemini", false),
        ] {
            assert_eq!(runs_our_hook(command, "gemini"), ours, "{command}");
        }
    }
}
