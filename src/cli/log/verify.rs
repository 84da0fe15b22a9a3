//! `countersign log verify [FILE]`: checks an export, or the daemon's own log.

use super::{export::each_line, head::witnessed};
use crate::cli::{Context, Exit, say, token};
use anyhow::{Context as _, Result, anyhow};
use countersign_domain::log::{LogCheck, LogProblem, ProvenLog, PublicKey};
use countersign_store::known_head;
use std::{
    fs::{self, File},
    io::{BufRead, BufReader},
    path::{Path, PathBuf},
};

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

pub(super) async fn run(context: &Context, args: VerifyArgs) -> Result<Exit> {
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
