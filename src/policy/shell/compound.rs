//! Compound commands: their bodies and redirects, `if`, `case`, loops, `[[ … ]]` and functions.

use std::borrow::Cow;

use crate::shell::cursor::{Read, Scanner, Stop, is_name_start};
use crate::shell::simple::is_variable;
use crate::shell::{Assign, Command, Doubt, Via, Word, WordKind, environment};

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
        self.out.elaborate = true;
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
        self.out.elaborate = true;
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

// Loops: `while`, `until`, `for` and `select`.

impl Scanner<'_> {
    /// Reads `while` or `until`; both have five letters.
    pub(super) fn while_command(&mut self) -> Read<()> {
        let from = self.at;
        let moved_by = self.moved_by;
        self.at += 5;
        // The first test always runs; the body may not.
        self.nested(|s| s.list(Stop::DO))?;
        let test = self.slice(from, self.at).trim_end_matches([' ', '\t', '\n', ';']);
        // Literal spellings suffice: the check is for fork bombs, which are written like this.
        let endless = matches!(
            test,
            "while true" | "while :" | "while [ 1 ]" | "while ((1))" | "until false"
        );
        self.at += 2;
        self.loop_body(endless)?;
        self.out.wanders |= self.moved_by != moved_by;
        self.compound_redirects()
    }

    /// Reads the body of a loop, up to and over `done`.
    fn loop_body(&mut self, endless: bool) -> Read<()> {
        let first = self.out.commands.len();
        let started = self.started;
        self.body(Stop::DONE, 4)?;
        let commands = self.out.commands.len() - first;
        // Every command of the body starts with `&`: the loop starts processes without end.
        if endless && commands > 0 && self.started - started == commands {
            self.out.breeding.get_or_insert(first);
        }
        Ok(())
    }

    pub(super) fn for_command(&mut self, length: usize) -> Read<()> {
        self.at += length;
        self.blanks();
        let mark = self.names.enter();
        let from = self.at;
        let moved_by = self.moved_by;
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
        self.out.wanders |= self.moved_by != moved_by;
        self.names.leave(mark);
        self.compound_redirects()
    }

    fn for_arithmetic(&mut self) -> Read<()> {
        self.out.elaborate = true;
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
        let mut patterns = Vec::new();
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
                patterns.extend(self.word()?.filter(lists_elsewhere));
                if self.at == from {
                    return self.refuse(Doubt::Unexpected);
                }
                numbers &= self.is_number(from, self.at) || self.is_range(from, self.at);
            }
        }
        self.assigned(name, from, numbers);
        // In the body, the loop has assigned it.
        self.names.assign(name);
        if !environment::harmless(name, None) {
            let span = from..from + name.len();
            let text = Cow::Borrowed(self.slice(from, self.at));
            patterns.push(Word { text, kind: WordKind::Dynamic, quoted: false, span });
        }
        // `for PATH in …` assigns like any other assignment, so it is reported as one, and so are
        // the names of files elsewhere.
        let assigns: Vec<_> = patterns.into_iter().map(|value| Assign { name, value }).collect();
        if !assigns.is_empty() {
            // What the words use counts for the first command of the body.
            let environment = self.environment;
            self.push(Command { assigns, via: self.via, ..Command::default() });
            self.environment = environment;
        }
        Ok(())
    }

    /// Returns true for `{1..9}`, which expands to numbers only.
    fn is_range(&self, from: usize, to: usize) -> bool {
        let text = self.slice(from, to);
        let inner = text.strip_prefix('{').and_then(|t| t.strip_suffix('}'));
        let digits = |t: &str| {
            let padded = t.len() > 1 && t.trim_start_matches('-').starts_with('0');
            !t.is_empty() && !padded && t.bytes().all(|b| b.is_ascii_digit() || b == b'-')
        };
        inner
            .and_then(|t| t.split_once(".."))
            .is_some_and(|(a, b)| digits(a) && b.split("..").all(digits))
    }
}

/// Returns true for a pattern that leads out of the working directory.
fn lists_elsewhere(word: &Word<'_>) -> bool {
    let text = &*word.text;
    let expands = matches!(word.kind, WordKind::Glob | WordKind::Dynamic);
    let leads = ["/", "~", "$HOME", "${HOME}"].iter().any(|start| text.starts_with(start));
    expands && text.contains(['*', '?', '[']) && (leads || text.contains(".."))
}

// `[[ … ]]` conditions.

impl<'a> Scanner<'a> {
    /// Reads up to and over `]]`; the cursor is behind `[[`.
    pub(super) fn condition(&mut self) -> Read<()> {
        self.out.elaborate = true;
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
                    let from = self.at;
                    let before = self.environment;
                    let Some(word) = self.word()? else { return self.refuse(Doubt::Unexpected) };
                    if std::mem::take(&mut presence) && is_variable(&word.text) {
                        self.presence = self.presence.or(self.environment);
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
                        // zsh evaluates its operand as arithmetic.
                        (false, "-t") => counts = true,
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
                    self.nested(|s| s.double_quoted())?;
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
