//! The error of an invalid call, and the checks of its texts.

use countersign_port::line;

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

/// Checks a name: visible text on one line, of at most `most` characters.
///
/// # Errors
/// A sentence that names the field.
// SECURITY: names appear in log lines, within a card's own words, and in the keys of grants.
pub fn is_name(field: &str, name: &str, most: usize) -> Result<(), Malformed> {
    is_no_longer(field, name, most)?;
    if name.trim().is_empty() {
        return Err(Malformed(format!("`{field}` is empty; it names who or what asks")));
    }
    let shown = line(name);
    // `line` replaces hidden characters by visible text, so a difference is such a character.
    let odd = name.chars().zip(shown.chars()).find(|(given, shown)| given != shown);
    match odd {
        None => Ok(()),
        Some((odd, _)) => Err(Malformed(format!(
            "`{field}` holds the character U+{:04X}, which is invisible or breaks the line; a name \
             is plain text on one line",
            u32::from(odd)
        ))),
    }
}
