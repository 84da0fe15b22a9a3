//! The full reader of patterns: groups, braces, quotes and escapes.

use std::collections::VecDeque;

use super::class::range;
use super::node::{Class, Node, Tree, flat};

/// The full reader.
pub(super) struct GlobReader {
    pub(super) rest: VecDeque<char>,
    pub(super) frames: Vec<Frame>,
    pub(super) previous: PieceKind,
}

/// An open group; the outermost one is the pattern itself.
pub(super) struct Frame {
    open: Group,
    done: Vec<Node>,
    pub(super) current: Vec<Node>,
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
