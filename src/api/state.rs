//! What the routes work with.

use super::{handle::Keys, turns::LargeReplies};
use crate::{
    gate::{Gate, ask::Ask},
    store::Store,
};
use countersign_port::NamedAdapter;
use serde_json::Value;
use std::{collections::BTreeMap, sync::Arc};

/// The largest request that is read; bytes.
pub(super) const LARGEST: usize = 1 << 20;

/// What the routes work with.
#[derive(Clone)]
pub struct Api {
    /// The core.
    pub gate: Arc<Gate>,
    /// What is read: asks, grants, events, leases.
    pub store: Store,
    /// The adapters, for the health page.
    pub adapters: Arc<[NamedAdapter]>,
    /// The tokens, as hashes.
    pub keys: Arc<Keys>,
    /// The leases of the adapters' accounts: who holds one leads.
    pub leases: Arc<BTreeMap<&'static str, String>>,
    /// Who may make a large answer.
    pub turns: LargeReplies,
    /// An ask as people see it, with nothing that could be pressed.
    pub card: fn(&Ask) -> Value,
    /// Where the inbox is, without its token.
    pub inbox: String,
    /// What people have to know, such as a chat whose presses are not received.
    pub notices: fn(&[NamedAdapter]) -> Vec<String>,
}
