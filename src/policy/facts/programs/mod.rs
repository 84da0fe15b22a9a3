//! The descriptions of command-line programs, one for each.
//!
//! `known/` holds them by family, `checks/` what no list can express. Unwrapping, effects, critical
//! patterns, the class of reading calls and Always use these descriptions and know no program
//! themselves.

pub(crate) mod arguments;
pub(crate) mod case;
pub(crate) mod checks;
pub(crate) mod description;
pub(crate) mod files;
pub(crate) mod getopt;
pub(crate) mod grant;
mod index;
pub(crate) mod input;
mod known;
pub(crate) mod name;
pub(crate) mod own;
pub(crate) mod reach;
pub(crate) mod reading;
pub(crate) mod reasons;
pub(crate) mod runs;
pub(crate) mod sensitive;
pub(crate) mod when;
pub(crate) mod wide;
pub(crate) mod words;

pub(crate) use index::{exact, of};
