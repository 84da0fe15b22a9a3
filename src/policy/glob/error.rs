//! Patterns that cannot be used.

/// The reason why a pattern cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum GlobError {
    /// An extended glob.
    #[error("the extglob `{0}` is not supported; write `{{a,b}}` for alternatives")]
    Extglob(String),
    /// A regex group.
    #[error("the regex group `(?` is not supported in a pattern")]
    Group,
    /// Longer than a pattern may be.
    #[error("the pattern has {0} characters; at most {MAX} are allowed")]
    Long(usize),
}

const MAX: usize = 2_000;

/// Refuses a pattern that this matcher does not support.
pub(super) fn refuse(pattern: &str) -> Result<(), GlobError> {
    if pattern.len() > MAX {
        return Err(GlobError::Long(pattern.len()));
    }
    refuse_extglob(pattern)
}

fn refuse_extglob(pattern: &str) -> Result<(), GlobError> {
    let (mut previous, mut class) = (None, false);
    let mut chars = pattern.chars().peekable();
    while let Some(char) = chars.next() {
        match (previous, char) {
            (_, '\\') => {
                chars.next();
                previous = None;
                continue;
            }
            // Without a closing bracket, `[` is an ordinary character.
            (_, '[') if chars.clone().any(|c| c == ']') => class = true,
            (_, ']') => class = false,
            (_, '(') if !class && chars.peek() == Some(&'?') => return Err(GlobError::Group),
            (Some(sign @ ('@' | '+' | '?' | '!' | '*')), '(') if !class => {
                return Err(GlobError::Extglob(format!("{sign}(")));
            }
            _ => {}
        }
        previous = Some(char);
    }
    Ok(())
}
