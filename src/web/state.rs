//! The state that the routes share.

use crate::{handle::Keys, turns::LargeReplies};
use countersign_domain::wire::ReloadReply;
use countersign_gate::{Gate, ask::Ask};
use countersign_port::NamedAdapter;
use countersign_store::{LogSealer, Store};
use futures::future::BoxFuture;
use serde_json::Value;
use std::{collections::BTreeMap, sync::Arc};
use tokio::sync::watch;

/// The largest request body, in bytes.
pub(super) const LARGEST: usize = 1 << 20;

/// Puts a changed config in force; the error says what is wrong with it.
pub type Reload = Arc<dyn Fn() -> BoxFuture<'static, Result<ReloadReply, String>> + Send + Sync>;

/// The state that the routes share.
#[derive(Clone)]
pub struct Api {
    /// The core.
    pub gate: Arc<Gate>,
    /// The store, to read asks, grants, events and leases.
    pub store: Store,
    /// Seals the log.
    pub log: Arc<LogSealer>,
    /// The adapters, for the health routes.
    pub adapters: watch::Receiver<Arc<[NamedAdapter]>>,
    /// The tokens, as hashes.
    pub keys: Arc<Keys>,
    /// The leases of the adapters' accounts, by adapter; the holder leads.
    pub leases: watch::Receiver<BTreeMap<&'static str, String>>,
    /// Limits how many large replies exist at once.
    pub turns: LargeReplies,
    /// Renders an ask as people see it, without buttons.
    pub card: fn(&Ask) -> Value,
    /// The first line of an ask's card.
    pub title: fn(&Ask) -> String,
    /// Puts a changed config in force.
    pub reload: Reload,
    /// The version of the config file that is in force.
    pub config: watch::Receiver<Option<String>>,
    /// Whether the server of Codex is watched.
    pub codex: watch::Receiver<bool>,
    /// The inbox's address, without its token.
    pub inbox: String,
    /// Notices for people, such as a chat whose presses are not received.
    pub notices: fn(&[NamedAdapter]) -> Vec<String>,
}
