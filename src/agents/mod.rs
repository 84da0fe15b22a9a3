//! How calls come in: one file per agent or protocol. Each knows its wire, none knows policy.

pub mod claude_code;
mod connectonion;
pub mod http;
pub mod molf;
pub mod wcore;
