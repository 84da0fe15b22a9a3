//! The error of an invalid call.

/// The reason why a call was refused, as a sentence for its caller.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct Malformed(pub String);

/// Checks that a text has at most `most` characters.
pub(super) fn is_no_longer(field: &str, text: &str, most: usize) -> Result<(), Malformed> {
    let length = text.chars().count();
    match length <= most {
        true => Ok(()),
        false => {
            Err(Malformed(format!("`{field}` has {length} characters; at most {most} are taken")))
        }
    }
}
