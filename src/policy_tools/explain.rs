//! Which word of which command met which rule, at which line.

use std::fmt;

use countersign_policy::{Call, Decision, Layers, Mode, Part, Verdict, decide, parts};
use serde::Serialize;

/// A decision taken apart.
#[derive(Clone, Debug, Serialize)]
pub struct Explanation {
    /// The whole decision.
    #[serde(flatten)]
    pub ruling: Decision,
    /// Each command of a shell text alone.
    pub parts: Vec<Part>,
}

/// Explains what would happen to a call.
#[must_use]
pub fn explain(call: &Call, layers: &Layers<'_>, mode: Mode) -> Explanation {
    Explanation { ruling: decide(call, layers, mode), parts: parts(call, layers, mode) }
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
