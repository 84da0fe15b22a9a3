//! The built-in descriptions of programs, by family.

mod build;
mod builtins;
mod cloud;
mod common;
mod containers;
pub(crate) mod databases;
mod files;
mod git;
mod interpreters;
pub(crate) mod listing;
mod network;
mod packages;
mod rights;
mod syntax;
mod system;
mod text;
mod wrappers;

use crate::facts::programs::description::Program;

/// Every family.
pub(crate) static FAMILIES: &[&[Program]] = &[
    files::ARCHIVES,
    build::ALL,
    builtins::ALL,
    cloud::ALL,
    containers::ALL,
    databases::ALL,
    system::DISKS,
    text::EDITORS,
    files::ALL,
    system::NETWORK,
    git::ALL,
    interpreters::ALL,
    listing::ALL,
    network::ALL,
    packages::ALL,
    rights::ALL,
    text::SEARCH,
    interpreters::SHELLS,
    packages::OF_THE_SYSTEM,
    system::ALL,
    text::ALL,
    wrappers::ALL,
];
