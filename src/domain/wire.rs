//! The HTTP API as types: every request and response, declared once for the daemon, its clients and
//! the tests. [`openapi::document`] describes the API for other programs.
//!
//! The domain types that are sent unchanged (the call, its questions, who decided, the scope of an
//! approval) are those of the rest of this crate.

#![warn(missing_docs)]

mod agents;
mod asks;
mod calls;
mod daemon;
pub mod openapi;
mod people;
pub mod routes;
mod rules;

pub use agents::{
    AddTokenRequest, AgentPauseView, CancelledReply, ModeReply, ModeRequest, NewTokenReply,
    ResumedAgentReply, RevokedTokenReply, RotateTokenRequest, SessionRequest, SessionView,
    SessionsPage, TokenLimits, TokenScope, TokenState, TokenView, TokensPage,
};
pub use asks::{
    AnswerReply, AnswerRequest, AnswerView, AskRecord, AskState, AskView, AsksPage, AsksQuery,
    CancelReason, CancelRequest, DeliveryView, EditView, EventView, EventsQuery, ForgottenView,
    HistoryEntry, HistoryPage, HistoryQuery, HistoryVerdict, OverruledView, RequirementView,
    ReviewView, WaitQuery,
};
pub use calls::{
    AheadQuery, AheadReply, CallReply, CallVerdict, ExecutionReply, ExecutionRequest, ParkReply,
    ParkedPage, ParkedView, ProcessEnded, ResumeRunReply, SandboxQuery, SubmitRequest, TakeQuery,
    TokenReply,
};
pub use daemon::{
    CoveredCallView, DigestKind, DigestPerson, DigestQuery, DigestReply, DigestSuggestion,
    ErrorReply, LogKeyChange, LogKeyReply, LogKeyRequest, LogQuery, LogReply, NonceReply,
    PauseReply, PauseRequest, PauseView, ReadyAdapter, ReadyLate, ReadyLeader, ReadyLogKey,
    ReadyReply, ReadyState, ReadyWaiting, ReloadReply, SuggestedRule, Up,
};
pub use people::{
    AnswerersReply, AnswerersRequest, CountsView, PairingProgress, PairingReply, PairingRequest,
    PairingSender, PairingView, PasskeyView, PasskeysPage, PossibleAnswererView,
    RemovedPasskeyReply,
};
pub use rules::{
    ExplainReply, ExplainRequest, ExplainedPart, GrantView, GrantsPage, RevokeReply, RuleVerdict,
    TrialChange, TrialReply, TrialRequest,
};
