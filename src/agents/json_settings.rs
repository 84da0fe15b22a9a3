//! Hooks in an agent's JSON settings: adds, finds and removes our entries, and leaves the rest
//! unchanged.

mod one_line;
mod text;

use jsonc_parser::cst::{CstArray, CstObject};
use serde_json::{Value, json};
use text::{byte_order_mark, commented, ending, input, strict, tree, value};

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
    /// The handler, with its command.
    pub handler: Value,
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
        let in_place = match one_line::is_one_line(&without) {
            true => one_line::insert(&without, &groups),
            false => None,
        };
        let connected = match in_place {
            Some(connected) => connected,
            None => self.append(&without, &groups)?,
        };
        // A key that stands there twice: the agent reads the other one.
        match self.hooks_in(&self.parse(&connected)?).len() == entries.len() {
            true => Ok([mark, &connected].concat()),
            false => Err(format!("`hooks`, or an event in it, is there twice; {}", self.fix())),
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

    fn without(self, text: &str) -> Result<String, String> {
        if self.hooks_in(&self.parse(text)?).is_empty() {
            return Ok(text.to_owned());
        }
        let alone = match one_line::is_one_line(text) {
            true => one_line::remove(text, |entry| self.is_entry_of_ours(entry)),
            false => text.to_owned(),
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
        let wrong =
            |what: &str| format!("`{what}` is not what {} takes; {}", self.title, self.fix());
        let hooks = settings.object_value_or_create("hooks").ok_or_else(|| wrong("hooks"))?;
        for (event, group) in groups {
            let there = hooks.array_value_or_create(event);
            there.ok_or_else(|| wrong(&format!("hooks.{event}")))?.append(input(group));
        }
        Ok(ending(text, root.to_string()))
    }

    fn fix(self) -> &'static str {
        "fix it first"
    }

    fn wanted(self, entries: &[HookEntry]) -> Vec<(String, Value)> {
        let each = entries.iter();
        each.map(|entry| (entry.event.to_owned(), entry.handler.clone())).collect()
    }

    fn group(self, entry: &HookEntry) -> Value {
        match (self.nesting, entry.matcher) {
            (HookNesting::Flat, _) => entry.handler.clone(),
            (HookNesting::Groups, None) => json!({"hooks": [entry.handler]}),
            (HookNesting::Groups, Some(matcher)) => {
                json!({"matcher": matcher, "hooks": [entry.handler]})
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
            Comments::Read => commented(text)?,
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

#[cfg(test)]
mod tests;
