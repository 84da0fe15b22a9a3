//! The config: one file, with every key also settable from the environment. Every mistake is
//! reported with its place.

mod answer_rules;
mod chats;
pub mod edit;
mod limits;
mod load;
mod log;
mod ntfy;
mod oidc;
mod people;
mod read;
mod routes;
mod secrets;
mod section;
#[cfg(test)]
mod tests;
mod values;

pub use countersign_client::{ClientSettings, Places, Server};
pub use countersign_profiles::Profile;
pub use countersign_web::{NtfyConfig, OidcClaim, OidcSettings, PublicUrl, PushShows};
pub use limits::LimitSettings;
pub use load::ConfigError;
pub use load::template;
pub(crate) use load::{is_in_environment, named};
pub use load::{secret_files, version};
pub use log::{LogSettings, LogWebhook, SyslogAddress};
pub(crate) use read::SOCKET;

use crate::platforms::Registered;
use countersign_gate::OnTimeout;
use countersign_people::{
    approvers::{Members, People},
    routes::Routes,
    rules::{AnswerRule, ReviewRule},
};
use countersign_port::{Platform, Settings, Target};
use countersign_store::Database;
use countersign_tokens::secret::{Secret, Token};
use std::{
    collections::BTreeMap,
    fmt,
    net::SocketAddr,
    path::{Path, PathBuf},
    time::Duration,
};

/// All settings.
#[derive(Debug, Clone, PartialEq)]
pub struct Config {
    /// The file that was read; `None` if there is no default file.
    pub path: Option<PathBuf>,
    /// The version of that file, as [`version`] tells it.
    pub version: Option<String>,
    /// The platforms that it was read for.
    pub platforms: &'static [Registered],
    /// The daemon's listeners and files.
    pub daemon: DaemonSettings,
    /// The daemon that hook, ask and run connect to.
    pub client: ClientSettings,
    /// The store of asks.
    pub store: StoreSettings,
    /// The evaluation of calls.
    pub policy: PolicySettings,
    /// The accounts on chat platforms.
    pub chats: Vec<ChatAccount>,
    /// Platforms with a section in this config that this program was built without.
    pub left_out: Vec<&'static str>,
    /// The approvers.
    pub approvers: ApproverSettings,
    /// Where which asks are shown.
    pub routes: Routes,
    /// Which calls that ran without asking are shown afterwards.
    pub reviews: Vec<ReviewRule>,
    /// The limits of what the daemon accepts.
    pub limits: LimitSettings,
    /// What is known of agents beside their calls.
    pub agents: AgentSettings,
    /// Where the rows of the log are sent.
    pub log: LogSettings,
    /// The identity provider that people sign in to the inbox with.
    pub oidc: Option<OidcSettings>,
    /// A topic of an ntfy server that is told of new requests.
    pub ntfy: Option<NtfyConfig>,
}

impl AgentSettings {
    /// The folder in which the server of this agent is watched.
    #[must_use]
    pub fn watched(&self, agent: &str) -> Option<&Path> {
        self.codex.as_deref().filter(|_| agent == "codex")
    }
}

/// What is known of agents beside their calls.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct AgentSettings {
    /// The folder of Codex's settings, below which its app-server listens.
    pub codex: Option<PathBuf>,
    /// Whether cards quote what a person said to the agent last.
    pub person_said: bool,
}

impl Config {
    /// Returns whether a daemon is meant to run on this machine, rather than only agents of another
    /// one's.
    #[must_use]
    pub fn serves_here(&self) -> bool {
        let elsewhere = self.client.url.iter().all(|server| matches!(server, Server::Http(_)));
        !elsewhere || self.daemon.agent_token.is_some() || self.daemon.approver_token.is_some()
    }

    /// Logs the platforms that this program was built without.
    pub fn report_left_out(&self) {
        for name in &self.left_out {
            tracing::error!("[{name}] is configured, but this program was built without it");
        }
    }
}

/// The daemon's listeners and files.
#[derive(Debug, Clone, PartialEq)]
pub struct DaemonSettings {
    /// The unix socket of agents on this machine.
    pub socket: PathBuf,
    /// The address of the HTTP API and the inbox; port 0 takes a free one.
    pub listen: SocketAddr,
    /// The address under which people reach the inbox, such as that of a proxy.
    pub public_url: Option<PublicUrl>,
    /// More names by which the inbox may be reached, without a port.
    pub allowed_hosts: Vec<String>,
    /// Whether people sign in to the inbox with passkeys, where `public_url` is an https address
    /// with a host name. `None`: unless there is an identity provider.
    pub passkeys: Option<bool>,
    /// What a browser without an open page is told of a new request; `None`: nothing is sent.
    pub push: Option<PushShows>,
    /// The token of agents on other machines; `None` admits no agent over TCP.
    pub agent_token: Option<Token>,
    /// The token with which a person may answer; `None` accepts no token.
    pub approver_token: Option<Token>,
    /// The folder of the store and of other files that must persist.
    pub state_dir: PathBuf,
}

/// The store of asks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoreSettings {
    /// A file or a server.
    pub database: Database,
    /// The retention time of a closed ask.
    pub keep: Duration,
}

/// The evaluation of calls.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PolicySettings {
    /// The profile of the rules.
    pub profile: Profile,
    /// The mode of sessions that have none of their own, in the profile's words; `None` is the
    /// profile's default.
    pub mode: Option<String>,
    /// The rules file, or the profile's own configuration; `None` is the built-in default.
    pub rules: Option<PathBuf>,
    /// Evaluates as the profile's original system, including its unsafe behaviour.
    pub compat: bool,
    /// The time that a person has; `None` is the time of the profile's system.
    pub timeout: Option<Duration>,
    /// For how long a late yes holds; `None` is a day.
    pub late_yes: Option<Duration>,
    /// The effect of the deadline; `None` is that of the profile's system.
    pub on_timeout: Option<OnTimeout>,
}

/// An account on a chat platform, with the targets of its cards.
#[derive(Clone)]
pub struct ChatAccount {
    /// The platform.
    pub platform: &'static dyn Platform,
    /// The platform's section, without `targets`.
    pub settings: Settings,
    /// The targets of its cards.
    pub targets: Vec<Target>,
    /// Those of them that have a name, by it.
    pub names: Vec<(String, Target)>,
    /// The direct messages that routes lead to.
    pub direct: Vec<Target>,
    /// Those of the targets where each session has a thread, and how long that may rest.
    pub threads: Vec<(Target, Duration)>,
}

impl ChatAccount {
    /// The platform's name.
    #[must_use]
    pub fn name(&self) -> &'static str {
        self.platform.description().name
    }

    /// How long the thread of a session may rest at this target; `None` where sessions have none.
    #[must_use]
    pub fn thread_idle(&self, target: &Target) -> Option<Duration> {
        self.threads.iter().find(|(at, _)| at == target).map(|(_, idle)| *idle)
    }

    /// The secret that identifies the account.
    #[must_use]
    pub fn secret(&self) -> Secret {
        Secret::new(self.settings.text(self.platform.description().account))
    }
}

impl PartialEq for ChatAccount {
    fn eq(&self, other: &Self) -> bool {
        // The name stands for the platform, because `dyn Platform` cannot be compared.
        self.name() == other.name()
            && self.settings == other.settings
            && self.targets == other.targets
            && self.names == other.names
            && self.direct == other.direct
            && self.threads == other.threads
    }
}

impl fmt::Debug for ChatAccount {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Written by hand, because `dyn Platform` has no `Debug`.
        let mut text = f.debug_struct("ChatAccount");
        text.field("platform", &self.name()).field("settings", &self.settings);
        text.field("targets", &self.targets).field("names", &self.names);
        text.field("direct", &self.direct).field("threads", &self.threads).finish()
    }
}

/// The approvers, by permanent ids. Empty means nobody.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ApproverSettings {
    /// In chats, by the platform's name.
    pub chats: BTreeMap<String, Members>,
    /// Local answering; `None` allows it only while there is no chat approver.
    pub inbox: Option<bool>,
    /// People with a name.
    pub people: People,
    /// Whose answers which asks need; the first that fits.
    pub rules: Vec<AnswerRule>,
}

impl ApproverSettings {
    /// Whether anybody may answer in the inbox.
    #[must_use]
    pub fn answer_in_inbox(&self) -> bool {
        let in_chats = self.chats.values().any(|members| members.count() > 0);
        let named = !self.people.is_empty();
        named || self.inbox.unwrap_or(!in_chats && self.people.groups.is_empty())
    }
}
