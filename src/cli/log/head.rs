//! `countersign log head`: the signed head of the log, as a witness; and reading witnesses back.

use crate::cli::{Context, Exit, say, token};
use anyhow::{Context as _, Result, anyhow};
use countersign_domain::log::{LogHead, LogHeader, LogLine};
use std::{
    fs::File,
    io::{BufRead, BufReader},
    path::Path,
};

pub(super) async fn run(context: &Context) -> Result<Exit> {
    let client = context.approver()?;
    let page = client.log(Some(i64::MAX), None).await?;
    let header = LogHeader::read(&page.header);
    let header = header.ok_or_else(|| anyhow!("the daemon's log has no readable header"))?;
    let page = client.log(Some(header.count - 1), Some(header.count)).await?;
    let is_head = |line: &&String| {
        matches!(LogLine::read(line), Some(LogLine::Checkpoint(signed))
            if signed.head.count == header.count && signed.head.hash == header.head)
    };
    let line = page.lines.iter().rev().find(is_head);
    say::out(line.ok_or_else(|| anyhow!("the newest row of the log is not signed"))?)?;
    Ok(Exit::Good)
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
            anyhow!("--witness {witness}: line {} is no head and no line of a log", at + 1)
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
