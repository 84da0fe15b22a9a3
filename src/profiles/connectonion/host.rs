//! ConnectOnion's own file, `host.yaml`: its permissions, and what the profile adds.

use serde::Deserialize;
use serde_json::{Map, Value};

use crate::connectonion::mode::{FullAccessTurns, PermissionMode};
use crate::connectonion::permission::{
    self, Expires, Permission, PermissionKey, PermissionSource, Permissions,
};

/// The permissions that every ConnectOnion project starts with.
const TEMPLATE: &str = include_str!("template.yaml");

/// Keys of a `host.yaml` that concern hosting and not permissions.
const HOSTING: &[&str] = &[
    "name",
    "trust",
    "port",
    "workers",
    "result_ttl",
    "relay_url",
    "reload",
    "summary",
    "examples",
    "whitelist",
    "blacklist",
    "max_file_size",
    "max_files_per_request",
];

/// A parsed `host.yaml`.
#[derive(Clone, Debug)]
pub(super) struct HostFile {
    /// Everything that is permitted without asking.
    pub(super) permissions: Permissions,
    /// The profile of sessions that name none.
    pub(super) mode: PermissionMode,
    /// The ConnectOnion version.
    pub(super) era: Era,
}

/// A ConnectOnion version. They differ in the treatment of unknown tools and in the safe tools.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum Era {
    /// As its first description says.
    Seed,
    /// As of August 2026.
    Head,
}

/// Tools that were safe in the first version.
const SEED_SAFE: &[&str] = &[
    "list_files",
    "get_file_info",
    "task",
    "load_guide",
    "enter_plan_mode",
    "exit_plan_mode",
    "write_plan",
    "task_output",
    "ask_user",
];

/// Reads a `host.yaml`. As YAML it extends the template, as ConnectOnion loads it; as JSON it is
/// the whole set of a session.
///
/// # Errors
/// A sentence that names the mistake and its place.
pub(super) fn read(text: Option<&str>, name: &str, compat: bool) -> Result<HostFile, String> {
    let text = text.unwrap_or("{}");
    // YAML includes JSON, but the two mean different things here, so the first character decides.
    let (value, whole): (Value, bool) = if text.trim_start().starts_with('{') {
        (serde_json::from_str(text).map_err(|error| format!("{name}: {error}"))?, true)
    } else {
        (serde_saphyr::from_str(text).map_err(|error| format!("{name}: {error}"))?, false)
    };
    let file = match value {
        Value::Null => Map::new(),
        Value::Object(file) => file,
        _ => return Err(format!("{name}: a host.yaml has keys; this is something else")),
    };
    host(&file, whole, compat).map_err(|error| format!("{name}: {error}"))
}

fn host(file: &Map<String, Value>, whole: bool, compat: bool) -> Result<HostFile, String> {
    const OURS: &[&str] = &["permissions", "profile", "grant", "era"];
    if let Some(key) =
        file.keys().find(|key| !OURS.contains(&key.as_str()) && !HOSTING.contains(&key.as_str()))
    {
        return Err(format!(
            "there is no key {key:?}; a host.yaml has permissions, and for countersign profile, \
             grant and era"
        ));
    }
    let era = field(file, "era")?.unwrap_or(Era::Head);
    let own = match file.get("permissions") {
        None | Some(Value::Null) => None,
        Some(Value::String(word)) if word == "template" => None,
        Some(own) => Some(permissions(own, compat)?),
    };
    let mut all = match (&own, whole) {
        (Some(_), true) => Permissions::default(),
        _ => template(era)?,
    };
    own.iter().flat_map(Permissions::iter).for_each(|one| all.put(one.clone()));
    let word: Option<String> = field(file, "profile")?;
    let mode = match (
        word.as_deref().map(PermissionMode::parse).transpose()?,
        field::<FullAccessTurns>(file, "grant")?,
    ) {
        (Some(PermissionMode::FullAccess(None)), grant) => PermissionMode::FullAccess(grant),
        (mode, None) => mode.unwrap_or(PermissionMode::ReadOnly),
        (_, Some(_)) => return Err("grant goes with the profile :danger-full-access alone".into()),
    };
    Ok(HostFile { permissions: all, mode, era })
}

fn field<T: serde::de::DeserializeOwned>(
    file: &Map<String, Value>,
    key: &str,
) -> Result<Option<T>, String> {
    let value = file.get(key).filter(|value| !value.is_null());
    value
        .map(|value| T::deserialize(value.clone()).map_err(|error| format!("{key}: {error}")))
        .transpose()
}

/// Returns the shipped permissions of a version.
fn template(era: Era) -> Result<Permissions, String> {
    let file: Value = serde_saphyr::from_str(TEMPLATE).map_err(|error| error.to_string())?;
    let shipped = permissions(file.get("permissions").unwrap_or(&Value::Null), false)?;
    let safe = SEED_SAFE.iter().map(|tool| Permission {
        source: PermissionSource::Safe,
        expires: Expires::Never,
        reason: "a safe tool".to_owned(),
        ..Permission::session(tool)
    });
    Ok(match era {
        Era::Head => shipped,
        Era::Seed => {
            let commands =
                shipped.iter().filter(|one| one.source != PermissionSource::Safe).cloned();
            safe.chain(commands).collect()
        }
    })
}

fn permissions(value: &Value, compat: bool) -> Result<Permissions, String> {
    match value {
        Value::Object(entries) => entries
            .iter()
            .map(|(key, entry)| permission(key, entry, compat))
            .collect::<Result<_, _>>(),
        Value::Array(names) => names
            .iter()
            .map(|name| {
                let name = name.as_str().ok_or("permissions: a list has names of tools")?;
                Ok(Permission {
                    source: PermissionSource::Config,
                    expires: Expires::Never,
                    ..Permission::session(name)
                })
            })
            .collect(),
        _ => Err("permissions: entries stand under names of tools or Bash(…)".to_owned()),
    }
}

fn permission(key: &str, entry: &Value, compat: bool) -> Result<Permission, String> {
    let at = |error: &str| format!("permissions: {key}: {error}");
    let fields = entry.as_object().ok_or_else(|| at("an entry has allowed, source and so on"))?;
    const KNOWN: &[&str] = &["allowed", "source", "reason", "when", "expires"];
    if let Some(unknown) = fields.keys().find(|name| !KNOWN.contains(&name.as_str())) {
        // ConnectOnion ignores unknown fields, above all `match:`, and so allows without the
        // condition.
        if !compat {
            let hint = if unknown == "match" { "; conditions stand under when" } else { "" };
            return Err(at(&format!("there is no field {unknown:?}{hint}")));
        }
    }
    let allowed = match fields.get("allowed") {
        Some(Value::Bool(allowed)) => *allowed,
        None if compat => false,
        _ => return Err(at("allowed is true or false")),
    };
    let word = |name: &str| {
        fields
            .get(name)
            .filter(|value| !value.is_null())
            .map(|value| value.as_str().ok_or_else(|| at(&format!("{name} is a text"))))
            .transpose()
    };
    let source = match word("source")? {
        None | Some("config") => PermissionSource::Config,
        Some("safe") => PermissionSource::Safe,
        Some("skill") => PermissionSource::Skill,
        Some("user") => PermissionSource::User,
        Some("mode") => PermissionSource::Mode,
        Some(other) => {
            return Err(at(&format!(
                "there is no source {other:?}; the sources are safe, config, skill, user and mode"
            )));
        }
    };
    let key = PermissionKey::new(key);
    let mut when = conditions(fields.get("when")).map_err(|error| at(&error))?;
    if compat
        && let permission::PermissionForm::Exact(_) | permission::PermissionForm::Prefix(_) =
            &key.form
    {
        // ConnectOnion replaces any other condition by the command itself.
        let command = key.text().trim_start_matches("Bash(").trim_end_matches(')');
        when = vec![("command".to_owned(), command.to_owned())];
    }
    let expires = expires(fields.get("expires")).map_err(|error| at(&error))?;
    let reason = word("reason")?.unwrap_or("allowed").to_owned();
    Ok(Permission { key, allowed, source, reason, when, expires })
}

fn conditions(when: Option<&Value>) -> Result<Vec<(String, String)>, String> {
    let Some(when) = when.filter(|when| !when.is_null()) else { return Ok(Vec::new()) };
    let fields = when.as_object().ok_or("when has a glob for each argument")?;
    fields
        .iter()
        .map(|(name, glob)| match glob {
            Value::String(glob) => Ok((name.clone(), glob.clone())),
            Value::Number(glob) => Ok((name.clone(), glob.to_string())),
            _ => Err(format!("when: {name}: a glob is a text")),
        })
        .collect()
}

fn expires(value: Option<&Value>) -> Result<Expires, String> {
    let Some(value) = value.filter(|value| !value.is_null()) else { return Ok(Expires::Never) };
    let word = value.get("type").and_then(Value::as_str).or_else(|| value.as_str());
    match word {
        Some("never") => Ok(Expires::Never),
        Some("turn_end") => Ok(Expires::TurnEnd),
        Some("session_end") => Ok(Expires::SessionEnd),
        _ => Err("expires has the type never, turn_end or session_end".to_owned()),
    }
}

#[cfg(test)]
mod tests;
