//! The bridge: asks become cards, cards go out through adapters, presses come back as answers.
//!
//! It knows adapters only through their contract, and decides nothing: the gate does.

mod adapters;
mod bundle;
pub mod card;
mod commands;
mod outbox;
mod press_handler;
mod term;
#[cfg(any(test, debug_assertions))]
#[cfg_attr(not(test), allow(dead_code, reason = "the tests of a room above use a part of it"))]
pub mod testkit;
mod token;
mod words;

pub use adapters::{AdapterRoles, Adapters, lasting, notices, tell_notices};
pub use outbox::deliver;
pub use press_handler::PressHandler;
pub use term::Term;
