//! The policy from outside: bash and other programs judge it, and no text is too hostile for it.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::print_stderr,
    clippy::string_slice,
    reason = "tests fail by panicking"
)]

#[path = "fuzz/chance.rs"]
mod chance;
mod judge;

mod fuzz_bash;
mod hostile;
mod oracle;
mod properties;
mod secrets;
mod small_languages;
