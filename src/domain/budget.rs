//! A budget: calls that an agent asks for at the start of a task, to run once each within a time.
//! Pure.

use super::{
    extent,
    malformed::{Malformed, is_name, is_no_longer},
};
use countersign_policy::tools::{Kind, kind_of};
use countersign_port::visible;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

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
                "`budget.calls` has {many} calls; 1 to {MOST} are taken"
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
        match all <= CHARACTERS {
            true => Ok(()),
            false => Err(Malformed(format!(
                "the calls of the budget have {all} characters, and a card shows {CHARACTERS} of \
                 them whole; submit long calls when they are due"
            ))),
        }
    }
}

impl BudgetCall {
    fn check(&self) -> Result<(), Malformed> {
        is_name("tool", &self.tool, 200)?;
        self.cwd.as_deref().map_or(Ok(()), |cwd| is_no_longer("cwd", cwd, 4096))?;
        extent::check("args", &self.args)
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
