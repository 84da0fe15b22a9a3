//! A call as policy sees it.

use super::call::Call;
use countersign_policy::ProfileFacts;

impl Call {
    /// The call as policy sees it: exactly the arguments that would be executed. `home` is the home
    /// folder of whoever runs the agents.
    // Every field is named: a new one cannot be forgotten here.
    #[must_use]
    pub fn for_policy(&self, home: Option<&str>) -> countersign_policy::Call {
        let Self {
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
            // Who asks, how, and what people are told; no rule looks at these.
            key: _,
            agent: _,
            worker: _,
            host: _,
            description: _,
            batch_remaining: _,
            questions: _,
            options: _,
            expires_in_s: _,
            meta: _,
            owner: _,
        } = self;
        countersign_policy::Call {
            tool: tool.clone(),
            args: args.clone(),
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
            ..countersign_policy::Call::default()
        }
    }
}
