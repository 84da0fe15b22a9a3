//! Lists of words, as descriptions spell them.

/// Words with a blank between them.
pub(crate) type Words = &'static str;

/// Whether a word is in the list.
pub(crate) fn listed(list: &str, word: &str) -> bool {
    !word.is_empty() && list.split(' ').any(|one| one == word)
}

/// Whether a text begins with a word of the list.
pub(crate) fn begins(list: &str, text: &str) -> bool {
    !list.is_empty() && list.split(' ').any(|one| text.starts_with(one))
}

/// Whether a text ends with a word of the list.
pub(crate) fn ends(list: &str, text: &str) -> bool {
    !list.is_empty() && list.split(' ').any(|one| text.ends_with(one))
}
