//! The policy core: from the facts of a call and a set of rules to a ruling.
//!
//! INVARIANT: pure. No I/O, no clock, no global state; time is an argument.
//! FAIL-CLOSED: what is not understood is an ask, never an allow; a deny rule matches more than an
//! allow rule.

pub mod agent_mode;
pub mod always;
pub mod builtins;
pub mod call;
pub mod critical;
pub mod deeds;
pub mod effects;
pub mod environment;
pub mod examples;
pub mod explain;
pub mod files;
mod finding;
pub mod glob;
pub mod guardrail;
pub mod highlights;
pub mod import;
pub mod judge;
mod keys;
pub mod links;
mod moved;
pub mod obeyed;
pub mod options;
pub mod place;
mod reads;
pub mod rules;
pub mod ruling;
pub mod score;
pub mod shell;
mod stack;
pub mod tool_name;
pub mod values;
pub mod verdict;
pub mod wrappers;

pub use call::Call;
pub use guardrail::{Guardrail, Ours};
pub use links::{Lead, Links, Sights};
pub use rules::{DEFAULT_RULES, Problem, Rule, Rules, file};
pub use ruling::{Layers, Mode, Outcome, Ruling, decide, rule};
pub use verdict::Verdict;
