//! The accounts that this daemon may lead: an adapter with its lease and its targets.

use super::{
    leading::{self, Account},
    listen,
};
use crate::{bridge::Adapters, config::Config, gate::Audience, store::Store};
use axum::Router;
use countersign_port::{Adapter, NamedAdapter};
use std::sync::Arc;

/// The inbox's name as an adapter.
const INBOX: &str = "inbox";

/// All accounts, and the inbox.
pub(super) struct Accounts {
    all: Vec<Placement>,
    inbox: countersign_inbox::Inbox,
}

/// An adapter with its lease, which must differ from every other, and the targets of its cards.
struct Placement {
    adapter: NamedAdapter,
    lease: String,
    targets: Vec<String>,
}

impl Accounts {
    /// Creates the configured adapters without connecting them. `daemon` is this daemon's name;
    /// `shared` is true if other daemons use the same store.
    pub(super) fn new(config: &Config, inbox: &listen::Inbox, daemon: &str, shared: bool) -> Self {
        for name in &config.left_out {
            tracing::error!("[{name}] is configured, but this program was built without it");
        }
        let local = countersign_inbox::Inbox::new(countersign_inbox::Config {
            access_token: inbox.token.reveal().to_owned(),
            allowed_hosts: vec![
                inbox.address.ip().to_string(),
                gethostname::gethostname().to_string_lossy().into_owned(),
            ],
        });
        // On a shared store each daemon has an inbox of its own, so its cards need a target of
        // their own.
        let target = if shared { format!("{INBOX}@{daemon}") } else { INBOX.to_owned() };
        let mut all = vec![Placement {
            adapter: named(INBOX, Arc::new(local.clone())),
            lease: leading::own_lease(daemon),
            targets: vec![target],
        }];
        all.extend(config.chats.iter().map(|chat| Placement {
            adapter: named(chat.name(), chat.platform.adapter(&chat.settings)),
            lease: leading::lease(chat.name(), chat.secret().reveal()),
            targets: chat.targets.iter().map(|target| target.0.clone()).collect(),
        }));
        Self { all, inbox: local }
    }

    /// The inbox's routes, and these behind the guard of its page.
    pub(super) fn page(&self, guarded: Router) -> Router {
        self.inbox.router().merge(self.inbox.guarded(guarded))
    }

    /// The targets of the cards of every ask.
    pub(super) fn audience(&self) -> Vec<Audience> {
        let of = |place: &Placement, target: &String| Audience {
            adapter: place.adapter.name.to_owned(),
            target: target.clone(),
        };
        let all = self.all.iter();
        all.flat_map(|place| place.targets.iter().map(move |target| of(place, target))).collect()
    }

    /// The adapters with their platforms' names.
    pub(super) fn adapters(&self) -> Adapters {
        self.all.iter().map(|place| place.adapter.clone()).collect()
    }

    /// The lease of each adapter's account, by the platform's name.
    pub(super) fn leases(&self) -> impl Iterator<Item = (&'static str, String)> {
        self.all.iter().map(|place| (place.adapter.name, place.lease.clone()))
    }

    /// The accounts, ready to be led.
    pub(super) fn into_leading(self, store: &Store) -> Vec<Account> {
        let adapters = self.adapters();
        let account = |Placement { adapter, lease, targets }| Account {
            adapter,
            adapters: adapters.clone(),
            lease,
            targets,
            store: store.clone(),
        };
        self.all.into_iter().map(account).collect()
    }
}

fn named(name: &'static str, adapter: Arc<dyn Adapter>) -> NamedAdapter {
    NamedAdapter { name, adapter }
}
