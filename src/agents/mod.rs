//! The client side of agents: their hooks and their hosts, which talk to the daemon through the
//! client. Each knows its wire, none knows policy.

pub mod claude_code;
pub mod wcore;
