//! The HTTP API as types: every request and response, declared once for the daemon, its clients and
//! the tests. [`openapi::document`] describes the API for other programs.
//!
//! The domain types that are sent unchanged (the call, its questions, who decided, the scope of an
//! approval) are those of the rest of this crate.

#![warn(missing_docs)]

mod agents;
mod asks;
mod calls;
mod daemon;
pub mod openapi;
mod people;
pub mod routes;
mod rules;

pub use agents::*;
pub use asks::*;
pub use calls::*;
pub use daemon::*;
pub use people::*;
pub use rules::*;
