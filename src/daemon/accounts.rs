//! The accounts that this daemon may lead: an adapter with its lease and its targets. A reload
//! replaces those that changed.

use super::{
    leading::{self, Account},
    listen,
};
use crate::config::{ChatAccount, DaemonSettings, OidcSettings};
use countersign_bridge::Adapters;
use countersign_gate::{Audience, Gate};
use countersign_port::{Adapter, CancellationToken, NamedAdapter};
use countersign_store::Store;
use countersign_web::{Inbox, InboxConfig, NtfyConfig, PushConfig};
use std::{collections::BTreeMap, sync::Arc, time::Duration};
use tokio::{sync::watch, task::JoinHandle};
use tokio_util::task::TaskTracker;

/// The inbox's name as an adapter.
const INBOX: &str = "inbox";

/// The lease of each adapter's account, by the platform's name.
pub(super) type Leases = watch::Receiver<BTreeMap<&'static str, String>>;

/// All accounts.
pub(super) struct Accounts {
    store: Store,
    pub(super) inbox: Inbox,
    /// Led from the first [`Accounts::serve`] on.
    inbox_account: Option<Account>,
    inbox_target: String,
    led: Vec<Led>,
    adapters: watch::Sender<Arc<[NamedAdapter]>>,
    leases: watch::Sender<BTreeMap<&'static str, String>>,
    tasks: TaskTracker,
}

/// An account that is led.
struct Led {
    /// The account in the config; `None` for the inbox, which stays.
    chat: Option<ChatAccount>,
    adapter: NamedAdapter,
    lease: String,
    stop: CancellationToken,
    task: JoinHandle<()>,
}

impl Accounts {
    /// Creates the inbox without serving it. `daemon` is this daemon's name.
    pub(super) fn new(
        inbox: &listen::InboxAddress,
        (settings, oidc, ntfy): (&DaemonSettings, Option<&OidcSettings>, Option<&NtfyConfig>),
        daemon: &str,
        store: &Store,
    ) -> Self {
        let own = [
            inbox.address.ip().to_string(),
            gethostname::gethostname().to_string_lossy().into_owned(),
        ];
        let public = settings.public_url.as_ref();
        let named = public.map(|url| url.host.clone()).into_iter();
        let named = named.chain(settings.allowed_hosts.iter().cloned());
        let local = Inbox::new(InboxConfig {
            access_token: inbox.token.reveal().to_owned(),
            allowed_hosts: own.into_iter().chain(named).collect(),
            public: public.cloned(),
            push: push(settings, ntfy),
            sign_ins: inbox.sign_ins.clone(),
            oidc: oidc.cloned(),
            // SECURITY: who has a passkey does not come through the provider again, which may have
            // let them go. With a provider its operator says that this is meant.
            passkeys: public
                .filter(|url| settings.passkeys.unwrap_or(oidc.is_none()) && url.has_passkeys())
                .cloned(),
        });
        // On a shared store each daemon has an inbox of its own, so its cards need a target of
        // their own.
        let shared = store.is_shared();
        let target = if shared { format!("{INBOX}@{daemon}") } else { INBOX.to_owned() };
        let adapters = watch::Sender::new([].into());
        let account = Account {
            adapter: NamedAdapter { name: INBOX, adapter: Arc::new(local.clone()) },
            adapters: adapters.subscribe(),
            lease: leading::own_lease(daemon),
            targets: vec![target.clone()],
            store: store.clone(),
        };
        Self {
            store: store.clone(),
            inbox: local,
            inbox_account: Some(account),
            inbox_target: target,
            led: Vec::new(),
            adapters,
            leases: watch::Sender::default(),
            tasks: TaskTracker::new(),
        }
    }

    /// The targets of the cards of every ask, with these accounts.
    pub(super) fn audience(&self, chats: &[ChatAccount]) -> Vec<Audience> {
        let of = |adapter: &str, target: &str, idle: Option<Duration>| Audience {
            adapter: adapter.to_owned(),
            target: target.to_owned(),
            thread_idle_ms: idle.map(|it| i64::try_from(it.as_millis()).unwrap_or(i64::MAX)),
        };
        let inbox = of(INBOX, &self.inbox_target, None);
        let targets = chats.iter().flat_map(|chat| {
            chat.targets.iter().map(|it| of(chat.name(), &it.0, chat.thread_idle(it)))
        });
        std::iter::once(inbox).chain(targets).collect()
    }

    /// The adapters with their platforms' names, as they change.
    pub(super) fn adapters(&self) -> Adapters {
        self.adapters.subscribe()
    }

    /// The leases, as they change.
    pub(super) fn leases(&self) -> Leases {
        self.leases.subscribe()
    }

    /// Serves these accounts from now on, until `stop` is cancelled. Accounts that are served
    /// already stay as they are; others are ended.
    // INVARIANT: an account is led only after those that it replaces have ended: of two adapters of
    // one platform, one receives and one draws.
    pub(super) fn serve(
        &mut self,
        chats: &[ChatAccount],
        gate: &Arc<Gate>,
        stop: &CancellationToken,
    ) {
        let stays = |led: &Led| led.chat.as_ref().is_none_or(|chat| chats.contains(chat));
        let (staying, leaving): (Vec<_>, Vec<_>) = self.led.drain(..).partition(stays);
        self.led = staying;
        leaving.iter().for_each(|led| led.stop.cancel());
        let others_gone = CancellationToken::new();
        let have_left = others_gone.clone();
        self.tasks.spawn(async move {
            for led in leaving {
                let _ = led.task.await;
            }
            have_left.cancel();
        });
        let served =
            |chat: &&ChatAccount| self.led.iter().any(|led| led.chat.as_ref() == Some(chat));
        let new = chats.iter().filter(|chat| !served(chat));
        let new: Vec<_> = new.map(|chat| (Some(chat.clone()), self.account(chat))).collect();
        let inbox = self.inbox_account.take().map(|inbox| (None, inbox));
        for (chat, account) in inbox.into_iter().chain(new) {
            let led =
                self.lead(chat, account, gate.clone(), others_gone.clone(), stop.child_token());
            self.led.push(led);
        }
        self.leases.send_replace(
            self.led.iter().map(|led| (led.adapter.name, led.lease.clone())).collect(),
        );
        self.adapters.send_replace(self.led.iter().map(|led| led.adapter.clone()).collect());
    }

    /// Waits until all accounts have ended.
    pub(super) async fn ended(&self) {
        self.tasks.close();
        self.tasks.wait().await;
    }

    fn lead(
        &self,
        chat: Option<ChatAccount>,
        account: Account,
        gate: Arc<Gate>,
        others_gone: CancellationToken,
        stop: CancellationToken,
    ) -> Led {
        let adapter = account.adapter.clone();
        let lease = account.lease.clone();
        let stops = stop.clone();
        let task = self.tasks.spawn(async move {
            others_gone.cancelled().await;
            account.lead(gate, stops).await;
        });
        Led { chat, adapter, lease, stop, task }
    }

    /// An account of the config, not connected yet.
    fn account(&self, chat: &ChatAccount) -> Account {
        let adapter: Arc<dyn Adapter> = chat.platform.adapter(&chat.settings);
        Account {
            adapter: NamedAdapter { name: chat.name(), adapter },
            adapters: self.adapters.subscribe(),
            lease: leading::lease(chat.name(), chat.secret().reveal()),
            targets: targets(chat),
            store: self.store.clone(),
        }
    }
}

/// The targets of an account's cards, each once: a private chat may be named twice.
fn targets(chat: &ChatAccount) -> Vec<String> {
    let mut targets = Vec::new();
    for target in chat.targets.iter().chain(&chat.direct) {
        if !targets.contains(&target.0) {
            targets.push(target.0.clone());
        }
    }
    targets
}

/// Where push messages are kept and what they show.
fn push(settings: &DaemonSettings, ntfy: Option<&NtfyConfig>) -> Option<PushConfig> {
    let shows = settings.push?;
    let public = settings.public_url.as_ref().map(|url| url.origin.clone());
    // Push services want an address; Apple's only takes https or a mail address.
    let contact = public.filter(|origin| origin.starts_with("https:"));
    let contact = contact.unwrap_or_else(|| "mailto:countersign@localhost.invalid".to_owned());
    let file = settings.state_dir.join("push.json");
    let ntfy = ntfy.cloned();
    Some(PushConfig { file, shows, contact, ntfy })
}
