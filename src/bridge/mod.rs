//! The bridge: asks become cards, cards go out through adapters, presses come back as answers.
//!
//! It knows adapters only through their contract, and decides nothing: the gate does.

pub mod card;
mod foreign;
mod hearing;
mod outage;
mod outbox;
mod press_handler;
mod term;
mod token;
#[cfg(test)]
pub(crate) mod weather;

pub use hearing::{Adapters, lasting, notices, tell_notices};
pub use outbox::deliver;
pub use press_handler::PressHandler;
pub use term::Term;
