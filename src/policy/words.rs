//! Lists of words in one text, as all tables of names are written.

use memchr::memmem;

/// Words separated by blanks.
pub(crate) type Words = &'static str;

/// Iterates over the words of a list.
// As bytes: splitting a text by a character takes several times as long, and most facts about a
// program are looked up in such lists.
pub(crate) fn each(list: &str) -> impl Iterator<Item = &[u8]> {
    list.as_bytes().split(|byte| *byte == b' ').filter(|word| !word.is_empty())
}

/// Lists longer than this are searched as a whole first.
const LONG: usize = 48;

/// Returns true when a word is in the list.
// Most words are in no list. In a long list, one search of the whole text shows that; in a short
// one, comparing first bytes is faster.
pub(crate) fn listed(list: &str, word: &str) -> bool {
    let [first, ..] = word.as_bytes() else { return false };
    if list.len() > LONG && memmem::find(list.as_bytes(), word.as_bytes()).is_none() {
        return false;
    }
    let mut rest = list.as_bytes();
    while rest.len() >= word.len() {
        if rest.first() == Some(first)
            && let Some([] | [b' ', ..]) = rest.strip_prefix(word.as_bytes())
        {
            // A word that contains a blank is not in the list, even if its parts are.
            return !word.contains(' ');
        }
        let Some(blank) = rest.iter().position(|byte| *byte == b' ') else { return false };
        rest = rest.get(blank + 1..).unwrap_or_default();
    }
    false
}

/// Returns true when a text starts with a word of the list.
pub(crate) fn begins(list: &str, text: &str) -> bool {
    each(list).any(|one| text.as_bytes().starts_with(one))
}

/// Returns true when a text ends with a word of the list.
pub(crate) fn ends(list: &str, text: &str) -> bool {
    each(list).any(|one| text.as_bytes().ends_with(one))
}

#[cfg(test)]
mod tests {
    use crate::words::*;

    #[test]
    fn a_list_holds_its_words_and_no_part_of_one() {
        for word in ["push", "ls-remote", "x"] {
            assert!(listed("push ls-remote x", word), "{word}");
        }
        for word in ["", " ", "pus", "remote", "ls", "ls-remote x", "push ls-remote x "] {
            assert!(!listed("push ls-remote x", word), "{word}");
        }
        assert!(!listed("", "x") && !begins("", "x") && !ends("", "x"));
        assert!(begins("-o --out", "--output") && ends(":rm :delete", "db:rm"));
    }
}
