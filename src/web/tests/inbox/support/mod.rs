//! An inbox on a listener of its own, with a small core behind it.

#![allow(dead_code, reason = "a helper may have more hands than are used today")]

#[path = "../../../../../tests/support/browser.rs"]
pub mod browser;
pub mod cards;
pub mod push_service;
pub mod records;
#[path = "../../../../../tests/support/seats.rs"]
mod seats;
#[path = "../../../../../tests/support/inbox.rs"]
pub mod visitor;

use countersign_port::{
    Adapter, Block, ButtonStyle, CancellationToken, Card, Outcome, Posting, Presser, Receipt,
    Target, Tone, async_trait,
};
use countersign_port_testkit::{Received, TestCore};
use countersign_web::{Inbox, InboxConfig, OidcClaim, OidcSettings, People, PublicUrl, PushConfig};
use records::Records;
use std::{net::SocketAddr, path::PathBuf, sync::Arc};
use tokio::{
    net::TcpListener,
    sync::{Mutex, mpsc},
    task::JoinHandle,
};
use visitor::Visitor;

pub const TOKEN: &str = "a-token-of-the-tests";

/// An inbox that is served, and whatever its core hears.
pub struct Desk {
    pub inbox: Inbox,
    pub at: SocketAddr,
    pub core: Arc<Core>,
    pub records: Arc<Records>,
    pub presses: mpsc::UnboundedReceiver<Received>,
    stop: CancellationToken,
    running: JoinHandle<()>,
    serving: JoinHandle<()>,
}

impl Desk {
    pub async fn open() -> Self {
        let desk = Self::closed("127.0.0.1:0").await;
        desk.start().await
    }

    /// A desk that tells browsers without a page.
    pub async fn with_push(push: PushConfig) -> Self {
        Self::made("127.0.0.1:0", (Some(push), None), None).await.start().await
    }

    /// The same with a port that nobody else can have had; sign-ins are kept in this file.
    pub async fn on_held_port(push: PushConfig, sign_ins: PathBuf) -> Self {
        Self::made("127.0.0.1:0", (Some(push), Some(sign_ins)), None).await.start().await
    }

    /// A desk with an identity provider of this address.
    pub async fn with_provider(issuer: &str) -> Self {
        let oidc = OidcSettings {
            issuer: issuer.to_owned(),
            client_id: "inbox".to_owned(),
            client_secret: None,
            claim: OidcClaim::Subject,
            group: None,
            scopes: vec![],
            session: std::time::Duration::from_secs(60),
            ca_file: None,
        };
        Self::made("127.0.0.1:0", (None, None), Some(oidc)).await.start().await
    }

    /// A desk whose adapter does not run yet.
    pub async fn closed(at: &str) -> Self {
        Self::made(at, (None, None), None).await
    }

    async fn made(
        at: &str,
        (push, sign_ins): (Option<PushConfig>, Option<PathBuf>),
        oidc: Option<OidcSettings>,
    ) -> Self {
        let inbox = Inbox::new(InboxConfig {
            access_token: TOKEN.to_owned(),
            allowed_hosts: vec!["approve.example".to_owned()],
            public: Some(PublicUrl {
                host: "approve.example".to_owned(),
                origin: "https://approve.example".to_owned(),
            }),
            push,
            oidc,
            passkeys: None,
            sign_ins,
        });
        let listener = TcpListener::bind(at).await.unwrap();
        let at = listener.local_addr().unwrap();
        let (core, presses) = Core::new();
        inbox.let_in_by(core.clone());
        let records = Arc::new(Records::default());
        let stop = CancellationToken::new();
        let serving = tokio::spawn({
            let api = inbox.guarded(records::routes(records.clone()));
            let router = inbox.router().merge(api);
            let stop = stop.clone();
            async move {
                let served = axum::serve(listener, router);
                served.with_graceful_shutdown(stop.cancelled_owned()).await.unwrap();
            }
        });
        Self { inbox, at, core, records, presses, stop, running: tokio::spawn(async {}), serving }
    }

    pub async fn start(mut self) -> Self {
        let inbox = self.inbox.clone();
        let core = self.core.clone();
        let stop = self.stop.clone();
        self.running = tokio::spawn(async move { inbox.run(core, stop).await });
        while self.inbox.signals().receiving() != countersign_port::Receiving::Listening {
            tokio::task::yield_now().await;
        }
        self
    }

    /// Stops adapter and listener as the daemon does, open streams or not.
    pub async fn stop(self) {
        self.stop.cancel();
        self.running.await.unwrap();
        let drained = tokio::time::timeout(std::time::Duration::from_secs(5), self.serving).await;
        drained.expect("open pages let the listener drain").unwrap();
    }

    pub fn address(&self) -> String {
        format!("http://{}/?token={TOKEN}", self.at)
    }

    pub async fn visitor(&self) -> Visitor {
        Visitor::enter(&self.address()).await
    }

    /// Puts a card up, for the core to answer.
    pub async fn post(&self, card: &Card) {
        self.core.cards.lock().await.push(card.clone());
        self.inbox.post(&Target("inbox".to_owned()), card, Posting::First).await.unwrap();
    }

    /// Redraws a card from the core's side.
    pub async fn update(&self, card: &Card) {
        let message = countersign_port::MessageRef(card.id.clone());
        self.inbox.update(&message, card).await.unwrap();
    }
}

/// A core that answers as the real one does, by the button's look.
pub struct Core {
    pub cards: Mutex<Vec<Card>>,
    /// Codes, and whom each lets in.
    pub codes: std::sync::Mutex<Vec<(String, Presser)>>,
    /// The people of the config.
    pub people: std::sync::Mutex<Vec<Presser>>,
    heard: mpsc::UnboundedSender<Received>,
}

impl Core {
    /// Makes a code for a person of the config.
    pub fn invite(&self, code: &str, name: &str) {
        let presser = Presser { id: format!("chat:{name}"), name: name.to_owned(), roles: vec![] };
        self.codes.lock().unwrap().push((code.to_owned(), presser.clone()));
        self.people.lock().unwrap().push(presser);
    }

    fn new() -> (Arc<Self>, mpsc::UnboundedReceiver<Received>) {
        let (heard, presses) = mpsc::unbounded_channel();
        let (cards, codes, people) = Default::default();
        (Arc::new(Self { cards, codes, people, heard }), presses)
    }
}

#[async_trait]
impl People for Core {
    fn sign_in_offered(&self, code: &str) -> Option<Presser> {
        let codes = self.codes.lock().unwrap();
        codes.iter().find(|(known, _)| known == code).map(|(_, presser)| presser.clone())
    }

    async fn sign_in(&self, code: &str) -> Option<Presser> {
        let mut codes = self.codes.lock().unwrap();
        let at = codes.iter().position(|(known, _)| known == code)?;
        Some(codes.remove(at).1)
    }

    async fn sign_in_by_provider(&self, id: &str) -> Option<Presser> {
        self.person(&format!("oidc:{id}"))
    }

    fn person(&self, id: &str) -> Option<Presser> {
        self.people.lock().unwrap().iter().find(|presser| presser.id == id).cloned()
    }
}

countersign_port_testkit::presses!(Core);

#[async_trait]
impl TestCore for Core {
    async fn take(&self, press: Received) -> Receipt {
        self.heard.send(press.clone()).unwrap();
        let mut cards = self.cards.lock().await;
        let said = |outcome, sentence: &str, card: Option<&Card>| Receipt {
            outcome,
            sentence: sentence.to_owned(),
            card: card.cloned(),
        };
        let holds =
            |card: &&mut Card| card.buttons.iter().flatten().any(|b| b.token == press.token);
        let Some(card) = cards.iter_mut().find(holds) else {
            return said(Outcome::Unknown, "This ask is no longer pending.", None);
        };
        let mut buttons = card.buttons.iter_mut().flatten();
        let button = buttons.find(|button| button.token == press.token).unwrap();
        card.revision += 1;
        let (tone, ending) = match (button.style, press.text) {
            (ButtonStyle::Choice, _) if !card.id.starts_with("single") => {
                button.style = ButtonStyle::Chosen;
                return said(Outcome::Noted, "Noted.", Some(card));
            }
            (ButtonStyle::Chosen, _) => {
                button.style = ButtonStyle::Choice;
                return said(Outcome::Noted, "Noted.", Some(card));
            }
            (ButtonStyle::Text, None) => {
                return said(Outcome::TextWanted, "What should it be instead?", None);
            }
            (ButtonStyle::Text, Some(text)) => (Tone::Approved, format!("Answered “{text}”")),
            (ButtonStyle::Deny, _) => (Tone::Denied, "Denied".to_owned()),
            (ButtonStyle::Always, _) => (Tone::Approved, "Approved always".to_owned()),
            (ButtonStyle::Submit, _) => (Tone::Approved, "Answered".to_owned()),
            (_, _) => (Tone::Approved, "Approved once".to_owned()),
        };
        card.tone = tone;
        card.deadline = None;
        card.buttons.clear();
        let text = format!("{ending} by the local inbox at 12:03");
        card.blocks.push(Block::Outcome { text });
        said(Outcome::Applied, &format!("{ending}."), Some(card))
    }
}
