//! The inbox from outside: over plain HTTP, and in a real browser.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    reason = "tests fail by panicking"
)]

mod access;
mod axe;
mod contract;
mod install;
mod list;
mod page;
mod pages;
mod pictures;
mod press;
mod provider;
mod push;
mod sign_in;
mod stream;
mod support;
