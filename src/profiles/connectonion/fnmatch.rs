//! The globs of `when:`, as Python's `fnmatch` reads them: `*` crosses `/`, nothing escapes.

/// Returns true when the whole of `text` fits `pattern`.
pub(super) fn fnmatch(text: &str, pattern: &str) -> bool {
    let parts = parts(pattern);
    let text: Vec<char> = text.chars().collect();
    let (mut at, mut part) = (0, 0);
    // Where to continue when the last star takes one more character.
    let mut retry: Option<(usize, usize)> = None;
    while at < text.len() {
        match (parts.get(part), text.get(at)) {
            // A star starts with no character and takes one more at each mismatch.
            (Some(FnmatchPart::Star), _) => {
                part += 1;
                retry = Some((at, part));
            }
            (Some(one), Some(char)) if one.fits(*char) => {
                at += 1;
                part += 1;
            }
            _ => {
                let Some((from, behind)) = retry else { return false };
                retry = Some((from + 1, behind));
                (at, part) = (from + 1, behind);
            }
        }
    }
    parts.iter().skip(part).all(|part| matches!(part, FnmatchPart::Star))
}

/// A part of a pattern.
enum FnmatchPart {
    Star,
    Any,
    One(char),
    Class { negated: bool, ranges: Vec<(char, char)> },
}

impl FnmatchPart {
    fn fits(&self, char: char) -> bool {
        match self {
            Self::Star => false,
            Self::Any => true,
            Self::One(one) => *one == char,
            Self::Class { negated, ranges } => {
                ranges.iter().any(|(from, to)| (*from..=*to).contains(&char)) != *negated
            }
        }
    }
}

fn parts(pattern: &str) -> Vec<FnmatchPart> {
    let chars: Vec<char> = pattern.chars().collect();
    let mut parts = Vec::new();
    let mut at = 0;
    while let Some(char) = chars.get(at) {
        at += 1;
        parts.push(match char {
            '*' => FnmatchPart::Star,
            '?' => FnmatchPart::Any,
            '[' => match class(chars.get(at..).unwrap_or_default()) {
                Some((class, length)) => {
                    at += length;
                    class
                }
                // Without a closing bracket, `[` is an ordinary character.
                None => FnmatchPart::One('['),
            },
            char => FnmatchPart::One(*char),
        });
    }
    parts
}

/// Reads the class behind a `[` and returns its length; `None` when no `]` closes it.
fn class(behind: &[char]) -> Option<(FnmatchPart, usize)> {
    let negated = behind.first() == Some(&'!');
    let start = usize::from(negated);
    // A `]` at the very start is one of the characters.
    let end = behind.iter().skip(start + 1).position(|char| *char == ']')? + start + 1;
    let mut inside = behind.get(start..end)?;
    let mut ranges = Vec::new();
    while let Some((from, rest)) = inside.split_first() {
        match rest {
            ['-', to, more @ ..] => {
                ranges.push((*from, *to));
                inside = more;
            }
            _ => {
                ranges.push((*from, *from));
                inside = rest;
            }
        }
    }
    Some((FnmatchPart::Class { negated, ranges }, end + 1))
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
