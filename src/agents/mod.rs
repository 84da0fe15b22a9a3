//! The client side of agents: their hooks and hosts, which use the client to reach the daemon. Each
//! knows its own wire; none knows policy. docs/agents.md describes how to add one.

mod agent;
mod claude_code;
mod list;
pub mod wcore;

pub use agent::{AgentTitle, HookAgent, HookEvent, HookMode, HookReply, HookRequest, Hooks};
pub use list::{AGENTS, find};
