//! The adapter against a stand-in of Slack.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    reason = "tests fail by panicking"
)]

#[path = "../../../../tests/support/slack.rs"]
mod slack;

mod contract;
mod doctor;
mod python;
mod receiving;
mod sending;
mod support;
