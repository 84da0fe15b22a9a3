//! Brackets in the full reader.

use super::class::{spans, unit};
use super::node::{Class, Node};
use super::reader::{GlobReader, PieceKind};

impl GlobReader {
    /// Reads `[…]`. Without anything special inside, it also matches its own text.
    pub(super) fn class(&mut self) {
        let (mut ranges, mut content) = (Vec::new(), String::new());
        let mut units: Vec<Option<char>> = Vec::new();
        // picomatch passes brackets on to a regex, in which only `^` negates.
        let negated = self.rest.front() == Some(&'^');
        if negated {
            self.rest.pop_front();
            content.push('^');
        }
        let mut first = true;
        while let Some(char) = self.rest.pop_front() {
            match char {
                ']' if !first => break,
                '\\' => {
                    let next = self.rest.pop_front().unwrap_or('\\');
                    content.extend(['\\', next]);
                    units.push(Some(next));
                }
                '[' if self.rest.front() == Some(&':') => {
                    content.push('[');
                    match self.posix() {
                        Some(named) => ranges.extend(named),
                        None => units.push(Some('[')),
                    }
                }
                '-' if self.rest.front() != Some(&']') && !first => {
                    content.push('-');
                    units.push(None);
                }
                other => {
                    content.push(other);
                    units.push(Some(other));
                }
            }
            first = false;
        }
        // A range that runs backwards is an invalid regex in picomatch, which matches nothing.
        if !spans(&units, &mut ranges) {
            self.push(Node::Never, PieceKind::Bracket);
            return;
        }
        // picomatch also matches a class as literal text, unless it contains a regex character.
        let special = content
            .contains(['-', '*', '+', '?', '.', '^', '$', '{', '}', '(', '|', ')', '[', ']']);
        // picomatch adds the slash, so `[^a]` stays within a segment.
        if negated && !content.contains('/') {
            ranges.push((u16::from(b'/'), u16::from(b'/')));
        }
        let class = Node::Class(Class { ranges, negated });
        let node = if special {
            class
        } else {
            Node::Alt(vec![Node::text(&format!("[{content}]")), class])
        };
        self.push(node, PieceKind::Bracket);
    }

    /// Reads `[:name:]`; the opening bracket is consumed already.
    fn posix(&mut self) -> Option<Vec<(u16, u16)>> {
        let close = (1..self.rest.len().saturating_sub(1))
            .find(|&at| self.rest.get(at) == Some(&':') && self.rest.get(at + 1) == Some(&']'))?;
        let name: String = self.rest.iter().skip(1).take(close - 1).collect();
        let ranges: &[(char, char)] = match name.as_str() {
            "alnum" => &[('a', 'z'), ('A', 'Z'), ('0', '9')],
            "alpha" => &[('a', 'z'), ('A', 'Z')],
            "ascii" => &[('\0', '\x7f')],
            "blank" => &[(' ', ' '), ('\t', '\t')],
            "cntrl" => &[('\0', '\x1f'), ('\x7f', '\x7f')],
            "digit" => &[('0', '9')],
            "graph" => &[('\x21', '\x7e')],
            "lower" => &[('a', 'z')],
            "print" => &[('\x20', '\x7e')],
            "punct" => &[('!', '/'), (':', '@'), ('[', '`'), ('{', '~')],
            "space" => &[(' ', ' '), ('\t', '\r')],
            "upper" => &[('A', 'Z')],
            "word" => &[('A', 'Z'), ('a', 'z'), ('0', '9'), ('_', '_')],
            "xdigit" => &[('A', 'F'), ('a', 'f'), ('0', '9')],
            _ => return None,
        };
        self.rest.drain(..close + 2);
        Some(ranges.iter().filter_map(|&(low, high)| Some((unit(low)?, unit(high)?))).collect())
    }
}
