//! The administrators of groups, as a role that approvers can have.

use crate::api::{BotApi, Failure};
use crate::errors::sentence;
use countersign_port::locked;
use serde::Deserialize;
use std::collections::HashMap;
use std::sync::Mutex;
use std::time::Duration;
use teloxide::payloads::GetChatAdministrators;
use teloxide::types::{ChatId, User};
use tokio::time::Instant;

/// How long Telegram's word counts where it does not tell of a change, which it does where the bot
/// is an administrator itself.
const COUNTS: Duration = Duration::from_secs(60);
/// A press waits for no longer than this.
const PATIENCE: Duration = Duration::from_secs(5);

/// Whether a text is the number of a group.
pub(crate) fn is_group(text: &str) -> bool {
    let digits = text.strip_prefix('-').unwrap_or_default();
    (1..=18).contains(&digits.len()) && digits.bytes().all(|b| b.is_ascii_digit())
}

/// What Telegram has said of administrators a moment ago.
#[derive(Debug, Default)]
pub(crate) struct Admins(Mutex<HashMap<i64, (Instant, Vec<u64>)>>);

#[derive(Deserialize)]
struct Admin {
    user: User,
    status: String,
    #[serde(default)]
    is_anonymous: bool,
}

impl Admins {
    /// Which of these groups somebody is an administrator of.
    ///
    /// # Errors
    /// Telegram does not say it of one of them.
    pub(crate) async fn roles(
        &self,
        api: &BotApi,
        user: u64,
        of: &[String],
    ) -> Result<Vec<String>, Failure> {
        let mut roles = Vec::new();
        for group in of {
            let Ok(chat) = group.parse() else { continue };
            if self.of(api, chat).await?.contains(&user) {
                roles.push(group.clone());
            }
        }
        Ok(roles)
    }

    /// The same, and none where Telegram does not say.
    // FAIL-CLOSED: nobody is taken for an administrator of whom Telegram does not say so.
    pub(crate) async fn known_roles(&self, api: &BotApi, user: u64, of: &[String]) -> Vec<String> {
        self.roles(api, user, of).await.unwrap_or_else(|failure| {
            let why = sentence(&failure);
            tracing::warn!(why, "a group's administrators cannot be read; nobody counts as one");
            Vec::new()
        })
    }

    /// Something changed among the members of this group.
    pub(crate) fn forget(&self, chat: i64) {
        locked(&self.0).remove(&chat);
    }

    async fn of(&self, api: &BotApi, chat: i64) -> Result<Vec<u64>, Failure> {
        let now = Instant::now();
        if let Some((at, admins)) = locked(&self.0).get(&chat)
            && now.duration_since(*at) < COUNTS
        {
            return Ok(admins.clone());
        }
        let asked = GetChatAdministrators::new(ChatId(chat));
        let told: Result<Vec<Admin>, _> = api.call(&asked, PATIENCE).await;
        // What was known before is too old either way.
        self.forget(chat);
        let admins: Vec<u64> = told?.iter().filter_map(person).collect();
        locked(&self.0).insert(chat, (now, admins.clone()));
        Ok(admins)
    }
}

/// The person behind an entry of the list.
// SECURITY: who is anonymous in the group does not answer under its name, and no bot answers.
fn person(admin: &Admin) -> Option<u64> {
    let holds = matches!(admin.status.as_str(), "creator" | "administrator");
    (holds && !admin.is_anonymous && !admin.user.is_bot).then_some(admin.user.id.0)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests fail by panicking")]

    use super::*;
    use serde_json::{Value, json};

    #[test]
    fn a_group_is_named_by_its_number() {
        assert!(is_group("-1001234567890") && is_group("-42"));
        for other in ["", "-", "42", "-4x", "team", "@team", "--4", "-1234567890123456789"] {
            assert!(!is_group(other), "{other}");
        }
    }

    #[test]
    fn bots_anonymous_administrators_and_mere_members_do_not_count() {
        let read = |bot: bool, status: &str, more: Value| {
            let user = json!({"id": 42, "is_bot": bot, "first_name": "Ana"});
            let mut admin = json!({"user": user, "status": status});
            admin.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
            person(&serde_json::from_value(admin).unwrap())
        };
        assert_eq!(read(false, "administrator", json!({})), Some(42));
        assert_eq!(read(false, "creator", json!({"is_anonymous": false})), Some(42));
        assert_eq!(read(false, "creator", json!({"is_anonymous": true})), None);
        assert_eq!(read(true, "administrator", json!({})), None);
        for status in ["member", "restricted", "left", "kicked", "something_new"] {
            assert_eq!(read(false, status, json!({})), None, "{status}");
        }
    }
}
