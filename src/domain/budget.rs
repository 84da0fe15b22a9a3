//! A budget: calls that an agent asks for at the start of a task, to run once each within a time.
//! Pure.

use super::call::{Call, Malformed, is_name, is_no_longer, is_within};
use countersign_policy::tools::{Kind, kind_of};
use countersign_port::visible;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

/// The tool of the call that asks for a budget.
pub const TOOL: &str = "budget";
/// How many calls it has at most.
const MOST: usize = 20;
/// How much of them there is at most, in characters: every card shows all of it.
const CHARACTERS: usize = 1_000;
/// The longest time, in seconds.
const LONGEST: u64 = 86_400;

/// Calls that an agent asks for ahead.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Budget {
    /// How long they may run once the budget is approved, in seconds; at most 86400.
    pub for_s: u64,
    /// The calls, 1 to 20. Each may run once; a call that is to run twice stands here twice.
    pub calls: Vec<BudgetCall>,
}

/// A call of a budget. It is made later with the agent, session, worker and host of the budget.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct BudgetCall {
    /// Its tool.
    pub tool: String,
    /// Exactly what would be executed.
    #[serde(default)]
    pub args: Value,
    /// The folder it works in; that of the budget where absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cwd: Option<String>,
}

impl Budget {
    /// Checks that a card can show all of it.
    ///
    /// # Errors
    /// A sentence with the call that it cannot show.
    // SECURITY: a call that is not seen whole is never approved ahead.
    pub(super) fn check(&self, cwd: Option<&str>) -> Result<(), Malformed> {
        if !(1..=MOST).contains(&self.calls.len()) {
            let many = self.calls.len();
            return Err(Malformed(format!(
                "`budget.calls` must have 1 to {MOST} calls, and has {many}"
            )));
        }
        if !(1..=LONGEST).contains(&self.for_s) {
            return Err(Malformed(format!(
                "`budget.for_s` is {}; it is a time in seconds, at most {LONGEST}",
                self.for_s
            )));
        }
        for (at, call) in self.calls.iter().enumerate() {
            let number = at + 1;
            let text = call.text(cwd);
            if text.chars().any(|char| char == '\n' || char == '\r') {
                return Err(Malformed(format!(
                    "call {number} of the budget has several lines; submit it when it is due"
                )));
            }
            call.check()
                .map_err(|why| Malformed(format!("call {number} of the budget: {}", why.0)))?;
        }
        let all: usize =
            self.calls.iter().map(|call| visible(&call.text(cwd)).chars().count()).sum();
        if all <= CHARACTERS {
            Ok(())
        } else {
            Err(Malformed(format!(
                "the calls of the budget have {all} characters, and a card shows {CHARACTERS} of \
                 them whole; submit long calls when they are due"
            )))
        }
    }
}

impl BudgetCall {
    fn check(&self) -> Result<(), Malformed> {
        is_name("tool", &self.tool, 200)?;
        self.cwd.as_deref().map_or(Ok(()), |cwd| is_no_longer("cwd", cwd, 4096))?;
        is_within("args", &self.args)
    }

    /// All of it on one line: the command alone where there is nothing else to it, and its folder
    /// where that is not the budget's.
    #[must_use]
    pub fn text(&self, in_folder: Option<&str>) -> String {
        let Self { tool, args, cwd } = self;
        let alone = args.as_object().filter(|args| args.len() == 1);
        let command = alone.and_then(|args| args.get("command")).or(Some(args));
        let command = command.and_then(Value::as_str).filter(|_| kind_of(tool) == Kind::Shell);
        let text = match (command, is_nothing(args)) {
            (Some(command), _) => command.to_owned(),
            (None, true) => tool.clone(),
            (None, false) => format!("{tool} {args}"),
        };
        match cwd.as_deref().filter(|cwd| in_folder != Some(*cwd)) {
            Some(cwd) => format!("{text} (in {cwd})"),
            None => text,
        }
    }
}

pub(super) fn is_nothing(args: &Value) -> bool {
    args.is_null() || args.as_object().is_some_and(serde_json::Map::is_empty)
}

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
        assert!(refused(json!([])).contains("and has 0"));
        assert!(refused(Value::Array(vec![shell("ls"); 21])).contains("and has 21"));
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
