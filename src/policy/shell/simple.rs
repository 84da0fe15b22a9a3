//! Simple commands: assignments, words, redirects.

use std::borrow::Cow;

use crate::shell::cursor::{Read, Scanner, is_meta, is_name, is_name_start};
use crate::shell::heredoc::Pending;
use crate::shell::word::Purpose;
use crate::shell::{Assign, Command, Doubt, Redirect, RedirectOp, Word, WordKind, names};

/// Limit on the commands of one text.
// None of 2,065 recorded agent commands has more. Beyond the limit a person is asked, while deny
// rules still see every command.
// In Claude Code, texts of more than 50 commands fell from deny to ask (found by Adversa).
const MAX_COMMANDS: usize = 50;
/// Limit on the here-documents that wait for one newline.
const MAX_PENDING: usize = 16;

impl<'a> Scanner<'a> {
    /// Reads a simple command or the definition of a function.
    pub(super) fn simple(&mut self) -> Read<()> {
        // A command in `$(…)` has variables of its own.
        let outer = self.environment.take();
        self.simple_command()?;
        self.environment = outer.or(self.environment);
        Ok(())
    }

    fn simple_command(&mut self) -> Read<()> {
        let argv = Vec::with_capacity(4);
        let mut command = Command { argv, via: self.via, ..Command::default() };
        let begin = self.at;
        loop {
            self.blanks();
            match self.peek() {
                // `&` and `{` are tried here for `&>` and `{fd}>`.
                b'0'..=b'9' | b'<' | b'>' | b'&' | b'{' if self.redirect(&mut command)? => continue,
                b'\n' | b';' | b'&' | b'|' | b')' => break,
                b'(' => return self.function(&command),
                0 if self.finished() => break,
                _ => {}
            }
            if command.argv.is_empty()
                && is_name_start(self.peek())
                && self.assignment(&mut command)?
            {
                continue;
            }
            let Some(word) = self.word()? else { return self.refuse(Doubt::Unexpected) };
            if self.peek() == b'(' && !command.argv.is_empty() {
                return self.refuse(Doubt::Pattern);
            }
            if self.is_odd_in_zsh(&word, command.argv.is_empty()) {
                self.zshism(word.span.start);
            }
            command.argv.push(word);
        }
        // An operator where a command has to be.
        if self.at == begin {
            return self.refuse(Doubt::Unexpected);
        }
        self.vet(&command);
        self.assigns(&command);
        self.traces |= traces(&command.argv);
        if is_presence(&command) {
            self.presence = self.presence.or(self.environment.take());
        }
        self.push(command);
        Ok(())
    }

    /// Records the variables that a command certainly assigns in this shell.
    fn assigns(&mut self, command: &Command<'a>) {
        let here = |op| matches!(op, RedirectOp::HereDocument | RedirectOp::HereString);
        // A redirect that fails prevents the assignment, and so does an expansion that fails.
        let certain =
            |redirect: &Redirect<'_>| here(redirect.op) && !may_fail(&redirect.target.text);
        if !command.redirects.iter().all(certain) {
            return;
        }
        if command.argv.is_empty() {
            for assign in &command.assigns {
                // `x+=…` and `x[1]=…` keep the value of the environment. A value that is a pattern
                // becomes names of files that nobody has looked at.
                let end = assign.value.span.start.wrapping_sub(2);
                let keeps = matches!(self.byte(end), b'+' | b']');
                let array = assign.value.text.starts_with('(');
                if keeps {
                    self.uses(assign.name);
                } else if (array || !assign.value.text.contains(['*', '?', '[']))
                    && !may_fail(&assign.value.text)
                {
                    self.names.assign(assign.name);
                }
            }
        } else if let [read, names @ ..] = command.argv.as_slice()
            && read.literal() == Some("read")
        {
            // `-t` and `-u` may leave the variables as they are.
            let plain = |text: &str| text == "-r" || !text.starts_with('-');
            if names.iter().all(|word| word.literal().is_some_and(plain)) {
                for word in names.iter().filter(|word| !word.text.starts_with('-')) {
                    self.names.assign(self.slice(word.span.start, word.span.end));
                }
            }
        }
    }

    /// Returns true for a word that is more than a word to zsh: the start or end of a group (`{ls`,
    /// and `}` as in `{ ls } else { rm x; }`), or `=ls`, the path of a program.
    fn is_odd_in_zsh(&self, word: &Word<'a>, first: bool) -> bool {
        let begin = self.byte(word.span.start);
        let end = self.byte(word.span.end.wrapping_sub(1));
        let raw = || self.slice(word.span.start, word.span.end);
        match (begin, end) {
            (b'{' | b'=', _) if first => true,
            (_, b'}') if raw().matches('{').count() != raw().matches('}').count() => true,
            (b'=', _) => is_program_in_zsh(raw()),
            _ => false,
        }
    }

    /// Appends a command to the list.
    pub(super) fn push(&mut self, mut command: Command<'a>) {
        command.moved_by = self.moved_by;
        command.environment = self.environment.take();
        if changes_directory(&command.argv) {
            self.moved_by = Some(self.out.commands.len());
        }
        self.out.commands.push(command);
        if self.out.commands.len() > MAX_COMMANDS {
            self.doubt(Doubt::TooMany);
        }
    }

    /// Reads `name ()` and the body.
    fn function(&mut self, command: &Command<'a>) -> Read<()> {
        let [name] = command.argv.as_slice() else { return self.refuse(Doubt::Pattern) };
        let plain = name.kind == WordKind::Literal && !name.quoted;
        if !plain || !command.assigns.is_empty() || !command.redirects.is_empty() {
            return self.refuse(Doubt::Pattern);
        }
        let name = self.slice(name.span.start, name.span.end);
        self.at += 1;
        self.blanks();
        if self.peek() != b')' {
            return self.refuse(Doubt::Pattern);
        }
        self.at += 1;
        self.function_body(name)
    }

    /// Reads `NAME=value`, `NAME+=value`, `NAME[i]=value` or `NAME=(…)`; returns false when there
    /// is no assignment.
    fn assignment(&mut self, command: &mut Command<'a>) -> Read<bool> {
        let begin = self.at;
        let length = self.identifier();
        if !matches!(self.look(length), b'=' | b'+' | b'[') {
            return Ok(false);
        }
        let name = self.slice(begin, begin + length);
        self.at += length;
        let element = self.peek() == b'[';
        if element {
            // bash reads `name[` up to the bracket, whitespace included.
            self.at += 1;
            self.arithmetic(b"]")?;
            self.at += 1;
        }
        let adds = self.peek() == b'+' && self.look(1) == b'=';
        if !adds && self.peek() != b'=' {
            // Without `=`, bash takes `a[0]` for a pattern of file names.
            if element {
                return self.refuse(Doubt::Unexpected);
            }
            // `a+b` is a command's name.
            self.at = begin;
            return Ok(false);
        }
        if adds || element {
            self.bashism();
        }
        self.at += 1 + usize::from(adds);
        let from = self.at;
        let value = if self.peek() == b'(' {
            self.bashism();
            self.array(name, element)?
        } else {
            let value = self.word_at(Purpose::Value)?;
            let number = self.is_number(from, self.at) && !element;
            let number = number && (!adds || self.names.count(name, begin));
            // `x+=1` appends digits, so the result is a number only if `x` was one.
            self.assigned(name, begin, number);
            value.unwrap_or(Word {
                text: Cow::Borrowed(""),
                kind: WordKind::Literal,
                quoted: false,
                span: from..from,
            })
        };
        command.assigns.push(Assign { name, value });
        Ok(true)
    }

    /// Records an assignment, and whether arithmetic may use the variable afterwards.
    pub(super) fn assigned(&mut self, name: &'a str, at: usize, number: bool) {
        if names::special(name) {
            self.doubt_at(Doubt::Variable, at);
        }
        if number {
            self.names.prove(name);
        } else {
            self.names.taint(name);
        }
    }

    /// Reads `(a b c)` behind `NAME=`.
    fn array(&mut self, name: &'a str, element: bool) -> Read<Word<'a>> {
        let from = self.at;
        if element || !self.heredocs.is_empty() {
            return self.refuse(Doubt::Unexpected);
        }
        self.out.elaborate = true;
        self.at += 1;
        let mut numbers = true;
        loop {
            self.newlines()?;
            if self.peek() == b')' {
                break;
            }
            // `[i]=x`: bash evaluates the subscript.
            if self.peek() == b'[' || is_meta(self.peek()) {
                return self.refuse(Doubt::Unexpected);
            }
            let begin = self.at;
            let Some(word) = self.word()? else { return self.refuse(Doubt::Unfinished) };
            // An expansion that yields `[i]=x` becomes the text of one element, not a subscript.
            numbers &= self.is_number(begin, word.span.end);
        }
        self.at += 1;
        self.assigned(name, from, numbers);
        if !(self.finished() || is_meta(self.peek())) {
            return self.refuse(Doubt::Unexpected);
        }
        Ok(Word {
            text: Cow::Borrowed(self.slice(from, self.at)),
            kind: WordKind::Dynamic,
            quoted: false,
            span: from..self.at,
        })
    }

    /// Reads a redirect at the cursor; returns false when there is none.
    pub(super) fn redirect(&mut self, command: &mut Command<'a>) -> Read<bool> {
        let begin = self.at;
        if self.peek() == b'{' {
            return if self.named_descriptor() { self.refuse(Doubt::Redirect) } else { Ok(false) };
        }
        while self.peek().is_ascii_digit() {
            self.at += 1;
        }
        let digits = self.slice(begin, self.at);
        let Some((mut op, length)) = self.operator(digits.is_empty()) else {
            self.at = begin;
            return Ok(false);
        };
        let fd = digits.parse::<u32>().ok();
        // Only bash reads several digits as a descriptor; for others they are a word.
        if fd.is_none() && !digits.is_empty() || digits.len() > 1 {
            return self.refuse(Doubt::Redirect);
        }
        let sign = self.slice(self.at, self.at + length);
        self.at += length;
        // zsh reads `>!` as `>|`, and `<1-9>` as a pattern of file names.
        if self.peek() == b'!' || op == RedirectOp::Read && self.is_range_of_numbers() {
            self.zshism(begin);
        }
        self.blanks();
        if op == RedirectOp::Duplicate {
            op = self.duplicate(sign, fd)?;
        }
        // dash reads `&>f` as `&` followed by `>f`, and has no `<<<`.
        if matches!(op, RedirectOp::WriteBoth | RedirectOp::AppendBoth | RedirectOp::HereString) {
            self.bashism();
        }
        let heredoc = op == RedirectOp::HereDocument;
        let purpose = if heredoc { Purpose::Delimiter } else { Purpose::Argument };
        let Some(target) = self.word_at(purpose)? else { return self.refuse(Doubt::Redirect) };
        // SECURITY: bash expands the word of `>&word` twice, quotes or not: `>& 'a$(x)'` runs x.
        // The fuzz against bash found it.
        let plain = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'-' | b'.' | b'/');
        if !heredoc && is_program_in_zsh(self.slice(target.span.start, target.span.end)) {
            self.zshism(begin);
        }
        if sign == ">&" && op == RedirectOp::WriteBoth && !target.text.bytes().all(plain) {
            self.doubt_at(Doubt::Redirect, begin);
        }
        if heredoc {
            if target.kind != WordKind::Literal || self.heredocs.len() >= MAX_PENDING {
                return self.refuse(Doubt::HereDocument);
            }
            self.heredocs.push(Pending {
                delimiter: target.text.clone(),
                verbatim: target.quoted,
                tabs: sign == "<<-",
                at: target.span.start,
            });
        }
        command.redirects.push(Redirect { fd, op, target });
        Ok(true)
    }

    fn operator(&self, without_number: bool) -> Option<(RedirectOp, usize)> {
        Some(match (self.peek(), self.look(1), self.look(2)) {
            (b'<' | b'>', b'(', _) => return None,
            (b'<', b'<', b'<') => (RedirectOp::HereString, 3),
            (b'<', b'<', b'-') => (RedirectOp::HereDocument, 3),
            (b'<', b'<', _) => (RedirectOp::HereDocument, 2),
            (b'<' | b'>', b'&', _) => (RedirectOp::Duplicate, 2),
            (b'<', b'>', _) => (RedirectOp::ReadWrite, 2),
            (b'<', _, _) => (RedirectOp::Read, 1),
            (b'>', b'>', _) => (RedirectOp::Append, 2),
            (b'>', b'|', _) => (RedirectOp::Write, 2),
            (b'>', _, _) => (RedirectOp::Write, 1),
            (b'&', b'>', b'>') if without_number => (RedirectOp::AppendBoth, 3),
            (b'&', b'>', _) if without_number => (RedirectOp::WriteBoth, 2),
            _ => return None,
        })
    }

    /// SECURITY: bash lexes `<&-x` as `<&-` and the word `x`, and `2>&1-` moves a descriptor. Only
    /// a number or `-` alone is read; `>&word` writes a file.
    fn duplicate(&self, sign: &str, fd: Option<u32>) -> Read<RedirectOp> {
        // The fuzz against bash found `<&-rm cat`, which runs `rm cat`; brush-parser reads a
        // redirect to `-rm` and the command `cat`.
        let digits = self.rest().iter().take_while(|b| b.is_ascii_digit()).count();
        let length = if digits == 0 && self.peek() == b'-' { 1 } else { digits };
        let ends = self.at + length >= self.end() || is_meta(self.look(length));
        if length > 0 && ends {
            return Ok(RedirectOp::Duplicate);
        }
        let file = self.peek().is_ascii_alphabetic() || matches!(self.peek(), b'/' | b'.' | b'_');
        if sign == ">&" && fd.is_none() && file {
            return Ok(RedirectOp::WriteBoth);
        }
        self.refuse(Doubt::Redirect)
    }

    /// Detects `1-9>` behind a `<`.
    fn is_range_of_numbers(&self) -> bool {
        let rest = self.rest();
        let length = rest.iter().take_while(|b| b.is_ascii_digit() || **b == b'-').count();
        rest.get(..length).is_some_and(|range| range.contains(&b'-')) && self.look(length) == b'>'
    }

    /// Detects `{name}>`, which opens a descriptor and sets a variable.
    fn named_descriptor(&self) -> bool {
        let inner = self.from(self.at + 1);
        let length = inner.iter().take_while(|&&b| is_name(b) || b == b'[' || b == b']').count();
        length > 0 && self.look(length + 1) == b'}' && matches!(self.look(length + 2), b'<' | b'>')
    }
}

/// Returns true for a text in which an expansion may fail: bash gives up the line then, and reads on
/// behind it. `$((1/0))`, `$((08))` and `${x:1:-9}` do; `$((a + 1))` and `${x:0:8}` do not.
fn may_fail(text: &str) -> bool {
    let mut rest = text;
    while let Some((_, inner)) = rest.split_once("$((") {
        let sum = inner.split("))").next().unwrap_or_default();
        let plain = |c: char| c.is_ascii_alphanumeric() || "_ +-*/%()".contains(c);
        let is_odd = |word: &str| {
            word.len() > 1 && word.starts_with('0')
                || word.starts_with(|c: char| c.is_ascii_digit())
                    && word.contains(|c: char| !c.is_ascii_digit())
        };
        let divides_by_more = sum
            .split(['/', '%'])
            .skip(1)
            .any(|divisor| !divisor.trim_start().starts_with(|c: char| ('1'..='9').contains(&c)));
        if !sum.chars().all(plain)
            || sum.contains("**")
            || divides_by_more
            || sum.split(|c: char| !c.is_ascii_alphanumeric() && c != '_').any(is_odd)
        {
            return true;
        }
        rest = inner;
    }
    text.split("${").skip(1).any(|inner| {
        let inner = inner.split('}').next().unwrap_or_default();
        let cut = inner.split_once(':').filter(|(_, cut)| !cut.starts_with(['-', '+', '=', '?']));
        cut.is_some_and(|(_, cut)| !cut.chars().all(|c| c.is_ascii_digit() || " :".contains(c)))
    })
}

/// Returns true for `=ls`, which zsh replaces by the path of the program. No program is called `==`.
fn is_program_in_zsh(raw: &str) -> bool {
    matches!(raw.as_bytes(), [b'=', next, ..] if *next != b'=')
}

/// Returns true for `cd`, `pushd` and `popd`, also behind `command -p` and `builtin`.
#[inline]
pub(super) fn changes_directory(argv: &[Word<'_>]) -> bool {
    matches!(builtin(argv).next(), Some("cd" | "pushd" | "popd"))
}

/// Returns true for `set -x` and `set -o xtrace`.
fn traces(argv: &[Word<'_>]) -> bool {
    let mut words = builtin(argv);
    let option = |text: &str| text == "xtrace" || text.starts_with('-') && text.contains('x');
    words.next() == Some("set") && words.any(option)
}

/// Iterates over the words of a builtin, without a `command -p` or `builtin` before it.
fn builtin<'w>(argv: &'w [Word<'_>]) -> impl Iterator<Item = &'w str> {
    let before = |word: &&str| matches!(word.as_bytes(), b"command" | b"builtin" | [b'-', ..]);
    argv.iter().map(|word| &*word.text).skip_while(before)
}

/// Returns true for `[ -n "$x" ]`, `[ -z "$x" ]` and the same with `test`, which only tell whether
/// there is a value.
fn is_presence(command: &Command<'_>) -> bool {
    let (option, word) = match command.argv.as_slice() {
        [name, option, word, end] if name.text == "[" && end.text == "]" => (option, word),
        [name, option, word] if name.text == "test" => (option, word),
        _ => return false,
    };
    matches!(&*option.text, "-n" | "-z")
        && word.quoted
        && is_variable(&word.text)
        && command.assigns.is_empty()
        && command.redirects.is_empty()
}

/// Returns true for `$x`, `${x}` and `${x:-}`.
pub(super) fn is_variable(text: &str) -> bool {
    let Some(rest) = text.strip_prefix('$') else { return false };
    let inner = rest.strip_prefix('{').and_then(|rest| rest.strip_suffix('}'));
    let name = inner.map_or(rest, |inner| inner.strip_suffix(":-").unwrap_or(inner));
    !name.is_empty() && name.bytes().all(is_name)
}
