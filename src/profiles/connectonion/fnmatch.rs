//! The globs of `when:`, as Python's `fnmatch` reads them: `*` crosses `/`, nothing escapes.

use regex::Regex;

/// Returns true when the whole of `text` fits `pattern`.
// FAIL-CLOSED: a pattern that cannot be compiled fits nothing.
pub(super) fn fnmatch(text: &str, pattern: &str) -> bool {
    Regex::new(&regex(pattern)).is_ok_and(|regex| regex.is_match(text))
}

fn regex(pattern: &str) -> String {
    let mut regex = r"(?s)\A".to_owned();
    let mut rest = pattern.chars();
    while let Some(char) = rest.next() {
        match char {
            '*' => regex += ".*",
            '?' => regex += ".",
            '[' => match class(rest.as_str()) {
                Some((class, behind)) => {
                    regex += &class;
                    rest = behind.chars();
                }
                // Without a closing bracket, `[` is an ordinary character.
                None => regex += r"\[",
            },
            char => regex += &regex::escape(&char.to_string()),
        }
    }
    regex + r"\z"
}

/// Reads the class behind a `[` and returns what follows it; `None` when no `]` closes it.
fn class(behind: &str) -> Option<(String, &str)> {
    let (negation, inside) = match behind.strip_prefix('!') {
        Some(inside) => ("^", inside),
        None => ("", behind),
    };
    // A `]` at the very start is one of the characters.
    let first = inside.chars().next()?.len_utf8();
    let end = first + inside.get(first..)?.find(']')?;
    let chars = inside.get(..end)?.chars().map(|char| match char {
        '-' => "-".to_owned(),
        char => regex::escape(&char.to_string()),
    });
    let class = format!("[{negation}{}]", chars.collect::<String>());
    Some((class, inside.get(end + 1..)?))
}

#[cfg(test)]
mod tests {
    use super::fnmatch;

    #[test]
    fn a_star_crosses_everything_and_nothing_escapes() {
        for (text, pattern, fits) in [
            ("docs/guide/intro.md", "docs/**/*.md", true),
            ("a/b.md", "*.md", true),
            ("a\nb", "a*b", true),
            ("", "*", true),
            ("", "?", false),
            ("ls -F", "ls *", true),
            ("ls", "ls *", false),
            ("[ -f x ]", "[ -f x ]", false),
            ("b", "[!a]", true),
            ("]", "[]a]", true),
            ("-", "[a-]", true),
            ("m", "[a-z]", true),
            ("[x", "[x", true),
            ("Ab", "ab", false),
            ("\\a", "\\a", true),
            ("b", "[!^a&&b]", false),
            ("^", "[^a]", true),
            ("a", "[z-a]", false),
        ] {
            assert_eq!(fnmatch(text, pattern), fits, "{text} {pattern}");
        }
    }

    #[test]
    fn many_stars_do_not_take_for_ever() {
        let pattern = "*a".repeat(50) + "b";
        assert!(!fnmatch(&"a".repeat(5_000), &pattern));
    }
}
