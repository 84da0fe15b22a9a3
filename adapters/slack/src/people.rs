//! Who pressed or wrote, as Slack itself knows them.

use crate::api::WebApi;
use crate::problem::ApiProblem;
use countersign_port::{Presser, locked};
use serde_json::Value;
use std::collections::HashMap;
use std::future::Future;
use std::hash::Hash;
use std::sync::Mutex;
use std::time::Duration;
use tokio::time::Instant;
use tracing::warn;

/// How long Slack's word on a person or on the user groups counts: somebody who was taken out of a
/// group may answer for this long.
const COUNTS: Duration = Duration::from_secs(30);
/// More people than this are not remembered.
const REMEMBERED: usize = 1024;

const UNKNOWN: &str =
    "Slack did not say who you are just now, so nothing changed. Press or write again.";
const BOT: &str = "A bot cannot answer, so nothing changed.";
const GUEST: &str = "Guests of this workspace cannot answer, so nothing changed.";
const GONE: &str = "This account is deactivated, so nothing changed.";

/// What Slack has said of people a moment ago.
#[derive(Debug, Default)]
pub(crate) struct SlackPeople {
    users: FreshValues<String, SlackUser>,
    groups: FreshValues<(), Vec<UserGroup>>,
}

/// A member of a workspace.
#[derive(Debug, Clone, PartialEq, Eq)]
struct SlackUser {
    id: String,
    name: String,
    /// Why they may not answer whatever the lists say; `None` for a full member.
    barred: Option<&'static str>,
}

/// A user group and who is in it.
#[derive(Debug, Clone, PartialEq, Eq)]
struct UserGroup {
    id: String,
    users: Vec<String>,
}

impl SlackPeople {
    /// The person behind a user's id, with the user groups that they are in; else what to tell
    /// them.
    // FAIL-CLOSED: nobody is taken for somebody of whom Slack does not say that they are a full
    // member, and nobody for a member of a group that cannot be read.
    pub(crate) async fn presser(&self, api: &WebApi, user: &str) -> Result<Presser, &'static str> {
        let (known, groups) = self.ask(api, user).await;
        let known = known.map_err(|problem| {
            warn!(%problem, "Slack does not say who somebody is; what they did changes nothing");
            UNKNOWN
        })?;
        if let Some(why) = known.barred {
            return Err(why);
        }
        let groups = groups.unwrap_or_else(|problem| {
            warn!(%problem, "Slack's user groups cannot be read; nobody counts as a member");
            Vec::new()
        });
        Ok(Presser { id: known.id, name: known.name, roles: groups_of(user, groups) })
    }

    /// Which user groups a person is in now, for a vote that they cast earlier.
    ///
    /// # Errors
    /// Slack does not say.
    pub(crate) async fn roles_now(
        &self,
        api: &WebApi,
        person: &str,
    ) -> Result<Vec<String>, ApiProblem> {
        let user = person.split_once('/').map_or("", |(_, user)| user);
        let (known, groups) = self.ask(api, user).await;
        let known = known?;
        let groups = groups?;
        Ok(if known.barred.is_some() { Vec::new() } else { groups_of(user, groups) })
    }

    // Both at once: a window can be opened for 3 s after the press.
    async fn ask(
        &self,
        api: &WebApi,
        user: &str,
    ) -> (Result<SlackUser, ApiProblem>, Result<Vec<UserGroup>, ApiProblem>) {
        tokio::join!(
            self.users.get(user.to_owned(), info(api, user)),
            self.groups.get((), groups(api))
        )
    }
}

fn groups_of(user: &str, groups: Vec<UserGroup>) -> Vec<String> {
    let of_theirs = groups.into_iter().filter(|group| group.users.iter().any(|it| it == user));
    of_theirs.map(|group| group.id).collect()
}

/// Values that count for a while.
#[derive(Debug)]
struct FreshValues<K, V>(Mutex<HashMap<K, (Instant, V)>>);

impl<K, V> Default for FreshValues<K, V> {
    fn default() -> Self {
        Self(Mutex::default())
    }
}

impl<K: Eq + Hash, V: Clone> FreshValues<K, V> {
    async fn get<E>(&self, key: K, ask: impl Future<Output = Result<V, E>>) -> Result<V, E> {
        let known = {
            let mut all = locked(&self.0);
            all.retain(|_, (at, _)| at.elapsed() < COUNTS);
            all.get(&key).map(|(_, value)| value.clone())
        };
        if let Some(known) = known {
            return Ok(known);
        }
        let value = ask.await?;
        let mut all = locked(&self.0);
        if all.len() < REMEMBERED {
            all.insert(key, (Instant::now(), value.clone()));
        }
        Ok(value)
    }
}

async fn info(api: &WebApi, user: &str) -> Result<SlackUser, ApiProblem> {
    let told = api.read("users.info", &[("user", user)]).await?;
    let read = told.get("user").and_then(|told| read_user(told, user));
    read.ok_or_else(|| ApiProblem::Unreachable("its answer names no member".to_owned()))
}

/// A member as Slack describes them; `None` where it says nothing of what matters.
fn read_user(told: &Value, user: &str) -> Option<SlackUser> {
    let text = |path: &str| told.pointer(path).and_then(Value::as_str);
    let is = |key: &str| told.get(key).and_then(Value::as_bool);
    text("/id").filter(|id| *id == user)?;
    // Slack says each of these of every member whom it shows us.
    let deleted = is("deleted")?;
    let bot = is("is_bot")?;
    let guest = is("is_restricted")?;
    let single = is("is_ultra_restricted")?;
    let barred = match (bot || user == "USLACKBOT", deleted, guest || single) {
        (true, ..) => Some(BOT),
        (_, true, _) => Some(GONE),
        (.., true) => Some(GUEST),
        (false, false, false) => None,
    };
    let names = ["/profile/display_name", "/profile/real_name", "/real_name", "/name"];
    let name = names.iter().filter_map(|path| text(path)).find(|name| !name.trim().is_empty());
    let id = format!("{}/{user}", text("/team_id")?);
    Some(SlackUser { id, name: name.unwrap_or(user).to_owned(), barred })
}

async fn groups(api: &WebApi) -> Result<Vec<UserGroup>, ApiProblem> {
    let told = match api.read("usergroups.list", &[("include_users", "true")]).await {
        // A free plan has none, and an app without the scope is not told of any.
        Err(ApiProblem::Scope(_) | ApiProblem::Refused { .. }) => return Ok(Vec::new()),
        told => told?,
    };
    let listed = told.get("usergroups").and_then(Value::as_array).into_iter().flatten();
    Ok(listed.filter_map(read_group).collect())
}

/// A user group; `None` for one that is disabled.
fn read_group(told: &Value) -> Option<UserGroup> {
    told.get("date_delete").and_then(Value::as_i64).filter(|at| *at == 0)?;
    let users = told.get("users")?.as_array()?.iter();
    let users = users.filter_map(Value::as_str).map(str::to_owned).collect();
    Some(UserGroup { id: told.get("id")?.as_str()?.to_owned(), users })
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn told(changes: Value) -> Value {
        let mut told = json!({"id": "U1", "team_id": "T1", "name": "ana", "deleted": false,
            "is_bot": false, "is_restricted": false, "is_ultra_restricted": false,
            "profile": {"display_name": "Ana", "real_name": "Ana Lovelace"}});
        if let (Some(told), Value::Object(changes)) = (told.as_object_mut(), changes) {
            told.extend(changes);
        }
        told
    }

    fn barred(changes: Value) -> Option<Option<&'static str>> {
        read_user(&told(changes), "U1").map(|user| user.barred)
    }

    #[test]
    fn a_full_member_is_known_by_workspace_and_id_and_named_as_they_name_themselves() {
        let ana = SlackUser { id: "T1/U1".to_owned(), name: "Ana".to_owned(), barred: None };
        assert_eq!(read_user(&told(json!({})), "U1"), Some(ana));
        let elsewhere = read_user(&told(json!({"team_id": "T2"})), "U1");
        assert_eq!(elsewhere.map(|user| user.id), Some("T2/U1".to_owned()));
    }

    #[test]
    fn guests_bots_and_deactivated_accounts_are_barred_whatever_the_lists_say() {
        assert_eq!(barred(json!({})), Some(None));
        assert_eq!(barred(json!({"is_restricted": true})), Some(Some(GUEST)));
        assert_eq!(barred(json!({"is_ultra_restricted": true})), Some(Some(GUEST)));
        assert_eq!(barred(json!({"is_bot": true})), Some(Some(BOT)));
        assert_eq!(barred(json!({"deleted": true})), Some(Some(GONE)));
    }

    #[test]
    fn somebody_of_whom_slack_does_not_say_enough_is_nobody() {
        for key in ["id", "team_id", "deleted", "is_bot", "is_restricted", "is_ultra_restricted"] {
            let mut told = told(json!({}));
            told.as_object_mut().map(|told| told.remove(key));
            assert_eq!(read_user(&told, "U1"), None, "{key}");
        }
        assert_eq!(read_user(&told(json!({"id": "U2"})), "U1"), None);
    }

    #[test]
    fn a_disabled_user_group_has_no_members() {
        let group = |gone| json!({"id": "S1", "date_delete": gone, "users": ["U1"]});
        let whole = UserGroup { id: "S1".to_owned(), users: vec!["U1".to_owned()] };
        assert_eq!(read_group(&group(0)), Some(whole));
        assert_eq!(read_group(&group(1_700_000_000)), None);
        assert_eq!(read_group(&json!({"id": "S1", "users": ["U1"]})), None);
    }
}
