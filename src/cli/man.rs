//! `countersign man [DIR]`: writes the manual pages.

use super::{Exit, say};
use anyhow::{Context as _, Result};
use std::path::PathBuf;

#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  countersign man ~/.local/share/man/man1     a page for each command: man countersign-ask
  countersign man | man -l -                  read the first one")]
pub(super) struct ManArgs {
    /// The folder for a page for each command; without it, the first page is printed
    #[arg(value_name = "DIR")]
    folder: Option<PathBuf>,
}

pub(super) fn run<C: clap::CommandFactory>(args: &ManArgs) -> Result<Exit> {
    // Without this the pages of sub-commands lack the global options.
    let mut command = C::command();
    command.build();
    match &args.folder {
        Some(folder) => {
            std::fs::create_dir_all(folder)
                .and_then(|()| clap_mangen::generate_to(command, folder))
                .with_context(|| format!("cannot write to {}", folder.display()))?;
            say::out(&format!("Made the manual pages in {}.", folder.display()))?;
        }
        None => {
            let mut page = Vec::new();
            clap_mangen::Man::new(command).render(&mut page)?;
            say::out(String::from_utf8_lossy(&page).trim_end())?;
        }
    }
    Ok(Exit::Good)
}
