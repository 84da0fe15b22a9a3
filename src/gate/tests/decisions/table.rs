//! The table as text.

use super::dimensions::Combination;
use countersign_gate::{SubmitError, SubmitOutcome};
use countersign_policy::Verdict;
use std::fmt;

/// A combination and what becomes of it: without a pause, held, denied.
#[derive(Debug, Clone)]
pub struct Row {
    pub at: Combination,
    pub cells: Vec<Cell>,
}

/// What becomes of a call, from the loosest on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum End {
    Allow,
    Ask,
    Deny,
    /// Its caller is told no, and no decision is made.
    Refused,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Cell {
    pub end: End,
    pub why: String,
    /// What its ask says beside that.
    pub held: bool,
    pub critical: bool,
    pub needs: Vec<String>,
    pub at: Option<String>,
    /// Whether it is a new one, or how the known one stands.
    pub state: &'static str,
}

impl Cell {
    pub fn of(outcome: Result<SubmitOutcome, SubmitError>) -> Self {
        let plain = |end, why: &str| Self {
            end,
            why: brief(why).to_owned(),
            held: false,
            critical: false,
            needs: Vec::new(),
            at: None,
            state: "open",
        };
        match outcome {
            Ok(SubmitOutcome::Ruled(decision)) => {
                let end = match decision.verdict {
                    Verdict::Allow => End::Allow,
                    Verdict::Deny => End::Deny,
                    Verdict::Ask => panic!("an ask was told as decided: {decision:?}"),
                };
                plain(end, &decision.reason)
            }
            Ok(SubmitOutcome::Asked(ask, _)) => {
                let needs = ask.body.requirements.iter();
                Self {
                    held: ask.body.held,
                    critical: ask.body.critical,
                    needs: needs.map(|it| format!("{} {}", it.needed(), it.rule)).collect(),
                    at: ask.body.plan.map(|plan| plan.route),
                    state: ask.state.name(),
                    ..plain(End::Ask, &ask.body.why)
                }
            }
            Err(error) => plain(End::Refused, &error.to_string()),
        }
    }
}

impl fmt::Display for Cell {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let end = format!("{:?}", self.end).to_lowercase();
        write!(f, "{end}: {}", self.why)?;
        if self.held {
            f.write_str(", held")?;
        }
        if self.critical {
            f.write_str(", critical")?;
        }
        for it in &self.needs {
            write!(f, ", {it}")?;
        }
        if let Some(at) = &self.at {
            write!(f, ", at {at}")?;
        }
        if self.state != "open" {
            write!(f, ", {}", self.state)?;
        }
        Ok(())
    }
}

/// Reasons of the gate's own, in short; those of the rules in full.
fn brief(why: &str) -> &str {
    let known = [
        ("nothing runs until it is resumed", "everything is paused"),
        ("it is held, though it needs no person", "everything is paused"),
        ("the agent `paused` is paused", "its agent is paused"),
        ("the agent `over-", "its agent breaks a limit"),
        ("approved ahead by", "approved ahead"),
        ("Denied a moment ago by", "denied a moment ago"),
        ("said in a review that such calls should ask", "a review wants it asked"),
        ("the answer rule two needs more than the grant", "granted by too few"),
        ("its token was revoked", "its token was revoked"),
        ("its token expired", "its token expired"),
        ("its token is for the profile", "its token is for another profile"),
        ("its token is for the target", "its token is for a target that is gone"),
        ("is the name of an agent with a token", "another agent's name"),
    ];
    known.iter().find(|(part, _)| why.contains(part)).map_or(why, |(_, brief)| brief)
}

/// The whole table.
pub fn text(rows: &[Row]) -> String {
    let mut text =
        "call rules granted mode token budget before | no pause | hold | deny\n".to_owned();
    for Row { at, cells } in rows {
        let Combination { kind, rule, granted, mode, token, budget, before } = at;
        let cells: Vec<String> =
            cells.iter().map(|cell| without_lines(&cell.to_string())).collect();
        text += &format!(
            "{kind:?} {rule:?} {granted:?} {mode:?} {token:?} {budget:?} {before:?} | {}\n",
            cells.join(" | ")
        );
    }
    text
}

/// Without the lines of the rules file: where a granted rule is put in it is not the table's.
fn without_lines(text: &str) -> String {
    let mut parts = text.split(".jsonc:");
    let first = parts.next().unwrap_or_default().to_owned();
    parts.fold(first, |text, part| {
        text + ".jsonc" + part.trim_start_matches(|char: char| char.is_ascii_digit())
    })
}
