//! Saves a rule that a person has tried, as a card's *Always* stores one: a grant with its author.
//!
//! It is no line that the operator wrote. So it lifts no deny of theirs, answers for nobody whom an
//! answer rule asks, and is listed and revoked like every grant.

use super::{
    Gate, Policy, SubmitError,
    approvers::{Approver, Stranger, Who, person},
    ask::By,
    call::Call,
    open_asks::to_the_end,
};
use countersign_policy::{Rule, Verdict, tools::canonical};
use countersign_store::{Grant, GrantScope};
use countersign_tokens::{clock, ids};
use serde_json::{Value, json};

/// What a saved rule has instead of an agent, where grants are listed.
const MAKER: &str = "the Rules page";
const SHELL: &str = "shell_exec";

const NAMELESS: &str = "Only people who are signed in by name save rules ([[people]] in the \
                        config, then /login to the bot). Add the line to the rules file instead.";
const ANSWER_RULES: &str = "The config has answer rules, and a saved rule would answer alone for \
                            the people whom they ask. Add the line to the rules file instead.";
const PROFILE: &str = "Rules can be saved with the profile `standard` only.";
const ALLOWS_ONLY: &str = "Only a rule that allows is saved here, as Always saves one. Add the \
                           line to the rules file instead.";
const ONE_STAR: &str = "A rule is saved with one `*`, at the end and behind a blank, such as \
                        `cargo build *`. Add other patterns to the rules file.";
const WHOLE_TOOL: &str = "Of a tool without commands the whole tool is saved, with the pattern \
                          `*`. Add other patterns to the rules file.";
const CRITICAL: &str = "Such calls are critical: they ask every time, whatever a rule says.";
const ALLOWED: &str = "Such calls are allowed already, so there is nothing to save.";
const TOO_WIDE: &str = "That is wider than Always goes. Name more of the command, or add the line \
                        to the rules file.";
const NEVER: &str = "No rule is saved for such calls: each asks. A line in the rules file may \
                     still allow them.";
const PAUSED: &str = "Everything is paused: no rule is saved until /resume.";

/// What became of a rule that somebody wanted to save.
#[derive(Debug)]
#[must_use]
pub enum RuleSaved {
    /// It holds from now on.
    Saved(Box<Grant>),
    /// It was not saved, for this reason.
    Refused(String),
    /// Only approvers save rules.
    NotAllowed(Stranger),
}

impl Gate {
    /// Saves a rule for always, in the name of a person who is signed in.
    ///
    /// # Errors
    /// When the policy cannot decide on an example, or the store fails.
    // SECURITY: what no card would offer as Always is not saved either.
    pub async fn save_rule(&self, rule: Rule, who: Who) -> Result<RuleSaved, SubmitError> {
        let approver = match self.admit(who) {
            Ok(approver) => approver,
            Err(stranger) => return Ok(RuleSaved::NotAllowed(stranger)),
        };
        if let Some(why) = self.may_not_save(&approver, &rule) {
            return Ok(RuleSaved::Refused(why.to_owned()));
        }
        let rule = Rule { tool: canonical(&rule.tool).to_owned(), ..rule };
        let call = match example(&rule) {
            Ok(call) => call,
            Err(why) => return Ok(RuleSaved::Refused(why.to_owned())),
        };
        let decision = self.evaluator.explain(&call).await?.decision;
        let offered = [&decision.always[..], &decision.exact[..]].concat();
        let why = match decision.verdict {
            // SECURITY: a grant lifts no deny; nobody is to think that it did.
            Verdict::Deny => format!("A deny is not lifted here: {}", decision.reason),
            _ if decision.critical => CRITICAL.to_owned(),
            Verdict::Allow => ALLOWED.to_owned(),
            Verdict::Ask if offered.iter().any(|it| is_within(&rule, it)) => {
                return self.store_rule(rule, person(&approver), &call).await;
            }
            Verdict::Ask if offered.is_empty() => NEVER.to_owned(),
            Verdict::Ask => TOO_WIDE.to_owned(),
        };
        Ok(RuleSaved::Refused(why))
    }

    fn may_not_save(&self, approver: &Approver, rule: &Rule) -> Option<&'static str> {
        let choices = self.in_force.now();
        let standard = matches!(&*choices.policy, Policy::Rules(..));
        // SECURITY: where several people answer, one of them does not answer for all for ever.
        let checks = [
            (approver.person().is_none(), NAMELESS),
            (!choices.approvers.rules.is_empty(), ANSWER_RULES),
            (!standard, PROFILE),
            (rule.verdict != Verdict::Allow, ALLOWS_ONLY),
        ];
        checks.into_iter().find(|(fails, _)| *fails).map(|(_, why)| why)
    }

    async fn store_rule(&self, rule: Rule, by: By, call: &Call) -> Result<RuleSaved, SubmitError> {
        let grant = Grant {
            id: ids::ask_id(),
            ask: String::new(),
            rule,
            scope: GrantScope::Always,
            agent: MAKER.to_owned(),
            session: String::new(),
            owner: None,
            by,
            created_at: clock::now_ms(),
            expires_at: None,
            digest: None,
        };
        let (grants, new) = (self.grants.clone(), grant.clone());
        // A page that goes away does not stop it half way.
        let written = to_the_end(async move {
            match grants.store.save_grant(&new).await? {
                true => Ok(grants.write_saved(&new).await),
                false => Ok(Err(PAUSED.to_owned())),
            }
        });
        if let Err(why) = written.await? {
            return Ok(RuleSaved::Refused(why));
        }
        let now = self.evaluator.decide_anew(call).await?;
        if now.verdict == Verdict::Allow {
            tracing::info!(rule = %grant.rule, by = %grant.by, "a rule was saved");
            return Ok(RuleSaved::Saved(Box::new(grant)));
        }
        self.grants.take_back(&grant).await?;
        Ok(RuleSaved::Refused(format!(
            "The rule would not win, so it was not saved: {}",
            now.reason
        )))
    }
}

/// A call that the rule would cover, as wide as it is.
fn example(rule: &Rule) -> Result<Call, &'static str> {
    let call = |args: Value| Call::new("countersign", "rules", &rule.tool, args);
    if canonical(&rule.tool) != SHELL {
        return if rule.pattern == "*" { Ok(call(json!({}))) } else { Err(WHOLE_TOOL) };
    }
    let (words, wide) = match rule.pattern.strip_suffix(" *") {
        Some(words) => (words, true),
        None => (&*rule.pattern, false),
    };
    if words.trim() != words || words.is_empty() || words.contains(['*', '?', '[', '{', '\\']) {
        return Err(ONE_STAR);
    }
    let command = if wide { format!("{words} example") } else { words.to_owned() };
    Ok(call(json!({ "command": command })))
}

/// Whether everything that a rule covers is covered by this offered one. Pure.
// SECURITY: of a text that is more than one plain command only exactly what is offered counts:
// `cargo build && rm -rf *` begins like `cargo build *`.
pub(super) fn is_within(rule: &Rule, offered: &Rule) -> bool {
    if canonical(&rule.tool) != canonical(&offered.tool) {
        return false;
    }
    let plain = |c: char| c.is_alphanumeric() || " -_./:=@%+,".contains(c);
    let words = rule.pattern.strip_suffix(" *").unwrap_or(&rule.pattern);
    let begins = || {
        let head = offered.pattern.strip_suffix('*').filter(|head| head.ends_with(' '));
        head.is_some_and(|head| rule.pattern.starts_with(head))
    };
    rule.pattern == offered.pattern || (words.chars().all(plain) && begins())
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests fail by panicking")]
    use super::*;

    fn shell(pattern: &str) -> Rule {
        Rule::allow(SHELL, pattern)
    }

    #[test]
    fn an_example_is_as_wide_as_the_rule_and_other_patterns_have_none() {
        let of = |rule: Rule| example(&rule).map(|call| call.args);
        assert_eq!(of(shell("cargo build *")), Ok(json!({ "command": "cargo build example" })));
        assert_eq!(of(Rule::allow("Bash", "make test")), Ok(json!({ "command": "make test" })));
        assert_eq!(of(Rule::allow("mcp__db__list", "*")), Ok(json!({})));
        for pattern in
            ["*", " *", "cargo*", "* build", "git * push", "ls [ab]", "ls {a,b}", "ls \\*"]
        {
            assert_eq!(of(shell(pattern)), Err(ONE_STAR), "{pattern}");
        }
        assert_eq!(of(Rule::allow("write_file", "src/**")), Err(WHOLE_TOOL));
    }

    #[test]
    fn a_rule_is_within_an_offered_one_only_as_one_plain_command() {
        let offered = shell("cargo build *");
        for pattern in ["cargo build *", "cargo build --release *", "cargo build --release"] {
            assert!(is_within(&shell(pattern), &offered), "{pattern}");
        }
        for pattern in [
            "cargo *",
            "cargo build",
            "cargo builder *",
            "cargo build && rm -rf *",
            "cargo build; rm *",
            "cargo build $(rm x) *",
            "cargo build `rm x` *",
            "cargo build\nrm *",
            "cargo build > *",
            "cargo build ' *",
            "cargo build #*",
        ] {
            assert!(!is_within(&shell(pattern), &offered), "{pattern}");
        }
        assert!(!is_within(&Rule::allow("read_file", "cargo build *"), &offered));
        assert!(is_within(&Rule::allow("Bash", "cargo build *"), &offered));
        assert!(!is_within(&shell("anything at all"), &shell("*")), "no head, no beginning");
        let whole = "make && make test";
        assert!(is_within(&shell(whole), &shell(whole)));
    }
}
