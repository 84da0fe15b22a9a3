//! Checks that no list can express: small languages on the command line, and conditions on several
//! words at once.

pub(crate) mod archives;
pub(crate) mod changes;
pub(crate) mod code;
pub(crate) mod copies;
pub(crate) mod find;
pub(crate) mod git;
pub(crate) mod leaks;
pub(crate) mod machine;
pub(crate) mod rights;
pub(crate) mod scripts;
pub(crate) mod sql;
pub(crate) mod tools;
pub(crate) mod web;
