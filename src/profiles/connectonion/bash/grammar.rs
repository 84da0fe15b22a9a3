//! Lists, pipelines and compound commands.

use super::{BashReader, MAX_DEPTH, Simple, Unread};

/// Words with a meaning at the start of a command only.
const RESERVED: &[&str] = &[
    "{", "}", "!", "[[", "if", "then", "else", "elif", "fi", "while", "until", "do", "done", "for",
    "in", "case", "esac", "select", "time", "coproc", "function",
];

impl BashReader {
    pub(super) fn program(&mut self) -> Result<(), Unread> {
        self.lines()?;
        if self.peek().is_none() {
            return Err(Unread::Empty);
        }
        self.list(false)?;
        match self.peek() {
            None => Ok(()),
            Some(_) => Err(Unread::Syntax),
        }
    }

    /// Reads commands up to the end, a `)` or a reserved word that closes something; with
    /// `one_line`, up to the end of the line.
    pub(super) fn list(&mut self, one_line: bool) -> Result<(), Unread> {
        self.depth += 1;
        if self.depth > MAX_DEPTH {
            return Err(Unread::Syntax);
        }
        self.lines()?;
        loop {
            self.pipeline()?;
            self.blanks();
            if self.take("&&") || self.take("||") {
                self.lines()?;
                continue;
            }
            let ended = match self.peek() {
                Some(';') if self.ahead(1) != Some(';') => {
                    self.at += 1;
                    true
                }
                Some('&') => {
                    self.at += 1;
                    true
                }
                Some('\n') => !one_line,
                _ => false,
            };
            match (ended, one_line) {
                (true, false) => self.lines()?,
                _ => self.blanks(),
            }
            if !ended || self.closes() || one_line && self.peek() == Some('\n') {
                break;
            }
        }
        self.depth -= 1;
        // A here-document without a body.
        if !self.bodies.is_empty() && self.peek().is_none() {
            return Err(Unread::Syntax);
        }
        Ok(())
    }

    fn closes(&self) -> bool {
        matches!(self.peek(), None | Some(')'))
            || matches!(
                self.reserved(),
                Some("}" | "then" | "else" | "elif" | "fi" | "do" | "done" | "esac")
            )
    }

    fn pipeline(&mut self) -> Result<(), Unread> {
        self.blanks();
        while self.reserved() == Some("!") {
            self.at += 1;
            self.blanks();
        }
        if self.reserved() == Some("time") {
            return Err(Unread::Unsupported);
        }
        loop {
            self.command()?;
            self.blanks();
            if self.starts("||") || !(self.take("|&") || self.take("|")) {
                return Ok(());
            }
            self.lines()?;
        }
    }

    /// Returns the reserved word at the cursor, as a whole word.
    fn reserved(&self) -> Option<&'static str> {
        let ends = |by: usize| self.ahead(by).is_none_or(|char| " \t\n;&|()<>".contains(char));
        RESERVED.iter().copied().find(|word| self.starts(word) && ends(word.len()))
    }

    fn command(&mut self) -> Result<(), Unread> {
        self.blanks();
        if self.peek() == Some('(') {
            return self.compound();
        }
        match self.reserved() {
            None => self.simple(),
            Some("{" | "if" | "while" | "until" | "for") => self.compound(),
            Some("function") => {
                self.keyword("function")?;
                self.name()?;
                self.blanks();
                if self.take("(") {
                    self.blanks();
                    self.expect(")")?;
                }
                self.body()
            }
            Some(word @ ("case" | "select" | "coproc")) => {
                self.at += word.len();
                self.blanks();
                // ConnectOnion's parser reports an unclosed construct as a syntax error and a
                // closed one as unsupported. Its agent sees the difference.
                let whole = match word {
                    "coproc" => self.peek().is_some(),
                    _ => self.chars.len() > self.at && self.closed_later(word),
                };
                Err(if whole { Unread::Unsupported } else { Unread::Syntax })
            }
            Some(_) => Err(Unread::Syntax),
        }
    }

    /// Returns true when the word that ends such a construct follows.
    fn closed_later(&self, word: &str) -> bool {
        let rest: String = self.chars.iter().skip(self.at).collect();
        rest.contains(if word == "case" { "esac" } else { "done" })
    }

    fn body(&mut self) -> Result<(), Unread> {
        self.lines()?;
        let compound = self.peek() == Some('(')
            || matches!(self.reserved(), Some("{" | "if" | "while" | "until" | "for"));
        if compound { self.compound() } else { Err(Unread::Syntax) }
    }

    fn compound(&mut self) -> Result<(), Unread> {
        if self.take("(") {
            self.list(false)?;
            self.expect(")")?;
        } else if self.keyword("{").is_ok() {
            self.list(false)?;
            self.keyword("}")?;
        } else if self.keyword("if").is_ok() {
            self.branches()?;
        } else if self.keyword("for").is_ok() {
            self.iteration()?;
        } else {
            let word = self.reserved().unwrap_or_default();
            self.keyword(word)?;
            self.list(false)?;
            self.repeated()?;
        }
        // ConnectOnion does not look at substitutions in redirects of compound commands.
        let seen = self.out.len();
        self.blanks();
        while self.redirects() {
            let mut lost = Vec::new();
            self.redirect(&mut lost)?;
            self.blanks();
        }
        self.out.truncate(seen);
        Ok(())
    }

    fn branches(&mut self) -> Result<(), Unread> {
        self.list(false)?;
        self.keyword("then")?;
        self.list(false)?;
        if self.keyword("elif").is_ok() {
            return self.branches();
        }
        if self.keyword("else").is_ok() {
            self.list(false)?;
        }
        self.keyword("fi")
    }

    fn iteration(&mut self) -> Result<(), Unread> {
        self.name()?;
        self.lines()?;
        if self.keyword("in").is_ok() {
            self.blanks();
            while self.begins_word() {
                let mut nested = Vec::new();
                self.word(&mut nested)?;
                self.out.append(&mut nested);
                self.blanks();
            }
        }
        self.take(";");
        self.lines()?;
        if self.reserved() == Some("{") {
            self.keyword("{")?;
            self.list(false)?;
            return self.keyword("}");
        }
        self.repeated()
    }

    fn repeated(&mut self) -> Result<(), Unread> {
        self.keyword("do")?;
        self.list(false)?;
        self.keyword("done")
    }

    fn keyword(&mut self, word: &str) -> Result<(), Unread> {
        self.blanks();
        if self.reserved() != Some(word) {
            return Err(Unread::Syntax);
        }
        self.at += word.len();
        Ok(())
    }

    fn expect(&mut self, text: &str) -> Result<(), Unread> {
        self.blanks();
        if self.take(text) { Ok(()) } else { Err(Unread::Syntax) }
    }

    fn name(&mut self) -> Result<(), Unread> {
        self.blanks();
        let start = self.at;
        while self.peek().is_some_and(|char| char.is_ascii_alphanumeric() || "_-".contains(char)) {
            self.at += 1;
        }
        if self.at == start { Err(Unread::Syntax) } else { Ok(()) }
    }

    fn simple(&mut self) -> Result<(), Unread> {
        let mut words: Vec<String> = Vec::new();
        let mut nested: Vec<Simple> = Vec::new();
        let mut any = false;
        loop {
            self.blanks();
            if self.redirects() {
                self.redirect(&mut nested)?;
            } else if self.begins_word() {
                if words.is_empty() && self.assigns() {
                    self.assigned(&mut nested)?;
                } else {
                    words.push(self.word(&mut nested)?);
                }
            } else if self.peek() == Some('(') {
                // `name()` defines a function; anything else before `(` is an error.
                let named = words.len() == 1 && nested.is_empty();
                self.at += 1;
                self.expect(")").and(if named { Ok(()) } else { Err(Unread::Syntax) })?;
                return self.body();
            } else {
                break;
            }
            any = true;
        }
        if !any {
            return Err(Unread::Syntax);
        }
        if !words.is_empty() {
            self.out.push(Simple { words });
        }
        self.out.append(&mut nested);
        Ok(())
    }
}
