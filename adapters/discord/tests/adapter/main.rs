//! The adapter against stand-ins of Discord.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    reason = "tests fail by panicking"
)]

#[path = "../../../../tests/support/discord.rs"]
mod discord;

mod contract;
mod doctor;
mod gateway;
mod late;
mod limits;
mod pairing;
mod presses;
mod python;
mod support;
