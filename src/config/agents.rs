//! `[agents]`: the agents whose servers the daemon watches.

use super::{model::AgentSettings, section::Section, values::optional};
use std::path::PathBuf;

/// Reads the section; `resolve` makes a path absolute.
pub(super) fn read(mut section: Section<'_>, resolve: impl Fn(&str) -> PathBuf) -> AgentSettings {
    let codex = section.get("codex", optional).flatten();
    section.finish();
    AgentSettings { codex: codex.map(|folder| resolve(&folder)) }
}
