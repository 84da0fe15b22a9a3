//! What a word is, told from its unquoted characters and from what it is read for.

use super::WordKind;

/// What a word is read for; decides which unquoted characters mean something.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Purpose {
    /// Globs, braces and tildes count.
    Argument,
    /// The value of an assignment: no globs, no braces.
    Value,
    /// The delimiter of a here-document: nothing is expanded.
    Delimiter,
}

/// What the unquoted characters of a word make of it.
#[derive(Default)]
pub(super) struct Marks {
    glob: bool,
    bracket: bool,
    brace: bool,
    separator: bool,
    tilde: bool,
    dynamic: bool,
    pub(super) wide: bool,
    equals: bool,
}

impl Marks {
    #[inline]
    pub(super) fn see(&mut self, b: u8, before: u8) {
        match b {
            b'*' | b'?' => self.glob = true,
            b'[' => self.bracket = true,
            b']' if self.bracket => self.glob = true,
            b'{' => self.brace = true,
            b',' if self.brace => self.separator = true,
            b'.' if self.brace && before == b'.' => self.separator = true,
            b'}' if self.separator => self.dynamic = true,
            b'=' => self.equals = true,
            b'~' if matches!(before, b'=' | b':') => self.tilde = true,
            0x80.. => self.wide = true,
            _ => {}
        }
    }
}

/// How far a word's text is what the program will get.
pub(super) fn kind(
    marks: &Marks,
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
    if marks.tilde && (marks.equals || purpose == Purpose::Value) {
        return WordKind::Dynamic;
    }
    let glob = marks.glob && purpose == Purpose::Argument;
    if let Some(rest) = raw.strip_prefix('~') {
        let home = !glob && (rest.starts_with('/') || (rest.is_empty() && !quoted));
        return if home { WordKind::Home } else { WordKind::Dynamic };
    }
    if glob { WordKind::Glob } else { WordKind::Literal }
}
