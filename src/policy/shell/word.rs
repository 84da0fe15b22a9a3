//! Words: quotes, escapes, globs, braces, tildes.

use std::borrow::Cow;
use std::ops::Range;

use super::class::{Class, class};
use super::cursor::{Read, Scanner};
use super::doubt::Doubt;
use super::grammar::Stop;
use super::{Word, WordKind, ansi};

/// What a word is read for; decides which unquoted characters mean something.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Place {
    /// Globs, braces and tildes count.
    Argument,
    /// The value of an assignment: no globs, no braces.
    Value,
    /// The delimiter of a here-document: nothing is expanded.
    Delimiter,
}

/// The text of a word while it is read; borrowed as long as it is one piece of the source.
pub(super) struct Text<'a> {
    source: &'a str,
    piece: Range<usize>,
    owned: String,
}

impl<'a> Text<'a> {
    fn new(source: &'a str, at: usize) -> Self {
        Self { source, piece: at..at, owned: String::new() }
    }

    fn slice(&self) -> &'a str {
        self.source.get(self.piece.clone()).unwrap_or_default()
    }

    /// Adds a piece of the source.
    fn add(&mut self, piece: Range<usize>) {
        if self.owned.is_empty() {
            if self.piece.is_empty() {
                self.piece = piece;
                return;
            }
            if piece.is_empty() {
                return;
            }
            if self.piece.end == piece.start {
                self.piece.end = piece.end;
                return;
            }
            self.owned.push_str(self.slice());
        }
        self.owned.push_str(self.source.get(piece).unwrap_or_default());
    }

    /// Adds text that does not stand in the source as it is.
    fn push(&mut self, text: &str) {
        if self.owned.is_empty() {
            self.owned.push_str(self.slice());
            self.piece = 0..0;
        }
        self.owned.push_str(text);
    }

    fn finish(self) -> Cow<'a, str> {
        if self.owned.is_empty() { Cow::Borrowed(self.slice()) } else { Cow::Owned(self.owned) }
    }
}

/// What the unquoted characters of a word make of it.
#[derive(Default)]
struct Marks {
    glob: bool,
    bracket: bool,
    brace: bool,
    separator: bool,
    tilde: bool,
    dynamic: bool,
    wide: bool,
    equals: bool,
}

impl Marks {
    #[inline]
    fn see(&mut self, b: u8, before: u8) {
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

impl<'a> Scanner<'a> {
    /// A word of a command.
    #[inline]
    pub(super) fn word(&mut self) -> Read<Option<Word<'a>>> {
        self.word_at(Place::Argument)
    }

    /// A word, or `None` when there is none at the cursor.
    #[inline]
    pub(super) fn word_at(&mut self, place: Place) -> Read<Option<Word<'a>>> {
        match self.plain_word() {
            Some(word) => Ok(Some(word)),
            None => self.marked_word(place),
        }
    }

    /// A word in which nothing has a meaning, as most are.
    #[inline]
    fn plain_word(&mut self) -> Option<Word<'a>> {
        let rest = self.rest();
        let length = rest.iter().take_while(|&&b| class(b) <= Class::Inner).count();
        if length == 0 || rest.get(length).is_some_and(|&b| class(b) < Class::End) {
            return None;
        }
        let span = self.at..self.at + length;
        self.at = span.end;
        let text = Cow::Borrowed(self.slice(span.start, span.end));
        Some(Word { text, kind: WordKind::Literal, quoted: false, span })
    }

    fn marked_word(&mut self, place: Place) -> Read<Option<Word<'a>>> {
        let start = self.at;
        let mut marks = Marks::default();
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
                    let before = self.at;
                    expanded |= self.double(&mut text, before)?;
                    quoted = true;
                }
                b'\\' => {
                    self.escaped(&mut text, start)?;
                    quoted = true;
                }
                b'$' if place == Place::Delimiter => return self.refuse(Doubt::HereDocument),
                b'`' if place == Place::Delimiter => return self.refuse(Doubt::HereDocument),
                b'$' if self.look(1) == b'\'' => {
                    self.bashism();
                    self.ansi_quoted(&mut text)?;
                    quoted = true;
                }
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
                    if from != start || place != Place::Argument {
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
        let kind = kind(&marks, expanded, place, self.slice(start, self.at), quoted);
        Ok(Some(Word { text, kind, quoted, span: start..self.at }))
    }

    /// Unquoted characters that stand for themselves or mark a glob, brace or tilde.
    #[inline]
    fn plain_run(&mut self, marks: &mut Marks, text: &mut Text<'a>) {
        let from = self.at;
        let mut before = 0u8;
        let mut length = 0;
        for &b in self.rest() {
            match class(b) {
                Class::Plain => {}
                Class::Inner | Class::Mark => marks.see(b, before),
                Class::Single | Class::Live | Class::Angle | Class::End => break,
            }
            before = b;
            length += 1;
        }
        if length > 0 {
            self.at += length;
            text.add(from..self.at);
        }
    }

    /// At a `'`: the range between the quotes; the cursor is behind them.
    pub(super) fn single_quoted(&mut self) -> Read<Range<usize>> {
        let from = self.at + 1;
        let rest = self.from(from);
        let Some(length) = memchr::memchr(b'\'', rest) else {
            return self.refuse(Doubt::Unfinished);
        };
        self.at = from + length + 1;
        Ok(from..from + length)
    }

    /// Behind a `"`: reads up to and over the closing one. True when something is expanded.
    pub(super) fn double_quoted(&mut self, text: Option<&mut Text<'a>>) -> Read<bool> {
        let mut sink = Text::new(self.source, self.at);
        let text = text.unwrap_or(&mut sink);
        let begin = self.at;
        self.double(text, begin)
    }

    fn double(&mut self, text: &mut Text<'a>, begin: usize) -> Read<bool> {
        let mut expanded = false;
        let mut from = begin;
        loop {
            let run = self.rest().iter().position(|&b| class(b) == Class::Live);
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
                        // The escaped character itself begins the next piece.
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

    /// At a backslash outside quotes.
    fn escaped(&mut self, text: &mut Text<'a>, start: usize) -> Read<()> {
        if self.look(1) == b'\n' {
            // Between words `blanks` has skipped it; here it is inside a token.
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

    /// At `$'`.
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
                    let Some(value) = ansi::decode(body) else {
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

    /// The whole text as one list.
    pub(super) fn whole(&mut self) -> Read<()> {
        self.list(Stop::END)?;
        if self.heredocs.is_empty() { Ok(()) } else { self.here_documents() }
    }
}

fn kind(marks: &Marks, expanded: bool, place: Place, raw: &str, quoted: bool) -> WordKind {
    if expanded {
        return WordKind::Dynamic;
    }
    match place {
        Place::Delimiter => return WordKind::Literal,
        Place::Argument if marks.dynamic => return WordKind::Dynamic,
        _ => {}
    }
    if marks.tilde && (marks.equals || place == Place::Value) {
        return WordKind::Dynamic;
    }
    let glob = marks.glob && place == Place::Argument;
    if let Some(rest) = raw.strip_prefix('~') {
        let home = !glob && (rest.starts_with('/') || (rest.is_empty() && !quoted));
        return if home { WordKind::Home } else { WordKind::Dynamic };
    }
    if glob { WordKind::Glob } else { WordKind::Literal }
}
