//! A call that asks for others ahead. Pure.

use super::{
    budget::{TOOL, is_nothing},
    call::Call,
    malformed::Malformed,
};
use serde_json::json;

impl Call {
    /// The calls that it asks for ahead, as they would be submitted.
    pub fn ahead(&self) -> impl Iterator<Item = Self> + '_ {
        self.budget.iter().flat_map(|budget| &budget.calls).map(|call| Self {
            worker: self.worker.clone(),
            host: self.host.clone(),
            cwd: call.cwd.clone().or_else(|| self.cwd.clone()),
            agent_mode: self.agent_mode.clone(),
            owner: self.owner.clone(),
            ..Self::new(&self.agent, &self.session, &call.tool, call.args.clone())
        })
    }

    /// The call with what it asks for ahead as its arguments, so that the digest binds all of it.
    pub(super) fn spelled_out_ahead(mut self) -> Result<Self, Malformed> {
        let Some(budget) = &self.budget else { return Ok(self) };
        let nothing_else = self.tool == TOOL && is_nothing(&self.args);
        if !nothing_else || !self.questions.is_empty() || !self.options.is_empty() {
            let sentence = "a call with `budget` has the tool `budget`, no `args` and no questions";
            return Err(Malformed(sentence.into()));
        }
        self.args = json!({"for_s": budget.for_s, "calls": budget.calls});
        Ok(self)
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests fail by panicking")]
    use super::*;
    use crate::budget::BudgetCall;
    use serde_json::{Value, json};

    fn asked(budget: Value) -> Result<Call, String> {
        let call = json!({"agent": "a", "session": "s", "tool": "budget", "cwd": "/x",
            "budget": budget});
        let call: Call = serde_json::from_value(call).map_err(|error| error.to_string())?;
        let call = call.spell_out().map_err(|why| why.0)?;
        call.check().map_err(|why| why.0)?;
        Ok(call)
    }

    fn shell(command: &str) -> Value {
        json!({"tool": "shell_exec", "args": {"command": command}})
    }

    #[test]
    fn a_budget_is_bound_to_its_calls_and_each_has_the_digest_of_its_call() {
        let calls = json!([shell("make build"), shell("make test")]);
        let one = asked(json!({"for_s": 60, "calls": calls})).unwrap();
        let other = asked(json!({"for_s": 61, "calls": calls})).unwrap();
        assert_ne!(one.digest(), other.digest());
        let made: Vec<Call> = one.ahead().collect();
        let submitted = json!({"agent": "a", "session": "s", "cwd": "/x", "tool": "shell_exec",
            "args": {"command": "make test"}, "reason": "words do not count", "key": "k"});
        let submitted: Call = serde_json::from_value(submitted).unwrap();
        assert_eq!(made.last().unwrap().digest(), submitted.digest());
    }

    #[test]
    fn what_a_card_could_not_show_whole_is_refused() {
        let refused = |calls: Value| asked(json!({"for_s": 60, "calls": calls})).unwrap_err();
        let long = "x".repeat(1_001);
        assert!(refused(json!([shell(&long)])).contains("have 1001 characters"));
        assert!(refused(json!([shell("ls"), shell("ls\nrm -rf /")])).contains("call 2"));
        assert!(refused(json!([])).contains("has 0 calls"));
        assert!(refused(Value::Array(vec![shell("ls"); 21])).contains("has 21 calls"));
        // Invisible characters count as they are spelled out.
        let hidden = "\u{200b}".repeat(200);
        assert!(refused(json!([shell(&hidden)])).contains("characters"));
        for (for_s, calls) in [(0, json!([shell("ls")])), (86_401, json!([shell("ls")]))] {
            assert!(asked(json!({"for_s": for_s, "calls": calls})).unwrap_err().contains("for_s"));
        }
        let more = json!({"for_s": 9, "calls": [shell("ls")], "scope": "always"});
        assert!(asked(more).unwrap_err().contains("unknown field"));
    }

    #[test]
    fn nothing_of_a_call_is_left_out_of_its_line() {
        let line =
            |call: Value| serde_json::from_value::<BudgetCall>(call).unwrap().text(Some("/x"));
        assert_eq!(line(shell("make build")), "make build");
        let background = json!({"tool": "Bash", "args": {"command": "x", "timeout": 9}});
        assert_eq!(line(background), r#"Bash {"command":"x","timeout":9}"#);
        let elsewhere = json!({"tool": "Bash", "args": {"command": "x"}, "cwd": "/etc"});
        assert_eq!(line(elsewhere), "x (in /etc)");
        let mcp = json!({"tool": "mcp__db__drop", "args": {"command": "x"}});
        assert_eq!(line(mcp), r#"mcp__db__drop {"command":"x"}"#);
    }

    #[test]
    fn a_call_with_a_budget_does_nothing_else() {
        let call = json!({"agent": "a", "session": "s", "tool": "Bash",
            "args": {"command": "rm -rf /"}, "budget": {"for_s": 9, "calls": [shell("ls")]}});
        let call: Call = serde_json::from_value(call).unwrap();
        assert!(call.spell_out().unwrap_err().0.contains("has the tool `budget`"));
    }
}
