//! The adapter against a fake Bot API.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    reason = "tests fail by panicking"
)]

mod conformance;
#[path = "../../../../tests/support/telegram.rs"]
mod fake;
mod pairing;
mod receiving;
mod room;
mod sending;
mod stand_in;
mod text;
