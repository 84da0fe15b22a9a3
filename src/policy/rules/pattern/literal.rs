//! Patterns without wildcards.

use crate::facts::paths::expand_home;
use crate::shell;

/// Returns the text of a pattern without wildcards; `None` when it has one.
pub(super) fn literal(pattern: &str) -> Option<String> {
    if pattern.starts_with('!') {
        return None;
    }
    let mut text = String::with_capacity(pattern.len());
    let mut chars = pattern.chars();
    while let Some(char) = chars.next() {
        match char {
            '*' | '?' => return None,
            '[' if chars.as_str().contains(']') => return None,
            // A brace without a comma or a range is an ordinary character.
            '{' => {
                let group = chars.as_str().split('}').next().unwrap_or_default();
                if group.len() < chars.as_str().len()
                    && (group.contains([',']) || group.contains(".."))
                {
                    return None;
                }
                text.push('{');
            }
            '\\' => match chars.clone().next() {
                // Only characters with a meaning can be escaped; any other backslash is text.
                Some(next) if "*?[]{}()!\"\\".contains(next) => {
                    chars.next();
                    text.push(next);
                }
                _ => text.push('\\'),
            },
            char => text.push(char),
        }
    }
    Some(text)
}

/// Splits a literal command into words, with the quoting of a shell where it can be read.
pub(super) fn words(text: &str, home: Option<&str>) -> Vec<Box<str>> {
    // Read as a command is read, so that `git commit -m 'a b'` in a rule has four words.
    let scan = shell::scan(text);
    if scan.understood()
        && let [command] = scan.commands.as_slice()
        && command.redirects.is_empty()
        && command.assigns.is_empty()
        && let Some(words) = command
            .argv
            .iter()
            .map(|word| word.literal().map(Into::into))
            .collect::<Option<Vec<_>>>()
        && !words.is_empty()
    {
        return words;
    }
    text.split_whitespace().map(|word| expand_home(word, home).into()).collect()
}
