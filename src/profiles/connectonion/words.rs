//! Splits a command line into words as Python's `shlex.split` does.

/// Returns the words; `None` when a quote is not closed or a backslash ends the text.
pub(super) fn split(text: &str) -> Option<Vec<String>> {
    let mut words = Vec::new();
    let mut word: Option<String> = None;
    let mut chars = text.chars();
    while let Some(char) = chars.next() {
        match char {
            ' ' | '\t' | '\r' | '\n' => words.extend(word.take()),
            '\'' => {
                let word = word.get_or_insert_default();
                loop {
                    match chars.next()? {
                        '\'' => break,
                        char => word.push(char),
                    }
                }
            }
            '"' => double_quoted(&mut chars, word.get_or_insert_default())?,
            '\\' => word.get_or_insert_default().push(chars.next()?),
            char => word.get_or_insert_default().push(char),
        }
    }
    words.extend(word);
    Some(words)
}

fn double_quoted(chars: &mut std::str::Chars<'_>, word: &mut String) -> Option<()> {
    loop {
        match chars.next()? {
            '"' => return Some(()),
            '\\' => match chars.next()? {
                // Inside double quotes `shlex` unescapes only these two.
                escaped @ ('"' | '\\') => word.push(escaped),
                other => word.extend(['\\', other]),
            },
            char => word.push(char),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::split;

    #[test]
    fn quotes_join_and_go() {
        let words = split(r#"a 'b c' "d\"e\x" f\ g '' h"i"'j'"#);
        assert_eq!(
            words.as_deref(),
            Some(&["a", "b c", r#"d"e\x"#, "f g", "", "hij"].map(String::from)[..])
        );
        assert_eq!(split("  "), Some(Vec::new()));
    }

    #[test]
    fn an_open_quote_is_no_command_line() {
        for text in ["it's", "a \"b", "a\\"] {
            assert_eq!(split(text), None, "{text}");
        }
    }
}
