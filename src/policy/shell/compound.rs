//! Compound commands: their bodies and redirects, `if`, `case` and functions.

use super::cursor::{Read, Scanner};
use super::doubt::Doubt;
use super::stop::Stop;
use super::{Command, Via};

impl<'a> Scanner<'a> {
    /// Reads a list whose effects on variables may not happen or may not last, and steps over its
    /// end.
    pub(super) fn body(&mut self, stop: Stop, length: usize) -> Read<()> {
        let mark = self.names.enter();
        self.nested(|s| s.list(stop))?;
        self.names.leave(mark);
        self.at += length;
        Ok(())
    }

    /// Reads the redirects behind a compound command and reports them as a command without a name.
    pub(super) fn compound_redirects(&mut self) -> Read<()> {
        let mut command = Command { via: self.via, ..Command::default() };
        loop {
            self.blanks();
            if !self.redirect(&mut command)? {
                break;
            }
        }
        if !command.redirects.is_empty() {
            self.names.disown();
            self.push(command);
        }
        Ok(())
    }

    pub(super) fn arithmetic_command(&mut self) -> Read<()> {
        self.bashism();
        self.at += 2;
        self.nested(|s| s.arithmetic(b")"))?;
        if self.look(1) != b')' {
            return self.refuse(Doubt::Arithmetic);
        }
        self.at += 2;
        self.compound_redirects()
    }

    pub(super) fn if_command(&mut self) -> Read<()> {
        self.at += 2;
        // The first condition always runs, so what it proves about variables holds afterwards.
        self.nested(|s| s.list(Stop::THEN))?;
        self.at += 4;
        loop {
            self.body(Stop::ELIF_ELSE_FI, 0)?;
            if self.keyword("elif") {
                self.at += 4;
                // An `elif` condition may never run.
                let mark = self.names.enter();
                self.nested(|s| s.list(Stop::THEN))?;
                self.names.leave(mark);
                self.at += 4;
                continue;
            }
            if self.keyword("else") {
                self.at += 4;
                self.body(Stop::FI, 0)?;
            }
            self.at += 2;
            return self.compound_redirects();
        }
    }

    pub(super) fn case_command(&mut self) -> Read<()> {
        self.at += 4;
        self.blanks();
        self.needed_word()?;
        self.newlines()?;
        self.expect("in")?;
        loop {
            self.newlines()?;
            if self.keyword("esac") {
                break;
            }
            // The parenthesis before a pattern is optional.
            if self.peek() == b'(' {
                self.at += 1;
                self.blanks();
            }
            loop {
                self.blanks();
                self.needed_word()?;
                self.blanks();
                self.at += 1;
                match self.byte(self.at - 1) {
                    b'|' => {}
                    b')' => break,
                    _ => return self.refuse(Doubt::Pattern),
                }
            }
            self.body(Stop::CLAUSE, 0)?;
            if self.keyword("esac") {
                break;
            }
            // `;;`, `;&` or `;;&`
            if self.look(1) == b'&' || self.look(2) == b'&' {
                self.bashism();
            }
            self.at += 2;
            if self.peek() == b'&' {
                self.at += 1;
            }
        }
        self.at += 4;
        self.compound_redirects()
    }

    fn needed_word(&mut self) -> Read<()> {
        match self.word()? {
            Some(_) => Ok(()),
            None => self.refuse(Doubt::Unexpected),
        }
    }

    pub(super) fn function_keyword(&mut self) -> Read<()> {
        self.bashism();
        self.at += "function".len();
        self.blanks();
        let from = self.at;
        let plain = |b: &u8| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'-' | b'.' | b':');
        self.at += self.rest().iter().take_while(|b| plain(b)).count();
        let name = self.slice(from, self.at);
        self.blanks();
        // Behind the keyword the parentheses are optional.
        if self.peek() == b'(' && self.look(1) == b')' {
            self.at += 2;
        }
        self.function_body(name)
    }

    /// Reads the body of a function; the cursor is behind its `()`.
    pub(super) fn function_body(&mut self, name: &'a str) -> Read<()> {
        self.newlines()?;
        // bash accepts any compound command as a body. Only `{ … }` and `( … )` are read; the
        // others are refused.
        let braces = self.peek() == b'{' && self.keyword("{");
        if name.is_empty() || !(braces || self.peek() == b'(' && self.look(1) != b'(') {
            return self.refuse(Doubt::Unexpected);
        }
        self.out.functions.push(name);
        let outer = self.via;
        self.via = Via::Function;
        let mark = self.names.enter();
        self.nested(Self::command)?;
        self.names.leave(mark);
        self.via = outer;
        Ok(())
    }
}
