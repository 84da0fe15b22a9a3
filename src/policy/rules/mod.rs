//! Rules: what they say, where they stand, and how they match.

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
pub(crate) use entry::Entry;
pub use entry::Example;
pub use problem::{Problem, Severity, sentences};
pub use read::OPTIONS;
pub use rule::Rule;
pub use set::Rules;

/// The rules every installation starts with; the text of `config/permissions.jsonc`.
pub const DEFAULT_RULES: &str = include_str!("../../../config/permissions.jsonc");
