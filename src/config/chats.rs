//! Reads the sections of chat platforms, as their registrations describe them.

use super::ChatAccount;
use super::people::group_name;
use super::section::{ConfigNode, ConfigValue};
use super::section::{Section, id_of, number, secret, wants};
use super::values::{length, url};
use crate::platforms::Registered;
use countersign_port::{Absent, Key, Platform, Setting, Settings, Takes, Target};
use std::time::Duration;

/// Checks the registrations themselves; `taken` are the names of the other sections.
pub(super) fn faults(platforms: &[Registered], taken: &[&str]) -> Vec<String> {
    let mut faults = Vec::new();
    for (at, registered) in platforms.iter().enumerate() {
        let name = registered.name;
        // These name local answers.
        let local = ["inbox", "api"];
        let twice = platforms.iter().take(at).any(|earlier| earlier.name == name);
        if twice || taken.contains(&name) || local.contains(&name) {
            faults.push(format!("the platform `{name}`: its name is taken"));
        }
        faults.extend(registered.platform.iter().flat_map(|it| it.description().faults()));
    }
    faults
}

/// Reads the account in a platform's section.
pub(super) fn account(
    platform: &'static dyn Platform,
    mut section: Section<'_>,
) -> Option<ChatAccount> {
    let about = platform.description();
    let settings = settings(&mut section, about.keys);
    let targets = section.tables("targets", &format!("{}.targets", about.name), |entry| {
        let name = entry.get("name", target_name);
        let idle = entry.get("per_session", thread_idle).flatten();
        let target = platform.target(&self::settings(entry, about.target)?);
        let target = target.map_err(|why| entry.problem(&why)).ok()?;
        if idle.is_some()
            && let Err(why) = platform.threads_at(&target)
        {
            entry.problem(&format!("cannot have `per_session`: {why}"));
        }
        Some(ChatTarget { name, target, idle })
    });
    section.finish();
    let names = targets.iter().filter_map(|it| Some((it.name.clone()?, it.target.clone())));
    let names = names.collect();
    let threads = targets.iter().filter_map(|it| Some((it.target.clone(), it.idle?))).collect();
    let targets = targets.into_iter().map(|it| it.target).collect();
    Some(ChatAccount { platform, settings: settings?, targets, names, direct: Vec::new(), threads })
}

/// An entry of `targets`.
struct ChatTarget {
    name: Option<String>,
    target: Target,
    idle: Option<Duration>,
}

/// How long the thread of a session may rest: a length, or true for a day.
fn thread_idle(node: &ConfigNode) -> Result<Option<Duration>, String> {
    match node.value() {
        ConfigValue::Truth(wanted) => Ok(wanted.then_some(DAY)),
        ConfigValue::Text(_) => length(node).map(Some),
        _ => Err(wants("true, false or a duration such as \"8h\"", node)),
    }
}

/// How long a thread may rest where the config does not say.
const DAY: Duration = Duration::from_secs(24 * 60 * 60);

/// The values of these keys; `None` if a required one is missing.
fn settings(section: &mut Section<'_>, keys: &[Key]) -> Option<Settings> {
    let mut settings = Settings::default();
    let mut whole = true;
    for key in keys {
        let read = |node: &ConfigNode| setting(node, key.takes);
        let value = match key.absent {
            Absent::Wrong(hint) => section.need(key.name, hint, read),
            Absent::Means(value) => {
                let given = section.get(key.name, read);
                Some(given.unwrap_or_else(|| Setting::Text(value.to_owned())))
            }
            Absent::Nothing => section.get(key.name, read),
        };
        match value {
            Some(value) => settings.set(key.name, value),
            None => whole &= !matches!(key.absent, Absent::Wrong(_)),
        }
    }
    // Every key is read before this, so that all mistakes of the section are reported at once.
    whole.then_some(settings)
}

/// The name of a target, as routes refer to it.
fn target_name(node: &ConfigNode) -> Result<String, String> {
    match group_name(node)?.as_str() {
        "inbox" => Err("\"inbox\" is taken; choose another name".to_owned()),
        name => Ok(name.to_owned()),
    }
}

fn setting(node: &ConfigNode, takes: Takes) -> Result<Setting, String> {
    match takes {
        Takes::Secret => secret(node).map(|secret| Setting::Secret(secret.reveal().to_owned())),
        Takes::Url => url(node).map(Setting::Text),
        Takes::Number => number(node).map(Setting::Number),
        Takes::Id(form) => id_of(form, node).map(Setting::Text),
    }
}
