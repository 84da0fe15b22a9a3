//! Text from agents and people, made fit to be shown: one function for every surface.

pub use countersign_port::{excerpt, folded, line, visible};
