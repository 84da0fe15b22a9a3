//! `[[ … ]]` conditions.

use super::cursor::{Read, Scanner};
use super::doubt::Doubt;
use super::simple::is_variable;

impl<'a> Scanner<'a> {
    /// Reads up to and over `]]`; the cursor is behind `[[`.
    pub(super) fn condition(&mut self) -> Read<()> {
        let mut open = 0usize;
        let mut last = (self.at, self.at);
        let mut counts = false;
        // `-n "$x"` only tells whether there is a value.
        let mut presence = false;
        loop {
            self.newlines()?;
            if self.keyword("]]") {
                if open != 0 {
                    return self.refuse(Doubt::Unexpected);
                }
                self.at += 2;
                return Ok(());
            }
            match self.peek() {
                b'(' => {
                    open += 1;
                    self.at += 1;
                }
                b')' if open > 0 => {
                    open -= 1;
                    self.at += 1;
                }
                b @ (b'&' | b'|') if self.look(1) == b => self.at += 2,
                // Inside `[[`, these compare strings and do not redirect.
                b'<' | b'>' if self.look(1) != b'(' => self.at += 1,
                b')' | b'&' | b'|' | b'<' | b'>' | b';' => return self.refuse(Doubt::Unexpected),
                _ if self.finished() => return self.refuse(Doubt::Unfinished),
                _ => {
                    let (from, before) = (self.at, self.environment);
                    let Some(word) = self.word()? else { return self.refuse(Doubt::Unexpected) };
                    if std::mem::take(&mut presence) && is_variable(&word.text) {
                        self.environment = before;
                    }
                    presence = !word.quoted && matches!(&*word.text, "-n" | "-z");
                    // `@(a|b)`: an extended pattern, in which `|` and `)` have another meaning.
                    if self.peek() == b'(' {
                        return self.refuse(Doubt::Pattern);
                    }
                    if std::mem::take(&mut counts) && !self.is_number(from, self.at) {
                        self.doubt_at(Doubt::Arithmetic, from);
                    }
                    match (word.quoted, &*word.text) {
                        // These evaluate a subscript in their operand, even in a literal one.
                        (false, "-v" | "-R") => self.doubt_at(Doubt::Arithmetic, from),
                        // Both operands are arithmetic: `a[$(x)]` would run `x`.
                        (false, "-eq" | "-ne" | "-lt" | "-le" | "-gt" | "-ge") => {
                            counts = true;
                            if !self.is_number(last.0, last.1) {
                                self.doubt_at(Doubt::Arithmetic, from);
                            }
                        }
                        (false, "=~") => self.regex()?,
                        _ => {}
                    }
                    last = (from, self.at);
                }
            }
        }
    }

    /// Reads the pattern behind `=~`, which has its own quoting rules.
    fn regex(&mut self) -> Read<()> {
        self.blanks();
        let from = self.at;
        let mut open = 0usize;
        loop {
            match self.peek() {
                _ if self.finished() => return self.refuse(Doubt::Unfinished),
                b' ' | b'\t' | b'\n' if open == 0 => break,
                b'(' => {
                    open += 1;
                    self.at += 1;
                }
                b')' if open > 0 => {
                    open -= 1;
                    self.at += 1;
                }
                b')' => break,
                b'\\' if self.look(1) == b'\n' => return self.refuse(Doubt::Continuation),
                b'\\' => self.at += 2,
                b'\'' => {
                    self.single_quoted()?;
                }
                b'"' => {
                    self.at += 1;
                    self.nested(|s| s.double_quoted(None))?;
                }
                // A `$` before a blank or `)` is the regex's end anchor.
                b'$' if matches!(self.look(1), b' ' | b'\t' | b')' | b'|' | b'\n') => self.at += 1,
                b'$' if matches!(self.look(1), b'\'' | b'"') => {
                    return self.refuse(Doubt::Pattern);
                }
                b'$' => {
                    self.dollar(false)?;
                }
                b'`' => self.backtick()?,
                b';' | b'&' | b'<' | b'>' | b'\n' | b' ' | b'\t' => {
                    return self.refuse(Doubt::Pattern);
                }
                b'|' if open == 0 && self.look(1) == b'|' => return self.refuse(Doubt::Pattern),
                _ => self.at += 1,
            }
        }
        if self.at == from {
            return self.refuse(Doubt::Unfinished);
        }
        Ok(())
    }
}
