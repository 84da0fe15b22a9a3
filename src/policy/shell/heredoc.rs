//! Here-documents, whose bodies start after the next newline.

use std::borrow::Cow;

use crate::shell::cursor::{Read, Scanner};
use crate::shell::{Doubt, Redirect, RedirectOp, WordKind};

impl<'a> Scanner<'a> {
    /// Reads the bodies of all pending here-documents; the cursor is behind a newline.
    pub(super) fn here_documents(&mut self) -> Read<()> {
        self.body_read = true;
        for pending in std::mem::take(&mut self.heredocs) {
            let from = self.at;
            let to = self.body_end(&pending)?;
            let after = self.at;
            let mut kind = WordKind::Literal;
            let outer = self.environment.take();
            if !pending.verbatim && self.expand_body(from, to)? {
                kind = WordKind::Dynamic;
            }
            self.at = after;
            self.attach(&pending, from, to, kind);
            self.environment = outer.or(self.environment);
        }
        Ok(())
    }

    /// Finds the delimiter line, steps over it and returns the end of the body.
    fn body_end(&mut self, pending: &Pending<'a>) -> Read<usize> {
        let mut joined = false;
        loop {
            if !joined {
                self.skip_lines(pending);
            }
            if self.finished() {
                // bash accepts the end of the text as the delimiter, with a warning.
                if self.in_parens || self.end() != self.source.len() || joined {
                    return self.refuse(Doubt::HereDocument);
                }
                return Ok(self.end());
            }
            let begin = self.at;
            let rest = self.rest();
            let length = memchr::memchr(b'\n', rest).unwrap_or(rest.len());
            self.at = (begin + length + 1).min(self.end());
            let line = self.slice(begin, begin + length);
            let text = if pending.tabs { line.trim_start_matches('\t') } else { line };
            if let Some(more) = text.strip_prefix(&*pending.delimiter) {
                if more.is_empty() && !joined {
                    return Ok(begin);
                }
                // bash also ends the body here inside `$(…)`, or after it has joined continued
                // lines.
                if joined || more.starts_with('\\') || (self.in_parens && more.contains(')')) {
                    return self.refuse(Doubt::HereDocument);
                }
            }
            let slashes = line.bytes().rev().take_while(|&b| b == b'\\').count();
            let continues = !pending.verbatim && slashes % 2 == 1;
            // The delimiter itself may be split over continued lines.
            if continues && pending.delimiter.starts_with(text.trim_end_matches('\\')) {
                return self.refuse(Doubt::HereDocument);
            }
            joined = continues;
        }
    }

    /// Steps over lines that neither end the body nor continue on the next line.
    fn skip_lines(&mut self, pending: &Pending<'a>) {
        let Some(&first) = pending.delimiter.as_bytes().first() else { return };
        // Bodies are long, and 30 % of 2,065 recorded agent commands have one. Only a line with the
        // delimiter's first byte or a backslash needs a closer look.
        let rest = self.rest();
        let found = if pending.verbatim {
            memchr::memchr(first, rest)
        } else {
            memchr::memchr2(first, b'\\', rest)
        };
        let before = rest.get(..found.unwrap_or(rest.len())).unwrap_or_default();
        self.at += memchr::memrchr(b'\n', before).map_or(0, |newline| newline + 1);
    }

    /// Reads the expansions of an unquoted body; returns true when there are any.
    fn expand_body(&mut self, from: usize, to: usize) -> Read<bool> {
        self.within(from, to, |s| {
            let mut dynamic = false;
            loop {
                let rest = s.rest();
                let Some(skip) = memchr::memchr3(b'$', b'`', b'\\', rest) else {
                    s.at = s.end();
                    return Ok(dynamic);
                };
                s.at += skip;
                match s.peek() {
                    b'\\' => {
                        dynamic = true;
                        s.at = (s.at + 2).min(s.end());
                    }
                    b'`' => {
                        s.backtick()?;
                        dynamic = true;
                    }
                    _ => dynamic |= s.dollar(true)?,
                }
            }
        })
    }

    /// Stores the body in its redirect.
    fn attach(&mut self, pending: &Pending<'a>, from: usize, to: usize, kind: WordKind) {
        let body = self.slice(from, to);
        let is_mine = |redirect: &Redirect<'_>| {
            redirect.op == RedirectOp::HereDocument && redirect.target.span.start == pending.at
        };
        // The redirect belongs to one of the last commands, so the search starts from the end.
        let mut commands = self.out.commands.iter_mut().rev();
        let Some(command) = commands.find(|command| command.redirects.iter().any(is_mine)) else {
            return;
        };
        command.environment = command.environment.or(self.environment.take());
        if let Some(redirect) = command.redirects.iter_mut().find(|redirect| is_mine(redirect)) {
            redirect.target.text = if pending.tabs {
                Cow::Owned(
                    body.lines().map(|l| l.trim_start_matches('\t')).collect::<Vec<_>>().join("\n"),
                )
            } else {
                Cow::Borrowed(body)
            };
            redirect.target.kind = kind;
        }
    }
}

/// A here-document whose body is not reached yet.
pub(super) struct Pending<'a> {
    /// The line that ends the body.
    pub(super) delimiter: Cow<'a, str>,
    /// The delimiter is quoted, so the body is literal.
    pub(super) verbatim: bool,
    /// `<<-`: leading tabs of every line are removed.
    pub(super) tabs: bool,
    /// Offset of the redirect's word, to find the redirect again.
    pub(super) at: usize,
}
