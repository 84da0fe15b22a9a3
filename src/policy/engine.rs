//! The engine: from the facts of a call and the layers of rules to a decision.

pub mod agent_mode;
pub mod always;
mod commands;
pub mod critical;
pub mod decision;
mod evaluation;
pub mod files;
pub mod guardrail;
pub mod highlights;
pub mod matcher;
mod stack;
