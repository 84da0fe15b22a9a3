//! The client side of agents: their hooks and their hosts, which talk to the daemon through the
//! client. Each knows its wire, none knows policy. docs/agents.md says how to add one.

mod agent;
mod claude_code;
mod list;
pub mod wcore;

pub use agent::{HookAgent, HookEvent, HookReply, HookRequest, Title};
pub use list::{AGENTS, find};
