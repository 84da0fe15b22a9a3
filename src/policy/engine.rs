//! The engine: from the facts of a call and the layers of rules to a decision.

pub mod agent_mode;
pub mod always;
mod commands;
pub mod critical;
mod deciding;
pub mod decision;
mod description;
mod evaluation;
pub mod files;
mod guard;
pub mod guardrail;
pub mod highlights;
mod layers;
pub mod matcher;
mod own_calls;
mod part_decision;
pub mod parts;
mod stack;
mod subject;
mod value_rules;
