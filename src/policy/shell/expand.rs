//! Expansions and arithmetic: `$x`, `${x…}`, `$(…)`, `$((…))`, backticks.

use crate::shell::cursor::{Read, Scanner, Stop, is_name, is_name_start};
use crate::shell::environment::{self, harmless};
use crate::shell::{Doubt, Via, names};

impl<'a> Scanner<'a> {
    /// Reads what starts with a `$`. Returns false when the `$` stands for itself.
    pub(super) fn dollar(&mut self, quoted: bool) -> Read<bool> {
        match self.look(1) {
            b'(' if self.look(2) == b'(' => {
                self.out.elaborate = true;
                self.at += 3;
                self.nested(|s| s.arithmetic(b")"))?;
                // bash reads `$((a); b)` as a subshell inside a substitution; that form is refused.
                if self.look(1) != b')' {
                    return self.refuse(Doubt::Arithmetic);
                }
                self.at += 2;
            }
            b'(' => {
                self.at += 2;
                self.substitution()?;
            }
            b'{' => {
                self.at += 2;
                self.nested(|s| s.parameter(quoted))?;
            }
            b'[' => return self.refuse(Doubt::Arithmetic),
            // bash joins `$\<newline>(cmd)` to `$(cmd)`. tree-sitter-bash and rable miss the
            // command in it.
            b'\\' if self.look(2) == b'\n' => return self.refuse(Doubt::Continuation),
            b if is_name_start(b) => {
                self.at += 1;
                let from = self.at;
                self.at += self.identifier();
                self.uses(self.slice(from, self.at));
                self.subscript_in_zsh();
            }
            b'0'..=b'9' | b'@' | b'*' | b'#' | b'?' | b'-' | b'$' | b'!' => {
                self.at += 2;
                self.subscript_in_zsh();
            }
            b => {
                // zsh splits or expands the value of `$=x`, `$~x`, `$^x`.
                let expands = is_name_start(self.look(2)) || self.look(2) == b'{';
                if matches!(b, b'=' | b'~' | b'^' | b'+') && (expands || !quoted) {
                    self.zshism(self.at);
                }
                self.at += 1;
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// SECURITY: zsh evaluates `$x[y]`, quoted or not, and with it the value of `y`.
    fn subscript_in_zsh(&mut self) {
        if self.peek() == b'[' {
            self.zshism(self.at);
        }
    }

    /// Reads the commands of `$(…)` or `<(…)`; the cursor is behind the parenthesis.
    pub(super) fn substitution(&mut self) -> Read<()> {
        // A here-document is pending: it is unclear which lines are its body and which are the
        // substitution's.
        if !self.heredocs.is_empty() {
            return self.refuse(Doubt::HereDocument);
        }
        self.subshell(|s| s.list(Stop::PAREN))?;
        self.at += 1;
        Ok(())
    }

    /// Reads the commands of a subshell whose output becomes part of a word.
    fn subshell(&mut self, read: impl FnOnce(&mut Self) -> Read<()>) -> Read<()> {
        let outer = (self.via, self.in_parens, self.body_read, self.moved_by);
        (self.in_parens, self.body_read) = (true, false);
        if self.via == Via::Direct {
            self.via = Via::Substitution;
        }
        // What it proves about variables does not hold outside.
        let mark = self.names.enter();
        self.nested(read)?;
        self.names.leave(mark);
        if !self.heredocs.is_empty() {
            return self.refuse(Doubt::HereDocument);
        }
        (self.via, self.in_parens, self.body_read, self.moved_by) = outer;
        Ok(())
    }

    /// Reads a backtick substitution. The first unescaped backtick ends it, whatever the quotes
    /// inside.
    pub(super) fn backtick(&mut self) -> Read<()> {
        if !self.heredocs.is_empty() {
            return self.refuse(Doubt::HereDocument);
        }
        let from = self.at + 1;
        let rest = self.from(from);
        let Some(length) = memchr::memchr(b'`', rest) else {
            return self.refuse(Doubt::Unfinished);
        };
        let body = rest.get(..length).unwrap_or_default();
        // bash removes these backslashes and reads the result again, so the source is not what
        // runs.
        if body.ends_with(b"\\") || memchr::memchr_iter(b'\\', body).any(|at| taken_away(body, at))
        {
            return self.refuse(Doubt::Backtick);
        }
        // The region ends at the backtick, so a here-document in it must end in it.
        self.subshell(|s| s.within(from, from + length, |s| s.list(Stop::END)))?;
        self.at = from + length + 1;
        Ok(())
    }

    /// Reads an expansion up to and over the brace; the cursor is behind `${`.
    fn parameter(&mut self, quoted: bool) -> Read<()> {
        let length = self.peek() == b'#' && self.look(1) != b'}';
        let indirect = self.peek() == b'!' && is_name_start(self.look(1));
        if indirect {
            self.bashism();
        }
        if length || indirect {
            self.at += 1;
        }
        let from = self.at;
        if is_name_start(self.peek()) {
            self.at += self.identifier();
        } else if self.peek().is_ascii_digit() {
            while self.peek().is_ascii_digit() {
                self.at += 1;
            }
        } else if matches!(self.peek(), b'@' | b'*' | b'?' | b'#' | b'-' | b'$' | b'!') {
            self.at += 1;
        } else {
            return self.refuse(Doubt::Expansion);
        }
        let name = self.slice(from, self.at);
        let is_name = name.as_bytes().first().is_some_and(|&b| is_name_start(b));
        // `${x:+set}` only tells whether there is a value.
        let tells = matches!((self.peek(), self.look(1)), (b'+', _) | (b':', b'+'));
        if is_name && !tells {
            self.uses(name);
        }
        let mut all = false;
        if self.peek() == b'[' {
            self.bashism();
            self.at += 1;
            // `[@]` and `[*]` are not expressions.
            all = matches!(self.peek(), b'@' | b'*') && self.look(1) == b']';
            if all {
                self.at += 1;
            } else {
                self.arithmetic(b"]")?;
            }
            self.at += 1;
        }
        if indirect {
            // `${!a[@]}` and `${!prefix*}` list names. `${!x}` evaluates the value of `x`.
            let lists = all || (matches!(self.peek(), b'@' | b'*') && self.look(1) == b'}');
            if !lists {
                self.doubt(Doubt::Expansion);
            } else if !all {
                self.at += 1;
            }
        }
        // `${x:1}`, `${x/a/b}`, `${x^^}`, `${x@Q}`: dash stops at them, after reading on in its way.
        let cuts = self.peek() == b':' && !matches!(self.look(1), b'-' | b'+' | b'?' | b'=');
        if cuts || matches!(self.peek(), b'/' | b'^' | b',' | b'@') {
            self.bashism();
        }
        match (self.peek(), self.look(1)) {
            (b'}', _) => {
                self.at += 1;
                return Ok(());
            }
            _ if length => return self.refuse(Doubt::Expansion),
            (b':', b'-' | b'+' | b'?') => self.at += 2,
            (b':', b'=') => {
                self.assigned_default(name);
                self.at += 2;
            }
            (b'=', _) => {
                self.assigned_default(name);
                self.at += 1;
            }
            (b':', _) => {
                // `${x:offset:length}`: both parts are arithmetic.
                self.at += 1;
                self.arithmetic(b":}")?;
                if self.peek() == b':' {
                    self.at += 1;
                    self.arithmetic(b"}")?;
                }
                self.at += 1;
                return Ok(());
            }
            (b'-' | b'+' | b'?' | b'#' | b'%' | b'/' | b'^' | b',', _) => self.at += 1,
            // `${x@P}` expands the value as a prompt, which runs the commands in it. The letters
            // listed here only quote the value or change its case.
            (b'@', b'Q' | b'U' | b'u' | b'L' | b'E') if self.look(2) == b'}' => self.at += 2,
            (b'@', _) => {
                self.doubt(Doubt::Expansion);
                self.at += 1;
            }
            _ => return self.refuse(Doubt::Expansion),
        }
        self.operand(quoted)
    }

    /// Records that `${x:=…}` may give the variable any value.
    fn assigned_default(&mut self, name: &'a str) {
        if names::special(name) || !environment::harmless(name, None) {
            self.doubt(Doubt::Variable);
        }
        self.names.taint(name);
    }

    /// Reads the operand of `${x:-…}` up to and over the brace.
    fn operand(&mut self, quoted: bool) -> Read<()> {
        loop {
            match self.peek() {
                b'}' => {
                    self.at += 1;
                    return Ok(());
                }
                b'\\' if self.look(1) == b'\n' => return self.refuse(Doubt::Continuation),
                b'\\' => self.at += 2,
                // Inside double quotes, it depends on the operator whether bash reads `'` as a
                // quote.
                b'\'' if quoted => return self.refuse(Doubt::Expansion),
                b'\'' => {
                    self.single_quoted()?;
                }
                b'"' => {
                    self.at += 1;
                    self.nested(|s| s.double_quoted())?;
                }
                b'$' if matches!(self.look(1), b'\'' | b'"') => {
                    return self.refuse(Doubt::Expansion);
                }
                b'$' => {
                    self.dollar(quoted)?;
                }
                b'`' => self.backtick()?,
                b'<' | b'>' if self.look(1) == b'(' => return self.refuse(Doubt::Expansion),
                b'{' => return self.refuse(Doubt::Expansion),
                0 if self.finished() => return self.refuse(Doubt::Unfinished),
                _ => self.at += 1,
            }
        }
    }
}

/// Returns true when bash removes this backslash inside backticks.
fn taken_away(body: &[u8], slash: usize) -> bool {
    matches!(body.get(slash + 1), Some(b'$' | b'`' | b'\\' | b'"' | b'\n'))
}

// Arithmetic: `$((…))`, `((…))`, `for ((…))`, subscripts and offsets.

impl<'a> Scanner<'a> {
    /// Reads an expression up to one of `stops` outside parentheses and leaves the cursor there.
    ///
    /// A value that may hold more than a number is a doubt. Quotes and unusual characters are
    /// refused, because bash may end the expression elsewhere.
    pub(super) fn arithmetic(&mut self, stops: &[u8]) -> Read<()> {
        let mut open = 0usize;
        // An assignment behind `&&`, `||` or `?` may not happen.
        let mut certain = true;
        loop {
            let b = self.peek();
            if open == 0 && stops.contains(&b) && !self.finished() {
                return Ok(());
            }
            match b {
                b'(' => open += 1,
                b')' if open > 0 => open -= 1,
                b'0'..=b'9' => {
                    // Letters behind a digit belong to the number (`0x1f`); they are not a
                    // variable.
                    while is_name(self.peek()) {
                        self.at += 1;
                    }
                    continue;
                }
                _ if is_name_start(b) => {
                    self.counted_name(certain);
                    continue;
                }
                b'$' => {
                    let from = self.at;
                    self.dollar(true)?;
                    if !self.is_number(from, self.at) {
                        self.doubt_at(Doubt::Arithmetic, from);
                    }
                    continue;
                }
                b'&' | b'|' | b'?' => certain = false,
                b' ' | b'\t' | b'\n' | b'+' | b'-' | b'*' | b'/' | b'%' | b'=' | b'<' | b'>'
                | b'!' | b'^' | b'~' | b':' | b',' => {}
                b';' if stops.contains(&b';') => {}
                0 if self.finished() => return self.refuse(Doubt::Unfinished),
                _ => return self.refuse(Doubt::Arithmetic),
            }
            self.at += 1;
        }
    }

    /// Reads an identifier, with the assignment to it if there is one.
    fn counted_name(&mut self, certain: bool) {
        let from = self.at;
        self.at += self.identifier();
        let name = self.slice(from, self.at);
        let blanks = self.rest().iter().take_while(|b| matches!(b, b' ' | b'\t')).count();
        let assigned = self.look(blanks) == b'=' && self.look(blanks + 1) != b'=';
        if assigned && (names::special(name) || !harmless(name, None)) {
            self.doubt_at(Doubt::Variable, from);
        } else if assigned && certain {
            self.names.prove(name);
        } else if assigned {
            // The value is a number, but the assignment may not run, so nothing is proven.
        } else if !self.names.count(name, from) {
            self.doubt_at(Doubt::Arithmetic, from);
        }
    }

    /// Returns true when the source between the offsets can only produce digits: a number, `$#`,
    /// `${#x}`, `$((…))`, or a variable that is known to hold a number.
    pub(super) fn is_number(&mut self, from: usize, to: usize) -> bool {
        let text = self.slice(from, to);
        let text = text.strip_prefix('"').and_then(|t| t.strip_suffix('"')).unwrap_or(text);
        if let Some(digits) = Some(text.strip_prefix('-').unwrap_or(text))
            && !digits.is_empty()
            && digits.bytes().all(|b| b.is_ascii_digit())
        {
            // `08` is no number to bash, which then gives up the line.
            return digits.len() == 1 || !digits.starts_with('0');
        }
        let Some(expansion) = text.strip_prefix('$') else { return false };
        if matches!(expansion, "#" | "?" | "$" | "!") {
            return true;
        }
        if let Some(inner) = expansion.strip_prefix("((").and_then(|t| t.strip_suffix("))")) {
            // The expression was checked when it was read. The balance refuses `$((1))$((2))`,
            // which is two expansions side by side.
            return balanced(inner);
        }
        let braced = expansion.strip_prefix('{').and_then(|t| t.strip_suffix('}'));
        if let Some(length) = braced.and_then(|t| t.strip_prefix('#')) {
            let name = length.strip_suffix("[@]").or(length.strip_suffix("[*]")).unwrap_or(length);
            return !name.is_empty() && name.bytes().all(is_name);
        }
        let name = braced.unwrap_or(expansion);
        let plain = name.bytes().next().is_some_and(is_name_start) && name.bytes().all(is_name);
        plain && self.names.count(name, from)
    }
}

fn balanced(text: &str) -> bool {
    let mut open = 0i32;
    text.bytes().all(|b| {
        open += i32::from(b == b'(') - i32::from(b == b')');
        open >= 0
    })
}
