//! A call that is refused because of how it is written.

/// Why a call was not taken; a sentence for its caller.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct Malformed(pub String);

/// Takes a text of at most so many characters.
pub(super) fn is_no_longer(field: &str, text: &str, most: usize) -> Result<(), Malformed> {
    let length = text.chars().count();
    match length <= most {
        true => Ok(()),
        false => {
            Err(Malformed(format!("`{field}` has {length} characters; at most {most} are taken")))
        }
    }
}
