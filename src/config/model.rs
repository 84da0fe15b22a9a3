//! What can be configured.

use super::limits::Limits;
use crate::{
    gate::approvers::Members,
    secret::{Secret, Token},
    store::Database,
};
use countersign_client::ClientSettings;
use countersign_port::{Platform, Settings, Target};
use countersign_profiles::Profile;
use std::{collections::BTreeMap, fmt, net::SocketAddr, path::PathBuf, time::Duration};

/// Everything that can be configured.
#[derive(Debug, Clone, PartialEq)]
pub struct Config {
    /// The file that was read; `None` when there is none at the default place.
    pub path: Option<PathBuf>,
    /// What the daemon listens on and keeps.
    pub daemon: Daemon,
    /// What hook, ask and run talk to.
    pub client: ClientSettings,
    /// Where asks are kept.
    pub store: Store,
    /// How calls are ruled on.
    pub policy: Policy,
    /// The accounts on chat platforms.
    pub chats: Vec<ChatAccount>,
    /// Platforms that have a section here, and that this program was built without.
    pub left_out: Vec<&'static str>,
    /// Who may answer.
    pub approvers: Approvers,
    /// How much the daemon takes.
    pub limits: Limits,
}

/// What the daemon listens on and keeps.
#[derive(Debug, Clone, PartialEq)]
pub struct Daemon {
    /// The unix socket of agents on this machine.
    pub socket: PathBuf,
    /// The address of the HTTP API and the inbox; port 0 takes a free one.
    pub listen: SocketAddr,
    /// Lets agents on other machines open asks; `None`: nobody over TCP.
    pub agent_token: Option<Token>,
    /// Lets a person answer; `None`: nobody with a token.
    pub approver_token: Option<Token>,
    /// The folder of the store and of what else must last.
    pub state_dir: PathBuf,
}

/// Where asks are kept.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Store {
    /// A file or a server.
    pub database: Database,
    /// How long a settled ask is kept.
    pub keep: Duration,
}

/// How calls are ruled on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Policy {
    /// The dialect of the rules.
    pub profile: Profile,
    /// The mode of sessions that have none of their own, in the profile's own words; the profile's
    /// default where `None`.
    pub mode: Option<String>,
    /// The rules file, or the profile's own configuration; `None`: the embedded default.
    pub rules: Option<PathBuf>,
    /// As the profile's original does it, unsafe spots included.
    pub compat: bool,
    /// How long a person has; as long as in the profile's system where `None`.
    pub timeout: Option<Duration>,
    /// What happens then; what happens in the profile's system where `None`.
    pub on_timeout: Option<OnTimeout>,
}

/// What happens to an ask that nobody answered in time.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum OnTimeout {
    /// It is denied.
    Deny,
    /// It waits on.
    Wait,
    /// It is approved when its tool is named here, else denied.
    Approve(Vec<String>),
}

/// An account on a chat platform, and where its cards go.
#[derive(Clone)]
pub struct ChatAccount {
    /// The platform.
    pub platform: &'static dyn Platform,
    /// What the platform's section says, `targets` aside.
    pub settings: Settings,
    /// Where cards go.
    pub targets: Vec<Target>,
}

impl ChatAccount {
    /// The platform's name.
    #[must_use]
    pub fn name(&self) -> &'static str {
        self.platform.description().name
    }

    /// The secret that makes it this account and no other.
    #[must_use]
    pub fn secret(&self) -> Secret {
        Secret::new(self.settings.text(self.platform.description().account))
    }
}

impl PartialEq for ChatAccount {
    fn eq(&self, other: &Self) -> bool {
        self.name() == other.name()
            && self.settings == other.settings
            && self.targets == other.targets
    }
}

impl fmt::Debug for ChatAccount {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut text = f.debug_struct("ChatAccount");
        text.field("platform", &self.name()).field("settings", &self.settings);
        text.field("targets", &self.targets).finish()
    }
}

/// Who may answer, by lasting ids. Empty means nobody.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Approvers {
    /// In chats, by the platform's name.
    pub chats: BTreeMap<String, Members>,
    /// Local answering; `None`: only while no chat approver is there.
    pub inbox: Option<bool>,
}
