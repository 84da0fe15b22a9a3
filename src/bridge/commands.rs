//! Commands: what people write to the bot beside pressing buttons. One list, and what each does.

mod digest;
mod list;
mod login;
mod pending;
mod presence;
mod reading;
mod run;
mod shown;

pub(super) use list::COMMANDS;
pub(super) use reading::{reads_like_yes, said};
pub(super) use run::CommandRun;
