//! The commands of a shell text, each ruled on alone.

use serde::Serialize;

use crate::engine::always::spoken;
use crate::engine::layers::{Layers, Mode};
use crate::engine::subject::Subject;
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
    /// The rule with its place.
    pub rule: Option<String>,
    /// Why.
    pub reason: String,
}

/// Rules on each command of a shell text alone; of other calls there are no parts.
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
