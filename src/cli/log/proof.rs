//! `countersign log export`, `verify`, `head` and `key`: the signed log as a file that proves itself.

use crate::cli::{Context, Exit, say};
use anyhow::{Context as _, Result, anyhow};
use countersign_client::Client;
use countersign_domain::{
    log::{LogCheck, LogHead, LogHeader, LogLine, LogProblem, ProvenLog, PublicKey},
    wire::{LogKeyChange, LogReply},
};
use countersign_store::known_head;
use std::{
    fs::{self, File, OpenOptions},
    io::{self, BufRead, BufReader, BufWriter, Write},
    os::unix::fs::OpenOptionsExt,
    path::{Path, PathBuf},
};

#[derive(Debug, clap::Args)]
pub(super) struct ExportArgs {
    /// The file to make, which must not be there yet; `-` is stdout
    file: PathBuf,
}

pub(super) async fn export(context: &Context, args: &ExportArgs) -> Result<()> {
    let client = context.approver()?;
    if args.file.as_os_str() == "-" {
        let mut out = io::stdout().lock();
        let mut write = |line: &str| Ok(writeln!(out, "{line}")?);
        return each_line(&client, &mut write).await.map(drop);
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
    ))
}

/// Hands over every line of the daemon's log, page by page; returns its head.
pub(super) async fn each_line(
    client: &Client,
    line: &mut dyn FnMut(&str) -> Result<()>,
) -> Result<String> {
    let mut page = client.log(None, None).await?;
    let header = header_of(&page)?;
    line(&page.header)?;
    loop {
        page.lines.iter().try_for_each(|text| line(text))?;
        let Some(next) = page.next else { return Ok(format!("{}:{}", header.count, header.head)) };
        page = client.log(Some(next), Some(header.count)).await?;
    }
}

fn header_of(page: &LogReply) -> Result<LogHeader> {
    let header = LogHeader::read(&page.header);
    header.ok_or_else(|| anyhow!("the daemon's log has no readable header"))
}

pub(super) async fn head(context: &Context) -> Result<()> {
    let client = context.approver()?;
    let page = client.log(Some(i64::MAX), None).await?;
    let header = header_of(&page)?;
    let page = client.log(Some(header.count - 1), Some(header.count)).await?;
    let is_head = |line: &&String| {
        matches!(LogLine::read(line), Some(LogLine::Checkpoint(signed))
            if signed.head.count == header.count && signed.head.hash == header.head)
    };
    let line = page.lines.iter().rev().find(is_head);
    say::out(line.ok_or_else(|| anyhow!("the newest row of the log is not signed"))?)
}

/// The heads that a witness names: `COUNT:HASH`, a line of an export, or a file of such lines,
/// such as what `[log] file` or a webhook was sent.
pub(super) fn witnessed(witness: &str) -> Result<Vec<LogHead>> {
    if let Some(head) = head_in(witness) {
        return Ok(vec![head]);
    }
    if !Path::new(witness).exists() {
        let error = witness.parse::<LogHead>().err().unwrap_or_default();
        return Err(anyhow!("--witness {witness}: {error}, or a file"));
    }
    let file = File::open(witness).with_context(|| format!("--witness {witness}"))?;
    let mut heads = Vec::new();
    for (at, line) in BufReader::new(file).lines().enumerate() {
        let line = line.with_context(|| format!("--witness {witness}"))?;
        if line.trim().is_empty() {
            continue;
        }
        // FAIL-CLOSED: a line that says nothing is no witness of anything.
        let head = head_in(&line);
        heads.push(head.ok_or_else(|| {
            anyhow!("--witness {witness}: line {} is neither a head nor a line of a log", at + 1)
        })?);
    }
    if heads.is_empty() {
        return Err(anyhow!("--witness {witness}: the file is empty"));
    }
    Ok(heads)
}

fn head_in(line: &str) -> Option<LogHead> {
    let line = line.trim();
    if let Ok(head) = line.parse() {
        return Some(head);
    }
    if let Some(header) = LogHeader::read(line) {
        return Some(LogHead { count: header.count, hash: header.head });
    }
    match LogLine::read(line)? {
        LogLine::Row(row, hash) => Some(LogHead { count: row.seq, hash }),
        LogLine::Checkpoint(signed) => Some(signed.head),
    }
}

#[derive(Debug, clap::Args)]
#[command(after_help = "\
After --rotate, tokens of approved calls (`countersign ask --token`) that were not used yet are
refused. Pin the new key beside the old one: logs from before were signed by the old one.")]
pub(super) struct KeyArgs {
    /// Let the daemon make another key; the old one signs that it did
    #[arg(long, conflicts_with = "accept")]
    rotate: bool,
    /// Accept the key that signs now, though nobody rotated it, and end the alarm of a broken log;
    /// `log verify` goes on saying so
    #[arg(long)]
    accept: bool,
}

impl KeyArgs {
    /// Whether it changes anything.
    #[cfg(test)]
    pub(super) fn decides(&self) -> bool {
        self.rotate || self.accept
    }
}

pub(super) async fn key(context: &Context, args: &KeyArgs) -> Result<()> {
    let client = context.approver()?;
    let key = match (args.rotate, args.accept) {
        (true, _) => client.change_log_key(LogKeyChange::Rotate).await?.key,
        (_, true) => client.change_log_key(LogKeyChange::Accept).await?.key,
        (false, false) => client.log(Some(i64::MAX), None).await?.key,
    };
    say::out(&key)
}

#[derive(Debug, clap::Args)]
#[command(after_help = "\
A file needs no daemon and no secret. The log is proven up to its last checkpoint. The holder of the
signing key could have written it, so pin the key with --key, and keep heads elsewhere: what
`countersign log head` prints, or what [log] sends out. With --witness it is found if rows were cut
off or written anew since.
The exit code is 0 if the log is proven, and 6 if not.")]
pub(super) struct VerifyArgs {
    /// An export; without one, the log of the running daemon, with the approver's token
    file: Option<PathBuf>,
    /// Only checkpoints of this key count; the key, or a file with it. Repeat it for several
    #[arg(long, value_name = "KEY")]
    key: Vec<String>,
    /// The log must contain this head, or every head in this file: what `log head` printed, or what
    /// was sent to a file or a webhook. Repeat it for several
    #[arg(long, value_name = "HEAD|FILE", alias = "expect")]
    witness: Vec<String>,
}

pub(super) async fn verify(context: &Context, args: VerifyArgs) -> Result<Exit> {
    let keys = args.key.iter().map(|key| public_key(key)).collect::<Result<Vec<_>>>()?;
    let pinned = !keys.is_empty();
    let mut expected = Vec::new();
    for witness in &args.witness {
        expected.extend(witnessed(witness)?);
    }
    let witnesses = expected.len();
    let checked = match &args.file {
        Some(file) => in_file(file, LogCheck::new(keys, expected))?,
        None => {
            // Read before the log, which grows meanwhile.
            expected.extend(known_head(&context.config()?.daemon.state_dir));
            let mut check = LogCheck::new(keys, expected);
            let mut line = |line: &str| {
                check.line(format!("{line}\n").as_bytes());
                Ok(())
            };
            each_line(&context.approver()?, &mut line).await?;
            check.end()
        }
    };
    match checked {
        Ok(log) => proven(&log, pinned, witnesses),
        Err(problems) => unproven(&problems),
    }
}

/// A key, or a file with one.
pub(in crate::cli) fn public_key(key: &str) -> Result<PublicKey> {
    match key.parse() {
        Ok(key) => Ok(key),
        Err(error) if !Path::new(key).exists() => Err(anyhow!("--key {key}: {error}")),
        Err(_) => {
            let text = fs::read_to_string(key).with_context(|| format!("--key {key}"))?;
            text.parse().with_context(|| format!("--key {key}"))
        }
    }
}

fn in_file(file: &Path, mut check: LogCheck) -> Result<Result<ProvenLog, Vec<LogProblem>>> {
    let opened = File::open(file).with_context(|| file.display().to_string())?;
    let mut reader = BufReader::new(opened);
    let mut line = Vec::new();
    while reader.read_until(b'\n', &mut line).with_context(|| file.display().to_string())? > 0 {
        check.line(&line);
        line.clear();
    }
    Ok(check.end())
}

fn proven(log: &ProvenLog, pinned: bool, witnesses: usize) -> Result<Exit> {
    let ProvenLog { store, forgotten, head, keys, uncompared } = log;
    say::out(&format!("Proven: rows {} to {} of the store {store}", forgotten + 1, head.count))?;
    if *forgotten > 0 {
        say::out(&format!("Rows 1 to {forgotten} were forgotten, as row and hash say."))?;
    }
    for key in keys {
        say::out(&format!("key   {key}"))?;
    }
    say::out(&format!("head  {head}"))?;
    if witnesses > 0 {
        say::out(&format!("Heads given: {witnesses}. The log has {}.", witnesses - uncompared))?;
    }
    if *uncompared > 0 {
        say::aside(&format!("Of forgotten rows, and so not compared: {uncompared}."));
    }
    if !pinned {
        say::aside("The holder of that key wrote the log. Pin it: --key KEY");
    }
    Ok(Exit::Good)
}

fn unproven(problems: &[LogProblem]) -> Result<Exit> {
    for problem in problems {
        say::out(&say::literal(&problem.to_string()))?;
    }
    say::aside("Not proven: the log is not as countersign wrote it.");
    // SECURITY: a row that tells of a rotation is not followed: the daemon signs every row of the
    // database, also one that somebody else put there.
    if problems.iter().any(|problem| matches!(problem, LogProblem::Signer(..))) {
        say::aside("If you rotated the key since, pin the new one too: --key OLD --key NEW");
    }
    Ok(Exit::Unproven)
}
