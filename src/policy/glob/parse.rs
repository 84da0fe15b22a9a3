//! Parses a pattern as picomatch does, which has three readers: one for a handful of common shapes,
//! one for patterns without slashes and groups, and the full one.

use std::collections::VecDeque;

use crate::glob::{GlobError, refuse};

/// Parses `pattern`.
pub(super) fn tree(pattern: &str) -> Result<Tree, GlobError> {
    refuse(pattern)?;
    // picomatch makes the same replacements first.
    let pattern = match pattern {
        "***" => "*",
        "**/**" | "**/**/**" => "**",
        other => other,
    };
    if pattern.starts_with(['.', '*'])
        && let Some(mut nodes) = common_shape(pattern.strip_prefix("./").unwrap_or(pattern))
    {
        nodes.push(Node::Maybe(Box::new(Node::Char('/'))));
        return Ok(Tree { node: Node::Seq(flat(nodes)), negated: false });
    }
    let pattern = pattern.strip_prefix("./").unwrap_or(pattern);
    if !pattern.starts_with(['*', '!'])
        && !pattern.contains(['/', '(', ')', '[', ']', '{', '}', '"'])
    {
        return Ok(Tree { node: as_written(pattern), negated: false });
    }
    Ok(GlobReader::new(pattern).read())
}

/// A parsed pattern.
#[derive(Debug)]
pub(super) struct Tree {
    pub(super) node: Node,
    pub(super) negated: bool,
}

#[derive(Clone, Debug, PartialEq)]
pub(super) enum Node {
    Never,
    Anything,
    Char(char),
    Class(Class),
    /// Any number of units within the line.
    Star,
    /// Like `Star`, but never over the start of a `.` or `..` segment.
    StarNoDots,
    Look(Look),
    Seq(Vec<Node>),
    Alt(Vec<Node>),
    Maybe(Box<Node>),
    Repeat(Box<Node>),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Look {
    /// At least one more unit in the line.
    OneInLine,
    /// No dot segment at the start or behind a slash from here on.
    NoDots,
    /// No dot segment exactly here.
    NoDotsHere,
    Start,
    End,
}

/// A set of UTF-16 units.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Class {
    pub(super) ranges: Vec<(u16, u16)>,
    pub(super) negated: bool,
}

impl Class {
    pub(super) fn nothing() -> Self {
        Self { ranges: Vec::new(), negated: false }
    }

    fn not_slash() -> Self {
        Self { ranges: vec![(u16::from(b'/'), u16::from(b'/'))], negated: true }
    }

    pub(super) fn is_not_slash(&self) -> bool {
        *self == Self::not_slash()
    }

    pub(super) fn contains(&self, unit: u16) -> bool {
        self.ranges.iter().any(|&(low, high)| (low..=high).contains(&unit)) != self.negated
    }
}

impl Node {
    pub(super) fn text(text: &str) -> Self {
        Self::Seq(text.chars().map(Self::Char).collect())
    }

    /// Returns the longest run of characters that every match contains.
    pub(super) fn longest_literal(&self) -> String {
        let mut best = String::new();
        let mut run = String::new();
        // Only a top-level sequence, because a part of an alternative need not occur.
        if let Self::Seq(nodes) = self {
            for node in nodes {
                if let Self::Char(char) = node {
                    run.push(*char);
                } else {
                    if run.len() > best.len() {
                        best.clone_from(&run);
                    }
                    run.clear();
                }
            }
        }
        if run.len() > best.len() { run } else { best }
    }
}

/// Flattens nested sequences, so that literal runs are found whole.
fn flat(nodes: Vec<Node>) -> Vec<Node> {
    let mut laid = Vec::with_capacity(nodes.len());
    for node in nodes {
        match node {
            Node::Seq(inner) => laid.extend(flat(inner)),
            node => laid.push(node),
        }
    }
    laid
}

// Sets of characters: `[…]`, `[:name:]`, `{a..c}`.

/// Returns the class of `{a..c}`: the single characters between the two.
fn range(nodes: &[Node], at: usize) -> Node {
    let ([Node::Char(one)], [Node::Char(other)]) = nodes.split_at(at.min(nodes.len())) else {
        return Node::Never;
    };
    match (unit(*one), unit(*other)) {
        (Some(one), Some(other)) => {
            Node::Class(Class { ranges: vec![(one.min(other), one.max(other))], negated: false })
        }
        _ => Node::Never,
    }
}

fn unit(char: char) -> Option<u16> {
    u16::try_from(u32::from(char)).ok()
}

/// Turns the characters of a class into ranges; `None` is an unescaped `-`. Returns false for a
/// range that runs backwards, which no regex accepts.
fn spans(units: &[Option<char>], ranges: &mut Vec<(u16, u16)>) -> bool {
    let mut at = 0;
    while let Some(&low) = units.get(at) {
        let low = low.unwrap_or('-');
        if let (Some(None), Some(Some(high))) = (units.get(at + 1), units.get(at + 2)) {
            let (Some(low), Some(high)) = (unit(low), unit(*high)) else { return false };
            if low > high {
                return false;
            }
            ranges.push((low, high));
            at += 3;
        } else {
            // A JavaScript class without the `u` flag holds the two halves of such a character
            // separately.
            let mut buffer = [0; 2];
            ranges.extend(low.encode_utf16(&mut buffer).iter().map(|&unit| (unit, unit)));
            at += 1;
        }
    }
    true
}

// The patterns that picomatch reads by a table, and those without slashes and groups.

/// Returns picomatch's fixed reading of `*`, `**`, `*/*`, `**/.*` and the like, each also with
/// `.word` behind it.
fn common_shape(pattern: &str) -> Option<Vec<Node>> {
    use Look::{NoDots, NoDotsHere, OneInLine};
    use Node::{Char, Maybe, Seq, Star, StarNoDots};
    let look = Node::Look;
    let directories = || Maybe(Box::new(Seq(vec![Node::Look(NoDots), StarNoDots, Char('/')])));
    Some(match pattern {
        "*" => vec![look(NoDots), look(OneInLine), Star],
        ".*" => vec![Char('.'), look(OneInLine), Star],
        "*.*" => vec![look(NoDots), Star, Char('.'), look(OneInLine), Star],
        "*/*" => {
            vec![look(NoDots), Star, Char('/'), look(OneInLine), look(NoDotsHere), Star]
        }
        "**" => vec![look(NoDots), StarNoDots],
        "**/*" => vec![directories(), look(NoDotsHere), look(OneInLine), Star],
        "**/*.*" => {
            vec![directories(), look(NoDotsHere), Star, Char('.'), look(OneInLine), Star]
        }
        "**/.*" => vec![directories(), Char('.'), look(OneInLine), Star],
        _ => {
            let (stem, extension) = pattern.rsplit_once('.')?;
            let word = |c: char| c.is_ascii_alphanumeric() || c == '_';
            if extension.is_empty() || !extension.chars().all(word) || stem.contains('\n') {
                return None;
            }
            let mut nodes = common_shape(stem)?;
            nodes.push(Char('.'));
            nodes.extend(extension.chars().map(Char));
            nodes
        }
    })
}

/// Reads quotes and groups as plain characters; only stars, question marks and backslashes are
/// special.
pub(super) fn as_written(pattern: &str) -> Node {
    let mut nodes = Vec::new();
    let mut chars = pattern.chars().peekable();
    while let Some(char) = chars.next() {
        match char {
            '\\' => nodes.push(Node::Char(chars.next().unwrap_or('\\'))),
            '*' => {
                while chars.next_if_eq(&'*').is_some() {}
                nodes.push(Node::StarNoDots);
            }
            '?' => nodes.push(Node::Class(Class::not_slash())),
            other => nodes.push(Node::Char(other)),
        }
    }
    Node::Seq(nodes)
}

// The full reader of patterns: groups, braces, quotes and escapes.

/// The full reader.
pub(super) struct GlobReader {
    pub(super) rest: VecDeque<char>,
    frames: Vec<Frame>,
    pub(super) previous: PieceKind,
}

/// An open group; the outermost one is the pattern itself.
pub(super) struct Frame {
    open: Group,
    done: Vec<Node>,
    current: Vec<Node>,
    comma: bool,
    dots: Option<usize>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Group {
    Pattern,
    Paren,
    Brace,
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum PieceKind {
    Start,
    Slash,
    Dot,
    Star { behind_start: bool, after_star: bool },
    Globstar,
    Bracket,
    Group,
    Text,
}

impl Frame {
    fn new(open: Group) -> Self {
        Self { open, done: Vec::new(), current: Vec::new(), comma: false, dots: None }
    }

    fn close(mut self) -> Node {
        let last = Node::Seq(flat(self.current));
        if self.done.is_empty() {
            return last;
        }
        self.done.push(last);
        Node::Alt(self.done)
    }
}

impl GlobReader {
    pub(super) fn new(pattern: &str) -> Self {
        Self {
            rest: pattern.chars().collect(),
            frames: vec![Frame::new(Group::Pattern)],
            previous: PieceKind::Start,
        }
    }

    pub(super) fn read(mut self) -> Tree {
        let negated = self.negation();
        let mut quoted = false;
        while let Some(char) = self.rest.pop_front() {
            match char {
                '\\' if !quoted => self.escape(),
                // As in picomatch: quotes are dropped and their content is literal.
                '"' => quoted = !quoted,
                char if quoted => self.push(Node::Char(char), PieceKind::Text),
                '(' => self.frames.push(Frame::new(Group::Paren)),
                ')' => self.close_paren(),
                '[' if self.rest.contains(&']') => self.class(),
                '{' => self.frames.push(Frame::new(Group::Brace)),
                '}' => self.close_brace(),
                '|' => self.alternative(),
                ',' => self.comma(),
                '/' => self.push(Node::Char('/'), PieceKind::Slash),
                '.' => self.dot(),
                '?' => self.push(Node::Class(Class::not_slash()), PieceKind::Text),
                '+' => self.plus(),
                '*' => self.star(),
                other => self.push(Node::Char(other), PieceKind::Text),
            }
        }
        // picomatch lets a final star or class match a trailing slash as well.
        if matches!(self.previous, PieceKind::Star { .. } | PieceKind::Bracket) {
            self.push(Node::Maybe(Box::new(Node::Char('/'))), PieceKind::Text);
        }
        Tree { node: self.finish(), negated }
    }

    /// Reads leading `!`; an odd number of them negates.
    fn negation(&mut self) -> bool {
        let mut negated = false;
        while self.rest.front() == Some(&'!') {
            self.rest.pop_front();
            negated = !negated;
        }
        if self.rest.front() == Some(&'.') && self.rest.get(1) == Some(&'/') {
            self.rest.drain(..2);
        }
        negated
    }

    fn finish(mut self) -> Node {
        while self.frames.len() > 1 {
            let Some(frame) = self.frames.pop() else { break };
            match frame.open {
                // picomatch builds an invalid regex here, which matches nothing.
                Group::Brace => return Node::Never,
                Group::Paren | Group::Pattern => {
                    // An unclosed `(` is an ordinary character.
                    self.push(Node::Char('('), PieceKind::Text);
                    self.push(frame.close(), PieceKind::Text);
                }
            }
        }
        self.frames.pop().map_or(Node::Never, Frame::close)
    }

    pub(super) fn push(&mut self, node: Node, kind: PieceKind) {
        if let Some(frame) = self.frames.last_mut() {
            frame.current.push(node);
        }
        self.previous = kind;
    }

    pub(super) fn pop(&mut self) -> Option<Node> {
        self.frames.last_mut().and_then(|frame| frame.current.pop())
    }

    fn open(&self) -> Group {
        self.frames.last().map_or(Group::Pattern, |frame| frame.open)
    }

    fn escape(&mut self) {
        match self.rest.front() {
            // picomatch drops the backslash and reads the character as usual.
            Some('.' | ';') => {}
            None => self.push(Node::Char('\\'), PieceKind::Text),
            Some(&next) => {
                self.rest.pop_front();
                self.push(Node::Char(next), PieceKind::Text);
            }
        }
    }

    fn alternative(&mut self) {
        if let Some(frame) = self.frames.last_mut() {
            let nodes = std::mem::take(&mut frame.current);
            frame.done.push(Node::Seq(flat(nodes)));
        }
        self.previous = PieceKind::Text;
    }

    fn comma(&mut self) {
        if self.open() == Group::Brace {
            self.alternative();
            if let Some(frame) = self.frames.last_mut() {
                frame.comma = true;
            }
        } else {
            self.push(Node::Char(','), PieceKind::Text);
        }
    }

    fn dot(&mut self) {
        // The second dot of `{a..c}`.
        if self.open() == Group::Brace && self.previous == PieceKind::Dot {
            let Some(frame) = self.frames.last_mut() else { return };
            frame.current.pop();
            frame.dots = Some(frame.current.len());
            self.previous = PieceKind::Text;
        } else {
            self.push(Node::Char('.'), PieceKind::Dot);
        }
    }

    fn close_paren(&mut self) {
        if self.open() != Group::Paren {
            self.push(Node::Char(')'), PieceKind::Text);
            return;
        }
        if let Some(frame) = self.frames.pop() {
            self.push(frame.close(), PieceKind::Group);
        }
    }

    fn close_brace(&mut self) {
        if self.open() != Group::Brace {
            self.push(Node::Char('}'), PieceKind::Text);
            return;
        }
        let Some(frame) = self.frames.pop() else { return };
        let node = if frame.comma {
            frame.close()
        } else if let Some(at) = frame.dots {
            range(&frame.current, at)
        } else {
            // `{abc}` has no alternatives and is literal.
            let mut nodes = vec![Node::Char('{')];
            nodes.extend(frame.current);
            nodes.push(Node::Char('}'));
            Node::Seq(nodes)
        };
        self.push(node, PieceKind::Group);
    }

    /// Reads `+`, which repeats a class or group before it.
    fn plus(&mut self) {
        if matches!(self.previous, PieceKind::Bracket | PieceKind::Group)
            && let Some(node) = self.pop()
        {
            self.push(Node::Repeat(Box::new(node)), PieceKind::Text);
        } else {
            self.push(Node::Char('+'), PieceKind::Text);
        }
    }
}

// Brackets in the full reader.

impl GlobReader {
    /// Reads `[…]`. Without anything special inside, it also matches its own text.
    pub(super) fn class(&mut self) {
        let mut ranges = Vec::new();
        let mut content = String::new();
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

// Stars in the full reader: within a segment, and over segments.

impl GlobReader {
    pub(super) fn star(&mut self) {
        let (PieceKind::Star { behind_start, after_star }, next) =
            (self.previous, self.rest.front().copied())
        else {
            match self.previous {
                // More stars behind a globstar add nothing.
                PieceKind::Globstar => {}
                previous => {
                    let behind_start = matches!(previous, PieceKind::Start | PieceKind::Slash);
                    let after_star = previous == PieceKind::Slash && self.behind_slash_is_star();
                    self.push(Node::Star, PieceKind::Star { behind_start, after_star });
                }
            }
            return;
        };
        if behind_start && matches!(next, None | Some('/')) {
            self.globstar(after_star);
        }
    }

    /// Returns true when the node before the slash just read is a star.
    fn behind_slash_is_star(&self) -> bool {
        self.frames.last().is_some_and(|frame| {
            matches!(frame.current.iter().rev().nth(1), Some(Node::Star | Node::StarNoDots))
        })
    }

    /// Reads `**` as a whole segment; the first star is pushed already.
    fn globstar(&mut self, after_star: bool) {
        // `**/**/**` means the same as one `**`.
        while self.rest.iter().take(3).eq(['/', '*', '*'].iter())
            && matches!(self.rest.get(3), None | Some('/'))
        {
            self.rest.drain(..3);
        }
        self.pop();
        let first = self.frames.len() == 1
            && self.frames.last().is_some_and(|frame| frame.current.is_empty());
        let rooted = self.frames.last().is_some_and(|frame| frame.current.len() == 1)
            && self.frames.len() == 1;
        let next = self.rest.front().copied();
        // `**/x` at the start also matches `x` alone.
        if first && next == Some('/') {
            self.rest.pop_front();
            let over = Node::Seq(vec![Node::StarNoDots, Node::Char('/')]);
            let node = Node::Alt(vec![Node::Look(Look::Start), Node::Char('/'), over]);
            self.push(node, PieceKind::Slash);
        // `a/**/b` also matches `a/b`.
        } else if !first && !rooted && next == Some('/') {
            self.rest.pop_front();
            self.pop();
            let over = Node::Seq(vec![Node::Char('/'), Node::StarNoDots, Node::Char('/')]);
            let mut ways = vec![over, Node::Char('/')];
            if !self.rest.is_empty() {
                ways.push(Node::Look(Look::End));
            }
            self.push(Node::Alt(ways), PieceKind::Slash);
        // `a/**` also matches `a` itself.
        } else if !first && !rooted && !after_star && next.is_none() {
            self.pop();
            let below = Node::Seq(vec![Node::Char('/'), Node::StarNoDots]);
            self.push(Node::Alt(vec![below, Node::Look(Look::End)]), PieceKind::Globstar);
        } else {
            self.push(Node::StarNoDots, PieceKind::Globstar);
        }
    }
}
