//! The tools that a rule is for.

use crate::facts::tools::canonical;
use crate::glob::{Glob, GlobError};

/// A tool name or glob that rules stand under.
#[derive(Clone, Debug)]
pub(super) struct Key {
    pub(super) text: Box<str>,
    /// The name that rules files use for the tool, when `text` is another name of it.
    canonical: Box<str>,
    pub(super) glob: Option<Glob>,
}

impl Key {
    /// A name, or a glob over names.
    pub(super) fn new(text: &str) -> Result<Self, GlobError> {
        let glob = match text.contains(['*', '?', '[', '{', '!']) {
            true => Some(Glob::parse(text)?),
            false => None,
        };
        Ok(Self { glob, ..Self::literal(text) })
    }

    /// Exactly this tool.
    pub(super) fn literal(tool: &str) -> Self {
        Self { text: tool.into(), canonical: canonical(tool).into(), glob: None }
    }

    pub(super) fn names(&self, tool: &str, known: &str) -> bool {
        match &self.glob {
            Some(_) if &*self.text == "*" => true,
            Some(glob) => glob.matches(tool) || glob.matches(known),
            None => *self.text == *tool || *self.canonical == *known,
        }
    }
}
