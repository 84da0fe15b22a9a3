//! Lists, pipelines and compound commands.

use super::class::is_name_start;
use super::cursor::{Read, Scanner};
use super::doubt::Doubt;
use super::environment;
use super::{Assign, Command, PipePosition, Via, Word, WordKind};
use std::borrow::Cow;

/// What ends a list: a set.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) struct Stop(u16);

impl Stop {
    /// The end of the region.
    pub(super) const END: Self = Self(1);
    pub(super) const PAREN: Self = Self(1 << 1);
    const BRACE: Self = Self(1 << 2);
    const THEN: Self = Self(1 << 3);
    const DO: Self = Self(1 << 4);
    const DONE: Self = Self(1 << 5);
    const ELIF_ELSE_FI: Self = Self(1 << 6);
    const FI: Self = Self(1 << 7);
    const CLAUSE: Self = Self(1 << 8);

    fn has(self, other: Self) -> bool {
        self.0 & other.0 != 0
    }
}

impl<'a> Scanner<'a> {
    /// Commands up to `stop`; the cursor stays on it.
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
            self.and_or()?;
            self.blanks();
            match (self.peek(), self.look(1)) {
                (b'\n', _) => {}
                (b';', b';' | b'&') | (b')', _) => {
                    return if self.stops(stop) { Ok(()) } else { self.refuse(Doubt::Unexpected) };
                }
                (b';', _) => {
                    // SECURITY: bash runs `$(…)` from its own copy of the text, in which the first
                    // `;` behind the body of a here-document is lost: `a; b` becomes `a b`.
                    if self.in_parens && self.body_read {
                        self.doubt(Doubt::HereDocument);
                    }
                    self.at += 1;
                }
                (b'&', b'&' | b'>') => return self.refuse(Doubt::Unexpected),
                (b'&', _) => {
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
        let mark = self.names.enter();
        loop {
            self.blanks();
            match (self.peek(), self.look(1)) {
                (b'&', b'&') | (b'|', b'|') => self.at += 2,
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
        let (mark, moved_by) = (self.names.enter(), self.moved_by);
        loop {
            self.command()?;
            self.blanks();
            let piped = self.peek() == b'|' && self.look(1) != b'|';
            if !piped && position == PipePosition::First {
                return Ok(());
            }
            // Each part runs in a subshell of its own.
            self.names.leave(mark);
            self.moved_by = moved_by;
            let here = if piped || position == PipePosition::First {
                position
            } else {
                PipePosition::Last
            };
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

    /// `!` and `time` in front of a pipeline.
    fn prefixes(&mut self) -> Read<()> {
        while matches!(self.peek(), b'!' | b't') {
            if self.keyword("!") {
                self.at += 1;
                self.blanks();
            } else if self.keyword("time") {
                self.at += 4;
                self.blanks();
                if self.keyword("-p") {
                    self.at += 2;
                    self.blanks();
                }
                // `time -- x`, `time; x`: bash has rules of its own for these.
                if matches!(self.peek(), b'-' | b'\n' | b';' | b'&' | b'|' | b')' | 0) {
                    return self.refuse(Doubt::Unexpected);
                }
            } else {
                break;
            }
        }
        Ok(())
    }

    fn command(&mut self) -> Read<()> {
        match self.peek() {
            b'(' if self.look(1) == b'(' => self.arithmetic_command(),
            b'(' => {
                self.at += 1;
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
            b's' if self.keyword("select") => self.for_command(6),
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

    /// At a word that ends or joins compound commands, which begins with `b`: never the name of a
    /// command.
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

    /// A list whose effects on variables may not happen or do not last, and its end.
    fn body(&mut self, stop: Stop, length: usize) -> Read<()> {
        let mark = self.names.enter();
        self.nested(|s| s.list(stop))?;
        self.names.leave(mark);
        self.at += length;
        Ok(())
    }

    /// Redirects behind a compound command: reported as a command without a name.
    fn compound_redirects(&mut self) -> Read<()> {
        let mut command = Command { via: self.via, ..Command::default() };
        loop {
            self.blanks();
            if !self.redirect(&mut command)? {
                break;
            }
        }
        if !command.redirects.is_empty() {
            self.push(command);
        }
        Ok(())
    }

    fn arithmetic_command(&mut self) -> Read<()> {
        self.bashism();
        self.at += 2;
        self.nested(|s| s.arithmetic(b")"))?;
        if self.look(1) != b')' {
            return self.refuse(Doubt::Arithmetic);
        }
        self.at += 2;
        self.compound_redirects()
    }

    /// `while` and `until`, which are equally long.
    fn while_command(&mut self) -> Read<()> {
        let from = self.at;
        self.at += 5;
        // The first test is certain to run; what the body does is not.
        self.nested(|s| s.list(Stop::DO))?;
        let test = self.slice(from, self.at).trim_end_matches([' ', '\t', '\n', ';']);
        let endless = matches!(
            test,
            "while true" | "while :" | "while [ 1 ]" | "while ((1))" | "until false"
        );
        self.at += 2;
        self.loop_body(endless)?;
        self.compound_redirects()
    }

    /// The body of a loop, up to and over `done`.
    fn loop_body(&mut self, endless: bool) -> Read<()> {
        let (first, started) = (self.out.commands.len(), self.started);
        self.body(Stop::DONE, 4)?;
        let commands = self.out.commands.len() - first;
        if endless && commands > 0 && self.started - started == commands {
            self.out.breeding.get_or_insert(first);
        }
        Ok(())
    }

    fn if_command(&mut self) -> Read<()> {
        self.at += 2;
        self.nested(|s| s.list(Stop::THEN))?;
        self.at += 4;
        loop {
            self.body(Stop::ELIF_ELSE_FI, 0)?;
            if self.keyword("elif") {
                self.at += 4;
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

    fn for_command(&mut self, length: usize) -> Read<()> {
        self.at += length;
        self.blanks();
        let mark = self.names.enter();
        let from = self.at;
        if self.peek() == b'(' {
            self.for_arithmetic()?;
        } else {
            self.for_words()?;
        }
        let endless = self.slice(from, self.at) == "((;;))";
        self.blanks();
        if self.peek() == b';' {
            self.at += 1;
        }
        self.newlines()?;
        self.expect("do")?;
        self.loop_body(endless)?;
        self.names.leave(mark);
        self.compound_redirects()
    }

    fn for_arithmetic(&mut self) -> Read<()> {
        self.bashism();
        if self.look(1) != b'(' {
            return self.refuse(Doubt::Unexpected);
        }
        self.at += 2;
        for stop in [b";", b";", b")"] {
            self.arithmetic(stop)?;
            self.at += 1;
        }
        if self.peek() != b')' {
            return self.refuse(Doubt::Arithmetic);
        }
        self.at += 1;
        Ok(())
    }

    fn for_words(&mut self) -> Read<()> {
        let from = self.at;
        if !is_name_start(self.peek()) {
            return self.refuse(Doubt::Unexpected);
        }
        self.at += self.identifier();
        let name = self.slice(from, self.at);
        self.newlines()?;
        let mut numbers = false;
        if self.keyword("in") {
            self.at += 2;
            numbers = true;
            loop {
                self.blanks();
                match self.peek() {
                    b';' | b'\n' => break,
                    b'&' | b'|' | b'(' | b')' => return self.refuse(Doubt::Unexpected),
                    _ if self.finished() => return self.refuse(Doubt::Unfinished),
                    _ => {}
                }
                let from = self.at;
                self.word()?;
                if self.at == from {
                    return self.refuse(Doubt::Unexpected);
                }
                numbers &= self.is_number(from, self.at) || self.is_range(from, self.at);
            }
        }
        self.assigned(name, from, numbers);
        if !environment::harmless(name, None) {
            // `for PATH in …`: an assignment like any other.
            let span = from..from + name.len();
            let text = Cow::Borrowed(self.slice(from, self.at));
            let value = Word { text, kind: WordKind::Dynamic, quoted: false, span };
            let assigns = vec![Assign { name, value }];
            self.push(Command { assigns, via: self.via, ..Command::default() });
        }
        Ok(())
    }

    /// `{1..9}`, `$(seq 1 9)`
    fn is_range(&self, from: usize, to: usize) -> bool {
        let text = self.slice(from, to);
        let inner = text.strip_prefix('{').and_then(|t| t.strip_suffix('}'));
        let digits = |t: &str| !t.is_empty() && t.bytes().all(|b| b.is_ascii_digit() || b == b'-');
        inner
            .and_then(|t| t.split_once(".."))
            .is_some_and(|(a, b)| digits(a) && b.split("..").all(digits))
    }

    fn case_command(&mut self) -> Read<()> {
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

    fn function_keyword(&mut self) -> Read<()> {
        self.bashism();
        self.at += "function".len();
        self.blanks();
        let from = self.at;
        let plain = |b: &u8| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'-' | b'.' | b':');
        self.at += self.rest().iter().take_while(|b| plain(b)).count();
        let name = self.slice(from, self.at);
        self.blanks();
        if self.peek() == b'(' && self.look(1) == b')' {
            self.at += 2;
        }
        self.function_body(name)
    }

    /// The body of a function; the cursor is behind its `()`.
    pub(super) fn function_body(&mut self, name: &'a str) -> Read<()> {
        self.newlines()?;
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
