//! Discord's channels and people as targets: `CHANNEL` and `@PERSON` in numbers.

use crate::{errors::Problem, rest::Rest};
use countersign_port::Target;
use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

/// A place that cards go to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum CardPlace<'t> {
    Channel(&'t str),
    /// The direct messages with a person.
    Person(&'t str),
}

/// The direct messages with a person.
pub(crate) fn direct(person: &str) -> Target {
    Target(format!("@{person}"))
}

/// What a target means.
pub(crate) fn place(target: &Target) -> Result<CardPlace<'_>, String> {
    let is_id =
        |id: &str| (1..=20).contains(&id.len()) && id.bytes().all(|byte| byte.is_ascii_digit());
    match target.0.strip_prefix('@') {
        Some(person) if is_id(person) => Ok(CardPlace::Person(person)),
        None if is_id(&target.0) => Ok(CardPlace::Channel(&target.0)),
        _ => Err(format!(
            "`{}` is not a Discord channel: in `[discord] targets` give the number that Discord's \
             Copy Channel ID gives",
            target.0
        )),
    }
}

/// The channels of direct messages, which Discord makes when they are asked for.
#[derive(Debug, Default)]
pub(crate) struct DirectChannels(Mutex<HashMap<String, String>>);

impl DirectChannels {
    /// The id of the channel with this person.
    pub(crate) async fn with(&self, rest: &Rest, person: &str) -> Result<String, Problem> {
        let known = || self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let found = known().get(person).cloned();
        if let Some(channel) = found {
            return Ok(channel);
        }
        let channel = rest.direct(person).await?;
        known().insert(person.to_owned(), channel.clone());
        Ok(channel)
    }
}
