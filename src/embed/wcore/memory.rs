//! The state that a session remembers: its mode and its grants.

use countersign_profiles::{
    Grants,
    wcore::{
        ModeChange, ModeChangeSource, RememberedApproval, SessionMode, asks_every_time, change,
    },
};

#[derive(Debug)]
pub(super) struct ManagerMemory {
    pub(super) mode: SessionMode,
    floor: Option<SessionMode>,
    wire_may_loosen: bool,
    pub(super) grants: Grants,
}

impl ManagerMemory {
    pub(super) fn new(floor: Option<SessionMode>, wire_may_loosen: bool) -> Self {
        let mode = SessionMode::Default;
        Self { mode, floor, wire_may_loosen, grants: Grants::default() }
    }

    /// Remembers an approval; the error is the reason why nothing is remembered.
    pub(super) fn keep(&mut self, remembered: RememberedApproval) -> Result<(), String> {
        match remembered {
            RememberedApproval::Nothing => Ok(()),
            // Checked here too, because `restore_tool` brings names from earlier sessions.
            RememberedApproval::Tool(tool) if asks_every_time(&tool) => Err(every_time(&tool)),
            RememberedApproval::Tool(tool) => {
                push(&mut self.grants.tools, tool);
                Ok(())
            }
            RememberedApproval::Prefix(prefix) if prefix.text.trim().is_empty() => {
                Err("an empty prefix covers nothing".to_owned())
            }
            RememberedApproval::Prefix(prefix) => {
                push(&mut self.grants.prefixes, prefix);
                Ok(())
            }
            RememberedApproval::Path { root, write } => self.grants.roots.open(&root, write, None),
        }
    }

    pub(super) fn keep_category(&mut self, category: &str) {
        push(&mut self.grants.categories, category.to_owned());
    }

    pub(super) fn set_mode(&mut self, wanted: SessionMode, from: ModeChangeSource) -> ModeChange {
        let from = match from {
            // The operator has permitted it at launch.
            ModeChangeSource::Wire if self.wire_may_loosen => ModeChangeSource::WireOptedIn,
            other => other,
        };
        let changed = change(wanted, from, self.floor);
        if let ModeChange::Applied(mode) | ModeChange::Clamped(mode) = changed {
            self.mode = mode;
        }
        changed
    }
}

pub(super) fn every_time(tool: &str) -> String {
    format!("{tool} is approved anew each time")
}

fn push<T: PartialEq>(list: &mut Vec<T>, item: T) {
    if !list.contains(&item) {
        list.push(item);
    }
}
