//! The config: one file, with every key also settable from the environment. Every mistake is
//! reported with its place.

mod answer_rules;
mod chats;
pub mod edit;
mod limits;
mod load;
mod log;
mod model;
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
pub use countersign_web::{OidcClaim, OidcSettings, PublicUrl, PushShows};
pub use limits::LimitSettings;
pub use load::ConfigError;
pub use load::template;
pub(crate) use load::{is_in_environment, named};
pub use load::{secret_files, version};
pub use log::{LogSettings, LogWebhook, SyslogAddress};
pub use model::{
    AgentSettings, ApproverSettings, ChatAccount, Config, DaemonSettings, PolicySettings,
    StoreSettings, TimeoutAnswer,
};
pub(crate) use read::SOCKET;
