//! The HTTP API as types: every request and response, declared once for the daemon, its clients and
//! the tests. [`openapi::document`] describes the API for other programs.
//!
//! The domain types that are sent unchanged (the call, its questions, who decided, the scope of an
//! approval) are those of `countersign-ask`.

mod asks;
mod calls;
mod digest;
mod events;
mod executions;
mod grants;
mod history;
mod log;
pub mod openapi;
mod pairings;
mod pause;
mod reload;
pub mod routes;
mod rules;
mod sessions;
mod status;
mod tokens;
mod verdict;

pub use asks::{
    AnswerReply, AnswerRequest, AnswerView, AskState, AskView, AsksPage, AsksQuery, CancelReason,
    CancelRequest, EditView, RequirementView, WaitQuery,
};
pub use calls::{CallReply, SubmitRequest};
pub use digest::{
    CoveredCallView, DigestKind, DigestPerson, DigestQuery, DigestReply, DigestSuggestion,
};
pub use events::{EventView, EventsQuery, ForgottenView};
pub use executions::{ExecutionReply, ExecutionRequest, TokenReply};
pub use grants::{GrantReach, GrantView, GrantsPage, RevokeReply};
pub use history::{
    AskRecord, DeliveryView, HistoryEntry, HistoryPage, HistoryQuery, HistoryVerdict,
};
pub use log::{LogQuery, LogReply};
pub use pairings::{PairingKnock, PairingProgress, PairingReply, PairingRequest, PairingView};
pub use pause::{PauseReply, PauseRequest, PauseView};
pub use reload::ReloadReply;
pub use rules::{
    ExplainReply, ExplainRequest, ExplainedPart, RuleVerdict, TrialChange, TrialReply, TrialRequest,
};
pub use sessions::{
    CancelledReply, ModeReply, ModeRequest, SessionRequest, SessionView, SessionsPage,
};
pub use status::{
    ErrorReply, NonceReply, ReadyAdapter, ReadyLate, ReadyLeader, ReadyReply, ReadyState,
    ReadyWaiting, Up,
};
pub use tokens::{
    AddTokenRequest, AgentPauseView, NewTokenReply, ResumedAgentReply, RevokedTokenReply,
    RotateTokenRequest, TokenLimits, TokenScope, TokenState, TokenView, TokensPage,
};
pub use verdict::CallVerdict;
