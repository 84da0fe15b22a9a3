//! The paths that a text may become in a shell or a program: braces, variables, tildes.

use std::borrow::Cow;

use crate::engine::guardrail::route::UNKNOWN;
use crate::facts::paths::braces;

/// One way to read a text as a path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Spelling<'t> {
    /// The path; relative unless it starts with `/`. `UNKNOWN` stands for a part that is known only
    /// at run time.
    pub(crate) text: Cow<'t, str>,
    pub(crate) is_pattern: bool,
}

/// The expansions to apply to a text.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Expansions<'p> {
    pub(crate) home: Option<&'p str>,
    /// Unknown variables become `UNKNOWN`; otherwise they stay as they are.
    pub(crate) variables: bool,
}

impl<'p> Expansions<'p> {
    /// Returns every way to read the text.
    pub(crate) fn of<'t>(self, text: &'t str) -> Vec<Spelling<'t>> {
        // Most words have nothing to expand.
        if !text.contains(['{', '$', '~', '`', '\\', '%', '*', '?', '[']) {
            return vec![Spelling { text: Cow::Borrowed(text), is_pattern: false }];
        }
        let mut all = Vec::new();
        for text in braces(text) {
            let is_pattern = text.contains(['*', '?', '[']);
            let known = self.variables(&text);
            let known = self.tilde(&known).map_or(known, Cow::Owned);
            let text = Cow::Owned(known.into_owned());
            all.push(Spelling { text, is_pattern });
        }
        if let Some(plain) = unescaped(text) {
            all.push(Spelling {
                text: Cow::Owned(plain),
                is_pattern: text.contains(['*', '?', '[']),
            });
        }
        if all.iter().any(|spelling| *spelling.text != *text) {
            // As written, because quoted text is not expanded.
            let is_pattern = text.contains(['*', '?', '[']);
            all.push(Spelling { text: Cow::Borrowed(text), is_pattern });
        }
        all
    }

    /// Expands a leading `~`, `~user`, `~+` or `~-`.
    fn tilde(self, text: &str) -> Option<String> {
        let rest = text.strip_prefix('~')?;
        let (user, rest) = rest.split_at(rest.find('/').unwrap_or(rest.len()));
        Some(match (user, self.home) {
            ("", Some(home)) => format!("{home}{rest}"),
            ("+", _) => format!(".{rest}"),
            // Another user's home, or the shell's previous directory.
            _ => format!("{UNKNOWN}{rest}"),
        })
    }

    fn variables<'t>(self, text: &'t str) -> Cow<'t, str> {
        if self.variables && text.contains("{}") {
            // The names that `xargs` and `find` fill in.
            let text = text.replace("{}", "\0");
            return Cow::Owned(self.variables(&text).into_owned());
        }
        if !text.contains(['$', '`']) {
            return Cow::Borrowed(text);
        }
        let mut out = String::with_capacity(text.len());
        let mut rest = text;
        while let Some(at) = rest.find(['$', '`']) {
            let (before, from) = rest.split_at(at);
            out.push_str(before);
            let (name, length) = expansion(from);
            match name {
                Some("HOME") if self.home.is_some() => out.push_str(self.home.unwrap_or_default()),
                Some("PWD") => out.push('.'),
                // Variables that hold numbers.
                Some(
                    "$" | "?" | "#" | "!" | "RANDOM" | "SECONDS" | "UID" | "EUID" | "PPID"
                    | "BASHPID" | "LINENO",
                ) => out.push('0'),
                Some(_) if self.variables => out.push(UNKNOWN),
                _ => out.push_str(from.get(..length).unwrap_or_default()),
            }
            rest = from.get(length..).unwrap_or_default();
        }
        out.push_str(rest);
        Cow::Owned(out)
    }
}

/// Returns the name behind a `$` or backtick and the length of the expansion; no name when it is
/// not an expansion.
fn expansion(text: &str) -> (Option<&str>, usize) {
    let bytes = text.as_bytes();
    let name = |from: usize| {
        let tail = bytes.get(from..).unwrap_or_default();
        tail.iter().take_while(|b| b.is_ascii_alphanumeric() || **b == b'_').count()
    };
    match (bytes.first(), bytes.get(1)) {
        (Some(b'`'), _) => {
            let end = text.get(1..).and_then(|rest| rest.find('`')).map_or(text.len(), |at| at + 2);
            (Some("`"), end)
        }
        (_, Some(b'{')) => {
            let length = name(2);
            let end = closing(text, b'{', b'}');
            match bytes.get(2 + length) {
                Some(b'}') if length > 0 => (text.get(2..2 + length), end),
                _ => (Some("{"), end),
            }
        }
        (_, Some(b'(')) if text.starts_with("$((") => (Some("#"), closing(text, b'(', b')')),
        (_, Some(b'(')) => (Some("("), closing(text, b'(', b')')),
        (_, Some(b)) if b.is_ascii_alphabetic() || *b == b'_' => {
            let length = name(1);
            (text.get(1..1 + length), 1 + length)
        }
        (_, Some(b'0'..=b'9' | b'@' | b'*' | b'-')) => (Some("@"), 2),
        (_, Some(b'$' | b'?' | b'#' | b'!')) => (text.get(1..2), 2),
        _ => (None, 1),
    }
}

/// Returns the length up to the bracket that closes the first one. Quotes are ignored, so the
/// unknown part is rather too long than too short.
fn closing(text: &str, open: u8, close: u8) -> usize {
    let mut depth = 0usize;
    for (at, byte) in text.bytes().enumerate() {
        if byte == open {
            depth += 1;
        } else if byte == close {
            depth = depth.saturating_sub(1);
            if depth == 0 {
                return at + 1;
            }
        }
    }
    text.len()
}

/// Removes backslashes and decodes `%2e`, as programs read their arguments.
fn unescaped(text: &str) -> Option<String> {
    if !text.contains(['\\', '%']) {
        return None;
    }
    let (bytes, mut at) = (text.as_bytes(), 0);
    let mut out = Vec::with_capacity(text.len());
    while let Some(byte) = bytes.get(at) {
        let code = text.get(at + 1..at + 3).and_then(|code| u8::from_str_radix(code, 16).ok());
        match (byte, code) {
            (b'\\', _) => {}
            (b'%', Some(decoded)) => {
                out.push(decoded);
                at += 2;
            }
            _ => out.push(*byte),
        }
        at += 1;
    }
    String::from_utf8(out).ok()
}

/// Returns the parts of a word that may be paths: the whole, the value of an option, the parts
/// between separators.
pub(crate) fn pieces(word: &str) -> Vec<&str> {
    let mut all = vec![word];
    if let Some(flags) = word.strip_prefix('-').filter(|flags| !flags.starts_with('-')) {
        // `-fNAME` and, in a cluster of options, `-xzf/NAME`.
        let slash = flags.find(['/', '~', '.', '$']).unwrap_or(0).min(8);
        all.extend(
            flags.char_indices().skip(1).take(slash.max(1)).filter_map(|(at, _)| flags.get(at..)),
        );
    }
    if word.contains(SEPARATORS) {
        let behind = |at: usize| word.get(at + 1..);
        all.extend(word.find('=').and_then(behind));
        all.extend(word.find([':', '@']).and_then(behind));
        all.extend(word.split(SEPARATORS).filter(|part| part.len() < word.len()));
    }
    all.retain(|piece| !piece.is_empty());
    all
}

const SEPARATORS: [char; 5] = ['=', ':', ',', '@', ';'];

/// Iterates over the parts of a text that may be paths; none when the text is a single word.
pub(crate) fn tokens(text: &str) -> impl Iterator<Item = &str> {
    const ENDS: &[char] = &[
        ' ', '\t', '\n', '\r', '"', '\'', '`', '(', ')', '<', '>', '|', '&', ';', ',', '=', ':',
        '@', '[', ']', '{', '}',
    ];
    let several = text.contains(ENDS);
    text.split(ENDS).filter(move |part| several && !part.is_empty())
}

#[cfg(test)]
mod tests;
