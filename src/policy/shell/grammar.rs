//! Lists, pipelines, and the choice of the next kind of command.

use crate::shell::cursor::{Read, Scanner, Stop};
use crate::shell::{Doubt, PipePosition};

impl Scanner<'_> {
    /// Reads commands up to `stop`; the cursor stays on it.
    pub(super) fn list(&mut self, stop: Stop) -> Read<()> {
        loop {
            self.newlines()?;
            if self.stops(stop) {
                return Ok(());
            }
            if self.finished() {
                return self.refuse(Doubt::Unfinished);
            }
            let first = self.out.commands.len();
            let mark = self.names.enter();
            self.and_or()?;
            self.blanks();
            match (self.peek(), self.look(1)) {
                (b'\n', _) => {}
                (b';', b';' | b'&') | (b')', _) => {
                    return if self.stops(stop) { Ok(()) } else { self.refuse(Doubt::Unexpected) };
                }
                (b';', _) => {
                    // SECURITY: bash runs `$(…)` from its own copy of the text, which lacks the
                    // first `;` behind a here-document's body: `a; b` becomes `a b`.
                    // The fuzz against bash found it.
                    if self.in_parens && self.body_read {
                        self.doubt(Doubt::HereDocument);
                    }
                    self.at += 1;
                }
                (b'&', b'&' | b'>') => return self.refuse(Doubt::Unexpected),
                (b'&', next) => {
                    // zsh reads `&!` as one operator.
                    if next == b'!' {
                        self.zshism(self.at);
                    }
                    // It runs in a subshell.
                    self.names.leave(mark);
                    self.out.background = true;
                    self.started += self.out.commands.len() - first;
                    self.at += 1;
                }
                _ if self.stops(stop) => return Ok(()),
                _ => return self.refuse(Doubt::Unexpected),
            }
        }
    }

    fn stops(&self, stop: Stop) -> bool {
        if self.finished() {
            return stop.has(Stop::END);
        }
        match self.peek() {
            b')' => stop.has(Stop::PAREN),
            b'}' => stop.has(Stop::BRACE) && self.keyword("}"),
            b';' => stop.has(Stop::CLAUSE) && matches!(self.look(1), b';' | b'&'),
            b't' => stop.has(Stop::THEN) && self.keyword("then"),
            b'd' => {
                stop.has(Stop::DO) && self.keyword("do")
                    || stop.has(Stop::DONE) && self.keyword("done")
            }
            b'e' => {
                stop.has(Stop::ELIF_ELSE_FI) && (self.keyword("elif") || self.keyword("else"))
                    || stop.has(Stop::CLAUSE) && self.keyword("esac")
            }
            b'f' => (stop.has(Stop::FI) || stop.has(Stop::ELIF_ELSE_FI)) && self.keyword("fi"),
            _ => false,
        }
    }

    fn and_or(&mut self) -> Read<()> {
        self.pipeline()?;
        // Anything behind the first `&&` or `||` may not run.
        let mark = self.names.enter();
        loop {
            self.blanks();
            match (self.peek(), self.look(1)) {
                (b'&', b'&') => self.at += 2,
                (b'|', b'|') => {
                    // `false && x=1 || …`: what is behind runs because something did not.
                    self.names.leave(mark);
                    self.at += 2;
                }
                _ => break,
            }
            self.newlines()?;
            self.pipeline()?;
        }
        self.names.leave(mark);
        Ok(())
    }

    fn pipeline(&mut self) -> Read<()> {
        self.prefixes()?;
        let mut begin = self.out.commands.len();
        let mut position = PipePosition::First;
        let mark = self.names.enter();
        let moved_by = self.moved_by;
        loop {
            self.command()?;
            self.blanks();
            let piped = self.peek() == b'|' && self.look(1) != b'|';
            if !piped && position == PipePosition::First {
                return Ok(());
            }
            // Each part of a pipeline runs in its own subshell, but the last one in zsh.
            self.names.leave(mark);
            if piped {
                self.moved_by = moved_by;
            }
            let here = if piped || position == PipePosition::First {
                position
            } else {
                PipePosition::Last
            };
            // The commands of a nested pipeline have their position already.
            for command in self.out.commands.iter_mut().skip(begin) {
                if command.pipe == PipePosition::Alone {
                    command.pipe = here;
                }
            }
            if !piped {
                return Ok(());
            }
            self.at += 1;
            if self.peek() == b'&' {
                self.bashism();
                self.at += 1;
            }
            self.newlines()?;
            begin = self.out.commands.len();
            position = PipePosition::Middle;
        }
    }

    /// Reads `!` and `time` before a pipeline.
    fn prefixes(&mut self) -> Read<()> {
        while matches!(self.peek(), b'!' | b't') {
            if self.keyword("!") {
                self.at += 1;
                self.blanks();
            } else if self.keyword("time") {
                self.out.elaborate = true;
                self.at += 4;
                self.blanks();
                if self.keyword("-p") {
                    self.at += 2;
                    self.blanks();
                }
                // bash has special rules for `time -- x` and `time; x`.
                if matches!(self.peek(), b'-' | b'\n' | b';' | b'&' | b'|' | b')' | 0) {
                    return self.refuse(Doubt::Unexpected);
                }
                // For dash it is a program, and what follows are its words.
                const WORDS: &[&str] =
                    &["if", "while", "until", "for", "case", "select", "function", "time"];
                let name = self.identifier();
                let assigns = name > 0 && matches!(self.look(name), b'=' | b'+' | b'[');
                let plain =
                    self.peek().is_ascii_alphanumeric() || b"_./\"'$".contains(&self.peek());
                if assigns || !plain || WORDS.iter().any(|word| self.keyword(word)) {
                    self.bashism();
                }
            } else {
                break;
            }
        }
        Ok(())
    }

    pub(super) fn command(&mut self) -> Read<()> {
        match self.peek() {
            b'(' if self.look(1) == b'(' => self.arithmetic_command(),
            b'(' => {
                self.at += 1;
                // A subshell: a `cd` in it ends with it.
                let moved_by = self.moved_by;
                self.body(Stop::PAREN, 1)?;
                self.moved_by = moved_by;
                self.compound_redirects()
            }
            b'{' if self.keyword("{") => {
                self.at += 1;
                self.nested(|s| s.list(Stop::BRACE))?;
                self.at += 1;
                self.compound_redirects()
            }
            b'[' if self.keyword("[[") => {
                self.bashism();
                self.at += 2;
                self.condition()?;
                self.compound_redirects()
            }
            b'i' if self.keyword("if") => self.if_command(),
            b'w' | b'u' if self.keyword("while") || self.keyword("until") => self.while_command(),
            b'f' if self.keyword("for") => self.for_command(3),
            b's' if self.keyword("select") => {
                self.out.elaborate = true;
                // For dash it is a program; with `do` on its line nothing of the line runs.
                let head = self.rest().split(|&b| matches!(b, b'\n' | b'\'' | b'"' | b'\\')).next();
                if !head.unwrap_or_default().windows(5).any(|word| word == b"; do ") {
                    self.bashism();
                }
                self.for_command(6)
            }
            b'c' if self.keyword("case") => self.case_command(),
            b'f' if self.keyword("function") => self.function_keyword(),
            b'c' if self.keyword("coproc") => self.refuse(Doubt::Coprocess),
            b => {
                if self.reserved(b) {
                    return self.refuse(Doubt::Unexpected);
                }
                self.simple()
            }
        }
    }

    /// Returns true at a reserved word that starts with `b` and ends or joins compound commands.
    /// Such a word is never the name of a command.
    fn reserved(&self, b: u8) -> bool {
        match b {
            b't' => self.keyword("then") || self.keyword("time"),
            b'e' => self.keyword("else") || self.keyword("elif") || self.keyword("esac"),
            b'f' => self.keyword("fi") || self.keyword("function"),
            b'd' => self.keyword("do") || self.keyword("done"),
            b'i' => self.keyword("in"),
            b'}' => self.keyword("}"),
            b']' => self.keyword("]]"),
            b'!' => self.keyword("!"),
            _ => false,
        }
    }
}
