//! Compares two patterns: whether some text fits both.

use crate::engine::guardrail::route::UNKNOWN;
use crate::engine::guardrail::spelling::Expansions;

/// A part of a pattern.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Piece {
    /// This character.
    One(char),
    /// Any one character.
    Any,
    /// Any text, slashes included.
    Text,
}

/// Returns true when a text may fit both the pattern of a rule and a text with wildcards, of which
/// `UNKNOWN` stands for any text. It fits more than any shell: brackets stand for any character.
pub(super) fn overlap(pattern: &str, text: &str) -> bool {
    // What a negated pattern leaves out is never all that an unknown text may be.
    if pattern.starts_with('!') {
        return true;
    }
    let text = pieces(text);
    let expansions = Expansions { home: None, variables: false };
    expansions.of(pattern).iter().any(|pattern| fits(&pieces(&pattern.text), &text))
}

fn pieces(text: &str) -> Vec<Piece> {
    let mut all = Vec::with_capacity(text.len());
    let mut chars = text.chars();
    while let Some(char) = chars.next() {
        let rest = chars.as_str();
        let piece = match char {
            '*' | UNKNOWN => Piece::Text,
            '?' => Piece::Any,
            // From the second character on, as the first may be a `]`.
            '[' if rest.char_indices().skip(1).any(|(_, char)| char == ']') => {
                let end = rest.char_indices().skip(1).find(|(_, char)| *char == ']');
                chars = rest.get(end.map_or(0, |(at, _)| at + 1)..).unwrap_or_default().chars();
                Piece::Any
            }
            char => Piece::One(char),
        };
        if piece != Piece::Text || all.last() != Some(&Piece::Text) {
            all.push(piece);
        }
    }
    all
}

/// Returns true when some text fits both. `now` holds, for each length of `other`, whether that
/// much of it fits the pieces of `one` so far.
fn fits(one: &[Piece], other: &[Piece]) -> bool {
    let mut now = vec![true];
    for piece in other {
        now.push(*piece == Piece::Text && now.last() == Some(&true));
    }
    for mine in one {
        let mut next = vec![*mine == Piece::Text && now.first() == Some(&true)];
        for (at, theirs) in other.iter().enumerate() {
            let was = |at: usize| now.get(at).copied().unwrap_or(false);
            let fits = match (mine, theirs) {
                (Piece::Text, _) => was(at + 1) || next.last() == Some(&true),
                (_, Piece::Text) => was(at + 1) || was(at) || next.last() == Some(&true),
                (Piece::One(mine), Piece::One(theirs)) => mine == theirs && was(at),
                (Piece::Any, _) | (_, Piece::Any) => was(at),
            };
            next.push(fits);
        }
        now = next;
    }
    now.last() == Some(&true)
}

#[cfg(test)]
mod tests {
    use crate::engine::matcher::overlap::overlap;

    #[test]
    fn two_patterns_overlap_where_one_text_fits_both() {
        for (pattern, text) in [
            ("/srv/prod/**", "/srv/pro*"),
            ("/srv/prod/**", "/srv/\0"),
            ("/srv/prod/*.conf", "/srv/*/a.*"),
            ("**/*.env", "src/*"),
            ("git push *", "git \0"),
            ("git {push,pull} *", "git p?sh -x"),
            ("make deploy*", "make \0"),
            ("/a/[xy]/*", "/a/?/b"),
            ("!x", "\0"),
            ("a?c", "[ab]?c"),
        ] {
            assert!(overlap(pattern, text), "{pattern} {text}");
        }
        for (pattern, text) in [
            ("/srv/prod/**", "/srv/test/*"),
            ("**/*.env", "src/*.rs"),
            ("git push *", "git status \0"),
            ("make deploy*", "make test-\0"),
            ("abc", "ab"),
            ("", "a"),
        ] {
            assert!(!overlap(pattern, text), "{pattern} {text}");
        }
    }
}
