//! The argument that names an agent.

use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use countersign_agents::{AGENTS, HookAgent};

/// A parser for the names of the agents that have hooks.
pub(super) fn parser() -> impl TypedValueParser<Value = &'static dyn HookAgent> {
    let names = AGENTS.iter().map(|agent| {
        let title = agent.title();
        PossibleValue::new(agent.name()).help(format!("{}, {}", title.name, title.versions))
    });
    PossibleValuesParser::new(names).try_map(|name| {
        countersign_agents::find(&name).ok_or_else(|| format!("`{name}` has no hooks"))
    })
}
