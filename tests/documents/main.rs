//! The documents, held to the program.
#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::panic,
    reason = "tests fail by panicking"
)]

mod metrics;
mod pages;
mod routes;
