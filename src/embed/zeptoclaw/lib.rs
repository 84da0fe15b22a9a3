//! zeptoclaw's approval gate for programs that embed it, with the names, fields and defaults of its
//! documentation. A person in a chat answers.
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
//! [`Approvals`] is the step of the agent's loop: mode, gate, handler, in that order. The handler
//! is any async function; [`Daemon::handler`] asks through a countersign daemon.

mod approvals;
mod daemon;
mod gate;

pub use approvals::{Approvals, Channel, ToolCall, Trust};
pub use countersign_client::{ClientError, ClientSettings, Secret, Server};
pub use countersign_profiles::zeptoclaw::{
    agent_mode::{AgentMode, CategoryPermission, ModePolicy, ToolCategory},
    config::{ApprovalConfig, ApprovalPolicyConfig},
    ending::{ApprovalResponse, CallOutcome, arguments},
    policy::ApprovalPolicy,
    replies::{ChatReply, CliAnswer, cli_answer, reply},
};
pub use daemon::Daemon;
pub use gate::{ApprovalGate, ApprovalRequest};

use std::{future::Future, pin::Pin, sync::Arc};

/// The future of a handler's response.
pub type ApprovalFuture = Pin<Box<dyn Future<Output = ApprovalResponse> + Send>>;

/// Asks a person.
pub type ApprovalHandler = Arc<dyn Fn(ApprovalRequest) -> ApprovalFuture + Send + Sync>;
