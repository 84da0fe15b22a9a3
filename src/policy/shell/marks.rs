//! Derives a word's kind from its unquoted characters and its purpose.

use super::WordKind;

/// The purpose of a word; it decides which unquoted characters have a meaning.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Purpose {
    /// Globs, braces and tildes have a meaning.
    Argument,
    /// The value of an assignment: no globs, no braces.
    Value,
    /// The delimiter of a here-document: nothing is expanded.
    Delimiter,
}

/// The special characters seen unquoted in a word.
#[derive(Default)]
pub(super) struct WordMarks {
    glob: bool,
    bracket: bool,
    brace: bool,
    separator: bool,
    tilde: bool,
    dynamic: bool,
    pub(super) wide: bool,
    equals: bool,
}

impl WordMarks {
    #[inline]
    pub(super) fn see(&mut self, b: u8, before: u8) {
        match b {
            b'*' | b'?' => self.glob = true,
            b'[' => self.bracket = true,
            b']' if self.bracket => self.glob = true,
            b'{' => self.brace = true,
            b',' if self.brace => self.separator = true,
            b'.' if self.brace && before == b'.' => self.separator = true,
            // A brace group expands only with a separator in it: `{a}` is literal.
            b'}' if self.separator => self.dynamic = true,
            b'=' => self.equals = true,
            // In an assignment a tilde also expands behind `=` and `:` (`PATH=~/a:~/b`).
            b'~' if matches!(before, b'=' | b':') => self.tilde = true,
            0x80.. => self.wide = true,
            _ => {}
        }
    }
}

/// Returns how exactly a word's text is what the program receives.
pub(super) fn kind(
    marks: &WordMarks,
    expanded: bool,
    purpose: Purpose,
    raw: &str,
    quoted: bool,
) -> WordKind {
    if expanded {
        return WordKind::Dynamic;
    }
    match purpose {
        Purpose::Delimiter => return WordKind::Literal,
        Purpose::Argument if marks.dynamic => return WordKind::Dynamic,
        _ => {}
    }
    // Outside POSIX mode bash also expands the tilde in arguments that look like assignments.
    if marks.tilde && (marks.equals || purpose == Purpose::Value) {
        return WordKind::Dynamic;
    }
    let glob = marks.glob && purpose == Purpose::Argument;
    if let Some(rest) = raw.strip_prefix('~') {
        // `~user` and `~+` are dynamic: the text does not tell where they lead.
        let home = !glob && (rest.starts_with('/') || (rest.is_empty() && !quoted));
        return if home { WordKind::Home } else { WordKind::Dynamic };
    }
    if glob { WordKind::Glob } else { WordKind::Literal }
}
