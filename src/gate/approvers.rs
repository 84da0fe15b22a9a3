//! Who may answer. Pure.

use super::ask::By;
use std::collections::{BTreeMap, BTreeSet};

/// The people who may answer, by the lasting ids of their platforms. Empty means nobody.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Approvers {
    /// By the platform's name, which is opaque here.
    pub chats: BTreeMap<String, Members>,
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

/// Somebody who wants to answer, as their surface vouches for them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Who {
    /// The platform's name; `inbox` or `api` (the approver's token) at this machine.
    pub platform: &'static str,
    /// Lasting id there.
    pub id: String,
    /// For people to read.
    pub name: String,
    /// Role ids at the moment of the press.
    pub roles: Vec<String>,
}

/// Somebody who may answer. Only [`Approvers::admit`] makes one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Approver(Who);

/// The presser is no approver. A sentence for them alone.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct Stranger(pub &'static str);

impl Approvers {
    /// These people of one platform, and nobody else.
    #[must_use]
    pub fn of_chat(platform: &str, members: Members) -> Self {
        let chats = BTreeMap::from([(platform.to_owned(), members)]);
        Self { chats, local: Local::Off }
    }

    /// The one check of identity, for every surface.
    ///
    /// # Errors
    /// [`Stranger`] unless the platform's list names this very id, or a role they hold.
    // SECURITY: names are never compared, their owners can change them.
    pub fn admit(&self, who: Who) -> Result<Approver, Stranger> {
        match who.platform {
            "inbox" | "api" if self.local == Local::On => Ok(Approver(who)),
            "inbox" | "api" => Err(Stranger(
                "Answering from this machine is off, because a chat approver is configured. \
                 Set `[approvers] inbox = true` to switch it on.",
            )),
            chat if self.chats.get(chat).is_some_and(|members| members.include(&who)) => {
                Ok(Approver(who))
            }
            // FAIL-CLOSED: a platform that is not named has no approvers.
            _ => Err(Stranger("You may not answer this: you are not on the list of approvers.")),
        }
    }

    /// Whether anybody at all may answer on this platform.
    #[must_use]
    pub fn may_answer_on(&self, platform: &str) -> bool {
        match platform {
            "inbox" => self.local == Local::On,
            chat => self.chats.get(chat).is_some_and(|members| members.count() > 0),
        }
    }

    /// Whether anybody may answer anywhere.
    #[must_use]
    pub fn anybody(&self) -> bool {
        self.has_chat_approver() || self.may_answer_on("inbox")
    }

    /// Whether anybody in a chat may answer.
    #[must_use]
    pub fn has_chat_approver(&self) -> bool {
        self.chats.values().any(|members| members.count() > 0)
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

    fn include(&self, who: &Who) -> bool {
        self.people.contains(&who.id) || who.roles.iter().any(|role| self.roles.contains(role))
    }
}

impl Approver {
    /// Who it is.
    #[must_use]
    pub fn who(&self) -> &Who {
        &self.0
    }
}

/// An approver as the one who decided.
#[must_use]
pub fn person(approver: &Approver) -> By {
    let who = approver.who();
    By::Person { platform: who.platform.to_owned(), id: who.id.clone(), name: who.name.clone() }
}

#[cfg(test)]
mod tests {
    use super::*;

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
    fn a_list_under_the_name_of_a_local_surface_admits_nobody() {
        for local in ["inbox", "api"] {
            let approvers = Approvers::of_chat(local, Members::people(["local"]));
            assert!(approvers.admit(who(local, "local", &[])).is_err(), "{local}");
        }
    }
}
