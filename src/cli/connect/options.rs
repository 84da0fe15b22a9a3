//! What `connect` is told of a phone.

use countersign_port::{Guide, Platform};
use std::path::PathBuf;

#[derive(Debug, Default, clap::Args)]
pub(super) struct PhoneOptions {
    /// Read the bot's token from a file, `-` for stdin
    #[arg(long, value_name = "FILE")]
    pub(super) token_file: Option<PathBuf>,
    /// Show the cards in a group or a channel
    #[arg(long)]
    pub(super) group: bool,
    /// Add another person or chat where one is connected already
    #[arg(long)]
    pub(super) add: bool,
    /// Set another key of the platform's section too
    #[arg(long, value_name = "KEY=VALUE")]
    pub(super) set: Vec<String>,
    /// Send no test card
    #[arg(long)]
    pub(super) no_test: bool,
}

impl PhoneOptions {
    /// The first of these options that was given.
    pub(super) fn first_given(&self) -> Option<&'static str> {
        let given = [
            ("--token-file", self.token_file.is_some()),
            ("--group", self.group),
            ("--add", self.add),
            ("--set", !self.set.is_empty()),
            ("--no-test", self.no_test),
        ];
        given.into_iter().find(|(_, given)| *given).map(|(option, _)| option)
    }
}

/// The platform of a phone.
#[derive(Clone, Copy)]
pub(super) struct Phone {
    pub(super) name: &'static str,
    pub(super) platform: &'static dyn Platform,
    pub(super) guide: &'static dyn Guide,
}
