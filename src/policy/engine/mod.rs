//! The engine: from the facts of a call and the layers of rules to a ruling.

pub mod agent_mode;
pub mod always;
mod commands;
pub mod critical;
mod decision;
mod description;
mod evaluation;
pub mod files;
mod finding;
mod guard;
pub mod guardrail;
pub mod highlights;
mod layers;
pub mod parts;
pub mod ruling;
mod stack;
mod subject;
mod value_rules;
