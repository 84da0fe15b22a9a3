//! countersign's local inbox: a page on the daemon's own HTTP listener where cards stand and are
//! pressed.
//!
//! The platform is the page, so this adapter sends nothing anywhere: [`Adapter::post`] and
//! [`Adapter::update`] change the board in memory, open pages follow it by server-sent events, and
//! a press comes back by `POST /inbox/press`. Who may open the page is ruled in `guard`; who may
//! answer is ruled by the core, as everywhere.

mod begin_limit;
mod begun;
mod board;
mod command;
mod counted;
mod guard;
mod oidc;
mod page;
mod passkeys;
mod press;
mod proof;
mod push;
mod session;
mod shared;
mod sign_in;
mod signed_in;
mod stream;
mod visitor;

use axum::{Router, extract::DefaultBodyLimit, middleware, routing};
use begin_limit::BeginLimit;
pub use begin_limit::PeerAddress;
use board::Board;
use counted::LogNowAndThen;
use countersign_port::{
    Adapter, CancellationToken, Card, MessageRef, Posting, Presses, SendError, Signals, Target,
    visible,
};
use guard::BODY_LIMIT;
use oidc::Oidc;
pub use oidc::{OidcClaim, OidcConfig, try_provider};
use passkeys::Passkeys;
pub use passkeys::{
    PasskeyAdded, PasskeyConfig, PasskeyRecord, PasskeyRecords, PasskeySignIn, RecordsAway,
};
use proof::Proofs;
use push::Push;
pub use push::{PushConfig, PushShows};
use session::Session;
use shared::{Core, InboxState};
use signed_in::SignedInBrowsers;
use std::sync::Arc;
use tokio::sync::watch;

/// Its only target; a daemon that shares its store with others has `inbox@DAEMON`.
const TARGET: &str = "inbox";

/// How the inbox is set up.
#[derive(Clone, Default)]
pub struct InboxConfig {
    /// Opens the page as `/?token=…`. Anyone who has it can press, so it is a secret of its own,
    /// told apart from the agents' token, and a new one at every start. Empty: nobody can open the
    /// page.
    pub access_token: String,
    /// Names by which the page may be reached besides `localhost` and the loopback addresses: host
    /// names or addresses, without a port.
    pub allowed_hosts: Vec<String>,
    /// The origin of the page behind a proxy, such as `https://approve.example`. Its host is one of
    /// `allowed_hosts`.
    pub public_origin: Option<String>,
    /// Web Push; `None`: off.
    pub push: Option<PushConfig>,
    /// Signing in through an identity provider; `None`: off.
    pub oidc: Option<OidcConfig>,
    /// Signing in with passkeys; `None`: off.
    pub passkeys: Option<PasskeyConfig>,
}

/// The inbox. Clones are handles to the same board.
#[derive(Clone)]
pub struct Inbox(Arc<InboxState>);

impl Inbox {
    /// An inbox with an empty board. It takes presses once [`Adapter::run`] runs. With push it is
    /// made inside a runtime.
    #[must_use]
    pub fn new(config: InboxConfig) -> Self {
        Self(Arc::new(InboxState {
            session: Session::new(&config.access_token),
            proofs: Proofs::default(),
            sign_ins: SignedInBrowsers::default(),
            wrong_codes: LogNowAndThen::default(),
            oidc: config.oidc.and_then(Oidc::new),
            passkeys: config.passkeys.map(Passkeys::new),
            begin_limit: BeginLimit::default(),
            allowed_hosts: config.allowed_hosts,
            public_origin: config.public_origin,
            push: config.push.as_ref().and_then(Push::start),
            board: Board::default(),
            core: watch::Sender::new(Core::Starting),
            signals: Signals::default(),
            notice: watch::Sender::default(),
        }))
    }

    /// Says where passkeys are stored. To be called before [`Adapter::run`].
    pub fn keep_passkeys_in(&self, records: Arc<dyn PasskeyRecords>) {
        if let Some(passkeys) = &self.0.passkeys {
            passkeys.keep_in(records);
        }
    }

    /// Ends what is shown to people who may not answer any more. To be called when the config has
    /// changed.
    // SECURITY: an open page is no reason to go on reading, and who comes back signs in again.
    pub fn people_changed(&self) {
        if let Some(core) = self.0.connected() {
            self.0.sign_ins.keep_people(|person| core.signed_in(person).is_some());
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
            .route("/inbox/command", routing::post(command::command))
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
        if let (Some(push), Some(core), Posting::First) =
            (&self.0.push, self.0.connected(), posting)
        {
            push.tell(card, |person| core.signed_in(person).is_some());
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
