//! Shortens texts of agents for use in a sentence.

/// Returns the first line of a text, cut to `most` characters.
pub(crate) fn shorten(text: &str, most: usize) -> String {
    let line = text.lines().next().unwrap_or_default();
    // By characters, because half a character is not valid text.
    let end = line.char_indices().nth(most).map_or(line.len(), |(at, _)| at);
    let short = line.get(..end).unwrap_or_default();
    if short.len() < text.len() { [short, "…"].concat() } else { short.to_owned() }
}
