//! The contract between countersign's core and its chat adapters.
//!
//! An adapter renders [`Card`]s on one platform and reports [`Press`]es. It decides nothing: it
//! never knows who may answer, what a button grants or what became of an ask other than through the
//! [`Receipt`] that the core hands back. Third parties can write an adapter against this crate
//! alone.
//!
//! INVARIANT: a press is acknowledged to the platform only after [`Presses::press`] has returned,
//! because by then the core has committed it (or refused it) and the receipt says what really
//! happened.

mod adapter;
mod card;
mod lead;
mod press;
mod signals;
mod text;
mod visible;

#[cfg(feature = "testkit")]
pub mod testkit;

pub use adapter::{Adapter, MessageRef, SendError, Target};
pub use card::{Block, Button, ButtonStyle, Card, Field, Tone};
pub use lead::{Lead, SendGuard};
pub use press::{Outcome, Press, Presser, Presses, Receipt};
pub use signals::{Receiving, Signals};
pub use text::{Excerpt, excerpt, folded};
pub use visible::{line, visible};

pub use async_trait::async_trait;
pub use tokio_util::sync::CancellationToken;
