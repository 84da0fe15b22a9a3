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
mod card;
mod command;
mod layout;
mod lock;
mod platform;
mod press;
mod sending;
mod signals;
mod text;
mod visible;

pub use adapter::{
    Adapter, Mention, MessageRef, NamedAdapter, Pace, Posting, Reminder, RetryScope, SendError,
    SessionThread, Target,
};
pub use card::{
    Block, Button, ButtonStyle, Card, DiffLine, DiffSide, Field, Tone, diff_text, plain,
};
pub use command::{
    BotCommand, CommandCall, CommandParameter, CommandReply, ReplyPiece, Written, WrittenWords,
    command_in, hand_over, respelled,
};
pub use layout::{Dress, Layout, Limits, Look, Markup, TextFile, lay_out};
pub use lock::locked;
pub use platform::{
    Absent, ApproverList, CheckError, Description, Guide, IdForm, Invitation, Key, Names,
    PAIRING_PREFIX, PairingMessage, PairingPlace, Platform, Setting, Settings, Takes, pairing_code,
};
pub use press::{
    Acknowledged, Outcome, Press, Presser, Presses, Receipt, TEXT_NOT_NOW, TextReply, UNKNOWN_CODE,
    within,
};
pub use sending::{Bell, ChannelReplyLimit, Lead, Recent, SendGuard, Turns};
pub use signals::{Receiving, Signals};
pub use text::{Excerpt, brief, cut, excerpt, folded};
pub use visible::{isolated, line, mixes_scripts, visible};

pub use async_trait::async_trait;
pub use tokio_util::sync::CancellationToken;
