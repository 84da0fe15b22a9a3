//! Layers around a worker's file: the agent's own rules in front of it, what people said
//! Always to in the session behind it.

use super::{
    Gate, HandInError, Workers,
    ask::Ask,
    call::{Call, Malformed},
    granting,
};
use crate::{
    clock,
    store::{GrantScope, Standing, StoreError},
};
use countersign_policy::{Call as Facts, Rule, Rules, Ruling};
use countersign_profiles::{EvaluationContext, rules_of};
use std::sync::Arc;

/// Why an ask is taken back whose worker is gone.
pub const WORKER_GONE: &str = "its worker disconnected";
/// Why an ask is taken back whose session is over.
pub const SESSION_ENDED: &str = "its session ended";

/// Which rules people have added to the file's.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Runtime {
    /// Those of the call's session.
    Session,
    /// None: as a new session would be ruled on.
    Anew,
}

impl Gate {
    /// Rules on a call of a worker. The second is what is wrong with its file, if something is.
    pub(super) fn by_workers(
        &self,
        workers: &Workers,
        call: &Call,
        facts: &Facts,
        standing: Standing,
        runtime: Runtime,
    ) -> Result<(Ruling, Option<String>), HandInError> {
        let Standing { mode, grants } = standing;
        let always = grants.iter().filter(|grant| grant.scope == GrantScope::Always);
        let always: Vec<Rule> = always.map(|grant| grant.rule.clone()).collect();
        let here = grants
            .into_iter()
            .filter(|grant| runtime == Runtime::Session && granting::is_of(grant, call));
        let here: Vec<Rule> = here.map(|grant| grant.rule).collect();
        let worker = call.worker.as_deref();
        let rules = workers.rules_of(worker, &always).map_err(HandInError::Unruled)?;
        let agent_rules = agent_rules(call, self.settings.home.as_deref())?;
        let given = EvaluationContext {
            mode: mode.as_deref(),
            grants: &granting::as_kept(&here),
            agent_rules: agent_rules.as_ref(),
            guardrail: rules.guardrail(),
            reachable: self.approvers.anybody(),
            now_ms: clock::now_ms(),
        };
        rules.rule(facts, &given).map_err(HandInError::Unruled)
    }

    /// Takes back what a worker's sessions ask, and ends what was granted to them.
    ///
    /// # Errors
    /// When the store fails.
    pub async fn worker_gone(
        self: &Arc<Self>,
        agent: &str,
        worker: &str,
    ) -> Result<usize, StoreError> {
        let mut sessions: Vec<String> = Vec::new();
        for state in ["open", "answered"] {
            let note = |ask: &Ask| {
                let Call { agent: whose, session, worker: of, .. } = &ask.body.call;
                if whose == agent && of.as_deref() == Some(worker) && !sessions.contains(session) {
                    sessions.push(session.clone());
                }
            };
            self.store.each_ask_in(state, note).await?;
        }
        let mut cancelled = 0;
        for session in sessions {
            cancelled += self.end_session(agent, &session, WORKER_GONE).await?;
        }
        Ok(cancelled)
    }

    /// The one open ask of a session that `is` what is looked for.
    ///
    /// # Errors
    /// When the store fails.
    // SECURITY: an ask of another session is never found.
    pub async fn open_ask(
        &self,
        session: &str,
        is: impl Fn(&Ask) -> bool + Sync,
    ) -> Result<Option<Ask>, StoreError> {
        let mut found = Vec::new();
        let note = |ask: &Ask| {
            if ask.body.call.session == session && is(ask) {
                found.push(ask.clone());
            }
        };
        self.store.each_ask_in("open", note).await?;
        Ok(found.pop().filter(|_| found.is_empty()))
    }

    /// Whether the profile answers as its system does, where that is unsafe too.
    #[must_use]
    pub fn is_compat(&self) -> bool {
        self.policy.is_compat()
    }

    /// Whether each worker has rules of its own here.
    #[must_use]
    pub fn has_workers(&self) -> bool {
        matches!(self.policy, super::Policy::Workers(..))
    }
}

/// The rules of a subagent: `agent_rules` in the call's `meta`.
// FAIL-CLOSED: rules that cannot be read refuse the call; they are never left out.
fn agent_rules(call: &Call, home: Option<&str>) -> Result<Option<Rules>, Malformed> {
    let given = call.meta.as_ref().and_then(|meta| meta.get("agent_rules"));
    let rules = given.map(|rules| rules_of(rules, "meta.agent_rules", home));
    rules.transpose().map_err(Malformed)
}
