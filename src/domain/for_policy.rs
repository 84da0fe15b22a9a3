//! Converts a call to the policy's form.

use super::call::Call;
use countersign_policy::{ProfileFacts, argv};

impl Call {
    /// The call as policy evaluates it, with exactly the arguments that would be executed. `home`
    /// is the home folder of the user who runs the agents.
    // Every field is named, so that a new one cannot be forgotten here.
    #[must_use]
    pub fn for_policy(&self, home: Option<&str>) -> countersign_policy::Call {
        let Self {
            agent,
            session,
            cwd,
            tool,
            args,
            category,
            tier,
            overrides,
            policy,
            policy_key,
            requester,
            agent_mode,
            reason,
            // The sender, its context, and texts for people; no rule reads these.
            key: _,
            worker: _,
            host: _,
            description: _,
            batch_remaining: _,
            questions: _,
            options: _,
            expires_in_s: _,
            waits_s: _,
            meta: _,
            accepts: _,
            claims: _,
            budget: _,
            owner: _,
        } = self;
        countersign_policy::Call {
            tool: tool.clone(),
            args: argv::as_text(tool, args),
            own: ProfileFacts {
                category: category.clone(),
                tier: tier.clone(),
                overrides: overrides.clone(),
                policy: policy.clone(),
                policy_key: policy_key.clone(),
                requester: requester.clone(),
            },
            agent_mode: agent_mode.clone(),
            reason: reason.clone(),
            cwd: cwd.clone(),
            home: home.map(str::to_owned),
            session: Some(session.clone()),
            agent: Some(agent.clone()),
            ..countersign_policy::Call::default()
        }
    }
}
