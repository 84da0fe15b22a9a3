//! Grants as rules: which an answer makes, which cover a call, and their forms in the store.

use super::{
    ask::{Answer, Ask, By, Decision, Scope},
    budget_grants,
    call::Call,
};
use countersign_policy::{
    Rule, Rules,
    tool_name::{CATEGORY, may_be_granted},
};
use countersign_profiles::{GrantLifetime, Grants, Prefix};
use countersign_store::{Grant, GrantScope, Store};
use countersign_tokens::ids;

/// The rules granted for always, and those granted to the session of this call.
pub(super) fn grants_of(store: &Store, call: &Call, grants: Vec<Grant>) -> (Vec<Rule>, Vec<Rule>) {
    let (always, sessions): (Vec<_>, Vec<_>) =
        grants.into_iter().partition(|grant| grant.scope == GrantScope::Always);
    let rule = |grant: Grant| grant.rule;
    let mut always: Vec<_> = always.into_iter().map(rule).collect();
    let mut here: Vec<_> =
        sessions.into_iter().filter(|grant| is_of(grant, call)).map(rule).collect();
    if store.is_shared() {
        // Every daemon has a rules file of its own; what is granted holds at all of them at
        // once.
        here.append(&mut always);
    }
    (always, here)
}

/// The grants that an answer makes.
pub(super) fn grants_for(ask: &Ask, answer: &Answer, by: By) -> Vec<Grant> {
    if let Some(budget) = &ask.body.call.budget {
        return budget_grants::of(ask, budget, answer, &by);
    }
    let (scope, expires_at) = match (answer.decision, answer.scope) {
        (Decision::Approve, Some(Scope::Session)) => (GrantScope::Session, None),
        (Decision::Approve, Some(Scope::Always | Scope::Exact | Scope::Prefix)) => {
            match ask.body.lasts {
                GrantLifetime::Durable => (GrantScope::Always, None),
                GrantLifetime::Session => (GrantScope::Session, None),
            }
        }
        (Decision::Approve, Some(Scope::Timed(seconds))) => {
            (GrantScope::Timed, Some(answer.at + i64::from(seconds) * 1000))
        }
        (Decision::Approve, Some(Scope::Once) | None)
        | (Decision::Answer | Decision::Edit | Decision::Deny, _) => {
            return vec![];
        }
    };
    let call = &ask.body.call;
    let grant = |rule: &Rule| Grant {
        id: ids::ask_id(),
        ask: ask.id.clone(),
        rule: rule.clone(),
        scope,
        agent: call.agent.clone(),
        session: call.session.clone(),
        owner: call.owner.clone(),
        by: by.clone(),
        created_at: answer.at,
        expires_at,
        digest: None,
    };
    ask.body.stored_rules(answer).into_iter().map(grant).collect()
}

/// The rule under which a beginning of commands is kept.
pub(super) fn of_prefix(category: &str, text: &str) -> Rule {
    Rule::allow(format!("{CATEGORY}{category}"), text)
}

/// Whether a grant was made in the session of this call.
// SECURITY: a caller that names another one's agent and session has another session of the same
// name.
pub(super) fn is_of(grant: &Grant, call: &Call) -> bool {
    grant.agent == call.agent && grant.session == call.session && grant.owner == call.owner
}

/// Whether a stored grant names one tool, or one category, and nothing else.
// SECURITY: an agent names its tools. What could be read as a pattern covers nothing.
pub(super) fn is_literal(rule: &Rule) -> bool {
    let category = rule.tool.strip_prefix(CATEGORY);
    category.map_or_else(|| may_be_granted(&rule.tool), may_be_granted)
}

/// Granted rules in the forms that the profiles look at.
pub(super) fn as_kept(granted: &[Rule]) -> Grants {
    let mut kept = Grants { rules: Rules::from_grants(granted), ..Grants::default() };
    for Rule { tool, pattern, .. } in granted {
        match (tool.strip_prefix(CATEGORY), pattern.as_str()) {
            (Some(category), "*") => kept.categories.push(category.to_owned()),
            (Some(category), text) => {
                kept.prefixes.push(Prefix { text: text.to_owned(), category: category.to_owned() })
            }
            (None, "*") => kept.tools.push(tool.clone()),
            (None, _) => {}
        }
    }
    kept
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn grants_are_read_back_in_the_form_they_were_kept_in() {
        let kept = as_kept(&[
            of_prefix("exec", "cargo test"),
            Rule::allow("category:edit", "*"),
            Rule::allow("Bash", "*"),
            Rule::allow("shell_exec", "git push *"),
        ]);
        let prefix = Prefix { text: "cargo test".into(), category: "exec".into() };
        assert_eq!(kept.prefixes, [prefix]);
        assert_eq!(kept.categories, ["edit"]);
        assert_eq!(kept.tools, ["Bash"]);
        assert_eq!(kept.rules.iter().count(), 4);
    }

    #[test]
    fn what_an_earlier_version_stored_as_a_pattern_covers_nothing_any_more() {
        let literal = |tool: &str| is_literal(&Rule::allow(tool, "*"));
        for name in ["shell_exec", "mcp__github__create_issue", "category:exec"] {
            assert!(literal(name), "{name}");
        }
        for pattern in ["*", "shell_*", "Bash(*)", "{shell_exec,x}", "a?", "[x]", "category:*"] {
            assert!(!literal(pattern), "{pattern}");
        }
    }
}
