//! Which word of which command met which rule, at which line.

use std::fmt;

use serde::Serialize;

use crate::engine::always::spoken;
use crate::engine::ruling::{Layers, Mode, Ruling, Subject, rule};
use crate::facts::call::{Call, Kind};
use crate::rules::verdict::Verdict;
use crate::shell::{Scan, Via};

/// A ruling taken apart.
#[derive(Clone, Debug, Serialize)]
pub struct Explanation {
    /// The whole ruling.
    #[serde(flatten)]
    pub ruling: Ruling,
    /// Each command of a shell text alone.
    pub parts: Vec<Part>,
}

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

/// Explains what would happen to a call.
#[must_use]
pub fn explain(call: &Call, layers: &Layers<'_>, mode: Mode) -> Explanation {
    let ruling = rule(call, layers, mode);
    let subject = Subject::new(call, layers);
    let mut parts = Vec::new();
    if let (Some((text, scan)), Kind::Shell) = (&subject.scan, call.kind()) {
        for command in scan.commands.iter().filter(|c| c.via != Via::Guess && !c.argv.is_empty()) {
            let alone = Scan { commands: vec![command.clone()], ..Scan::default() };
            let part = subject.part(text, alone);
            let finding = part.decide(layers, mode).finding;
            let words = finding.rule.map(|entry| {
                let named = entry.pattern.words().min(command.argv.len());
                spoken(command.argv.get(..named).unwrap_or_default())
            });
            parts.push(Part {
                command: spoken(&command.argv),
                verdict: finding.verdict,
                words: words.filter(|words| !words.is_empty()),
                rule: finding.rule.map(ToString::to_string),
                reason: finding.reason.into_owned(),
            });
        }
    }
    Explanation { ruling, parts }
}

impl fmt::Display for Explanation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{}: {}", self.ruling.verdict, self.ruling.reason)?;
        for part in &self.parts {
            writeln!(f, "  {}", part.command)?;
            match (&part.rule, &part.words) {
                (Some(rule), Some(words)) => {
                    writeln!(f, "    {}: `{words}` meets {rule}", part.verdict)?;
                }
                (Some(rule), None) => writeln!(f, "    {}: {rule}", part.verdict)?,
                (None, _) if part.verdict == Verdict::Allow => {
                    writeln!(f, "    allow: needs no rule")?;
                }
                (None, _) => writeln!(f, "    {}: no rule", part.verdict)?,
            }
            if !part.reason.is_empty() {
                writeln!(f, "    {}", part.reason)?;
            }
        }
        for effect in &self.ruling.effects {
            writeln!(f, "  effect: {effect}")?;
        }
        for rule in &self.ruling.always {
            writeln!(f, "  always would store: {rule}")?;
        }
        Ok(())
    }
}
