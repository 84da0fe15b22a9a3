//! molf's `permissions.jsonc`: its defaults, its text, and how Always changes it.
//!
//! This module follows molf literally, for `compat` and for new files. The strict profile reads
//! with [`countersign_policy::rules::Rules`] and stores with [`countersign_policy::rules::file`].

use std::fmt::Write as _;

use countersign_policy::rules::OPTIONS;
use jsonc_parser::cst::{CstInputValue, CstRootNode};
use serde_json::{Map, Value};

use crate::molf::lenient;
use crate::molf::ruleset::{PermissionSetting, RuleAction, Ruleset};
use crate::system::WorkerFiles;

/// The file that every worker starts with.
pub const DEFAULT: &str = include_str!("default.jsonc");

/// The description of files of which every worker has its own.
pub const WORKER_FILES: WorkerFiles = WorkerFiles { seed: DEFAULT, remember };

/// Returns the rules of a file as molf loads it. An unreadable or empty file yields the defaults.
#[must_use]
pub fn load(text: &str, home: Option<&str>) -> Ruleset {
    match lenient::read(text) {
        // `[]` means no rules to molf, but `{}` means its defaults.
        Some(Value::Array(rules)) => Ruleset::new(rules.iter().filter_map(setting), home),
        Some(Value::Object(config)) if !config.is_empty() => Ruleset::from_config(&config, home),
        _ => defaults(home),
    }
}

/// Returns the rules of [`DEFAULT`].
#[must_use]
pub fn defaults(home: Option<&str>) -> Ruleset {
    match lenient::read(DEFAULT) {
        Some(Value::Object(config)) => Ruleset::from_config(&config, home),
        _ => Ruleset::default(),
    }
}

fn setting(rule: &Value) -> Option<PermissionSetting> {
    serde_json::from_value(rule.clone()).ok()
}

/// Adds an allow for each pattern, as molf writes the file. molf starts from the tool's entry
/// before the first of them, so a simple entry keeps only the last pattern. A deny of the same
/// pattern becomes an allow. A list becomes an object without its comments.
#[must_use]
pub fn remember(text: &str, tool: &str, patterns: &[&str], home: Option<&str>) -> String {
    if patterns.is_empty() {
        return text.to_owned();
    }
    let written = match lenient::read(text) {
        Some(Value::Object(config)) => in_place(text, &config, tool, patterns),
        _ => None,
    };
    written.unwrap_or_else(|| anew(text, tool, patterns, home))
}

fn in_place(
    text: &str,
    config: &Map<String, Value>,
    tool: &str,
    patterns: &[&str],
) -> Option<String> {
    // The syntax tree keeps comments and layout; writing the parsed value would drop them.
    let root = CstRootNode::parse(text, &OPTIONS).ok()?;
    let object = root.value()?.as_object()?;
    let allow = || CstInputValue::String("allow".to_owned());
    for pattern in patterns {
        let simple = match config.get(tool) {
            Some(Value::String(action)) if action == "allow" => continue,
            Some(Value::Object(entry)) => {
                if entry.get(*pattern).and_then(Value::as_str) == Some("allow") {
                    continue;
                }
                let entry = object.get(tool)?.object_value()?;
                match entry.get(pattern) {
                    Some(property) => property.set_value(allow()),
                    None => {
                        entry.append(pattern, allow());
                    }
                }
                continue;
            }
            Some(Value::String(action)) => Some(action.clone()),
            None => None,
            Some(_) => return None,
        };
        let first = simple.map(|action| ("*".to_owned(), CstInputValue::String(action)));
        let entry = first.into_iter().chain([((*pattern).to_owned(), allow())]).collect();
        match object.get(tool) {
            Some(property) => property.set_value(CstInputValue::Object(entry)),
            None => {
                object.append(tool, CstInputValue::Object(entry));
            }
        }
    }
    Some(root.to_string())
}

fn anew(text: &str, tool: &str, patterns: &[&str], home: Option<&str>) -> String {
    // molf rewrites the whole file from what it could read.
    let mut settings: Vec<PermissionSetting> = load(text, home).settings().cloned().collect();
    for pattern in patterns {
        let setting = PermissionSetting {
            permission: tool.to_owned(),
            pattern: (*pattern).to_owned(),
            action: RuleAction::Known(countersign_policy::Verdict::Allow),
        };
        if !settings.contains(&setting) {
            settings.push(setting);
        }
    }
    serialize(&Ruleset::new(settings, home).to_config())
}

/// Returns a configuration as molf writes it, with the comment that explains the format.
#[must_use]
pub fn serialize(config: &Map<String, Value>) -> String {
    let comment = DEFAULT.lines().take_while(|line| line.starts_with("//"));
    let mut text = comment.fold(String::new(), |text, line| text + line + "\n") + "{\n";
    let key = |key: &str| Value::from(key).to_string();
    let comma = |at: usize, of: usize| if at + 1 < of { "," } else { "" };
    for (at, (tool, entry)) in config.iter().enumerate() {
        let comma_behind = comma(at, config.len());
        // Writing to a `String` cannot fail.
        let _ = match entry.as_object().filter(|patterns| !patterns.is_empty()) {
            None => writeln!(text, "  {}: {entry}{comma_behind}", key(tool)),
            Some(patterns) => {
                let _ = writeln!(text, "  {}: {{", key(tool));
                for (at, (pattern, action)) in patterns.iter().enumerate() {
                    let comma = comma(at, patterns.len());
                    let _ = writeln!(text, "    {}: {action}{comma}", key(pattern));
                }
                writeln!(text, "  }}{comma_behind}")
            }
        };
    }
    text + "}\n"
}
