//! The client side of agents: their hooks and hosts, which use the client to reach the daemon. Each
//! knows its own wire; none knows policy. docs/agents.md describes how to add one.

pub mod acp;
mod agent;
#[cfg(test)]
pub(crate) mod answered;
mod claude_code;
mod cline;
mod codex;
mod copilot;
mod cursor;
mod event;
mod gemini;
mod home;
mod hook_call;
pub mod hosted;
mod journal;
mod json_settings;
pub mod line_head;
mod list;
pub mod mcp;
mod misplaced;
mod named_event;
mod opencode;
mod own_file;
mod pi;
pub mod wcore;

pub use agent::{AgentTitle, Attendance, HookAgent, HookFile, HookLimit, HookMode, Hooks, Overdue};
pub use claude_code::{ControlAround, ControlSession, PermissionPrompt};
pub use codex::{CodexAround, CodexOutput, CodexRun, CodexWatch};
pub use event::{HookEvent, HookReply, HookRequest};
pub use hook_call::message as denial_message;
pub use journal::Journal;
pub use list::{AGENTS, find};
