//! The profiles against the recorded answers of the systems that they stand for, and the rules that
//! hold in all of them.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    reason = "tests fail by panicking"
)]

mod support;

mod connectonion;
mod critical_asks;
mod molf_gate;
mod molf_lifecycle;
mod profile_molf;
mod profile_ohmypi;
mod profile_wcore;
mod profile_zeptoclaw;
mod rules;
mod vectors;
