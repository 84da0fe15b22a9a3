//! What no rule, mode, grant or button lifts: the bridge's own files, program and addresses, and
//! the operator's denies.
//!
//! Two questions are asked of every text that a call may turn into a path: what may it be (see
//! `spelling`, `route`), and how does that lie to what is the bridge's own (see `territory`). What
//! is ours is denied; what holds it is denied or asked about where the command may go through it;
//! what only the running shell will know is asked about.
//!
//! INVARIANT: a path that bash would open at or below what is ours is never allowed. Real bash
//! judges (`tests/guardrail`).

mod addresses;
mod commands;
mod judge;
pub mod own_program;
mod programs;
mod reasons;
mod route;
mod sights;
mod site;
mod spelling;
mod territory;
mod tools;

use std::borrow::Cow;
use std::collections::HashSet;

use crate::facts::call::{Call, Kind};
use crate::facts::links::Sights;
use crate::facts::paths::Directories;
use crate::rules::Rules;
use crate::shell::{self, Scan};
use addresses::Addresses;
use commands::Commands;
use judge::Judge;
pub use judge::Reach;
use own_program::OwnProgram;
pub use route::fits_name;
use site::{Bases, Sink};
use territory::Territory;

/// What is the bridge's own.
#[derive(Clone, Debug, Default)]
pub struct Ours {
    /// Files and folders, from the root: config, rules, store, socket, tokens.
    pub paths: Vec<String>,
    /// Names and paths of the program.
    pub programs: Vec<String>,
    /// Addresses of the daemon and its store (`127.0.0.1:7117`).
    pub addresses: Vec<String>,
    /// Names and addresses of this machine, besides those that every machine has.
    pub hosts: Vec<String>,
    /// Processes of the daemon.
    pub pids: Vec<u32>,
}

/// What is the bridge's own, and the operator's denies.
#[derive(Clone, Debug, Default)]
pub struct Guardrail {
    territory: Territory,
    programs: OwnProgram,
    addresses: Addresses,
    /// Rules of the operator whose denies hold whatever else is allowed.
    pub(crate) denies: Rules,
}

impl Guardrail {
    /// The guardrail around what is the bridge's own.
    #[must_use]
    pub fn new(ours: Ours) -> Self {
        let processes = ours.pids.iter().map(|pid| format!("/proc/{pid}"));
        Self {
            territory: Territory::new(ours.paths.into_iter().chain(processes)),
            programs: OwnProgram::new(ours.programs),
            addresses: Addresses::new(ours.addresses, &ours.hosts),
            denies: Rules::default(),
        }
    }

    /// The same guardrail with the denies of the operator's own rules.
    #[must_use]
    pub fn with_denies(self, denies: Rules) -> Self {
        Self { denies, ..self }
    }

    fn is_empty(&self) -> bool {
        self.territory.is_empty() && self.programs.is_empty() && self.addresses.is_empty()
    }

    /// What of the bridge's own a call reaches, or may reach.
    pub fn reach(
        &self,
        call: &Call,
        scan: Option<(&str, &Scan<'_>)>,
        dirs: Directories<'_>,
    ) -> Option<Reach> {
        if self.is_empty() || call.kind() == Kind::Question {
            return None;
        }
        let mut judge = Judge::new(self, dirs, &call.links);
        judge.here();
        walk(call, scan, dirs, &mut judge);
        if call.links.is_cut() {
            judge.asks(|| "It names more paths than can be followed.".to_owned());
        }
        judge.found
    }
}

/// What of a call somebody should look at who can see the host.
pub(crate) fn sights(call: &Call) -> Sights {
    let dirs = Directories { cwd: call.cwd.as_deref(), home: call.home.as_deref() };
    let sights = Sights {
        files: call.paths().into_iter().collect(),
        cwd: call.cwd.clone(),
        home: call.home.clone(),
        ..Sights::default()
    };
    let mut collector = sights::Collector { home: dirs.home, sights, seen: HashSet::new() };
    if let Some(cwd) = dirs.cwd {
        collector.path(cwd.to_owned());
    }
    for path in call.paths() {
        collector.path(path);
    }
    let scan = match (call.kind(), call.command()) {
        (Kind::Shell, Some(text)) => Some((text, shell::scan(text))),
        (Kind::Question, _) => return collector.sights,
        _ => None,
    };
    let scan = scan.as_ref().map(|(text, scan)| (*text, scan));
    walk(call, scan, dirs, &mut collector);
    collector.sights
}

fn walk(call: &Call, scan: Option<(&str, &Scan<'_>)>, dirs: Directories<'_>, sink: &mut impl Sink) {
    let cwd = dirs.cwd.filter(|cwd| cwd.starts_with('/'));
    let sure = cwd.map(Cow::Borrowed).into_iter().collect();
    let bases = Bases { cwd, sure, is_loose: cwd.is_none(), is_lost: false };
    let Some((text, scan)) = scan else {
        if call.kind() == Kind::Shell {
            sink.unseen("is not where a command stands");
        }
        return tools::walk(call, &bases, sink);
    };
    let mut commands = Commands::new(sink, dirs);
    commands.text(text, scan, &bases, 0);
    // What stands beside the command: another command, a folder, an environment.
    for (key, value) in call.args.as_object().into_iter().flatten() {
        let other = value.as_str().filter(|other| *other != text && key != "description");
        if let Some(other) = other {
            commands.beside(other, &bases);
        }
    }
}
