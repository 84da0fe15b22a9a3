//! A profile by name, and how to open it.

use crate::worker_files::WorkerFiles;
use crate::{System, connectonion, molf, ohmypi, standard, wcore, zeptoclaw};
use std::fmt;
use std::str::FromStr;

/// One of the systems, by name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Profile {
    /// `permissions.jsonc`, with everything this project adds to it.
    Standard,
    /// wayland-core's tool approval manager.
    Wcore,
    /// ConnectOnion's tool approval plugin.
    Connectonion,
    /// molf's approval gate.
    Molf,
    /// oh-my-pi's approval modes.
    Ohmypi,
    /// zeptoclaw's approval gate.
    Zeptoclaw,
}

impl Profile {
    /// Reads the profile's own configuration; without a text its system's defaults apply.
    ///
    /// # Errors
    /// Sentences that name each mistake and its place.
    pub fn open(
        self,
        text: Option<&str>,
        name: &str,
        home: Option<&str>,
        compat: bool,
    ) -> Result<Box<dyn System>, String> {
        match self {
            Self::Wcore => wcore::open(text, name, compat),
            Self::Connectonion => connectonion::open(text, name, compat),
            Self::Ohmypi => ohmypi::open(text, name, compat),
            Self::Zeptoclaw => zeptoclaw::open(text, name, compat),
            Self::Standard => standard::open(text, name, home, compat),
            Self::Molf => molf::open(text, name, home, compat),
        }
    }

    /// Returns how the rules files of workers start and grow; `None` when workers have no file of
    /// their own.
    #[must_use]
    pub fn worker_files(self) -> Option<WorkerFiles> {
        match self {
            Self::Molf => Some(molf::file::WORKER_FILES),
            Self::Standard | Self::Wcore | Self::Connectonion | Self::Ohmypi | Self::Zeptoclaw => {
                None
            }
        }
    }

    /// Returns the profile's name.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Standard => "standard",
            Self::Wcore => "wcore",
            Self::Connectonion => "connectonion",
            Self::Molf => "molf",
            Self::Ohmypi => "ohmypi",
            Self::Zeptoclaw => "zeptoclaw",
        }
    }
}

impl FromStr for Profile {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let all = [
            Self::Standard,
            Self::Wcore,
            Self::Connectonion,
            Self::Molf,
            Self::Ohmypi,
            Self::Zeptoclaw,
        ];
        all.into_iter().find(|profile| profile.name() == text).ok_or_else(|| {
            format!(
                "there is no profile {text:?}; the profiles are standard, wcore, connectonion, \
                 molf, ohmypi and zeptoclaw"
            )
        })
    }
}

impl fmt::Display for Profile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}
