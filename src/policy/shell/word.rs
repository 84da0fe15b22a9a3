//! Words of a command.

use std::borrow::Cow;

use super::class::{CharClass, class};
use super::cursor::{Read, Scanner};
use super::doubt::Doubt;
use super::marks::{Purpose, WordMarks, kind};
use super::stop::Stop;
use super::text::Text;
use super::{Word, WordKind};

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
                    let before = self.at;
                    expanded |= self.double(&mut text, before)?;
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
