//! Seed 001: ConnectOnion's recorded answers, strict and under `compat`.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    reason = "tests fail by panicking"
)]

mod connectonion;
mod support;
