//! Decides a shell text: every command in it, what runs behind wrappers, redirects and variables.

mod argv;
mod behind;
mod command;
mod directory;
mod file_rules;
mod judge;
pub(super) mod obeyed_files;
mod redirects;
mod text;
mod variables;

pub(crate) use judge::Judge;
