//! The descriptions of command-line programs, one for each.
//!
//! `known/` holds them by family, `checks/` what no list can express, `languages/` the readers of
//! scripts. Unwrapping, effects, critical
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
pub(crate) mod languages;
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

use crate::shell::Word;

/// Returns true for a program that obeys settings in its working folder.
pub(crate) fn obeys_folder(argv: &[Word<'_>]) -> bool {
    let program = argv.first().and_then(|first| exact(name::base(&first.text)));
    program.is_some_and(|program| program.is(description::Role::ObeysFolder))
}
