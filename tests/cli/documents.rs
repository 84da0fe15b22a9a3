//! The documents, held to the program.

mod metrics;
mod pages;
mod routes;
