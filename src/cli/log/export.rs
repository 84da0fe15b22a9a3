//! `countersign log export FILE`: the signed log as a file that proves itself.

use crate::cli::{Context, Exit, say, token};
use anyhow::{Context as _, Result, anyhow};
use countersign_client::Client;
use std::{
    fs::OpenOptions,
    io::{self, BufWriter, Write},
    os::unix::fs::OpenOptionsExt,
    path::PathBuf,
};

#[derive(Debug, clap::Args)]
pub(super) struct ExportArgs {
    /// The file to make, which must not be there yet; `-` is stdout
    file: PathBuf,
}

pub(super) async fn run(context: &Context, args: &ExportArgs) -> Result<Exit> {
    let client = context.approver()?;
    if args.file.as_os_str() == "-" {
        let mut out = io::stdout().lock();
        let mut write = |line: &str| Ok(writeln!(out, "{line}")?);
        each_line(&client, &mut write).await?;
        return Ok(Exit::Good);
    }
    // The owner alone, and never over another file: it tells what every agent did.
    let made = OpenOptions::new().write(true).create_new(true).mode(0o600).open(&args.file);
    let made = made.with_context(|| args.file.display().to_string())?;
    let mut file = BufWriter::new(made);
    let mut lines = 0_usize;
    let mut write = |line: &str| {
        lines += 1;
        Ok(writeln!(file, "{line}")?)
    };
    let newest = each_line(&client, &mut write).await?;
    file.into_inner().map_err(|error| anyhow!("{error}"))?.sync_all()?;
    say::out(&format!(
        "{} holds the log in {lines} lines, up to {newest}\n\
         Check it with: countersign log verify {0}",
        args.file.display()
    ))?;
    Ok(Exit::Good)
}

/// Hands over every line of the daemon's log, page by page; returns its head.
pub(super) async fn each_line(
    client: &Client,
    line: &mut dyn FnMut(&str) -> Result<()>,
) -> Result<String> {
    let mut page = client.log(None, None).await?;
    let header = countersign_domain::log::LogHeader::read(&page.header);
    let header = header.ok_or_else(|| anyhow!("the daemon's log has no readable header"))?;
    line(&page.header)?;
    loop {
        page.lines.iter().try_for_each(|text| line(text))?;
        let Some(next) = page.next else { return Ok(format!("{}:{}", header.count, header.head)) };
        page = client.log(Some(next), Some(header.count)).await?;
    }
}
