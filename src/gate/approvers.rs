//! Who may answer. Pure.

pub use super::who::Who;

use super::{
    answer_rules::AnswerRule,
    ask::By,
    people::{OIDC, People},
};
use std::collections::{BTreeMap, BTreeSet};

/// The people who may answer, by the lasting ids of their platforms. Empty means nobody.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Approvers {
    /// People without a name, by the platform's name, which is opaque here.
    pub chats: BTreeMap<String, Members>,
    /// People with a name.
    pub people: People,
    /// Whose answers which asks need.
    pub rules: Vec<AnswerRule>,
    /// Whether local answering is on: the inbox, and the approver's token.
    pub local: Local,
}

/// The people of one platform who may answer.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Members {
    /// By their own ids.
    pub people: BTreeSet<String>,
    /// By the ids of roles that they hold.
    pub roles: BTreeSet<String>,
}

/// Whether people at this machine may answer, in the inbox or with the approver's token.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Local {
    /// They may not.
    #[default]
    Off,
    /// They may.
    On,
}

/// Somebody who may answer. Only [`Approvers::admit`] makes one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Approver {
    who: Who,
    standing: Standing,
}

/// Who somebody is to the config at the moment.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Standing {
    /// Their name in the config; people without one may be anybody.
    pub person: Option<String>,
    /// Their groups.
    pub groups: BTreeSet<String>,
}

/// The presser is no approver. A sentence for them alone.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct Stranger(pub &'static str);

/// What is told to somebody at this machine who does not say who they are.
const NAMELESS: &str = "People answer by name here ([[people]] in the config), and this does not \
                        say who you are. Answer in your chat, sign in to the inbox (send /login \
                        to the bot), or use a token of your own.";

impl Approvers {
    /// These people of one platform, and nobody else.
    #[must_use]
    pub fn of_chat(platform: &str, members: Members) -> Self {
        let chats = BTreeMap::from([(platform.to_owned(), members)]);
        Self { chats, ..Self::default() }
    }

    /// The one check of identity, for every surface.
    ///
    /// # Errors
    /// [`Stranger`] unless [`Approvers::standing`] knows them.
    pub fn admit(&self, who: Who) -> Result<Approver, Stranger> {
        if let Some(standing) = self.standing(who.platform, &who.id, &who.roles) {
            return Ok(Approver { who, standing });
        }
        Err(Stranger(match who.platform {
            "inbox" | "api" if !self.people.is_empty() => NAMELESS,
            "inbox" | "api" => {
                "Answering from this machine is off, because a chat approver is configured. Set \
                 `[approvers] inbox = true` to switch it on."
            }
            _ => "You may not answer this: you are not on the list of approvers.",
        }))
    }

    /// Who somebody is, if they may answer: a person has this very id, or the platform's list names
    /// it or a role that they hold.
    // SECURITY: names are never compared, their owners can change them.
    #[must_use]
    pub fn standing(&self, platform: &str, id: &str, roles: &[String]) -> Option<Standing> {
        let groups = self.people.groups_of(platform, id, roles);
        if let Some(person) = self.people.find(platform, id) {
            return Some(Standing { person: Some(person.name.clone()), groups });
        }
        let listed = |members: &Members| {
            members.people.contains(id) || roles.iter().any(|role| members.roles.contains(role))
        };
        let admitted = match platform {
            // FAIL-CLOSED: once people have names, nobody answers without one.
            "inbox" | "api" => self.local == Local::On,
            // FAIL-CLOSED: a platform that is not named has no approvers.
            chat => self.chats.get(chat).is_some_and(listed) || !groups.is_empty(),
        };
        admitted.then_some(Standing { person: None, groups })
    }

    /// The roles of a platform that anything here depends on.
    #[must_use]
    pub fn roles_on(&self, platform: &str) -> Vec<String> {
        let listed = self.chats.get(platform).into_iter().flat_map(|members| &members.roles);
        let of_groups = self.people.groups.iter().filter_map(|group| group.roles.get(platform));
        let all: BTreeSet<&String> = listed.chain(of_groups.flatten()).collect();
        all.into_iter().cloned().collect()
    }

    /// Whether anybody at all may answer on this platform.
    #[must_use]
    pub fn may_answer_on(&self, platform: &str) -> bool {
        match platform {
            "inbox" => self.local == Local::On || !self.people.is_empty(),
            chat => {
                self.people.are_on(chat)
                    || self.chats.get(chat).is_some_and(|members| members.count() > 0)
            }
        }
    }

    /// Whether anybody may answer anywhere.
    #[must_use]
    pub fn anybody(&self) -> bool {
        self.has_chat_approver() || self.may_answer_on("inbox") || !self.people.is_empty()
    }

    /// Whether anybody at this machine may answer without saying who they are.
    #[must_use]
    pub fn answers_nameless(&self) -> bool {
        self.local == Local::On
    }

    /// Whether anybody in a chat may answer.
    #[must_use]
    pub fn has_chat_approver(&self) -> bool {
        let in_lists = self.chats.values().any(|members| members.count() > 0);
        in_lists || self.people.platforms().iter().any(|it| !["api", OIDC].contains(it))
    }
}

impl Members {
    /// People, by their own ids.
    #[must_use]
    pub fn people<const N: usize>(ids: [&str; N]) -> Self {
        Self { people: ids.map(str::to_owned).into(), roles: BTreeSet::new() }
    }

    /// How many entries there are.
    #[must_use]
    pub fn count(&self) -> usize {
        self.people.len() + self.roles.len()
    }
}

impl Approver {
    /// Who it is.
    #[must_use]
    pub fn who(&self) -> &Who {
        &self.who
    }

    /// Their name in the config; people without one may be anybody.
    #[must_use]
    pub fn person(&self) -> Option<&str> {
        self.standing.person.as_deref()
    }

    /// Who they are to the config.
    #[must_use]
    pub fn standing(&self) -> &Standing {
        &self.standing
    }
}

/// An approver as the one who decided.
#[must_use]
pub fn person(approver: &Approver) -> By {
    let who = approver.who();
    let name = approver.person().unwrap_or(&who.name).to_owned();
    By::Person { platform: who.platform.to_owned(), id: who.id.clone(), name }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests fail by panicking")]
    use super::{
        super::people::{RoleGroup, tests::named},
        *,
    };

    fn who(platform: &'static str, id: &str, roles: &[&str]) -> Who {
        let roles = roles.iter().map(|&role| role.to_owned()).collect();
        Who { platform, id: id.to_owned(), name: "42".to_owned(), roles }
    }

    #[test]
    fn an_empty_list_means_nobody_on_any_surface() {
        let empty = Approvers::of_chat("discord", Members::default());
        for nobody in [Approvers::default(), empty] {
            for platform in ["telegram", "discord", "inbox", "api", "", "slack"] {
                assert!(nobody.admit(who(platform, "42", &["42"])).is_err(), "{platform}");
                assert!(!nobody.may_answer_on(platform), "{platform}");
            }
            assert!(!nobody.anybody());
        }
    }

    #[test]
    fn only_the_id_on_the_platforms_own_list_counts_and_never_the_name() {
        let approvers = Approvers::of_chat("telegram", Members::people(["42"]));
        assert!(approvers.admit(who("telegram", "42", &[])).is_ok());
        assert!(approvers.admit(who("telegram", "43", &[])).is_err());
        assert!(approvers.admit(who("telegram", "43", &["42"])).is_err());
        assert!(approvers.admit(who("discord", "42", &["42"])).is_err());
        assert!(approvers.may_answer_on("telegram") && !approvers.may_answer_on("discord"));
    }

    #[test]
    fn a_role_admits_its_holders_only() {
        let roles = Members { roles: ["7".to_owned()].into(), ..Members::default() };
        let approvers = Approvers::of_chat("discord", roles);
        assert!(approvers.admit(who("discord", "1", &["6", "7"])).is_ok());
        assert!(approvers.admit(who("discord", "7", &["6"])).is_err());
        assert!(approvers.may_answer_on("discord"));
    }

    #[test]
    fn local_answering_admits_inbox_and_token_when_it_is_on() {
        let approvers = Approvers { local: Local::On, ..Approvers::default() };
        assert!(approvers.admit(who("inbox", "local", &[])).is_ok());
        assert!(approvers.admit(who("api", "token", &[])).is_ok());
        assert!(approvers.admit(who("telegram", "local", &[])).is_err());
    }

    #[test]
    fn a_person_is_one_under_each_identity_and_answers_by_their_name() {
        let ids = [("telegram", "42"), ("discord", "7"), ("api", "sha256:1")];
        let people = People { named: vec![named("Ana", &ids, &[])], ..People::default() };
        let approvers = Approvers { people, ..Approvers::default() };
        for (platform, id) in [("telegram", "42"), ("discord", "7"), ("api", "sha256:1")] {
            let ana = approvers.admit(who(platform, id, &[])).unwrap();
            assert_eq!(ana.person(), Some("Ana"));
            let (platform, id, name) = (platform.to_owned(), id.to_owned(), "Ana".to_owned());
            assert_eq!(person(&ana), By::Person { platform, id, name });
        }
        assert!(approvers.admit(who("discord", "42", &[])).is_err());
        assert!(approvers.may_answer_on("discord") && approvers.has_chat_approver());
    }

    #[test]
    fn once_people_have_names_nobody_at_this_machine_answers_without_one() {
        let people = People { named: vec![named("local", &[], &[])], ..People::default() };
        let approvers = Approvers { people, ..Approvers::default() };
        for (platform, id) in [("inbox", "local"), ("api", "approver")] {
            assert_eq!(approvers.admit(who(platform, id, &[])), Err(Stranger(NAMELESS)));
        }
        assert!(!approvers.has_chat_approver());
    }

    #[test]
    fn who_has_a_groups_role_may_answer_without_a_name() {
        let roles = BTreeMap::from([("discord".to_owned(), ["7".to_owned()].into())]);
        let groups = vec![RoleGroup { name: "ops".to_owned(), roles }];
        let approvers =
            Approvers { people: People { groups, ..People::default() }, ..Approvers::default() };
        assert_eq!(approvers.admit(who("discord", "1", &["7"])).unwrap().person(), None);
        assert!(approvers.admit(who("discord", "1", &["8"])).is_err());
        assert!(approvers.admit(who("telegram", "1", &["7"])).is_err());
    }

    #[test]
    fn a_list_under_the_name_of_a_local_surface_admits_nobody() {
        for local in ["inbox", "api"] {
            let approvers = Approvers::of_chat(local, Members::people(["local"]));
            assert!(approvers.admit(who(local, "local", &[])).is_err(), "{local}");
        }
    }
}
