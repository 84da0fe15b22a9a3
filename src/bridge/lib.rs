//! The bridge: asks become cards, cards go out through adapters, presses come back as answers.
//!
//! It knows adapters only through their contract, and decides nothing: the gate does.

mod bundle;
pub mod card;
mod commands;
#[cfg(any(test, feature = "testkit"))]
#[cfg_attr(not(test), allow(dead_code, reason = "the tests of a room above use a part of it"))]
pub mod fault_injection;
mod foreign;
mod outage;
mod outbox;
mod press_handler;
mod receiving;
mod roles;
mod term;
mod token;
mod told;

pub use outbox::deliver;
pub use press_handler::PressHandler;
pub use receiving::{Adapters, lasting, notices, tell_notices};
pub use roles::AdapterRoles;
pub use term::Term;
