//! `countersign policy check`: one call per line in, one decision per line out.

use crate::{EvaluationContext, Grants, Prefix, Profile, System};
use countersign_policy::{
    argv,
    call::Call,
    decision::Decision,
    exact_json,
    guardrail::Guardrail,
    links::Links,
    rules::{Rule, RuleProblem, Rules},
    tools::Kind,
    verdict::Verdict,
};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use std::sync::Arc;

/// Settings for the decisions on lines.
#[derive(Clone, Debug)]
pub struct Options {
    /// The system that decides.
    pub profile: Profile,
    /// The system with its configuration, for lines without a `config`; `None` means the system's
    /// defaults.
    pub system: Option<Arc<dyn System>>,
    /// The mode for lines that name none, in the profile's own words.
    pub mode: Option<String>,
    /// Gives the peer's own answers instead of the safe ones.
    pub compat: bool,
    /// The current time in milliseconds since 1970.
    pub now_ms: i64,
    /// Looks up the targets of a call's paths. This crate does no I/O; its caller may.
    pub look: fn(&Call) -> Links,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            profile: Profile::Standard,
            system: None,
            mode: None,
            compat: false,
            now_ms: 0,
            look: |_| Links::default(),
        }
    }
}

/// An input line besides the call itself.
#[derive(Debug, Deserialize)]
struct CallLine {
    #[serde(flatten)]
    call: Call,
    #[serde(default)]
    mode: Option<String>,
    #[serde(default)]
    config: Option<Value>,
    #[serde(default)]
    grants: Option<Granted>,
    #[serde(default)]
    agent_rules: Option<Value>,
    #[serde(default)]
    runtime_rules: Option<Value>,
}

/// Remembered approvals in the words of the wire.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct Granted {
    #[serde(default)]
    tools: Vec<String>,
    #[serde(default)]
    categories: Vec<String>,
    #[serde(default)]
    prefixes: Vec<String>,
    #[serde(default)]
    prefix_category: Option<String>,
}

/// An output line.
#[derive(Debug, Serialize)]
struct RulingLine {
    verdict: Verdict,
    rule: Option<String>,
    reason: String,
    commands: Vec<Vec<Option<String>>>,
    patterns: Vec<String>,
    always: Vec<String>,
    critical: bool,
    understood: bool,
}

impl Options {
    /// Returns the decision on one line as a line without its end. A bad line yields `{"error":
    /// …}`.
    #[must_use]
    pub fn line(&self, json: &str) -> String {
        let answer = self.answer(json);
        answer
            .and_then(|answer| {
                serde_json::to_string(&RulingLine::of(answer)).map_err(|error| error.to_string())
            })
            .unwrap_or_else(|error| json!({ "error": error }).to_string())
    }

    /// Returns the decision on one line, for exit codes.
    ///
    /// # Errors
    /// A sentence that says what is wrong with the line.
    pub fn decision(&self, json: &str) -> Result<Decision, String> {
        self.answer(json).map(|(decision, _)| decision)
    }

    /// Returns the decision and the name that rules files use for its tool.
    fn answer(&self, json: &str) -> Result<(Decision, String), String> {
        let line: CallLine = exact_json::from_str(json)
            .map_err(|error| format!("the line is not a call: {error}"))?;
        let home = line.call.home.clone();
        let home = home.as_deref();
        let given;
        // The line's own configuration replaces the one of the command line.
        let system: &dyn System = match (&line.config, &self.system) {
            (None, Some(system)) => &**system,
            (config, _) => {
                let text = config.as_ref().map(text_of).transpose()?;
                given = self.profile.open(text.as_deref(), "config", home, self.compat)?;
                &*given
            }
        };
        let agent = line.agent_rules.as_ref().map(|rules| rules_of(rules, "agent_rules", home));
        let agent = agent.transpose()?;
        let grants = grants(&line, home)?;
        let mut call = line.call;
        call.args = argv::as_text(&call.tool, &call.args);
        let links = (self.look)(&call);
        countersign_policy::follow(&mut call, links);
        let given = EvaluationContext {
            mode: line.mode.as_deref().or(self.mode.as_deref()),
            grants: &grants,
            agent_rules: agent.as_ref(),
            guardrail: &Guardrail::default(),
            reachable: true,
            now_ms: self.now_ms,
        };
        let decision = crate::decide(system, &call, &given)?;
        Ok((decision, call.canonical_tool().to_owned()))
    }
}

impl RulingLine {
    fn of((decision, tool): (Decision, String)) -> Self {
        Self {
            verdict: decision.verdict,
            rule: decision.rule,
            reason: decision.reason,
            commands: decision.commands,
            patterns: decision.patterns,
            always: decision
                .always
                .into_iter()
                // The pattern alone, if the rule is for the line's own tool.
                .map(|rule| match (rule.pattern.as_str(), rule.tool == tool) {
                    ("*", _) => rule.tool,
                    (_, true) => rule.pattern,
                    (_, false) => rule.to_string(),
                })
                .collect(),
            critical: decision.critical,
            understood: decision.understood,
        }
    }
}

/// Returns a configuration as text, from any form in which a line may contain it.
fn text_of(config: &Value) -> Result<String, String> {
    match config {
        Value::Null => Ok("{}".to_owned()),
        Value::String(text) => Ok(text.clone()),
        Value::Object(_) => Ok(config.to_string()),
        Value::Array(items) => flat_rules(items, "config"),
        _ => Err("config is neither an object nor a list of rules".to_owned()),
    }
}

/// Collects runtime rules and grants, both as the profiles store them and as rules.
fn grants(line: &CallLine, home: Option<&str>) -> Result<Grants, String> {
    let runtime = match &line.runtime_rules {
        Some(rules) => rules_of(rules, "runtime_rules", home)?,
        None => Rules::default(),
    };
    let Some(Granted { tools, categories, prefixes, prefix_category }) = &line.grants else {
        return Ok(Grants { rules: runtime, ..Grants::default() });
    };
    let mut rules: Vec<Rule> = tools.iter().map(|tool| Rule::allow(tool, "*")).collect();
    // A tool without a category counts as one that executes.
    let category = line.call.own.category.as_deref().unwrap_or("exec");
    if categories.iter().any(|granted| granted == category) {
        rules.push(Rule::allow(&line.call.tool, "*"));
    }
    let of = prefix_category.as_deref().unwrap_or("exec");
    if line.call.kind() == Kind::Shell && of == category {
        for prefix in prefixes {
            rules.push(Rule::allow("shell_exec", prefix));
            rules.push(Rule::allow("shell_exec", format!("{prefix} *")));
        }
    }
    let prefix = |text: &String| Prefix { text: text.clone(), category: of.to_owned() };
    Ok(Grants {
        tools: tools.clone(),
        categories: categories.clone(),
        prefixes: prefixes.iter().map(prefix).collect(),
        rules: runtime.with_grants(&rules),
        ..Grants::default()
    })
}

/// Reads rules in any form that a line, or a call's `meta`, may contain.
///
/// # Errors
/// A sentence that says what is wrong with them.
pub fn rules_of(value: &Value, name: &str, home: Option<&str>) -> Result<Rules, String> {
    match value {
        Value::Null => Ok(Rules::default()),
        Value::String(text) => parsed(text, name, home),
        Value::Object(_) => parsed(&value.to_string(), name, home),
        Value::Array(items) => parsed(&flat_rules(items, name)?, name, home),
        _ => Err(format!("{name} is neither an object nor a list of rules")),
    }
}

/// Returns a list of rules as the text of a rules file.
fn flat_rules(items: &[Value], name: &str) -> Result<String, String> {
    let flat: Option<Vec<Value>> = items.iter().map(flat_rule).collect();
    let flat = flat.ok_or_else(|| {
        format!("{name}: a rule of a list is [tool, pattern, action] or an object of these")
    })?;
    Ok(Value::Array(flat).to_string())
}

fn flat_rule(item: &Value) -> Option<Value> {
    let get = |keys: &[&str], at: usize| {
        // By name, or by position in a list.
        keys.iter().find_map(|key| item.get(key)).or_else(|| item.get(at)).cloned()
    };
    Some(json!({
        "permission": get(&["permission", "tool"], 0)?,
        "pattern": get(&["pattern"], 1).unwrap_or_else(|| json!("*")),
        "action": get(&["action", "verdict"], 2)?,
    }))
}

fn parsed(text: &str, name: &str, home: Option<&str>) -> Result<Rules, String> {
    Rules::parse(text, name, home).map_err(|problems| {
        problems.iter().map(RuleProblem::to_string).collect::<Vec<_>>().join("; ")
    })
}

#[cfg(test)]
mod tests {
    #![allow(clippy::indexing_slicing, clippy::unwrap_used, reason = "tests fail by panicking")]
    use super::*;

    fn check(line: &Value) -> Value {
        serde_json::from_str(&Options::default().line(&line.to_string())).unwrap()
    }

    #[test]
    fn a_line_is_answered_with_every_pinned_field() {
        let line = json!({
            "tool": "Bash", "args": { "command": "echo hi \"$NAME\"" },
            "config": { "*": "ask" },
        });
        let answer = check(&line);
        assert_eq!(answer["verdict"], "ask");
        assert_eq!(answer["commands"], json!([["echo", "hi", null]]));
        assert_eq!(answer["always"], json!(["echo *"]));
        assert_eq!(answer["critical"], false);
        assert_eq!(answer["understood"], true);
        let keys: Vec<&str> = answer.as_object().unwrap().keys().map(String::as_str).collect();
        let pinned = [
            "verdict",
            "rule",
            "reason",
            "commands",
            "patterns",
            "always",
            "critical",
            "understood",
        ];
        assert_eq!(keys, pinned);
    }

    #[test]
    fn a_bad_line_says_why_and_grants_nothing() {
        for line in ["", "{}", "[]", r#"{"tool":1}"#, r#"{"tool":"x","mode":"wild"}"#] {
            let answer: Value = serde_json::from_str(&Options::default().line(line)).unwrap();
            assert!(answer["error"].is_string(), "{line}: {answer}");
        }
    }

    #[test]
    fn rules_come_as_an_object_or_as_a_list() {
        let allowed = json!([["shell_exec", "ls *", "allow"]]);
        for rules in [allowed, json!({ "shell_exec": { "ls *": "allow" } })] {
            let line = json!({
                "tool": "shell_exec", "args": { "command": "ls -la" },
                "config": {}, "runtime_rules": rules,
            });
            assert_eq!(check(&line)["verdict"], "allow", "{line}");
        }
    }
}
