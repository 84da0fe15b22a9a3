//! The argument that names an agent.

use crate::agents::{self, AGENTS, HookAgent};
use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};

/// A parser for the names of the agents that have hooks.
pub(super) fn parser() -> impl TypedValueParser<Value = &'static dyn HookAgent> {
    let names = AGENTS.iter().map(|agent| {
        let title = agent.title();
        PossibleValue::new(agent.name()).help(format!("{}, {}", title.name, title.versions))
    });
    PossibleValuesParser::new(names)
        .try_map(|name| agents::find(&name).ok_or_else(|| format!("`{name}` has no hooks")))
}
