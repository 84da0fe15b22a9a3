//! The tools that a rule applies to.

use crate::facts::tools::canonical;
use crate::glob::{Glob, GlobError};

/// A tool name, or a glob over tool names, as a key of a rules file.
#[derive(Clone, Debug)]
pub(super) struct ToolKey {
    pub(super) text: Box<str>,
    /// The name that rules files use for the tool, when `text` is an alias.
    canonical: Box<str>,
    pub(super) glob: Option<Glob>,
}

impl ToolKey {
    /// Creates a key from a name, or from a glob over names.
    pub(super) fn new(text: &str) -> Result<Self, GlobError> {
        let glob = match text.contains(['*', '?', '[', '{', '!']) {
            true => Some(Glob::parse(text)?),
            false => None,
        };
        Ok(Self { glob, ..Self::literal(text) })
    }

    /// Creates a key for exactly this tool.
    pub(super) fn literal(tool: &str) -> Self {
        Self { text: tool.into(), canonical: canonical(tool).into(), glob: None }
    }

    pub(super) fn names(&self, tool: &str, known: &str) -> bool {
        match &self.glob {
            // `*` needs no automaton.
            Some(_) if &*self.text == "*" => true,
            Some(glob) => glob.matches(tool) || glob.matches(known),
            None => *self.text == *tool || *self.canonical == *known,
        }
    }
}
