//! Who may answer. Pure.

use std::collections::BTreeSet;

/// The people who may answer, by the lasting ids of their platforms. Empty means nobody.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Approvers {
    /// Telegram user ids.
    pub telegram: BTreeSet<String>,
    /// Discord user ids.
    pub discord: BTreeSet<String>,
    /// Discord role ids.
    pub discord_roles: BTreeSet<String>,
    /// Whether local answering is on: the inbox, and the approver's token.
    pub local: Local,
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
    /// `telegram`, `discord`, `inbox` or `api` (the approver's token).
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
    /// The one check of identity, for every surface.
    ///
    /// # Errors
    /// [`Stranger`] unless the platform's list names this very id, or a role they hold.
    // SECURITY: names are never compared, their owners can change them.
    pub fn admit(&self, who: Who) -> Result<Approver, Stranger> {
        match who.platform {
            "telegram" if self.telegram.contains(&who.id) => Ok(Approver(who)),
            "discord"
                if self.discord.contains(&who.id)
                    || who.roles.iter().any(|role| self.discord_roles.contains(role)) =>
            {
                Ok(Approver(who))
            }
            "inbox" | "api" if self.local == Local::On => Ok(Approver(who)),
            "inbox" | "api" => Err(Stranger(
                "Answering from this machine is off, because a chat approver is configured. \
                 Set `[approvers] inbox = true` to switch it on.",
            )),
            // FAIL-CLOSED: a platform that is not named here has no approvers.
            _ => Err(Stranger("You may not answer this: you are not on the list of approvers.")),
        }
    }

    /// Whether anybody at all may answer on this platform.
    #[must_use]
    pub fn may_answer_on(&self, platform: &str) -> bool {
        match platform {
            "telegram" => !self.telegram.is_empty(),
            "discord" => !(self.discord.is_empty() && self.discord_roles.is_empty()),
            "inbox" => self.local == Local::On,
            _ => false,
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
        self.may_answer_on("telegram") || self.may_answer_on("discord")
    }
}

impl Approver {
    /// Who it is.
    #[must_use]
    pub fn who(&self) -> &Who {
        &self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn who(platform: &'static str, id: &str, roles: &[&str]) -> Who {
        let roles = roles.iter().map(|&role| role.to_owned()).collect();
        Who { platform, id: id.to_owned(), name: "42".to_owned(), roles }
    }

    fn list(ids: &[&str]) -> BTreeSet<String> {
        ids.iter().map(|&id| id.to_owned()).collect()
    }

    #[test]
    fn an_empty_list_means_nobody_on_any_surface() {
        let nobody = Approvers::default();
        for platform in ["telegram", "discord", "inbox", "api", "", "slack"] {
            assert!(nobody.admit(who(platform, "42", &["42"])).is_err(), "{platform}");
        }
    }

    #[test]
    fn only_the_id_on_the_platforms_own_list_counts_and_never_the_name() {
        let approvers = Approvers { telegram: list(&["42"]), ..Approvers::default() };
        assert!(approvers.admit(who("telegram", "42", &[])).is_ok());
        assert!(approvers.admit(who("telegram", "43", &[])).is_err());
        assert!(approvers.admit(who("discord", "42", &["42"])).is_err());
    }

    #[test]
    fn a_discord_role_admits_its_holders_only() {
        let approvers = Approvers { discord_roles: list(&["7"]), ..Approvers::default() };
        assert!(approvers.admit(who("discord", "1", &["6", "7"])).is_ok());
        assert!(approvers.admit(who("discord", "7", &["6"])).is_err());
    }

    #[test]
    fn local_answering_admits_inbox_and_token_when_it_is_on() {
        let approvers = Approvers { local: Local::On, ..Approvers::default() };
        assert!(approvers.admit(who("inbox", "local", &[])).is_ok());
        assert!(approvers.admit(who("api", "token", &[])).is_ok());
        assert!(approvers.admit(who("telegram", "local", &[])).is_err());
    }
}
