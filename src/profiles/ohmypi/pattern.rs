//! One entry of `bash.patterns`.

use countersign_policy::verdict::Verdict;

/// A pattern for commands and its verdict. A `*` stands for any text, including an empty one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BashPattern {
    text: String,
    verdict: Verdict,
}

/// The reach of a star.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Star {
    /// Any text.
    Everything,
    /// The rest of the line, as in the system.
    OneLine,
}

impl BashPattern {
    /// Creates a pattern; `None` for an empty one.
    #[must_use]
    pub fn new(text: &str, verdict: Verdict) -> Option<Self> {
        let text = normal(text);
        (!text.is_empty()).then_some(Self { text, verdict })
    }

    /// Returns the pattern as it is matched, with single blanks.
    #[must_use]
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Returns the verdict for matching commands.
    pub fn verdict(&self) -> Verdict {
        self.verdict
    }

    /// Returns true when the pattern names one command and no others.
    pub(super) fn is_exact(&self) -> bool {
        !self.text.contains('*')
    }

    /// Matches a whole text that has single blanks already.
    pub(super) fn covers(&self, text: &str, star: Star) -> bool {
        let mut parts = self.text.split('*');
        let Some(rest) = parts.next().and_then(|head| text.strip_prefix(head)) else {
            return false;
        };
        // No star: the whole text has to match.
        let Some(tail) = parts.next_back() else { return rest.is_empty() };
        let Some(mut rest) = rest.strip_suffix(tail) else { return false };
        if star == Star::OneLine && rest.contains(['\n', '\r', '\u{2028}', '\u{2029}']) {
            return false;
        }
        // The first occurrence is always good enough, because only stars lie between the parts.
        parts.all(|part| match rest.split_once(part) {
            Some((_, after)) => {
                rest = after;
                true
            }
            None => false,
        })
    }
}

/// Returns a text with single blanks and none at its ends.
pub(super) fn normal(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests fail by panicking")]

    use super::{BashPattern, Star, Verdict};

    #[test]
    fn a_star_stands_for_any_text_between_its_neighbours() {
        let covers = |pattern: &str, text: &str| {
            BashPattern::new(pattern, Verdict::Deny).unwrap().covers(text, Star::Everything)
        };
        for (pattern, text) in [
            ("git *", "git status"),
            ("git *", "git "),
            ("*", ""),
            ("* && rm *", "a && b && rm c"),
            ("a*a", "aa"),
            ("rm  -rf\t*", "rm -rf x"),
        ] {
            assert!(covers(pattern, text), "{pattern} does not match {text}");
        }
        for (pattern, text) in [("git *", "git"), ("a*a", "a"), ("git", "git status"), ("*b*", "a")]
        {
            assert!(!covers(pattern, text), "{pattern} matches {text}");
        }
    }

    #[test]
    fn the_systems_own_star_ends_with_the_line() {
        let rm = BashPattern::new("rm *", Verdict::Deny).unwrap();
        assert!(rm.covers("rm a\nb", Star::Everything));
        assert!(!rm.covers("rm a\nb", Star::OneLine));
    }
}
