//! Rules: their content, their position in a file, and how they match.

mod about;
mod claude;
mod entry;
pub mod file;
mod key;
mod marks;
pub(crate) mod pattern;
mod problem;
pub(crate) mod read;
mod rule;
mod set;
pub mod suggest;
pub mod verdict;
mod when;

pub(crate) use about::About;
pub use entry::Example;
pub(crate) use entry::RuleEntry;
pub use problem::{RuleProblem, Severity, sentences};
pub use read::OPTIONS;
pub use rule::Rule;
pub use set::Rules;

/// The rules of a new installation; the text of `config/permissions.jsonc`.
pub const DEFAULT_RULES: &str = include_str!("../../config/permissions.jsonc");
