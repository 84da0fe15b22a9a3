//! Words, quotes, substitutions and redirects.

use super::{BashReader, Simple, Unread};

/// Operators of redirects, longer ones first.
const REDIRECTS: &[&str] =
    &["&>>", "&>", "<<<", "<<-", "<<", "<&", "<>", "<", ">>", ">&", ">|", ">"];

impl BashReader {
    /// Returns true when `NAME=` or `NAME+=` is at the cursor.
    pub(super) fn assigns(&self) -> bool {
        let name = (0..)
            .take_while(|by| {
                self.ahead(*by).is_some_and(|char| {
                    char == '_' || char.is_ascii_alphabetic() || *by > 0 && char.is_ascii_digit()
                })
            })
            .count();
        let plus = usize::from(self.ahead(name) == Some('+'));
        name > 0 && self.ahead(name + plus) == Some('=')
    }

    pub(super) fn begins_word(&self) -> bool {
        match self.peek() {
            None => false,
            Some('<' | '>') => self.ahead(1) == Some('('),
            Some(char) => !"\n;&|()".contains(char),
        }
    }

    /// Reads a word without its quotes. Substitutions stay as written; their commands are added to
    /// `nested`.
    pub(super) fn word(&mut self, nested: &mut Vec<Simple>) -> Result<String, Unread> {
        let mut text = String::new();
        while let Some(char) = self.peek() {
            match char {
                '\\' => match (self.ahead(1), self.ahead(2)) {
                    (None, _) => return Err(Unread::Syntax),
                    // ConnectOnion's parser fails on `\$(`.
                    (Some('$'), Some('(')) => return Err(Unread::Syntax),
                    (Some(escaped), _) => {
                        text.push(escaped);
                        self.at += 2;
                    }
                },
                '\'' => self.single_quoted(&mut text, false)?,
                '"' => self.double_quoted(&mut text, nested)?,
                '$' if self.ahead(1) == Some('\'') => {
                    self.at += 1;
                    // The parser keeps the `$` of `$'…'`.
                    text.push('$');
                    self.single_quoted(&mut text, true)?;
                }
                '$' | '`' => self.expansion(&mut text, nested)?,
                '<' | '>' if self.ahead(1) == Some('(') => {
                    self.substitution(&mut text, nested)?;
                }
                _ if " \t\n;&|()<>".contains(char) => break,
                _ => {
                    text.push(char);
                    self.at += 1;
                }
            }
        }
        Ok(text)
    }

    /// Reads the value of an assignment, in which single quotes hide no substitution.
    pub(super) fn assigned(&mut self, nested: &mut Vec<Simple>) -> Result<String, Unread> {
        let start = self.at;
        let word = self.word(nested)?;
        let written: String = self.chars.iter().take(self.at).skip(start).collect();
        // A blind spot in the other direction: ConnectOnion looks into single quotes here, bash
        // does not.
        for hidden in written.split('\'').skip(1).step_by(2).filter(|part| part.contains("$(")) {
            Self::new(&format!("\"{hidden}")).double_quoted(&mut String::new(), nested).or_else(
                |error| {
                    if error == Unread::Unmatched { Ok(()) } else { Err(error) }
                },
            )?;
        }
        Ok(word)
    }

    fn single_quoted(&mut self, text: &mut String, escapes: bool) -> Result<(), Unread> {
        self.at += 1;
        loop {
            match self.peek() {
                None => return Err(Unread::Unmatched),
                Some('\'') => {
                    self.at += 1;
                    return Ok(());
                }
                Some('\\') if escapes => self.at += 1,
                Some(char) => {
                    text.push(char);
                    self.at += 1;
                    continue;
                }
            }
            text.extend(self.peek());
            self.at += 1;
        }
    }

    fn double_quoted(&mut self, text: &mut String, nested: &mut Vec<Simple>) -> Result<(), Unread> {
        self.at += 1;
        loop {
            match self.peek() {
                None => return Err(Unread::Unmatched),
                Some('"') => {
                    self.at += 1;
                    return Ok(());
                }
                Some('\\') => {
                    text.extend(self.ahead(1));
                    self.at += 2;
                }
                Some('$' | '`') => self.expansion(text, nested)?,
                Some(char) => {
                    text.push(char);
                    self.at += 1;
                }
            }
        }
    }

    /// Reads what starts with `$` or a backtick.
    fn expansion(&mut self, text: &mut String, nested: &mut Vec<Simple>) -> Result<(), Unread> {
        let start = self.at;
        if self.starts("$((") || self.starts("$[") {
            let closed = self.chars.iter().skip(start).any(|char| matches!(char, ')' | ']'));
            return Err(if closed { Unread::Unsupported } else { Unread::Unmatched });
        }
        if self.starts("$(") {
            return self.substitution(text, nested);
        }
        if self.take("${") {
            self.braces()?;
        } else if self.take("`") {
            self.backticks(nested)?;
        } else {
            self.at += 1;
        }
        text.extend(self.chars.iter().take(self.at).skip(start));
        Ok(())
    }

    /// Skips to the closing `}`; the inside is not examined.
    fn braces(&mut self) -> Result<(), Unread> {
        let mut depth = 1;
        while depth > 0 {
            match self.peek() {
                None => return Err(Unread::Unmatched),
                Some('\\') => self.at += 1,
                Some('\'') => {
                    self.single_quoted(&mut String::new(), false).map(|()| self.at -= 1)?
                }
                Some('{') => depth += 1,
                Some('}') => depth -= 1,
                Some(_) => {}
            }
            self.at += 1;
        }
        Ok(())
    }

    fn backticks(&mut self, nested: &mut Vec<Simple>) -> Result<(), Unread> {
        let inner: String =
            self.chars.iter().skip(self.at).take_while(|char| **char != '`').collect();
        self.at += inner.chars().count();
        if self.peek().is_none() {
            return Err(Unread::Unmatched);
        }
        if inner.ends_with('\\') {
            return Err(Unread::Syntax);
        }
        self.at += 1;
        if inner.trim().is_empty() {
            return if inner.is_empty() { Ok(()) } else { Err(Unread::Empty) };
        }
        let mut reader = Self::new(&inner);
        reader.depth = self.depth;
        reader.list(true)?;
        nested.append(&mut reader.out);
        Ok(())
    }

    /// Reads `$(…)`, `<(…)` or `>(…)`; only the commands of the first line inside are recorded.
    fn substitution(&mut self, text: &mut String, nested: &mut Vec<Simple>) -> Result<(), Unread> {
        let start = self.at;
        self.at += 2;
        let outer = std::mem::take(&mut self.out);
        let depth = self.depth;
        let first = self.first_line();
        nested.append(&mut self.out);
        self.out = outer;
        self.depth = depth;
        first?;
        text.extend(self.chars.iter().take(self.at).skip(start));
        Ok(())
    }

    fn first_line(&mut self) -> Result<(), Unread> {
        self.inside(true)?;
        if self.peek() == Some('\n') {
            // ConnectOnion reads on, but drops the commands of later lines.
            let seen = self.out.len();
            self.lines()?;
            if self.peek() != Some(')') {
                self.inside(false)?;
            }
            self.out.truncate(seen);
        }
        match self.take(")") {
            true => Ok(()),
            false => Err(self.unclosed(Unread::Syntax)),
        }
    }

    fn inside(&mut self, one_line: bool) -> Result<(), Unread> {
        self.list(one_line).map_err(|error| self.unclosed(error))
    }

    fn unclosed(&self, error: Unread) -> Unread {
        match self.peek() {
            None if error == Unread::Syntax => Unread::Unmatched,
            _ => error,
        }
    }

    pub(super) fn redirects(&self) -> bool {
        let digits = (0..)
            .take_while(|by| self.ahead(*by).is_some_and(|char| char.is_ascii_digit()))
            .count();
        match self.ahead(digits) {
            Some('<' | '>') => self.ahead(digits + 1) != Some('('),
            Some('&') => digits == 0 && self.ahead(1) == Some('>'),
            _ => false,
        }
    }

    pub(super) fn redirect(&mut self, nested: &mut Vec<Simple>) -> Result<(), Unread> {
        while self.peek().is_some_and(|char| char.is_ascii_digit()) {
            self.at += 1;
        }
        let operator = REDIRECTS.iter().copied().find(|operator| self.take(operator));
        self.blanks();
        if !self.begins_word() {
            return Err(Unread::Syntax);
        }
        let start = self.at;
        if matches!(operator, Some("<&" | ">&")) && self.take("-") {
            return Ok(());
        }
        let word = self.word(nested)?;
        if let Some(operator @ ("<<" | "<<-")) = operator {
            // The parser fails on a quoted delimiter.
            let quoted =
                self.chars.iter().take(self.at).skip(start).any(|char| "'\"\\".contains(*char));
            if quoted {
                return Err(Unread::Syntax);
            }
            self.bodies.push((word, operator == "<<-"));
        }
        Ok(())
    }
}
