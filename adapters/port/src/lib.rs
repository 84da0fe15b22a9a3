//! The contract between countersign's core and its chat adapters.
//!
//! An adapter renders [`Card`]s on one platform and reports [`Press`]es. It decides nothing: it
//! never knows who may answer, what a button grants or what became of an ask other than through the
//! [`Receipt`] that the core hands back. Third parties can write an adapter against this crate
//! alone.
//!
//! INVARIANT: what became of a press is told only after [`Presses::press`] has returned, because
//! by then the core has committed it (or refused it) and the receipt says what really happened. A
//! platform that gives up sooner gets an empty acknowledgement when its patience ends, and the
//! presser is told late ([`within`]).

#![warn(missing_docs)]

mod adapter;
mod address;
mod bell;
mod card;
mod check_error;
mod command;
mod fitting;
mod lead;
mod pace;
mod pairing;
mod patience;
mod plain;
mod platform;
mod press;
mod presser;
mod reminder;
mod reply_limit;
mod send_error;
mod settings;
mod signals;
mod text;
mod thread;
mod turns;
mod visible;

#[cfg(feature = "testkit")]
pub mod testkit;

pub use adapter::{Adapter, NamedAdapter, Posting};
pub use address::{MessageRef, Target};
pub use bell::Bell;
pub use card::{Block, Button, ButtonStyle, Card, DiffLine, DiffSide, Field, Tone, diff_text};
pub use check_error::CheckError;
pub use command::{
    BotCommand, CommandCall, CommandParameter, CommandReply, ReplyPiece, command_in, respelled,
};
pub use fitting::{MessageSize, fitted};
pub use lead::{Lead, SendGuard};
pub use pace::Pace;
pub use pairing::{Guide, Invitation, Knock, PAIRING_PREFIX, PairingPlace, pairing_code};
pub use patience::{Acknowledged, within};
pub use plain::plain;
pub use platform::{Absent, ApproverList, Description, IdForm, Key, Names, Platform, Takes};
pub use press::{Press, Presses, Receipt, TEXT_NOT_NOW, TextReply, UNKNOWN_CODE};
pub use presser::{Outcome, Presser};
pub use reminder::{Mention, Reminder};
pub use reply_limit::ChannelReplyLimit;
pub use send_error::{RetryScope, SendError};
pub use settings::{Setting, Settings};
pub use signals::{Receiving, Signals};
pub use text::{Excerpt, brief, excerpt, folded};
pub use thread::SessionThread;
pub use turns::Turns;
pub use visible::{isolated, line, mixes_scripts, visible};

pub use async_trait::async_trait;
pub use tokio_util::sync::CancellationToken;
