//! The built-in descriptions of programs, by family.

mod archives;
mod build;
mod builtins;
mod cloud;
mod common;
mod containers;
mod databases;
mod disks;
mod editors;
mod files;
mod firewall;
mod git;
mod git_forms;
mod interpreters;
mod listing;
mod network;
mod packages;
mod rights;
mod search;
mod shells;
mod software;
mod syntax;
mod system;
mod text;
mod wrappers;

use super::description::Program;

/// Every family.
pub(crate) static FAMILIES: &[&[Program]] = &[
    archives::ALL,
    build::ALL,
    builtins::ALL,
    cloud::ALL,
    containers::ALL,
    databases::ALL,
    disks::ALL,
    editors::ALL,
    files::ALL,
    firewall::ALL,
    git::ALL,
    interpreters::ALL,
    listing::ALL,
    network::ALL,
    packages::ALL,
    rights::ALL,
    search::ALL,
    shells::ALL,
    software::ALL,
    system::ALL,
    text::ALL,
    wrappers::ALL,
];
