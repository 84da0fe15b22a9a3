//! `countersign doctor --fix`: what can be fixed without giving anyone more rights.

use crate::{cli::connect, cli::say};
use anyhow::{Context as _, Result};
use countersign_agents::{HookAgent, HookMode};
use std::{fs, os::unix::fs::PermissionsExt, path::PathBuf};

/// A fix that the program can make itself.
#[derive(Debug, Clone)]
pub(super) enum Repair {
    /// Takes the rights of other users from a file or folder.
    Close(PathBuf),
    /// Puts all hooks of an agent that is connected into its settings.
    Reconnect(&'static dyn HookAgent, String, HookMode),
}

/// Makes every fix; returns a sentence for each.
pub(super) fn apply<'a>(repairs: impl Iterator<Item = &'a Repair>) -> Vec<String> {
    let done = repairs.map(|repair| match repair.apply() {
        Ok(done) => format!("Fixed: {done}."),
        Err(error) => format!("Not fixed: {error:#}."),
    });
    done.map(|sentence| say::literal(&sentence)).collect()
}

impl Repair {
    fn apply(&self) -> Result<String> {
        match self {
            Self::Close(path) => {
                let name = path.display();
                let close = || {
                    let mut rights = fs::metadata(path)?.permissions();
                    // The owner's own rights stay as they are: nothing widens.
                    rights.set_mode(rights.mode() & !0o077);
                    fs::set_permissions(path, rights)
                };
                close().with_context(|| format!("cannot change the mode of {name}"))?;
                Ok(format!("{name} is for you alone"))
            }
            Self::Reconnect(agent, command, mode) => {
                connect::reconnect(*agent, command, *mode)?;
                Ok(format!("{} has all of its hooks", agent.title().name))
            }
        }
    }
}
