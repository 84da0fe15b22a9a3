//! Words of a command: quotes, escapes, and how exactly a word's text is what the program receives.

use std::borrow::Cow;
use std::iter::Peekable;
use std::ops::Range;
use std::str::Chars;

use crate::glob::bracket;
use crate::shell::cursor::{CharClass, Read, Scanner, Stop, class};
use crate::shell::{Doubt, Word, WordKind};

impl<'a> Scanner<'a> {
    /// Reads a word of a command.
    #[inline]
    pub(super) fn word(&mut self) -> Read<Option<Word<'a>>> {
        self.word_at(Purpose::Argument)
    }

    /// Reads a word; returns `None` when there is none at the cursor.
    #[inline]
    pub(super) fn word_at(&mut self, purpose: Purpose) -> Read<Option<Word<'a>>> {
        match self.plain_word() {
            Some(word) => Ok(Some(word)),
            None => self.marked_word(purpose),
        }
    }

    /// Reads a word in which no character has a special meaning; most words are like that.
    #[inline]
    fn plain_word(&mut self) -> Option<Word<'a>> {
        let rest = self.rest();
        let length = rest.iter().take_while(|&&b| class(b) <= CharClass::Inner).count();
        // A quote or an expansion follows, so the word is longer than this run.
        if length == 0 || rest.get(length).is_some_and(|&b| class(b) < CharClass::End) {
            return None;
        }
        let span = self.at..self.at + length;
        self.at = span.end;
        let text = Cow::Borrowed(self.slice(span.start, span.end));
        Some(Word { text, kind: WordKind::Literal, quoted: false, span })
    }

    fn marked_word(&mut self, purpose: Purpose) -> Read<Option<Word<'a>>> {
        let start = self.at;
        let mut marks = WordMarks::default();
        let mut quoted = false;
        let mut expanded = false;
        let mut text = Text::new(self.source, start);
        loop {
            self.plain_run(&mut marks, &mut text);
            let from = self.at;
            match self.peek() {
                b'\'' => {
                    let inner = self.single_quoted()?;
                    text.add(inner);
                    quoted = true;
                }
                b'"' => {
                    self.at += 1;
                    expanded |= self.double(&mut text)?;
                    quoted = true;
                }
                b'\\' => {
                    self.escaped(&mut text, start)?;
                    quoted = true;
                }
                b'$' if purpose == Purpose::Delimiter => return self.refuse(Doubt::HereDocument),
                b'`' if purpose == Purpose::Delimiter => return self.refuse(Doubt::HereDocument),
                b'$' if self.look(1) == b'\'' => {
                    self.bashism();
                    self.ansi_quoted(&mut text)?;
                    quoted = true;
                }
                // The locale may replace the text of `$"…"`.
                b'$' if self.look(1) == b'"' => return self.refuse(Doubt::Expansion),
                b'$' => {
                    if self.dollar(false)? {
                        expanded = true;
                    }
                    text.add(from..self.at);
                }
                b'`' => {
                    self.backtick()?;
                    expanded = true;
                    text.add(from..self.at);
                }
                b'<' | b'>' if self.look(1) == b'(' => {
                    if from != start || purpose != Purpose::Argument {
                        return self.refuse(Doubt::Unexpected);
                    }
                    self.bashism();
                    self.at += 2;
                    self.substitution()?;
                    expanded = true;
                    text.add(from..self.at);
                }
                _ => break,
            }
        }
        if self.at == start {
            return Ok(None);
        }
        if marks.wide {
            self.bare(start, self.at);
        }
        let text = text.finish();
        let kind = kind(&marks, expanded, purpose, self.slice(start, self.at), quoted);
        Ok(Some(Word { text, kind, quoted, span: start..self.at }))
    }

    /// Reads unquoted characters that stand for themselves or mark a glob, brace or tilde.
    #[inline]
    fn plain_run(&mut self, marks: &mut WordMarks, text: &mut Text<'a>) {
        let from = self.at;
        let mut before = 0u8;
        let mut length = 0;
        for &b in self.rest() {
            match class(b) {
                CharClass::Plain => {}
                CharClass::Inner | CharClass::Mark => marks.see(b, before),
                CharClass::Single | CharClass::Live | CharClass::Angle | CharClass::End => break,
            }
            before = b;
            length += 1;
        }
        if length > 0 {
            self.at += length;
            text.add(from..self.at);
        }
    }

    /// Reads the whole text as one list.
    pub(super) fn whole(&mut self) -> Read<()> {
        self.list(Stop::END)?;
        if self.heredocs.is_empty() { Ok(()) } else { self.here_documents() }
    }
}

/// The text of a word while it is read; borrowed as long as it is one piece of the source.
pub(super) struct Text<'a> {
    source: &'a str,
    piece: Range<usize>,
    owned: String,
}

impl<'a> Text<'a> {
    pub(super) fn new(source: &'a str, at: usize) -> Self {
        Self { source, piece: at..at, owned: String::new() }
    }

    fn slice(&self) -> &'a str {
        self.source.get(self.piece.clone()).unwrap_or_default()
    }

    /// Appends a piece of the source.
    pub(super) fn add(&mut self, piece: Range<usize>) {
        if self.owned.is_empty() {
            if self.piece.is_empty() {
                self.piece = piece;
                return;
            }
            if piece.is_empty() {
                return;
            }
            // Adjacent pieces stay borrowed; only a gap, such as a removed quote, forces a copy.
            if self.piece.end == piece.start {
                self.piece.end = piece.end;
                return;
            }
            self.owned.push_str(self.slice());
        }
        self.owned.push_str(self.source.get(piece).unwrap_or_default());
    }

    /// Appends text that differs from the source.
    pub(super) fn push(&mut self, text: &str) {
        if self.owned.is_empty() {
            self.owned.push_str(self.slice());
            self.piece = 0..0;
        }
        self.owned.push_str(text);
    }

    pub(super) fn finish(self) -> Cow<'a, str> {
        if self.owned.is_empty() { Cow::Borrowed(self.slice()) } else { Cow::Owned(self.owned) }
    }
}

// Quotes and escapes inside words.

impl<'a> Scanner<'a> {
    /// Reads a single-quoted string and returns the range between the quotes.
    pub(super) fn single_quoted(&mut self) -> Read<Range<usize>> {
        let from = self.at + 1;
        let rest = self.from(from);
        let Some(length) = memchr::memchr(b'\'', rest) else {
            return self.refuse(Doubt::Unfinished);
        };
        self.at = from + length + 1;
        Ok(from..from + length)
    }

    /// Reads up to and over the closing `"`; the cursor is behind the opening one. Returns true
    /// when something is expanded.
    pub(super) fn double_quoted(&mut self) -> Read<bool> {
        self.double(&mut Text::new(self.source, self.at))
    }

    fn double(&mut self, text: &mut Text<'a>) -> Read<bool> {
        let mut expanded = false;
        let mut from = self.at;
        loop {
            let run = self.rest().iter().position(|&b| class(b) == CharClass::Live);
            let Some(run) = run else { return self.refuse(Doubt::Unfinished) };
            self.at += run;
            match self.peek() {
                b'"' => {
                    text.add(from..self.at);
                    self.at += 1;
                    return Ok(expanded);
                }
                b'\\' => match self.look(1) {
                    b'\n' => {
                        text.add(from..self.at);
                        self.at += 2;
                        from = self.at;
                    }
                    b'$' | b'`' | b'"' | b'\\' => {
                        text.add(from..self.at);
                        // The next piece starts with the escaped character itself.
                        from = self.at + 1;
                        self.at += 2;
                    }
                    _ => self.at += 1,
                },
                b'`' => {
                    self.backtick()?;
                    expanded = true;
                }
                _ => expanded |= self.dollar(true)?,
            }
        }
    }

    /// Reads a backslash escape outside quotes.
    pub(super) fn escaped(&mut self, text: &mut Text<'a>, start: usize) -> Read<()> {
        if self.look(1) == b'\n' {
            // `blanks` skips continuations between words, so this one splits a token.
            return self.refuse(Doubt::Continuation);
        }
        let rest = self.slice(self.at + 1, self.end());
        let Some(c) = rest.chars().next() else { return self.refuse(Doubt::Unfinished) };
        if !c.is_ascii() {
            self.bare(start, self.at + 1 + c.len_utf8());
        }
        self.at += 1 + c.len_utf8();
        text.add(self.at - c.len_utf8()..self.at);
        Ok(())
    }

    /// Reads `$'…'`.
    fn ansi_quoted(&mut self, text: &mut Text<'a>) -> Read<()> {
        let from = self.at + 2;
        let rest = self.from(from);
        let mut bytes = rest.iter().enumerate();
        while let Some((offset, &b)) = bytes.next() {
            match b {
                b'\\' => {
                    bytes.next();
                }
                b'\'' => {
                    let body = self.slice(from, from + offset);
                    let Some(value) = decode(body) else {
                        return self.refuse(Doubt::Expansion);
                    };
                    text.push(&value);
                    self.at = from + offset + 1;
                    return Ok(());
                }
                _ => {}
            }
        }
        self.refuse(Doubt::Unfinished)
    }
}

// `$'…'`: escapes as in C.

/// Decodes the body of `$'…'`. Returns `None` for an unknown escape and for bytes that are not
/// valid text.
fn decode(body: &str) -> Option<Cow<'_, str>> {
    if !body.contains('\\') {
        return Some(Cow::Borrowed(body));
    }
    // bash ends the value at a NUL, so text behind it vanishes. Only `$'\0'` alone is read;
    // `escape` refuses a NUL anywhere else.
    if body == "\\0" {
        return Some(Cow::Borrowed(""));
    }
    let mut out = String::with_capacity(body.len());
    let mut chars = body.chars().peekable();
    while let Some(c) = chars.next() {
        let value = if c == '\\' { escape(&mut chars)? } else { c };
        out.push(value);
    }
    Some(Cow::Owned(out))
}

fn escape(chars: &mut Peekable<Chars<'_>>) -> Option<char> {
    let value = match chars.next()? {
        'a' => '\x07',
        'b' => '\x08',
        'e' | 'E' => '\x1b',
        'f' => '\x0c',
        'n' => '\n',
        'r' => '\r',
        't' => '\t',
        'v' => '\x0b',
        c @ ('\\' | '\'' | '"' | '?') => c,
        first @ '0'..='7' => byte(digits(chars, 8, 2, first.to_digit(8)?))?,
        'x' => {
            // bash keeps a `\x` without a digit as text; such a string is refused instead.
            chars.peek()?.to_digit(16)?;
            byte(digits(chars, 16, 2, 0))?
        }
        'u' => {
            chars.peek()?.to_digit(16)?;
            char::from_u32(digits(chars, 16, 4, 0))?
        }
        'U' => {
            chars.peek()?.to_digit(16)?;
            char::from_u32(digits(chars, 16, 8, 0))?
        }
        _ => return None,
    };
    (value != '\0').then_some(value)
}

/// Accepts ASCII only: a byte above 0x7f is a fragment of a UTF-8 character.
fn byte(code: u32) -> Option<char> {
    char::from_u32(code).filter(char::is_ascii)
}

/// Reads up to `limit` more digits and adds them to `first`.
fn digits(chars: &mut Peekable<Chars<'_>>, radix: u32, limit: usize, first: u32) -> u32 {
    let mut value = first;
    for _ in 0..limit {
        let Some(digit) = chars.peek().and_then(|c| c.to_digit(radix)) else { break };
        chars.next();
        // Eight hexadecimal digits fill a `u32` exactly, so nothing wraps around.
        value = value.wrapping_mul(radix) + digit;
    }
    value
}

// Derives a word's kind from its unquoted characters and its purpose.

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
struct WordMarks {
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
fn kind(marks: &WordMarks, expanded: bool, purpose: Purpose, raw: &str, quoted: bool) -> WordKind {
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
    // FAIL-CLOSED: what a bracket stands for is read only where all shells read it alike.
    if glob && marks.bracket && !raw.split('[').skip(1).all(|rest| bracket(rest).is_some()) {
        return WordKind::Dynamic;
    }
    if let Some(rest) = raw.strip_prefix('~') {
        // `~user` and `~+` are dynamic: the text does not tell where they lead.
        let home = !glob && (rest.starts_with('/') || (rest.is_empty() && !quoted));
        return if home { WordKind::Home } else { WordKind::Dynamic };
    }
    if glob { WordKind::Glob } else { WordKind::Literal }
}

#[cfg(test)]
mod tests {
    use crate::shell::word::decode;

    #[test]
    fn escapes_become_the_characters_they_stand_for() {
        assert_eq!(decode("\\162m").as_deref(), Some("rm"));
        assert_eq!(decode("a\\x62\\u0063\\n\\'").as_deref(), Some("abc\n'"));
    }

    #[test]
    fn unknown_escapes_bytes_and_nul_are_refused() {
        for body in ["\\q", "\\xff", "a\\0b", "\\cA", "\\x", "\\"] {
            assert_eq!(decode(body), None, "{body}");
        }
    }
}
