//! Journeys through the real binary, against fakes of the chat platforms.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    reason = "tests fail by panicking"
)]

#[path = "../support/daemon.rs"]
mod daemon;

mod core;
mod restart;
