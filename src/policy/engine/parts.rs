//! Decides each command of a shell text alone.

use serde::Serialize;

use crate::engine::always::spoken;
use crate::engine::decision::{Layers, Mode, Subject};
use crate::facts::call::Call;
use crate::facts::tools::Kind;
use crate::rules::verdict::Verdict;
use crate::shell::{Scan, Via};

/// One command of a shell text.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Part {
    /// The command.
    pub command: String,
    /// Its own verdict.
    pub verdict: Verdict,
    /// The words that the deciding rule names.
    pub words: Option<String>,
    /// The rule with its position.
    pub rule: Option<String>,
    /// The reason.
    pub reason: String,
}

/// Decides each command of a shell text alone; other calls have no parts.
#[must_use]
pub fn parts(call: &Call, layers: &Layers<'_>, mode: Mode) -> Vec<Part> {
    let subject = Subject::new(call, layers);
    let mut parts = Vec::new();
    if let (Some((text, scan)), Kind::Shell) = (&subject.scan, call.kind()) {
        for command in scan.commands.iter().filter(|c| c.via != Via::Guess && !c.argv.is_empty()) {
            let alone = Scan { commands: vec![command.clone()], ..Scan::default() };
            let part = subject.part(text, alone);
            let decided = part.decide(layers, mode).part;
            let words = decided.rule.map(|entry| {
                // A pattern may name more words than the command has.
                let named = entry.pattern.words().min(command.argv.len());
                spoken(command.argv.get(..named).unwrap_or_default())
            });
            parts.push(Part {
                command: spoken(&command.argv),
                verdict: decided.verdict,
                words: words.filter(|words| !words.is_empty()),
                rule: decided.rule.map(ToString::to_string),
                reason: decided.reason.into_owned(),
            });
        }
    }
    parts
}
