//! Grants: made by an answer, kept in the store, written to the rules file where they are for ever.

use super::{
    Gate,
    approvers::{Stranger, Who},
    ask::{Answer, Ask, By, Decision, Scope},
    call::Call,
};
use crate::{
    clock, ids,
    store::{Grant, GrantScope, StoreError},
};
use countersign_policy::{
    Rule, Rules, Verdict,
    tool_name::{CATEGORY, may_be_granted},
};
use countersign_profiles::{GrantLifetime, Grants, Prefix};

/// What became of a revocation.
#[derive(Debug)]
#[must_use]
pub enum Revoked {
    /// It no longer holds.
    Done(Box<Grant>),
    /// The store forgot it, but the rule still stands in the file, for this reason.
    FileKeepsIt(Box<Grant>, String),
    /// There is no such grant in force.
    Unknown,
    /// Only approvers revoke.
    NotAllowed(Stranger),
}

impl Gate {
    /// Revokes a grant; it stops covering calls at once.
    ///
    /// # Errors
    /// When the store fails.
    pub async fn revoke(&self, id: &str, who: Who) -> Result<Revoked, StoreError> {
        if let Err(stranger) = self.approvers.admit(who) {
            return Ok(Revoked::NotAllowed(stranger));
        }
        let Some(grant) = self.store.revoke_grant(id, clock::now_ms()).await? else {
            return Ok(Revoked::Unknown);
        };
        if grant.scope == GrantScope::Always && !self.store.is_shared() {
            let worker = self.worker_of(&grant).await?;
            if let Some(Err(problem)) = self.policy.remove(worker.as_deref(), &grant.rule) {
                return Ok(Revoked::FileKeepsIt(Box::new(grant), problem));
            }
        }
        Ok(Revoked::Done(Box::new(grant)))
    }

    /// Writes to the rules file what a crash kept from being written.
    ///
    /// # Errors
    /// When the store fails.
    pub async fn write_pending_grants(&self) -> Result<(), StoreError> {
        if self.store.is_shared() {
            return Ok(());
        }
        for grant in self.store.unwritten_grants().await? {
            let worker = self.worker_of(&grant).await?;
            match self.policy.append(worker.as_deref(), std::slice::from_ref(&grant.rule)) {
                None => return Ok(()),
                Some(Ok(())) => self.store.grant_written(&grant.id).await?,
                Some(Err(problem)) => {
                    tracing::warn!(grant = %grant.id, problem, "a grant is not written")
                }
            }
        }
        Ok(())
    }

    /// The worker whose call a grant was made for.
    async fn worker_of(&self, grant: &Grant) -> Result<Option<String>, StoreError> {
        Ok(self.store.ask(&grant.ask).await?.and_then(|ask| ask.body.call.worker))
    }

    /// The rules granted for always, and those granted to the session of this call.
    pub(super) fn grants_of(&self, call: &Call, grants: Vec<Grant>) -> (Vec<Rule>, Vec<Rule>) {
        let (always, sessions): (Vec<_>, Vec<_>) =
            grants.into_iter().partition(|grant| grant.scope == GrantScope::Always);
        let rule = |grant: Grant| grant.rule;
        let mut always: Vec<_> = always.into_iter().map(rule).collect();
        let mut here: Vec<_> =
            sessions.into_iter().filter(|grant| is_of(grant, call)).map(rule).collect();
        if self.store.is_shared() {
            // Every daemon has a rules file of its own; what is granted holds at all of them at
            // once.
            here.append(&mut always);
        }
        (always, here)
    }

    /// The grants that an answer makes.
    pub(super) fn grants_for(&self, ask: &Ask, answer: &Answer, by: By) -> Vec<Grant> {
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
            | (Decision::Answer | Decision::Deny, _) => return vec![],
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
        };
        let scope = answer.scope.unwrap_or(Scope::Once);
        ask.body.remembers(scope).iter().map(grant).collect()
    }

    /// Writes the rules of an Always to the file, and rules on the call again. `Some` says in what
    /// way the grant does not do what its button said.
    // INVARIANT: a grant that is committed holds, and no trouble after it is told as if it did not.
    pub(super) async fn store_always(&self, ask: &Ask) -> Result<Option<String>, String> {
        let Some(answer) = ask.answer() else { return Ok(None) };
        if answer.scope.is_none_or(|scope| scope == Scope::Once) {
            return Ok(None);
        }
        if ask.body.lasts == GrantLifetime::Durable
            && matches!(answer.scope, Some(Scope::Always | Scope::Exact))
            && !self.store.is_shared()
        {
            let grants = match self.store.unwritten_grants().await {
                Ok(grants) => grants,
                Err(error) => return Ok(Some(unchecked(&error))),
            };
            let ours: Vec<_> = grants.into_iter().filter(|grant| grant.ask == ask.id).collect();
            let rules: Vec<_> = ours.iter().map(|grant| grant.rule.clone()).collect();
            let worker = ask.body.call.worker.as_deref();
            match self.policy.append(worker, &rules) {
                None => {}
                Some(Ok(())) => self.note_written(&ours).await,
                Some(Err(problem)) => {
                    tracing::warn!(ask_id = %ask.id, problem, "Always could not be stored");
                    for grant in &ours {
                        let _ = self.store.revoke_grant(&grant.id, clock::now_ms()).await;
                    }
                    return Err(problem);
                }
            }
        }
        let ruling = match self.decide_anew(&ask.body.call).await {
            Ok(ruling) => ruling,
            Err(error) => return Ok(Some(unchecked(&error))),
        };
        Ok((ruling.verdict != Verdict::Allow).then(|| {
            format!(
                "But the stored rule does not win, the next such call asks again: {}",
                ruling.reason
            )
        }))
    }

    /// Where it fails the rules are written once more at the next start, which changes nothing.
    async fn note_written(&self, grants: &[Grant]) {
        for grant in grants {
            if let Err(error) = self.store.grant_written(&grant.id).await {
                tracing::warn!(grant = %grant.id, %error, "it is not noted that a grant was written");
            }
        }
    }
}

fn unchecked(error: &dyn std::fmt::Display) -> String {
    format!("But it could not be checked that its rule holds: {error}")
}

/// The rule under which a beginning of commands is kept.
pub(super) fn of_prefix(category: &str, text: &str) -> Rule {
    Rule::allow(format!("{CATEGORY}{category}"), text)
}

/// Whether a grant was made in the session of this call.
// SECURITY: whoever says another one's agent and session has another session of the same name.
pub(super) fn is_of(grant: &Grant, call: &Call) -> bool {
    grant.agent == call.agent && grant.session == call.session && grant.owner == call.owner
}

/// Whether a stored grant names one tool, or one category, and nothing else.
// SECURITY: earlier versions stored whatever name an agent gave a tool. What could be read as a
// pattern covers nothing any more.
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
