//! Layers around a worker's file: the agent's own rules in front of it, what people said
//! Always to in the session behind it.

use super::{
    SubmitError, Workers,
    call::{Call, Malformed},
    granted_rules,
};
use countersign_policy::{Call as Facts, Decision, Rule, Rules};
use countersign_profiles::{EvaluationContext, rules_of};
use countersign_store::{GrantScope, SessionContext};
use countersign_tokens::clock;

/// Which rules people have added to the file's.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Runtime {
    /// Those of the call's session.
    Session,
    /// None: as a new session would be ruled on.
    Anew,
}

/// Rules on a call of a worker. The second is what is wrong with its file, if something is.
pub(super) fn by_workers(
    workers: &Workers,
    call: &Call,
    facts: &Facts,
    session: SessionContext,
    runtime: Runtime,
    home: Option<&str>,
    reachable: bool,
) -> Result<(Decision, Option<String>), SubmitError> {
    let SessionContext { mode, grants, .. } = session;
    let always = grants.iter().filter(|grant| grant.scope == GrantScope::Always);
    let always: Vec<Rule> = always.map(|grant| grant.rule.clone()).collect();
    let here = grants
        .into_iter()
        .filter(|grant| runtime == Runtime::Session && granted_rules::is_of(grant, call));
    let here: Vec<Rule> = here.map(|grant| grant.rule).collect();
    let worker = call.worker.as_deref();
    let rules = workers.rules_of(worker, &always).map_err(SubmitError::Unruled)?;
    let agent_rules = agent_rules(call, home)?;
    let given = EvaluationContext {
        mode: mode.as_deref(),
        grants: &granted_rules::as_kept(&here),
        agent_rules: agent_rules.as_ref(),
        guardrail: rules.guardrail(),
        reachable,
        now_ms: clock::now_ms(),
    };
    rules.rule(facts, &given).map_err(SubmitError::Unruled)
}

/// The rules of a subagent: `agent_rules` in the call's `meta`.
// FAIL-CLOSED: rules that cannot be read refuse the call; they are never left out.
fn agent_rules(call: &Call, home: Option<&str>) -> Result<Option<Rules>, Malformed> {
    let given = call.meta.as_ref().and_then(|meta| meta.get("agent_rules"));
    let rules = given.map(|rules| rules_of(rules, "meta.agent_rules", home));
    rules.transpose().map_err(Malformed)
}
