//! A chat platform that is added as docs/platforms.md says: one module (a crate, outside of tests)
//! and one line.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    reason = "tests fail by panicking"
)]

mod contract;
mod example;
mod house;
mod program;
mod service;
