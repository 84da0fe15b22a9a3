//! `countersign docs`: opens the documentation that was installed with this program.

use super::{Context, Exit, open, say};
use anyhow::{Context as _, Result, bail};
use std::{
    env,
    path::{Path, PathBuf},
};

#[derive(Debug, clap::Args)]
#[command(after_help = "\
The packages put it into share/doc/countersign/html beside the program's folder. Where there is no
display it prints the path instead.")]
pub(super) struct DocsArgs {
    /// Print where it is and open nothing
    #[arg(long)]
    print: bool,
}

pub(super) fn run(_: &Context, args: &DocsArgs) -> Result<Exit> {
    let program = env::current_exe().context("this program cannot find itself")?;
    // A link, such as that of Homebrew, leads to the folder with the pages.
    let program = program.canonicalize().unwrap_or(program);
    let Some(page) = pages(&program).into_iter().find(|page| page.is_file()) else {
        bail!(
            "the documentation is not installed with this program; it is in the folder docs of its \
             source, and `countersign man DIR` writes the manual pages"
        )
    };
    match !args.print && open::show(&page) {
        true => say::out("The documentation is open in your browser.")?,
        false => say::out(&page.display().to_string())?,
    }
    Ok(Exit::Good)
}

/// Where the first page may be: of a package, and of an unpacked archive.
fn pages(program: &Path) -> Vec<PathBuf> {
    let folder = program.parent().unwrap_or(Path::new("/"));
    let places = ["../share/doc/countersign/html/index.html", "share/doc/html/index.html"];
    places.map(|place| folder.join(place)).into()
}
