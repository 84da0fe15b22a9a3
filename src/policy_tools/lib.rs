//! Tools around the policy core: they explain a decision, check examples, bring rules from
//! elsewhere and score the policy on corpora. The engine knows none of them.

pub mod examples;
pub mod explain;
pub mod import;
pub mod score;
