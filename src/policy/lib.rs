//! The policy core: from the facts of a call and a set of rules to a decision.
//!
//! The folders form a ladder: `shell` and `glob` read texts and patterns, `facts` determines what a
//! call names and does, `rules` holds what a person wrote, `engine` combines both.
//!
//! INVARIANT: pure. No I/O, no clock, no global state; time is an argument.
//! FAIL-CLOSED: anything not understood is an ask, never an allow; a deny rule matches more than an
//! allow rule.

pub mod check;
pub mod engine;
pub mod exact_json;
pub mod facts;
pub mod glob;
pub mod rules;
pub mod shell;
pub(crate) mod words;

pub use check as examples;
pub use engine::decision::{
    BriefDecision, Decision, Layers, Mode, Part, decide, decide_briefly, parts,
};
pub use engine::guardrail::{Guardrail, Ours, lookups};
pub use engine::matcher::{Matcher, RuleFit};
pub use engine::{agent_mode, always, critical, decision, files, guardrail, highlights, matcher};
pub use facts::call::{Call, ProfileFacts};
pub use facts::links::{LinkTarget, Links, Lookups};
pub use facts::values::follow;
pub use facts::{
    access, argument_names, argv, builtins, call, edited_files, effects, links, obeyed, options,
    patch, paths, tools, values, wrappers,
};
pub use rules::verdict::{self, Verdict};
pub use rules::{DEFAULT_RULES, Rule, RuleProblem, Rules, file};
pub use shell::environment;
