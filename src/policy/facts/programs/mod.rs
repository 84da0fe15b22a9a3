//! Everything that is known of command-line programs, in one description for each.
//!
//! `known/` holds the descriptions, by family; `checks/` what no list can say. What looks behind
//! wrappers, tells effects, finds critical commands and forms that only read, and what Always
//! stores all read these descriptions and know no program themselves.

pub(crate) mod arguments;
pub(crate) mod case;
pub(crate) mod checks;
pub(crate) mod description;
pub(crate) mod files;
pub(crate) mod grant;
mod index;
mod known;
pub(crate) mod name;
pub(crate) mod own;
pub(crate) mod reach;
pub(crate) mod reading;
pub(crate) mod reasons;
pub(crate) mod runs;
pub(crate) mod sensitive;
pub(crate) mod when;
pub(crate) mod words;

pub(crate) use index::{exact, of};
