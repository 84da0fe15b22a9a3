//! What the adapter and its HTTP handlers share.

use crate::{
    begin_limit::BeginLimit, board::Board, counted::LogNowAndThen, oidc::Oidc, passkeys::Passkeys,
    proof::Proofs, push::Push, session::Session, signed_in::SignedInBrowsers,
};
use countersign_port::{Presses, Signals};
use std::sync::Arc;
use tokio::sync::watch;

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
    /// The core, while presses reach it.
    pub(crate) fn connected(&self) -> Option<Arc<dyn Presses>> {
        match &*self.core.borrow() {
            Core::Connected(presses) => Some(presses.clone()),
            Core::Starting | Core::Stopped => None,
        }
    }
}
