//! A parsed pattern as a tree.

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

    pub(super) fn not_slash() -> Self {
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
        let (mut best, mut run) = (String::new(), String::new());
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
pub(super) fn flat(nodes: Vec<Node>) -> Vec<Node> {
    let mut laid = Vec::with_capacity(nodes.len());
    for node in nodes {
        match node {
            Node::Seq(inner) => laid.extend(flat(inner)),
            node => laid.push(node),
        }
    }
    laid
}
