//! The bridge's own files, program and addresses.

use super::addresses::Addresses;
use super::own_program::OwnProgram;
use super::public_address::PublicAddress;
use super::territory::Territory;

/// Everything that belongs to the bridge.
#[derive(Clone, Debug, Default)]
pub struct Ours {
    /// Absolute paths of files and folders: config, rules, store, socket, tokens.
    pub paths: Vec<String>,
    /// Names and paths of the program.
    pub programs: Vec<String>,
    /// Addresses of the daemon and its store (`127.0.0.1:7117`).
    pub addresses: Vec<String>,
    /// Names and addresses of this machine, besides those that every machine has.
    pub hosts: Vec<String>,
    /// The address of the inbox behind a proxy (`https://approve.example`).
    pub public_url: Option<String>,
    /// Processes of the daemon.
    pub pids: Vec<u32>,
}

/// Everything that belongs to the bridge, prepared for comparison.
#[derive(Clone, Debug, Default)]
pub(super) struct Protected {
    pub(super) territory: Territory,
    pub(super) programs: OwnProgram,
    pub(super) addresses: Addresses,
    pub(super) public: Option<PublicAddress>,
}

impl Protected {
    pub(super) fn new(ours: Ours) -> Self {
        // `/proc/PID` shows the daemon's environment and memory.
        let processes = ours.pids.iter().map(|pid| format!("/proc/{pid}"));
        Self {
            territory: Territory::new(ours.paths.into_iter().chain(processes)),
            programs: OwnProgram::new(ours.programs),
            addresses: Addresses::new(ours.addresses, &ours.hosts),
            public: ours.public_url.as_deref().and_then(PublicAddress::new),
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.territory.is_empty()
            && self.programs.is_empty()
            && self.addresses.is_empty()
            && self.public.is_none()
    }
}
