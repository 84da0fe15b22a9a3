//! The scanner's cursor: classifies bytes, looks ahead, steps, skips whitespace and comments.

use crate::shell::heredoc::Pending;
use crate::shell::names::Variables;
use crate::shell::{Dialect, Doubt, Scan, Uncertainty, Via, environment};

/// The result of reading a construct: the whole of it, or the reason why not.
pub(super) type Read<T> = Result<T, Uncertainty>;

/// Nesting limit, deeper than any command that a person reads.
// A stack overflow aborts the process and cannot be caught. Two published parsers (brush-parser,
// conch-parser) overflow at 3,000 nested `{`.
const MAX_DEPTH: u32 = 40;

/// The scanner: one pass, recursive, never deeper than [`MAX_DEPTH`].
pub(super) struct Scanner<'a> {
    pub(super) source: &'a str,
    /// The source up to the end of the current region (a backtick body, a here-document's body, or
    /// the text).
    bytes: &'a [u8],
    /// Offset of the next byte.
    pub(super) at: usize,
    /// Start of the current region; a comment may start here.
    pub(super) start: usize,
    pub(super) depth: u32,
    pub(super) dialect: Dialect,
    pub(super) via: Via,
    pub(super) heredocs: Vec<Pending<'a>>,
    /// Inside `$(…)`, where the parenthesis also ends a here-document.
    pub(super) in_parens: bool,
    /// A here-document's body was read in this `$(…)`.
    pub(super) body_read: bool,
    pub(super) names: Variables<'a>,
    /// Index of the command that last changed this shell's directory.
    pub(super) moved_by: Option<usize>,
    /// The first variable of the environment in what is being read.
    pub(super) environment: Option<&'a str>,
    /// The first such variable of which the text only tells whether it has a value.
    pub(super) presence: Option<&'a str>,
    /// The shell prints the commands that it runs, with their values (`set -x`).
    pub(super) traces: bool,
    /// Number of commands started with `&`.
    pub(super) started: usize,
    pub(super) out: Scan<'a>,
}

impl<'a> Scanner<'a> {
    pub(super) fn new(source: &'a str, dialect: Dialect) -> Self {
        Self {
            source,
            bytes: source.as_bytes(),
            at: 0,
            start: 0,
            depth: 0,
            dialect,
            via: Via::Direct,
            heredocs: Vec::new(),
            in_parens: false,
            body_read: false,
            names: Variables::default(),
            moved_by: None,
            environment: None,
            presence: None,
            traces: false,
            started: 0,
            // A command is seldom shorter than 16 bytes; growing the list copies every command in
            // it.
            out: Scan { commands: Vec::with_capacity(source.len() / 16 + 1), ..Scan::default() },
        }
    }

    /// Returns the byte at the cursor, 0 at the end of the region.
    #[inline]
    pub(super) fn peek(&self) -> u8 {
        self.look(0)
    }

    /// Returns the byte `ahead` of the cursor, 0 at the end of the region.
    #[inline]
    pub(super) fn look(&self, ahead: usize) -> u8 {
        self.byte(self.at + ahead)
    }

    /// Returns the byte at an offset, 0 at the end of the region.
    #[inline]
    pub(super) fn byte(&self, offset: usize) -> u8 {
        self.bytes.get(offset).copied().unwrap_or(0)
    }

    /// Returns the end of the current region.
    #[inline]
    pub(super) fn end(&self) -> usize {
        self.bytes.len()
    }

    #[inline]
    pub(super) fn finished(&self) -> bool {
        self.at >= self.end()
    }

    /// Returns the source between two offsets.
    pub(super) fn slice(&self, from: usize, to: usize) -> &'a str {
        self.source.get(from..to).unwrap_or_default()
    }

    /// Returns the rest of the region.
    #[inline]
    pub(super) fn rest(&self) -> &'a [u8] {
        self.from(self.at)
    }

    /// Returns the region from an offset on.
    #[inline]
    pub(super) fn from(&self, offset: usize) -> &'a [u8] {
        self.bytes.get(offset..).unwrap_or_default()
    }

    pub(super) fn refuse<T>(&self, doubt: Doubt) -> Read<T> {
        Err(Uncertainty { doubt, at: self.at })
    }

    /// Gives up certainty but reads on, so that deny rules see the rest.
    pub(super) fn doubt(&mut self, doubt: Doubt) {
        self.doubt_at(doubt, self.at);
    }

    pub(super) fn doubt_at(&mut self, doubt: Doubt, at: usize) {
        self.out.refuse(Uncertainty { doubt, at });
    }

    /// Records that the value of a variable is used.
    pub(super) fn uses(&mut self, name: &'a str) {
        let counts = self.environment.is_none() && !self.names.is_own(name);
        if counts && !environment::shown(name) {
            self.environment = Some(name);
        }
    }

    /// Marks a construct that a plain `sh` reads differently from bash and zsh.
    pub(super) fn bashism(&mut self) {
        if self.dialect == Dialect::Posix {
            self.doubt(Doubt::Dialect);
        }
    }

    /// Marks a construct that zsh reads differently from bash.
    pub(super) fn zshism(&mut self, at: usize) {
        self.doubt_at(Doubt::Dialect, at);
    }

    /// INVARIANT: every recursion of the scanner goes through here, so the stack is bounded.
    pub(super) fn nested<T>(&mut self, read: impl FnOnce(&mut Self) -> Read<T>) -> Read<T> {
        if self.depth >= MAX_DEPTH {
            return self.refuse(Doubt::TooDeep);
        }
        self.depth += 1;
        let result = read(self);
        self.depth -= 1;
        result
    }

    /// Reads the region `from..to`, then returns to the current position.
    pub(super) fn within<T>(
        &mut self,
        from: usize,
        to: usize,
        read: impl FnOnce(&mut Self) -> Read<T>,
    ) -> Read<T> {
        let outer = (self.at, self.start, self.bytes);
        let region = self.bytes.get(..to).unwrap_or_default();
        (self.at, self.start, self.bytes) = (from, from, region);
        let result = read(self);
        // Unread text in the region would run without any rule having seen it.
        if result.is_ok() && self.at < to {
            return self.refuse(Doubt::Unexpected);
        }
        (self.at, self.start, self.bytes) = outer;
        result
    }

    /// Skips spaces, tabs, line continuations and a comment.
    #[inline]
    pub(super) fn blanks(&mut self) {
        // Almost every gap is plain spaces; the rest stays out of the inlined code.
        while self.peek() == b' ' {
            self.at += 1;
        }
        if matches!(self.peek(), b'\t' | b'\\' | b'#') {
            self.odd_blanks();
        }
    }

    fn odd_blanks(&mut self) {
        loop {
            match self.peek() {
                b' ' | b'\t' => self.at += 1,
                b'\\' if self.look(1) == b'\n' => self.at += 2,
                b'#' if self.token_starts() => {
                    let rest = self.rest();
                    self.at += memchr::memchr(b'\n', rest).unwrap_or(rest.len());
                }
                _ => return,
            }
        }
    }

    /// Skips whitespace and newlines; reads the bodies of pending here-documents.
    pub(super) fn newlines(&mut self) -> Read<()> {
        loop {
            self.blanks();
            if self.peek() != b'\n' {
                return Ok(());
            }
            self.at += 1;
            if !self.heredocs.is_empty() {
                self.here_documents()?;
            }
        }
    }

    /// Returns true when `word` is at the cursor as a whole word.
    #[inline]
    pub(super) fn keyword(&self, word: &str) -> bool {
        self.rest().starts_with(word.as_bytes()) && {
            // Only as a whole word: `done2` is a command.
            let after = self.at + word.len();
            after >= self.end() || is_meta(self.byte(after))
        }
    }

    /// Steps over a keyword that is required here.
    pub(super) fn expect(&mut self, word: &str) -> Read<()> {
        if !self.keyword(word) {
            return self.refuse(Doubt::Unexpected);
        }
        self.at += word.len();
        Ok(())
    }

    /// Returns the length of the identifier at the cursor.
    pub(super) fn identifier(&self) -> usize {
        if !is_name_start(self.peek()) {
            return 0;
        }
        self.rest().iter().take_while(|&&b| is_name(b)).count()
    }

    /// SECURITY: emoji joiners are invisible; in an unquoted word they would disguise a name.
    pub(super) fn bare(&mut self, from: usize, to: usize) {
        if self.slice(from, to).contains(is_joiner) {
            self.doubt_at(Doubt::Invisible, from);
        }
    }

    fn token_starts(&self) -> bool {
        // `#` starts a comment only at the start of a word; in `a#b` it is data.
        self.at == self.start
            || self.at.checked_sub(1).is_some_and(|before| is_meta(self.byte(before)))
    }
}

// Classifies bytes for unquoted words: one table lookup replaces many comparisons.

/// The classes, ordered by how much each interrupts a word; the scanner compares them with `<`.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum CharClass {
    /// Stands for itself.
    Plain,
    /// Stands for itself unless a [`CharClass::Mark`] precedes it.
    Inner,
    /// May start a glob, a brace or a tilde expansion, or belongs to a character beyond ASCII.
    Mark,
    /// `'`
    Single,
    /// Has a meaning in double quotes too.
    Live,
    /// `<` and `>`, which may start a substitution.
    Angle,
    /// Ends the word.
    End,
}

const CLASSES: [CharClass; 256] = {
    let mut classes = [CharClass::Plain; 256];
    // `for` is not allowed in a constant.
    let mut b = 0;
    while b < classes.len() {
        #[allow(
            clippy::indexing_slicing,
            reason = "bounded by the loop, worked out by the compiler"
        )]
        let class = &mut classes[b];
        *class = match b as u8 {
            b' ' | b'\t' | b'\n' | b';' | b'&' | b'|' | b'(' | b')' => CharClass::End,
            b'<' | b'>' => CharClass::Angle,
            b'"' | b'\\' | b'$' | b'`' => CharClass::Live,
            b'\'' => CharClass::Single,
            b'*' | b'?' | b'[' | b'{' | b'~' | 0x80.. => CharClass::Mark,
            b']' | b'}' | b',' | b'.' | b'=' => CharClass::Inner,
            _ => CharClass::Plain,
        };
        b += 1;
    }
    classes
};

/// Returns the class of a byte.
#[inline]
pub(super) fn class(b: u8) -> CharClass {
    // The table has an entry for every byte; the fallback only avoids an index that could panic.
    CLASSES.get(usize::from(b)).copied().unwrap_or(CharClass::End)
}

/// Returns true for bytes that end an unquoted word.
#[inline]
pub(super) fn is_meta(b: u8) -> bool {
    class(b) >= CharClass::Angle
}

#[inline]
pub(super) fn is_name_start(b: u8) -> bool {
    b.is_ascii_alphabetic() || b == b'_'
}

#[inline]
pub(super) fn is_name(b: u8) -> bool {
    b.is_ascii_alphanumeric() || b == b'_'
}

// Characters that make a person see something other than what the shell runs.

/// Finds the first control, invisible or direction-changing character.
///
/// The two emoji joiners (U+200D, U+FE0F) pass here; [`is_joiner`] refuses them outside quotes.
pub(super) fn inspect(source: &str) -> Option<Uncertainty> {
    // In Claude Code, tabs and invisible characters hid a part of the command from the approver
    // (fixed in 2.1.223).
    let mut from = 0;
    while let Some(at) = odd(source.as_bytes(), from) {
        let c = source.get(at..)?.chars().next()?;
        if let Some(doubt) = doubtful(c) {
            return Some(Uncertainty { doubt, at });
        }
        from = at + c.len_utf8();
    }
    None
}

/// Finds the next byte that is neither printable ASCII nor a tab or newline. Reads 16 bytes at a
/// time, which the compiler turns into vector instructions.
fn odd(bytes: &[u8], from: usize) -> Option<usize> {
    // As a signed number, every byte beyond ASCII is negative, so one comparison covers them too.
    let is_odd = |b: u8| (b.cast_signed() < 0x20 && b != b'\n' && b != b'\t') || b == 0x7f;
    let (strides, _) = bytes.get(from..)?.as_chunks::<16>();
    // A fold does not stop early; a loop that did could not be vectorized.
    let any_odd = |stride: &[u8; 16]| stride.iter().fold(false, |any, &b| any | is_odd(b));
    let even = strides.iter().take_while(|stride| !any_odd(stride)).count();
    let begin = from + even * 16;
    bytes.get(begin..)?.iter().position(|&b| is_odd(b)).map(|offset| begin + offset)
}

fn doubtful(c: char) -> Option<Doubt> {
    match c {
        '\n' | '\t' => None,
        // C0 and C1 controls: a terminal may obey them and overwrite what the person reads.
        '\0'..='\x1f' | '\x7f' | '\u{80}'..='\u{9f}' => Some(Doubt::Control),
        ' '..='\x7e' => None,
        _ if is_joiner(c) => None,
        // Characters that render as nothing or as an ordinary blank. With one of them, two names
        // that differ look the same on a card.
        '\u{a0}'
        | '\u{ad}'
        | '\u{34f}'
        | '\u{61c}'
        | '\u{115f}'
        | '\u{1160}'
        | '\u{1680}'
        | '\u{17b4}'
        | '\u{17b5}'
        | '\u{180b}'..='\u{180f}'
        | '\u{2000}'..='\u{200f}'
        | '\u{2028}'..='\u{202f}'
        | '\u{205f}'..='\u{206f}'
        | '\u{2800}'
        | '\u{3000}'
        | '\u{3164}'
        | '\u{fe00}'..='\u{fe0e}'
        | '\u{feff}'
        | '\u{ffa0}'
        | '\u{fff0}'..='\u{fffb}'
        | '\u{1bca0}'..='\u{1bca3}'
        | '\u{1d173}'..='\u{1d17a}'
        | '\u{e0000}'..='\u{e0fff}' => Some(Doubt::Invisible),
        _ => None,
    }
}

/// Returns true for the two characters that join emoji: harmless in quoted data, a disguise in a
/// bare word.
// Refusing them everywhere made about ten of 2,065 recorded agent commands ask (`echo "⚠️"`).
pub(super) fn is_joiner(c: char) -> bool {
    matches!(c, '\u{200d}' | '\u{fe0f}')
}

/// A set of list ends.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) struct Stop(u16);

impl Stop {
    /// The end of the region.
    pub(super) const END: Self = Self(1);
    pub(super) const PAREN: Self = Self(1 << 1);
    pub(super) const BRACE: Self = Self(1 << 2);
    pub(super) const THEN: Self = Self(1 << 3);
    pub(super) const DO: Self = Self(1 << 4);
    pub(super) const DONE: Self = Self(1 << 5);
    pub(super) const ELIF_ELSE_FI: Self = Self(1 << 6);
    pub(super) const FI: Self = Self(1 << 7);
    pub(super) const CLAUSE: Self = Self(1 << 8);

    pub(super) fn has(self, other: Self) -> bool {
        self.0 & other.0 != 0
    }
}
