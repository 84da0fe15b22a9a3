//! The documents, held to the program.

mod architecture;
mod commands;
mod generated;
mod metrics;
mod pages;
mod promises;
mod routes;
