//! Lists of words in one text, as all tables of names are written.

/// Words separated by blanks.
pub(crate) type Words = &'static str;

/// Iterates over the words of a list.
// As bytes: splitting a text by a character takes several times as long, and most facts about a
// program are looked up in such lists.
pub(crate) fn each(list: &str) -> impl Iterator<Item = &[u8]> {
    list.as_bytes().split(|byte| *byte == b' ').filter(|word| !word.is_empty())
}

/// Returns true when a word is in the list.
// Most words are in no list. Few bytes of one are a word's last and stand before a blank, also in
// lists of options, which all begin alike.
pub(crate) fn listed(list: &str, word: &str) -> bool {
    let (list, [.., last]) = (list.as_bytes(), word.as_bytes()) else { return false };
    memchr::memchr_iter(*last, list).any(|at| {
        matches!(list.get(at + 1), None | Some(b' '))
            && matches!(
                list.get(..=at).and_then(|read| read.strip_suffix(word.as_bytes())),
                Some([] | [.., b' '])
            )
    }) && !word.contains(' ')
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
