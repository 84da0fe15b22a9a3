//! `countersign docs`, `man` and `schema`: the documentation that comes with this program.

use super::{open, say};
use anyhow::{Context as _, Result, bail};
use clap::ValueEnum;
use countersign_domain::wire::openapi;
use serde_json::Value;
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

pub(super) fn docs(args: &DocsArgs) -> Result<()> {
    let program = env::current_exe().context("this program cannot find itself")?;
    // A link, such as that of Homebrew, leads to the folder with the pages.
    let program = program.canonicalize().unwrap_or(program);
    let Some(page) = pages(&program).into_iter().find(|page| page.is_file()) else {
        bail!(
            "the documentation is not installed with this program; it is in the folder docs of its \
             source, and `countersign man DIR` writes the manual pages"
        )
    };
    if !args.print && open::show(&page) {
        say::out("The documentation is open in your browser.")
    } else {
        say::out(&page.display().to_string())
    }
}

/// Where the first page may be: of a package, and of an unpacked archive.
fn pages(program: &Path) -> Vec<PathBuf> {
    let folder = program.parent().unwrap_or(Path::new("/"));
    let places = ["../share/doc/countersign/html/index.html", "share/doc/html/index.html"];
    places.map(|place| folder.join(place)).into()
}

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

pub(super) fn man<C: clap::CommandFactory>(args: &ManArgs) -> Result<()> {
    // Without this the pages of sub-commands lack the global options.
    let mut command = C::command();
    command.build();
    match &args.folder {
        Some(folder) => {
            std::fs::create_dir_all(folder)
                .and_then(|()| clap_mangen::generate_to(command, folder))
                .with_context(|| format!("cannot write to {}", folder.display()))?;
            say::out(&format!("Made the manual pages in {}.", folder.display()))
        }
        None => {
            let mut page = Vec::new();
            clap_mangen::Man::new(command).render(&mut page)?;
            say::out(String::from_utf8_lossy(&page).trim_end())
        }
    }
}

#[derive(Debug, clap::Args)]
#[command(after_help = "\
The documents of this version are in docs/openapi.json and docs/schema.json too.")]
pub(super) struct SchemaArgs {
    /// Which description
    #[arg(value_enum, default_value = "openapi")]
    form: SchemaFormat,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum SchemaFormat {
    /// The routes with their requests and responses, OpenAPI 3.1
    Openapi,
    /// The requests and responses alone, JSON Schema 2020-12
    JsonSchema,
}

pub(super) fn schema(args: &SchemaArgs) -> Result<()> {
    say::json(&document(args.form))
}

fn document(form: SchemaFormat) -> Value {
    match form {
        SchemaFormat::Openapi => openapi::document(),
        SchemaFormat::JsonSchema => openapi::json_schema(),
    }
}
