//! The full reader of patterns: groups, braces, quotes and escapes.

use std::collections::VecDeque;

use super::class::range;
use super::node::{Class, Node, Tree, flat};

/// The full reader.
pub(super) struct Reader {
    pub(super) rest: VecDeque<char>,
    pub(super) frames: Vec<Frame>,
    pub(super) previous: Kind,
}

/// A group that is open; the outermost one is the pattern itself.
pub(super) struct Frame {
    open: Open,
    done: Vec<Node>,
    pub(super) current: Vec<Node>,
    comma: bool,
    dots: Option<usize>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Open {
    Pattern,
    Paren,
    Brace,
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
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
    fn new(open: Open) -> Self {
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

impl Reader {
    pub(super) fn new(pattern: &str) -> Self {
        Self {
            rest: pattern.chars().collect(),
            frames: vec![Frame::new(Open::Pattern)],
            previous: Kind::Start,
        }
    }

    pub(super) fn read(mut self) -> Tree {
        let negated = self.negation();
        let mut quoted = false;
        while let Some(char) = self.rest.pop_front() {
            match char {
                '\\' if !quoted => self.escape(),
                '"' => quoted = !quoted,
                char if quoted => self.push(Node::Char(char), Kind::Text),
                '(' => self.frames.push(Frame::new(Open::Paren)),
                ')' => self.close_paren(),
                '[' if self.rest.contains(&']') => self.class(),
                '{' => self.frames.push(Frame::new(Open::Brace)),
                '}' => self.close_brace(),
                '|' => self.alternative(),
                ',' => self.comma(),
                '/' => self.push(Node::Char('/'), Kind::Slash),
                '.' => self.dot(),
                '?' => self.push(Node::Class(Class::not_slash()), Kind::Text),
                '+' => self.plus(),
                '*' => self.star(),
                other => self.push(Node::Char(other), Kind::Text),
            }
        }
        if matches!(self.previous, Kind::Star { .. } | Kind::Bracket) {
            self.push(Node::Maybe(Box::new(Node::Char('/'))), Kind::Text);
        }
        Tree { node: self.finish(), negated }
    }

    /// `!` an odd number of times at the start negates.
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
                Open::Brace => return Node::Never,
                Open::Paren | Open::Pattern => {
                    self.push(Node::Char('('), Kind::Text);
                    self.push(frame.close(), Kind::Text);
                }
            }
        }
        self.frames.pop().map_or(Node::Never, Frame::close)
    }

    pub(super) fn push(&mut self, node: Node, kind: Kind) {
        if let Some(frame) = self.frames.last_mut() {
            frame.current.push(node);
        }
        self.previous = kind;
    }

    pub(super) fn pop(&mut self) -> Option<Node> {
        self.frames.last_mut().and_then(|frame| frame.current.pop())
    }

    fn open(&self) -> Open {
        self.frames.last().map_or(Open::Pattern, |frame| frame.open)
    }

    fn escape(&mut self) {
        match self.rest.front() {
            // picomatch drops the backslash and reads the character as usual.
            Some('.' | ';') => {}
            None => self.push(Node::Char('\\'), Kind::Text),
            Some(&next) => {
                self.rest.pop_front();
                self.push(Node::Char(next), Kind::Text);
            }
        }
    }

    fn alternative(&mut self) {
        if let Some(frame) = self.frames.last_mut() {
            let nodes = std::mem::take(&mut frame.current);
            frame.done.push(Node::Seq(flat(nodes)));
        }
        self.previous = Kind::Text;
    }

    fn comma(&mut self) {
        if self.open() == Open::Brace {
            self.alternative();
            if let Some(frame) = self.frames.last_mut() {
                frame.comma = true;
            }
        } else {
            self.push(Node::Char(','), Kind::Text);
        }
    }

    fn dot(&mut self) {
        if self.open() == Open::Brace && self.previous == Kind::Dot {
            let Some(frame) = self.frames.last_mut() else { return };
            frame.current.pop();
            frame.dots = Some(frame.current.len());
            self.previous = Kind::Text;
        } else {
            self.push(Node::Char('.'), Kind::Dot);
        }
    }

    fn close_paren(&mut self) {
        if self.open() != Open::Paren {
            self.push(Node::Char(')'), Kind::Text);
            return;
        }
        if let Some(frame) = self.frames.pop() {
            self.push(frame.close(), Kind::Group);
        }
    }

    fn close_brace(&mut self) {
        if self.open() != Open::Brace {
            self.push(Node::Char('}'), Kind::Text);
            return;
        }
        let Some(frame) = self.frames.pop() else { return };
        let node = if frame.comma {
            frame.close()
        } else if let Some(at) = frame.dots {
            range(&frame.current, at)
        } else {
            let mut nodes = vec![Node::Char('{')];
            nodes.extend(frame.current);
            nodes.push(Node::Char('}'));
            Node::Seq(nodes)
        };
        self.push(node, Kind::Group);
    }

    /// `+` behind a class or group repeats it.
    fn plus(&mut self) {
        if matches!(self.previous, Kind::Bracket | Kind::Group)
            && let Some(node) = self.pop()
        {
            self.push(Node::Repeat(Box::new(node)), Kind::Text);
        } else {
            self.push(Node::Char('+'), Kind::Text);
        }
    }
}
