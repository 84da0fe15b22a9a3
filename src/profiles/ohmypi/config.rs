//! oh-my-pi's `config.yml`, as far as approvals are concerned.

use countersign_policy::{rules::suggest::nearest, verdict::Verdict};
use serde_json::{Map, Value};

use crate::ohmypi::bash::{Bash, BashPattern};
use crate::ohmypi::declare::from_word;
use crate::ohmypi::mode::ApprovalMode;

/// The settings of a `config.yml` for approvals. Everything else in the file is left to the system.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OhMyPiSettings {
    /// `tools.approvalMode`; yolo when not set.
    pub mode: ApprovalMode,
    /// `tools.approval`.
    pub approval: Approval,
    /// `bash` and `shellPath`.
    pub bash: Bash,
}

/// A verdict per tool. Any other word is no verdict, as in the system itself.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Approval(Map<String, Value>);

impl OhMyPiSettings {
    /// Reads YAML, which includes JSON. Settings may be nested or dotted (`bash.patterns`).
    ///
    /// # Errors
    /// A sentence that names the mistake and its place.
    pub fn read(text: &str, name: &str, compat: bool) -> Result<Self, String> {
        let file = file(text).map_err(|why| format!("{name}: {why}"))?;
        if !matches!(file, Value::Null | Value::Object(_)) {
            return Err(format!("{name}: settings are keys and values, such as `tools:`"));
        }
        if !compat {
            mistyped(&file, "tools", &["approvalMode", "approval"], name)?;
            mistyped(&file, "bash", &["patterns", "allowCompoundCommands"], name)?;
        }
        let at = |path| setting(&file, path);
        let mode = match at("tools.approvalMode") {
            None => ApprovalMode::Yolo,
            Some(Value::String(word)) => {
                word.trim().parse().map_err(|why| format!("{name}: tools.approvalMode: {why}"))?
            }
            Some(other) => {
                return Err(format!("{name}: tools.approvalMode is {other}, not a mode"));
            }
        };
        let approval = match at("tools.approval") {
            None => Approval::default(),
            Some(Value::Object(tools)) => Approval(tools.clone()),
            Some(_) => {
                return Err(format!("{name}: tools.approval is not a list of `tool: policy`"));
            }
        };
        let compound = match at("bash.allowCompoundCommands") {
            None => false,
            Some(Value::Bool(compound)) => *compound,
            Some(other) => {
                return Err(format!(
                    "{name}: bash.allowCompoundCommands is {other}, neither true nor false"
                ));
            }
        };
        let patterns = patterns(at("bash.patterns"), name, compat)?;
        let shell = at("shellPath").and_then(Value::as_str).map(str::to_owned);
        Ok(Self { mode, approval, bash: Bash { patterns, compound, shell } })
    }
}

impl Approval {
    /// Returns the user's verdict on a tool and the name that it is stored under: the key's, else
    /// the tool's.
    #[must_use]
    pub fn of<'a>(&self, tool: &'a str, key: Option<&'a str>) -> (Option<Verdict>, &'a str) {
        let verdict = |name| self.0.get(name).and_then(Value::as_str).and_then(from_word);
        // The key's entry counts only if it is a verdict; otherwise the tool's entry does.
        match key.and_then(|key| Some((verdict(key)?, key))) {
            Some((found, key)) => (Some(found), key),
            None => (verdict(tool), tool),
        }
    }
}

fn file(text: &str) -> Result<Value, String> {
    match text.trim_start().chars().next() {
        None => Ok(Value::Null),
        // JSON has escapes that YAML lacks.
        Some('{') => serde_json::from_str(text).map_err(|error| error.to_string()),
        Some(_) => serde_saphyr::from_str(text).map_err(|error| error.to_string()),
    }
}

/// Returns a setting by its path, nested or dotted.
fn setting<'v>(file: &'v Value, path: &str) -> Option<&'v Value> {
    let nested = path.split('.').try_fold(file, |at, key| at.get(key));
    nested.or_else(|| file.get(path)).filter(|value| !value.is_null())
}

/// Reports a key that closely resembles one of ours: what it was meant to forbid would be allowed.
fn mistyped(file: &Value, section: &str, ours: &[&str], name: &str) -> Result<(), String> {
    let keys = file.get(section).and_then(Value::as_object).into_iter().flat_map(Map::keys);
    for key in keys.filter(|key| !ours.contains(&key.as_str())) {
        if let Some(meant) = nearest(key, ours.iter().copied()) {
            return Err(format!("{name}: {section}.{key} is not a setting; did you mean {meant}?"));
        }
    }
    Ok(())
}

/// Reads the patterns, in order. The system ignores an entry that it cannot read. Here such an
/// entry is a mistake, because it may have been a deny.
fn patterns(list: Option<&Value>, name: &str, compat: bool) -> Result<Vec<BashPattern>, String> {
    let entries = match list {
        None => return Ok(Vec::new()),
        Some(Value::Array(entries)) => entries,
        Some(_) if compat => return Ok(Vec::new()),
        Some(_) => return Err(format!("{name}: bash.patterns is not a list")),
    };
    let mut patterns = Vec::with_capacity(entries.len());
    for (at, entry) in entries.iter().enumerate() {
        let text = entry.get("match").and_then(Value::as_str);
        let verdict = entry.get("approval").and_then(Value::as_str).and_then(from_word);
        match text.zip(verdict).and_then(|(text, verdict)| BashPattern::new(text, verdict)) {
            Some(pattern) => patterns.push(pattern),
            None if compat => {}
            None => {
                return Err(format!(
                    "{name}: bash.patterns[{at}] is {entry}; an entry has a `match` that is not \
                     empty and an `approval` that is allow, deny or prompt"
                ));
            }
        }
    }
    Ok(patterns)
}
