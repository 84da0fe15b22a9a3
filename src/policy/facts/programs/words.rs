//! Lists of words, as descriptions spell them.

use memchr::memmem;

/// Words with a blank between them.
pub(crate) type Words = &'static str;

/// The words of a list.
// As bytes: splitting a text by a character takes several times as long, and most of what is known
// of a program is looked up in such lists.
pub(crate) fn each(list: &str) -> impl Iterator<Item = &[u8]> {
    list.as_bytes().split(|byte| *byte == b' ').filter(|word| !word.is_empty())
}

/// Lists longer than this are searched as a whole first.
const LONG: usize = 48;

/// Whether a word is in the list.
// Most words are in none. In a long list that shows at once when it is searched as one text, in a
// short one when first bytes are compared.
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
            // A word with a blank in it is none of the list, though its parts may be.
            return !word.contains(' ');
        }
        let Some(blank) = rest.iter().position(|byte| *byte == b' ') else { return false };
        rest = rest.get(blank + 1..).unwrap_or_default();
    }
    false
}

/// Whether a text begins with a word of the list.
pub(crate) fn begins(list: &str, text: &str) -> bool {
    each(list).any(|one| text.as_bytes().starts_with(one))
}

/// Whether a text ends with a word of the list.
pub(crate) fn ends(list: &str, text: &str) -> bool {
    each(list).any(|one| text.as_bytes().ends_with(one))
}

#[cfg(test)]
mod tests {
    use super::{begins, ends, listed};

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
