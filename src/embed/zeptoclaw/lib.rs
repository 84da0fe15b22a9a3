//! zeptoclaw's approval gate for whoever embeds it: the names, fields and defaults of its
//! documentation, with a person in a chat behind it.
//!
//! ```
//! use countersign_zeptoclaw::{ApprovalConfig, ApprovalGate, ApprovalPolicyConfig};
//!
//! let gate = ApprovalGate::new(ApprovalConfig {
//!     enabled: true,
//!     policy: ApprovalPolicyConfig::RequireForDangerous,
//!     ..Default::default()
//! });
//! assert!(gate.requires_approval("shell"));
//! assert!(!gate.requires_approval("echo"));
//! ```
//!
//! [`Approvals`] is the step of the agent's loop: mode, gate, handler, in that order. Its handler
//! is any async function; [`Daemon::handler`] is the one that asks through a countersign daemon.

mod approvals;
mod daemon;
mod gate;
mod request;

pub use approvals::{Approvals, Channel, ToolCall, Trust};
pub use countersign_client::{ClientError, ClientSettings, Server};
pub use countersign_profiles::zeptoclaw::{
    agent_mode::{AgentMode, CategoryPermission, ModePolicy, ToolCategory},
    config::{ApprovalConfig, ApprovalPolicyConfig},
    ending::{ApprovalResponse, CallOutcome, arguments},
    policy::ApprovalPolicy,
    replies::{ChatReply, CliAnswer, cli_answer, reply},
};
pub use countersign_tokens::secret::Secret;
pub use daemon::Daemon;
pub use gate::ApprovalGate;
pub use request::ApprovalRequest;

use std::{future::Future, pin::Pin, sync::Arc};

/// What a handler promises.
pub type ApprovalFuture = Pin<Box<dyn Future<Output = ApprovalResponse> + Send>>;

/// Asks somebody.
pub type ApprovalHandler = Arc<dyn Fn(ApprovalRequest) -> ApprovalFuture + Send + Sync>;
