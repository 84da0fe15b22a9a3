//! The agent's own mode: where it allows the agent only to read, no rule and no grant allows more.

use crate::engine::decision::{Layers, Mode, Subject};
use crate::engine::guardrail::Guardrail;
use crate::facts::call::Call;
use crate::facts::reads::CLASS;
use crate::rules::verdict::Verdict;
use crate::rules::{Rule, Rules};

/// Modes in which an agent plans, or runs only what was agreed on before. Letters and digits only.
// Once connected, our allow answers before the agent's own check, so its mode has to be held here.
const STRICTER: &[&str] = &["plan", "planmode", "planning", "dontask", "readonly", "architect"];

/// Returns why a call that a rule or grant allows still needs a person: the mode of its agent.
// SECURITY: connecting an agent never loosens it.
#[must_use]
pub fn holds(call: &Call) -> Option<String> {
    let mode = call.agent_mode.as_deref()?;
    // Agents spell their modes differently: `planMode`, `PLAN_MODE`.
    let letters = mode.chars().filter(char::is_ascii_alphanumeric);
    let letters: String = letters.map(|c| c.to_ascii_lowercase()).collect();
    (STRICTER.contains(&&*letters) && !only_reads(call)).then(|| {
        let mode: String = mode.chars().take(40).collect();
        format!("The agent is in {mode:?} mode, which only allows reading without a person.")
    })
}

/// Returns true when a call only reads, inside the workspace and without secrets.
#[must_use]
pub fn only_reads(call: &Call) -> bool {
    let reading = Rules::reading(["shell_exec", "read_file", "glob", "grep"]);
    let none = Rules::default();
    let guardrail = Guardrail::default();
    let layers = Layers::new(&reading, &none, &guardrail, 0);
    let subject = Subject::new(call, &layers);
    let mut decision = subject.evaluate(&layers, Mode::Default);
    subject.guard(&guardrail, &mut decision);
    decision.part.verdict == Verdict::Allow
}

impl Rules {
    /// Creates rules that allow these tools calls that only read.
    fn reading<const N: usize>(tools: [&str; N]) -> Self {
        let mut rules = Self::default();
        for tool in tools {
            // FAIL-CLOSED: without the rule no call counts as reading.
            let _ = rules.push_reads(Rule::allow(tool, CLASS), None);
        }
        rules
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use crate::engine::agent_mode::*;

    fn at_work(call: Call, mode: &str) -> Call {
        let cwd = Some("/home/u/w".into());
        let home = Some("/home/u".into());
        Call { cwd, home, agent_mode: Some(mode.into()), ..call }
    }

    #[test]
    fn in_a_stricter_mode_only_reading_is_let_through() {
        for mode in ["plan", "Plan", "plan-mode", "dontAsk", "read_only", "readOnly"] {
            for call in [
                Call::shell("touch x"),
                Call::shell("cat ../x"),
                Call::new("Write", json!({"file_path": "a"})),
                Call::new("mcp__fs__read", json!({})),
                Call::new("Read", json!({"file_path": ".env"})),
            ] {
                let call = at_work(call, mode);
                assert!(holds(&call).is_some_and(|why| why.contains(mode)), "{call:?}");
            }
            for call in [
                Call::shell("git log -3 && ls"),
                Call::new("Read", json!({"file_path": "src/a.rs"})),
                Call::new("Grep", json!({"pattern": "x"})),
            ] {
                assert_eq!(holds(&at_work(call, mode)), None);
            }
        }
    }

    #[test]
    fn other_modes_hold_nothing() {
        for mode in ["default", "acceptEdits", "bypassPermissions", "auto", ""] {
            assert_eq!(holds(&at_work(Call::shell("touch x"), mode)), None, "{mode}");
        }
    }
}
