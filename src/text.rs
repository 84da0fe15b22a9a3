//! Makes text from agents and people fit to be shown; one implementation for every surface.

pub use countersign_port::{brief, excerpt, folded, line, mixes_scripts, visible};
