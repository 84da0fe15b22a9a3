//! The config: one file, with every key also settable from the environment. Every mistake is
//! reported with its place.

mod agents;
mod answer_rules;
mod approvers;
mod chats;
mod conditions;
pub mod edit;
mod environment;
mod error;
mod hours;
mod limits;
mod lists;
mod load;
mod log;
mod model;
mod node;
mod oidc;
mod people;
mod provider;
mod read;
mod reviews;
mod rotas;
mod routes;
mod secrets;
mod section;
mod template;
#[cfg(test)]
mod tests;
mod values;

pub use countersign_client::{ClientSettings, Places, Server};
pub use countersign_profiles::Profile;
pub use error::ConfigError;
pub use limits::LimitSettings;
pub(crate) use load::{is_in_environment, named};
pub use load::{secret_files, version};
pub use log::{LogSettings, LogWebhook, SyslogAddress};
pub use model::{
    AgentSettings, ApproverSettings, ChatAccount, Config, DaemonSettings, PolicySettings,
    PublicUrl, PushSetting, StoreSettings, TimeoutAnswer,
};
pub use provider::{ClaimSetting, OidcSettings};
pub(crate) use read::SOCKET;
pub use template::template;
