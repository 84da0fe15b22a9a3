//! A bot's tokens: kept where they work, asked for where they do not, checked before they are
//! written.

use super::{
    options::{Phone, PhoneOptions},
    setup::{ConfigChange, Setup},
};
use crate::cli::{exit::Misused, prompt, say};
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
    let mut known =
        tokens_of(phone, options)?.or_else(|| before.as_ref().map(|it| kept(phone, it)));
    for left in (0..TRIES).rev() {
        let tokens = match known.take() {
            Some(tokens) => tokens,
            None => match asked(phone, left + 1 == TRIES)? {
                Some(tokens) => tokens,
                None => return Ok(None),
            },
        };
        let wanted = settings(phone, before.as_ref(), tokens, &options.set)?;
        match phone.platform.check(&wanted).await {
            Ok(bot) => {
                write(setup, phone, before.as_ref(), &wanted)?;
                let whose = match secrets(phone).count() {
                    1 => "The token is",
                    _ => "The tokens are",
                };
                say::out(&format!("{whose} {}'s.", say::literal(&bot)))?;
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

/// The keys of the secrets that an account needs.
fn secrets(phone: &Phone) -> impl Iterator<Item = &'static str> {
    let keys = phone.platform.description().keys.iter();
    let needed =
        keys.filter(|it| matches!((it.takes, it.absent), (Takes::Secret, Absent::Wrong(_))));
    needed.map(|key| key.name)
}

/// The secrets that the config has.
fn kept(phone: &Phone, account: &Settings) -> Vec<String> {
    secrets(phone).map(|key| account.text(key).to_owned()).collect()
}

/// The secrets that somebody pastes; `None` when they stop.
fn asked(phone: &Phone, first: bool) -> Result<Option<Vec<String>>> {
    if first {
        let steps = phone.guide.steps().iter().enumerate();
        let steps: Vec<_> = steps.map(|(at, step)| format!("  {}. {step}", at + 1)).collect();
        say::aside(&format!("You need a bot of your own:\n{}", steps.join("\n")));
    }
    let account = phone.platform.description().account;
    let mut tokens = Vec::new();
    for key in secrets(phone) {
        let name = if key == account { "token" } else { key };
        match prompt::secret(&format!("Paste the {name} here (it is not shown): "))? {
            Some(token) => tokens.push(token),
            None => return Ok(None),
        }
    }
    Ok(Some(tokens))
}

/// The secrets in `--token-file`, each on a line of its own.
fn tokens_of(phone: &Phone, options: &PhoneOptions) -> Result<Option<Vec<String>>> {
    let Some(file) = &options.token_file else { return Ok(None) };
    let text = if file.as_os_str() == "-" {
        let mut text = String::new();
        io::stdin().read_to_string(&mut text).map(|_| text)
    } else {
        fs::read_to_string(file)
    };
    let text = text.with_context(|| format!("cannot read the token from {}", file.display()))?;
    let lines: Vec<_> = text.split_whitespace().map(str::to_owned).collect();
    let wanted: Vec<_> = secrets(phone).collect();
    match (lines.len(), wanted.len()) {
        (0, 1) => Err(anyhow!("{} is empty; it has to hold the token", file.display())),
        (given, needed) if given == needed => Ok(Some(lines)),
        (given, needed) => Err(anyhow!(
            "{} holds {given} words; it has to hold {needed}, each on a line: {}",
            file.display(),
            wanted.join(", ")
        )),
    }
}

/// The account with these secrets, and with the keys of `--set`.
fn settings(
    phone: &Phone,
    before: Option<&Settings>,
    tokens: Vec<String>,
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
    for (key, token) in secrets(phone).zip(tokens) {
        settings.set(key, Setting::Secret(token));
    }
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
