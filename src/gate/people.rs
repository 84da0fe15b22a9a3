//! The people who may answer under a name, and the groups that they are in. Pure.

use super::{
    ask::{call::Call, owner::Owner},
    hours::Hours,
};
use countersign_tokens::secret::TokenHash;
use jiff::tz::TimeZone;
use std::collections::{BTreeMap, BTreeSet};

/// The key of identities for which an identity provider vouches, as chats have their names.
pub const OIDC: &str = "oidc";

/// Everybody who has a name in the config, and what makes somebody a member of a group.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct People {
    /// Each has identities that nobody else has.
    pub named: Vec<NamedPerson>,
    /// The groups that roles of a platform stand for.
    pub groups: Vec<RoleGroup>,
}

/// One person, however they answer.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct NamedPerson {
    /// Unique.
    pub name: String,
    /// Lasting ids by the platform's name; `api` has the id of their own token.
    pub identities: BTreeMap<String, BTreeSet<String>>,
    /// Their own token.
    pub token: Option<TokenHash>,
    /// The groups that the config puts them in.
    pub groups: BTreeSet<String>,
    /// The machines whose agents work for them.
    pub hosts: BTreeSet<String>,
    /// The agents with a token of their own that work for them.
    pub agents: BTreeSet<String>,
    /// Whose clock their hours and times go by.
    pub zone: Option<TimeZone>,
    /// When they get no direct messages.
    pub quiet: Option<QuietHours>,
}

/// A group whose members are known to a platform.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RoleGroup {
    /// Its name.
    pub name: String,
    /// The ids of its roles, by the platform's name.
    pub roles: BTreeMap<String, BTreeSet<String>>,
}

/// Hours in which a person gets no direct messages.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct QuietHours {
    /// When.
    pub hours: Hours,
    /// What is sent nonetheless.
    pub except: QuietException,
}

/// What a person gets in their quiet hours.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum QuietException {
    /// Critical requests.
    #[default]
    Critical,
    /// Nothing.
    Nothing,
}

impl QuietHours {
    /// Whether a request waits for their end.
    #[must_use]
    pub fn hold(&self, critical: bool, now_ms: i64) -> bool {
        let breaks_through = critical && self.except == QuietException::Critical;
        self.hours.include(now_ms) && !breaks_through
    }
}

impl People {
    /// Whether nobody has a name.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.named.is_empty()
    }

    /// The person whom a surface vouches for. Somebody who is signed in to the inbox is known there
    /// by the identity with which they signed in, `PLATFORM:ID`.
    // SECURITY: names that people choose themselves are never compared.
    #[must_use]
    pub fn find(&self, platform: &str, id: &str) -> Option<&NamedPerson> {
        let (platform, id) = match platform {
            "inbox" => id.split_once(':')?,
            _ => (platform, id),
        };
        self.named.iter().find(|person| person.has(platform, id))
    }

    /// The groups of somebody: those in the config, and those of their roles.
    #[must_use]
    pub fn groups_of(&self, platform: &str, id: &str, roles: &[String]) -> BTreeSet<String> {
        let person = self.find(platform, id);
        let configured = person.map(|person| person.groups.clone()).unwrap_or_default();
        let by_role = self.groups.iter().filter(|group| group.includes(platform, roles));
        configured.into_iter().chain(by_role.map(|group| group.name.clone())).collect()
    }

    /// The tokens of all people.
    #[must_use]
    pub fn tokens(&self) -> Vec<TokenHash> {
        self.named.iter().filter_map(|person| person.token.clone()).collect()
    }

    /// The person whose agent makes a call, where that is known: by the agent's token, or else by
    /// the machine that the call names.
    // SECURITY: a caller writes the machine's name itself. Once anybody has agents of their own, it
    // proves nothing any more.
    #[must_use]
    pub fn requester(&self, call: &Call, owner: Option<&Owner>) -> Option<&NamedPerson> {
        let mut people = self.named.iter();
        if people.clone().all(|person| person.agents.is_empty()) {
            let host = call.host.as_ref()?;
            return people.find(|person| person.hosts.contains(host));
        }
        owner.and_then(Owner::token)?;
        people.find(|person| person.agents.contains(&call.agent))
    }

    /// Whether a group exists: somebody is in it, or it stands for roles.
    #[must_use]
    pub fn has_group(&self, name: &str) -> bool {
        self.groups.iter().any(|group| group.name == name) || self.members(name).next().is_some()
    }

    /// The names of those whom the config puts into a group.
    pub fn members<'p>(&'p self, group: &'p str) -> impl Iterator<Item = &'p str> {
        let members = self.named.iter().filter(move |person| person.groups.contains(group));
        members.map(|person| person.name.as_str())
    }

    /// Whether anybody has an identity or a group on this platform.
    #[must_use]
    pub fn are_on(&self, platform: &str) -> bool {
        let has = |ids: &BTreeMap<String, BTreeSet<String>>| {
            ids.get(platform).is_some_and(|ids| !ids.is_empty())
        };
        self.named.iter().any(|person| has(&person.identities))
            || self.groups.iter().any(|group| has(&group.roles))
    }

    /// The platforms on which somebody has an identity or a group.
    #[must_use]
    pub fn platforms(&self) -> BTreeSet<&str> {
        let of_people = self.named.iter().flat_map(|person| person.identities.keys());
        let of_groups = self.groups.iter().flat_map(|group| group.roles.keys());
        of_people.chain(of_groups).map(String::as_str).collect()
    }
}

impl NamedPerson {
    fn has(&self, platform: &str, id: &str) -> bool {
        self.identities.get(platform).is_some_and(|ids| ids.contains(id))
    }
}

impl RoleGroup {
    fn includes(&self, platform: &str, held: &[String]) -> bool {
        let roles = self.roles.get(platform);
        roles.is_some_and(|roles| held.iter().any(|role| roles.contains(role)))
    }
}

#[cfg(test)]
pub(crate) mod tests {
    #![allow(clippy::unwrap_used, reason = "tests fail by panicking")]
    use super::*;

    /// Somebody with these identities and groups.
    pub(crate) fn named(name: &str, ids: &[(&str, &str)], groups: &[&str]) -> NamedPerson {
        let mut person = NamedPerson { name: name.to_owned(), ..NamedPerson::default() };
        for (platform, id) in ids {
            let of_platform = person.identities.entry((*platform).to_owned()).or_default();
            of_platform.insert((*id).to_owned());
        }
        person.groups = groups.iter().map(|&group| group.to_owned()).collect();
        person
    }

    fn people() -> People {
        let ana = named("Ana", &[("letters", "1"), ("radio", "11")], &["ops"]);
        let ben = named("Ben", &[("letters", "2")], &[]);
        let roles = BTreeMap::from([("radio".to_owned(), ["7".to_owned()].into())]);
        let leads = RoleGroup { name: "leads".to_owned(), roles };
        People { named: vec![ana, ben], groups: vec![leads] }
    }

    #[test]
    fn two_identities_are_one_person_and_a_name_is_none() {
        let people = people();
        let found = |platform, id| people.find(platform, id).map(|it| it.name.clone());
        assert_eq!(found("letters", "1").unwrap(), "Ana");
        assert_eq!(found("radio", "11").unwrap(), "Ana");
        for (platform, id) in [("letters", "11"), ("radio", "1"), ("letters", "Ana")] {
            assert_eq!(found(platform, id), None, "{platform} {id}");
        }
    }

    #[test]
    fn in_the_inbox_somebody_is_who_they_were_where_they_signed_in() {
        let people = people();
        let found = |id| people.find("inbox", id).map(|it| it.name.clone());
        assert_eq!(found("letters:1").unwrap(), "Ana");
        assert_eq!(found("radio:11").unwrap(), "Ana");
        assert_eq!(found("letters:2").unwrap(), "Ben");
        for id in ["", "local", "Ana", "1", ":1", "letters:", "radio:1", "inbox:letters:1"] {
            assert_eq!(found(id), None, "{id}");
        }
    }

    #[test]
    fn groups_come_from_the_config_and_from_roles_of_their_own_platform() {
        let people = people();
        let groups = |platform, id, role: &str| {
            people.groups_of(platform, id, &[role.to_owned()]).into_iter().collect::<Vec<_>>()
        };
        assert_eq!(groups("letters", "1", "7"), ["ops"]);
        assert_eq!(groups("radio", "11", "7"), ["leads", "ops"]);
        assert_eq!(groups("radio", "99", "7"), ["leads"]);
        assert_eq!(groups("radio", "99", "8"), Vec::<String>::new());
        assert!(people.are_on("letters") && !people.are_on("pigeons"));
        assert_eq!(people.platforms().into_iter().collect::<Vec<_>>(), ["letters", "radio"]);
    }
}
