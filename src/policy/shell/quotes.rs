//! Quotes and escapes inside words.

use std::ops::Range;

use super::ansi;
use super::class::{CharClass, class};
use super::cursor::{Read, Scanner};
use super::doubt::Doubt;
use super::text::Text;

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
    pub(super) fn double_quoted(&mut self, text: Option<&mut Text<'a>>) -> Read<bool> {
        let mut sink = Text::new(self.source, self.at);
        let text = text.unwrap_or(&mut sink);
        let begin = self.at;
        self.double(text, begin)
    }

    pub(super) fn double(&mut self, text: &mut Text<'a>, begin: usize) -> Read<bool> {
        let mut expanded = false;
        let mut from = begin;
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
    pub(super) fn ansi_quoted(&mut self, text: &mut Text<'a>) -> Read<()> {
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
}
