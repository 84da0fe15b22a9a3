//! countersign's local inbox: a page on the daemon's own HTTP listener where cards stand and are
//! pressed.
//!
//! The platform is the page, so this adapter sends nothing anywhere: [`Adapter::post`] and
//! [`Adapter::update`] change the board in memory, open pages follow it by server-sent events, and
//! a press comes back by `POST /inbox/press`. Who may open the page is ruled in `guard`; who may
//! answer is ruled by the core, as everywhere.

mod board;
mod guard;
mod oidc;
mod page;
mod passkeys;
mod press;
mod proof;
mod push;
mod session;
mod sign_in;
mod stream;

pub use oidc::{OidcClaim, OidcSettings, try_provider};
pub use push::{NtfyConfig, PushConfig, PushShows, is_topic};
pub use sign_in::People;

use crate::inbox::{
    board::Board,
    guard::BODY_LIMIT,
    oidc::Oidc,
    passkeys::Passkeys,
    proof::Proofs,
    push::Push,
    session::{Session, SignedInBrowsers},
    sign_in::{BeginLimit, LogNowAndThen},
};
use axum::{
    Router,
    extract::{DefaultBodyLimit, State},
    middleware, routing,
};
use countersign_gate::Gate;
use countersign_port::{
    Adapter, CancellationToken, Card, MessageRef, Posting, Presses, SendError, Signals, Target,
    visible,
};
use std::{
    path::PathBuf,
    sync::{Arc, OnceLock},
};
use tokio::sync::watch;

/// Its only target; a daemon that shares its store with others has `inbox@DAEMON`.
const TARGET: &str = "inbox";

/// How the inbox is set up.
#[derive(Clone, Default)]
pub struct InboxConfig {
    /// Opens the page as `/?token=…`. Anyone who has it can press, so it is a secret of its own,
    /// told apart from the agents' token, and a new one at every start before which somebody else
    /// may have had the port. Empty: nobody can open the page.
    pub access_token: String,
    /// Names by which the page may be reached besides `localhost` and the loopback addresses: host
    /// names or addresses, without a port.
    pub allowed_hosts: Vec<String>,
    /// The address of the page behind a proxy. Its host is one of `allowed_hosts`.
    pub public: Option<PublicUrl>,
    /// Web Push; `None`: off.
    pub push: Option<PushConfig>,
    /// Signing in through an identity provider, at the public address; `None`: off.
    pub oidc: Option<OidcSettings>,
    /// The address for which passkeys are made; `None`: off.
    pub passkeys: Option<PublicUrl>,
    /// Where sign-ins are kept over a restart in which nobody else can have the port; `None`: a
    /// restart ends them.
    pub sign_ins: Option<PathBuf>,
}

/// The address under which people reach the inbox: a scheme, a host and a port.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PublicUrl {
    /// The host, without the port.
    pub host: String,
    /// The whole, as browsers write an origin: `https://approve.example`.
    pub origin: String,
}

impl PublicUrl {
    /// Whether passkeys can be made for this address: browsers take https and a host name.
    // SECURITY: under `localhost` another program of the machine may serve a page, too, and ask for
    // the same passkeys.
    #[must_use]
    pub fn has_passkeys(&self) -> bool {
        let is_local = self.host == "localhost" || self.host.ends_with(".localhost");
        let is_name = self.host.parse::<std::net::IpAddr>().is_err();
        self.origin.starts_with("https://") && is_name && !is_local
    }
}

/// The inbox. Clones are handles to the same board.
#[derive(Clone)]
pub struct Inbox(Arc<InboxState>);

impl Inbox {
    /// An inbox with an empty board. It takes presses once [`Adapter::run`] runs. With push it is
    /// made inside a runtime.
    #[must_use]
    pub fn new(config: InboxConfig) -> Self {
        let session = Session::new(&config.access_token);
        let port_is_held = config.sign_ins.is_some();
        let push = config.push.as_ref().and_then(|push| Push::start(push, port_is_held));
        let kept = config.sign_ins.map(|file| SignedInBrowsers::kept_in(file, &session));
        Self(Arc::new(InboxState {
            session,
            proofs: Proofs::default(),
            sign_ins: kept.unwrap_or_default(),
            wrong_codes: LogNowAndThen::default(),
            oidc: config.oidc.zip(config.public.as_ref()).and_then(Oidc::new),
            passkeys: config.passkeys.map(Passkeys::new),
            begin_limit: BeginLimit::default(),
            allowed_hosts: config.allowed_hosts,
            public_origin: config.public.map(|public| public.origin),
            push,
            board: Board::default(),
            core: watch::Sender::new(Core::Starting),
            people: OnceLock::new(),
            signals: Signals::default(),
            notice: watch::Sender::default(),
        }))
    }

    /// Says whose people sign in here, and where their passkeys are stored. To be called before
    /// [`Adapter::run`].
    pub fn serve_people_of(&self, gate: Arc<Gate>) {
        if let Some(passkeys) = &self.0.passkeys {
            let _ = passkeys.gate.set(gate.clone());
        }
        self.let_in_by(Arc::new(sign_in::PeopleOf(Arc::downgrade(&gate))));
    }

    /// Says who is let in; the first time counts.
    pub fn let_in_by(&self, people: Arc<dyn People>) {
        let _ = self.0.people.set(people);
    }

    /// Ends what is shown to people who may not answer any more. To be called when the config has
    /// changed.
    // SECURITY: an open page is no reason to go on reading, and who comes back signs in again.
    pub fn people_changed(&self) {
        if let Some(people) = self.0.people() {
            self.0.sign_ins.keep_people(|person| people.person(person).is_some());
        }
    }

    /// These routes behind the guard of the page, to be merged beside [`Self::router`]: every
    /// request needs the cookie, and a proof made with the page's key for exactly this request. Who
    /// sent it is among its extensions, as a `Presser`.
    pub fn guarded(&self, routes: Router) -> Router {
        routes
            .layer(middleware::from_fn_with_state(self.0.clone(), guard::data))
            .layer(DefaultBodyLimit::max(BODY_LIMIT))
            .layer(middleware::from_fn_with_state(self.0.clone(), guard::every))
    }

    /// `/` and `/inbox/…`, to be merged at the root of the daemon's listener.
    pub fn router(&self) -> Router {
        let data = Router::new()
            .route("/inbox/events", routing::get(stream::events))
            .route("/inbox/press", routing::post(press::press))
            .route("/inbox/command", routing::post(press::command))
            .merge(push::routes())
            .merge(sign_in::own_routes())
            .merge(passkeys::own_routes())
            .layer(middleware::from_fn_with_state(self.0.clone(), guard::data));
        Router::new()
            .route("/", routing::get(page::page))
            .route("/sign-in", routing::get(page::sign_in))
            .route("/inbox/hello", routing::get(page::hello))
            .route("/push/worker.js", routing::get(page::worker))
            .route("/inbox/{file}", routing::get(page::file))
            .route("/inbox/{start}/{file}", routing::get(page::file_of_start))
            .merge(sign_in::routes())
            .merge(oidc::routes())
            .merge(passkeys::routes())
            .merge(push::worker_routes())
            .merge(data)
            .layer(DefaultBodyLimit::max(BODY_LIMIT))
            .layer(middleware::from_fn_with_state(self.0.clone(), guard::every))
            .with_state(self.0.clone())
    }
}

#[countersign_port::async_trait]
impl Adapter for Inbox {
    fn signals(&self) -> &Signals {
        &self.0.signals
    }

    fn notice(&self, sentences: &[String]) {
        let shown: Vec<String> = sentences.iter().map(|sentence| visible(sentence)).collect();
        self.0.notice.send_if_modified(|now| {
            let news = *now != shown;
            *now = shown;
            news
        });
    }

    fn keeps_messages(&self) -> bool {
        false
    }

    // Every open page follows the notice.
    fn is_watched(&self) -> bool {
        self.0.notice.receiver_count() > 0
    }

    async fn post(
        &self,
        target: &Target,
        card: &Card,
        posting: Posting,
    ) -> Result<MessageRef, SendError> {
        if target.0.split('@').next() != Some(TARGET) {
            return Err(SendError::TargetGone(format!(
                "the inbox has one target, `{TARGET}`; there is no `{}`",
                target.0
            )));
        }
        self.0.board.put(card);
        // After a restart every open card is posted again. FAIL-CLOSED: only the core knows who is
        // still there, so while it is away no browser is told.
        if let (Some(push), Some(people), Posting::First) = (&self.0.push, self.0.people(), posting)
        {
            let shown = self.0.board.card(&card.id);
            let stays = |person: &str| people.person(person).is_some();
            shown.iter().for_each(|card| push.tell(card, stays));
        }
        Ok(MessageRef(card.id.clone()))
    }

    async fn update(&self, message: &MessageRef, card: &Card) -> Result<(), SendError> {
        if message.0 != card.id {
            return Err(SendError::Refused(format!(
                "the message `{}` is not of the card `{}`",
                message.0, card.id
            )));
        }
        self.0.board.put(card);
        Ok(())
    }

    async fn run(&self, presses: Arc<dyn Presses>, stop: CancellationToken) {
        self.0.core.send_replace(Core::Connected(presses));
        self.0.signals.listening();
        // A dropped future disconnects as well: no press goes to a core that does not take it.
        let _disconnect = Disconnect(&self.0);
        tokio::select! {
            () = stop.cancelled() => {}
            () = passkeys::end_removed(&self.0) => {}
        }
    }
}

/// Disconnects the core when `run` ends, in whatever way. Open pages are then let go, so that the
/// daemon's listener can drain.
struct Disconnect<'a>(&'a InboxState);

impl Drop for Disconnect<'_> {
    fn drop(&mut self) {
        self.0.core.send_replace(Core::Stopped);
        self.0.signals.deaf("the inbox has stopped");
    }
}

// What the adapter and its HTTP handlers share.

/// The inbox of a request.
pub(crate) type Shared = State<Arc<InboxState>>;

/// One inbox.
pub(crate) struct InboxState {
    pub(crate) session: Session,
    pub(crate) proofs: Proofs,
    pub(crate) sign_ins: SignedInBrowsers,
    /// Tries with codes that let nobody in.
    pub(crate) wrong_codes: LogNowAndThen,
    pub(crate) oidc: Option<Oidc>,
    pub(crate) passkeys: Option<Passkeys>,
    /// For both: the sign-ins that anybody can begin.
    pub(crate) begin_limit: BeginLimit,
    pub(crate) allowed_hosts: Vec<String>,
    pub(crate) public_origin: Option<String>,
    pub(crate) board: Board,
    pub(crate) push: Option<Push>,
    pub(crate) core: watch::Sender<Core>,
    people: OnceLock<Arc<dyn People>>,
    pub(crate) signals: Signals,
    /// What people have to know of the bridge itself.
    pub(crate) notice: watch::Sender<Vec<String>>,
}

/// The connection to the core.
pub(crate) enum Core {
    /// `run` was not called yet.
    Starting,
    /// Presses reach the core.
    Connected(Arc<dyn Presses>),
    /// `run` has ended.
    Stopped,
}

impl InboxState {
    /// Who is let in, while presses reach the core.
    // FAIL-CLOSED: while it does not take presses, nobody is somebody.
    pub(crate) fn people(&self) -> Option<&dyn People> {
        self.connected()?;
        self.people.get().map(Arc::as_ref)
    }

    /// The core, while presses reach it.
    pub(crate) fn connected(&self) -> Option<Arc<dyn Presses>> {
        match &*self.core.borrow() {
            Core::Connected(presses) => Some(presses.clone()),
            Core::Starting | Core::Stopped => None,
        }
    }
}
