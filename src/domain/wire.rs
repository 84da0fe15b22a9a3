//! The HTTP API as types: every request and response, declared once for the daemon, its clients and
//! the tests. [`openapi::document`] describes the API for other programs.
//!
//! The domain types that are sent unchanged (the call, its questions, who decided, the scope of an
//! approval) are those of the rest of this crate.

#![warn(missing_docs)]

mod approvers;
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
mod passkeys;
mod pause;
mod reload;
pub mod routes;
mod rules;
mod sessions;
mod status;
mod tokens;
mod verdict;

pub use approvers::{AnswerersReply, AnswerersRequest, CountsView, PossibleAnswererView};
pub use asks::{
    AnswerReply, AnswerRequest, AnswerView, AskState, AskView, AsksPage, AsksQuery, CancelReason,
    CancelRequest, EditView, RequirementView, ReviewView, WaitQuery,
};
pub use calls::{CallReply, SubmitRequest};
pub use digest::{
    CoveredCallView, DigestKind, DigestPerson, DigestQuery, DigestReply, DigestSuggestion,
    SuggestedRule,
};
pub use events::{EventView, EventsQuery, ForgottenView};
pub use executions::{ExecutionReply, ExecutionRequest, TokenReply};
pub use grants::{GrantReach, GrantView, GrantsPage, RevokeReply};
pub use history::{
    AskRecord, DeliveryView, HistoryEntry, HistoryPage, HistoryQuery, HistoryVerdict,
};
pub use log::{LogKeyChange, LogKeyReply, LogKeyRequest, LogQuery, LogReply};
pub use pairings::{PairingKnock, PairingProgress, PairingReply, PairingRequest, PairingView};
pub use passkeys::{PasskeyView, PasskeysPage, RemovedPasskeyReply};
pub use pause::{PauseReply, PauseRequest, PauseView};
pub use reload::ReloadReply;
pub use rules::{
    ExplainReply, ExplainRequest, ExplainedPart, RuleVerdict, TrialChange, TrialReply, TrialRequest,
};
pub use sessions::{
    CancelledReply, ModeReply, ModeRequest, SessionRequest, SessionView, SessionsPage,
};
pub use status::{
    ErrorReply, NonceReply, ReadyAdapter, ReadyLate, ReadyLeader, ReadyLogKey, ReadyReply,
    ReadyState, ReadyWaiting, Up,
};
pub use tokens::{
    AddTokenRequest, AgentPauseView, NewTokenReply, ResumedAgentReply, RevokedTokenReply,
    RotateTokenRequest, TokenLimits, TokenScope, TokenState, TokenView, TokensPage,
};
pub use verdict::CallVerdict;
