//! Loops: `while`, `until`, `for` and `select`.

use std::borrow::Cow;

use super::class::is_name_start;
use super::cursor::{Read, Scanner};
use super::doubt::Doubt;
use super::environment;
use super::stop::Stop;
use super::{Assign, Command, Word, WordKind};

impl Scanner<'_> {
    /// Reads `while` or `until`; both have five letters.
    pub(super) fn while_command(&mut self) -> Read<()> {
        let from = self.at;
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
        self.compound_redirects()
    }

    /// Reads the body of a loop, up to and over `done`.
    fn loop_body(&mut self, endless: bool) -> Read<()> {
        let (first, started) = (self.out.commands.len(), self.started);
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
        // In the body, the loop has assigned it.
        self.names.assign(name);
        if !environment::harmless(name, None) {
            // `for PATH in …` assigns like any other assignment, so it is reported as one.
            let span = from..from + name.len();
            let text = Cow::Borrowed(self.slice(from, self.at));
            let value = Word { text, kind: WordKind::Dynamic, quoted: false, span };
            let assigns = vec![Assign { name, value }];
            self.push(Command { assigns, via: self.via, ..Command::default() });
        }
        Ok(())
    }

    /// Returns true for `{1..9}`, which expands to numbers only.
    fn is_range(&self, from: usize, to: usize) -> bool {
        let text = self.slice(from, to);
        let inner = text.strip_prefix('{').and_then(|t| t.strip_suffix('}'));
        let digits = |t: &str| !t.is_empty() && t.bytes().all(|b| b.is_ascii_digit() || b == b'-');
        inner
            .and_then(|t| t.split_once(".."))
            .is_some_and(|(a, b)| digits(a) && b.split("..").all(digits))
    }
}
