//! The HTTP API as types: every request and every response, declared once for the daemon, its
//! clients and the tests. [`openapi::document`] describes the API for everybody else.
//!
//! The domain types that travel as they are (the call, its questions, who decided, what an approval
//! covers) are those of `countersign-ask`.

mod asks;
mod calls;
mod events;
mod grants;
pub mod openapi;
pub mod routes;
mod sessions;
mod status;
mod verdict;

pub use asks::{
    AnswerReply, AnswerRequest, AnswerView, AskState, AskView, AsksPage, AsksQuery, CancelReason,
    CancelRequest, WaitQuery,
};
pub use calls::{CallReply, SubmitRequest};
pub use events::{EventView, ForgottenView};
pub use grants::{GrantReach, GrantView, GrantsPage, RevokeReply};
pub use sessions::{CancelledReply, ModeReply, ModeRequest, SessionRequest};
pub use status::{ErrorReply, NonceReply, ReadyAdapter, ReadyLeader, ReadyReply, ReadyState, Up};
pub use verdict::CallVerdict;
