//! The policy core.

pub mod builtins;
pub mod critical;
pub mod effects;
pub mod environment;
pub mod options;
pub mod shell;
pub mod wrappers;
