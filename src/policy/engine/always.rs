//! What the Always button would store: one rule per command, in words a person understands, and
//! only when it really covers the call.

mod arity;
mod most;
mod offers;
mod patterns;
mod spelling;
mod text;
mod values;

pub use arity::{molf_prefix, prefix};
pub(crate) use offers::{exact, offers};
pub(crate) use patterns::Width;
pub use patterns::of_command;
pub use spelling::spoken;
