//! The mode, on a command line.

use clap::ValueEnum;
use countersign_policy::Mode;

/// The mode, on a command line.
#[derive(Debug, Clone, Copy, ValueEnum)]
pub(super) enum ModeWord {
    /// As the rules say
    Default,
    /// What would be asked is allowed
    Yolo,
}

impl ModeWord {
    /// The mode that the word names.
    pub(super) fn mode(self) -> Mode {
        match self {
            Self::Default => Mode::Default,
            Self::Yolo => Mode::Yolo,
        }
    }
}
