//! The bot's token: kept where it works, asked for where it does not, checked before it is written.

use super::{
    hidden,
    options::{Phone, PhoneOptions},
    setup::{ConfigChange, Setup},
};
use crate::cli::{exit::Misused, say};
use anyhow::{Context as _, Result, anyhow};
use countersign_port::{Absent, CheckError, Setting, Settings, Takes};
use std::{
    fs,
    io::{self, IsTerminal, Read},
};
use toml::Value;

/// How often a token is asked for.
const TRIES: u32 = 3;

/// The account in the config, after it was checked and, where it is new, written; `None` when the
/// person stopped with Ctrl-C.
pub(super) async fn account(
    setup: &mut Setup<'_>,
    phone: &Phone,
    options: &PhoneOptions,
) -> Result<Option<Settings>> {
    let config = setup.config()?;
    let there = config.chats.iter().find(|chat| chat.name() == phone.name);
    let before = there.map(|chat| chat.settings.clone());
    let mut known = token_of(options)?.or_else(|| {
        let secret = there?.secret();
        Some(secret.reveal().to_owned())
    });
    for left in (0..TRIES).rev() {
        let token = match known.take() {
            Some(token) => token,
            None => match asked(phone, left + 1 == TRIES)? {
                Some(token) => token,
                None => return Ok(None),
            },
        };
        let wanted = settings(phone, before.as_ref(), &token, &options.set)?;
        match phone.platform.check(&wanted).await {
            Ok(bot) => {
                write(setup, phone, before.as_ref(), &wanted)?;
                say::out(&format!("The token is {}'s.", say::literal(&bot)))?;
                return Ok(Some(wanted));
            }
            Err(CheckError::WrongToken(why)) if left > 0 && somebody_can_type(options) => {
                say::aside(&why);
            }
            Err(error) => {
                return Err(anyhow!(
                    "{}. The config is as it was.",
                    say::literal(&error.to_string())
                ));
            }
        }
    }
    Err(anyhow!("no token was accepted; the config is as it was"))
}

/// Whether another token can be asked for.
fn somebody_can_type(options: &PhoneOptions) -> bool {
    options.token_file.is_none() && io::stdin().is_terminal()
}

fn asked(phone: &Phone, first: bool) -> Result<Option<String>> {
    if first {
        let steps = phone.guide.steps().iter().enumerate();
        let steps: Vec<_> = steps.map(|(at, step)| format!("  {}. {step}", at + 1)).collect();
        say::aside(&format!("You need a bot of your own:\n{}", steps.join("\n")));
    }
    hidden::read("Paste the token here (it is not shown): ")
}

/// The token in `--token-file`.
fn token_of(options: &PhoneOptions) -> Result<Option<String>> {
    let Some(file) = &options.token_file else { return Ok(None) };
    let text = if file.as_os_str() == "-" {
        let mut text = String::new();
        io::stdin().read_to_string(&mut text).map(|_| text)
    } else {
        fs::read_to_string(file)
    };
    let text = text.with_context(|| format!("cannot read the token from {}", file.display()))?;
    match text.trim() {
        "" => Err(anyhow!("{} is empty; it has to hold the token", file.display())),
        token => Ok(Some(token.to_owned())),
    }
}

/// The account with this token, and with the keys of `--set`.
fn settings(
    phone: &Phone,
    before: Option<&Settings>,
    token: &str,
    set: &[String],
) -> Result<Settings> {
    let about = phone.platform.description();
    let mut settings = before.cloned().unwrap_or_default();
    for key in about.keys.iter().filter(|_| before.is_none()) {
        if let Absent::Means(value) = key.absent {
            settings.set(key.name, Setting::Text(value.to_owned()));
        }
    }
    for pair in set {
        let (name, value) = pair.split_once('=').ok_or_else(|| wrong_key(phone, pair))?;
        let key = about.keys.iter().find(|key| key.name == name);
        let key = key.filter(|key| matches!(key.takes, Takes::Url | Takes::Id(_)));
        let key = key.ok_or_else(|| wrong_key(phone, pair))?;
        settings.set(key.name, Setting::Text(value.to_owned()));
    }
    settings.set(about.account, Setting::Secret(token.to_owned()));
    Ok(settings)
}

fn wrong_key(phone: &Phone, pair: &str) -> anyhow::Error {
    let keys = phone.platform.description().keys.iter();
    let keys: Vec<_> = keys
        .filter(|key| matches!(key.takes, Takes::Url | Takes::Id(_)))
        .map(|key| key.name)
        .collect();
    let pair = say::literal(pair);
    Misused(format!("--set {pair}: say KEY=VALUE with one of {}", keys.join(", "))).into()
}

/// Writes what differs from what is there.
fn write(
    setup: &mut Setup<'_>,
    phone: &Phone,
    before: Option<&Settings>,
    wanted: &Settings,
) -> Result<()> {
    let section = phone.name;
    let is_default = |name: &str, text: &str| {
        let key = phone.platform.description().keys.iter().find(|key| key.name == name);
        matches!(key.map(|key| key.absent), Some(Absent::Means(value)) if value == text)
    };
    let changed = wanted.entries().filter(|(key, value)| match before {
        Some(before) => before.entries().all(|(other, old)| other != *key || old != *value),
        None => !matches!(value, Setting::Text(text) if is_default(key, text)),
    });
    let changes: Vec<_> = changed
        .map(|(key, value)| ConfigChange::Set { section, key, value: toml_of(value) })
        .collect();
    setup.write(&changes)
}

/// A value as the config writes it.
pub(super) fn toml_of(value: &Setting) -> Value {
    match value {
        Setting::Text(text) | Setting::Secret(text) => Value::String(text.clone()),
        Setting::Number(number) => Value::Integer(*number),
    }
}
