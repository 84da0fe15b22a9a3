//! The engine: from the facts of a call and the layers of rules to a ruling.

pub mod agent_mode;
pub mod always;
pub mod critical;
pub mod files;
mod finding;
pub mod guardrail;
pub mod highlights;
pub mod judge;
pub mod ruling;
mod stack;
