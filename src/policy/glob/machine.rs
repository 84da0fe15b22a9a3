//! Runs a pattern over a value in time linear in the value, whatever the pattern.

use crate::facts::paths::UNKNOWN;
use crate::glob::parse::{Class, Look, Node};

/// Stands for any one character in an open text.
pub(super) const ANY: char = '\u{2}';

/// The characters that a regex `.` does not match.
pub(super) const LINE_ENDS: [char; 4] = ['\n', '\r', '\u{2028}', '\u{2029}'];

/// A non-deterministic automaton. It follows all of its states at once, so no pattern makes it
/// backtrack.
#[derive(Clone, Debug)]
pub(super) struct Machine {
    steps: Vec<Op>,
    /// A text that every match contains, for a quick no.
    needle: Box<str>,
}

#[derive(Clone, Debug)]
enum Op {
    Take(Test),
    Look(Look),
    /// Continues at both positions.
    Fork(usize, usize),
    Goto(usize),
    Done,
}

#[derive(Clone, Debug)]
enum Test {
    Unit(u16),
    Class(Class),
    /// Any unit within the line.
    Line,
    /// Any unit within the line that does not start a dot segment.
    LineNoDots,
    Any,
}

impl Machine {
    pub(super) fn strict(node: &Node) -> Self {
        Self::build(std::slice::from_ref(node), false)
    }

    /// Matches everything that any of the readings matches, with unlimited stars.
    pub(super) fn wide(readings: &[Node]) -> Self {
        Self::build(readings, true)
    }

    fn build(readings: &[Node], wide: bool) -> Self {
        let mut builder = Builder { steps: Vec::new(), wide };
        builder.alternatives(readings);
        builder.steps.push(Op::Done);
        // With several readings, a match need not contain the literal of any one of them.
        let needle = match readings {
            [one] => one.longest_literal(),
            _ => String::new(),
        };
        Self { steps: builder.steps, needle: needle.into() }
    }

    /// Returns true when the whole of `value` matches.
    pub(super) fn runs(&self, value: &str) -> bool {
        if !self.needle.is_empty() && !value.contains(&*self.needle) {
            return false;
        }
        // ASCII bytes are UTF-16 units already, so nothing is copied.
        if value.is_ascii() {
            self.run(value.len(), |at| value.as_bytes().get(at).copied().map(u16::from))
        } else {
            // picomatch counts UTF-16 units, and so do we.
            let units: Vec<u16> = value.encode_utf16().collect();
            self.run(units.len(), |at| units.get(at).copied())
        }
    }

    fn run(&self, len: usize, unit: impl Fn(usize) -> Option<u16>) -> bool {
        let mut now = States::new(self.steps.len());
        let mut next = States::new(self.steps.len());
        self.follow(0, &|look| look.holds(0, &unit), &mut now);
        for at in 0..len {
            let Some(read) = unit(at) else { return false };
            let holds = |look: Look| look.holds(at + 1, &unit);
            next.clear();
            self.step(&now, |test| test.accepts(read, at, &unit), &holds, &mut next);
            std::mem::swap(&mut now, &mut next);
            if now.list.is_empty() {
                return false;
            }
        }
        self.is_done(&now)
    }

    /// Returns true when `value` may become a text that matches; [`UNKNOWN`] stands for any text, and
    /// [`ANY`] for any character. Looks hold everywhere, because what is around them is not known.
    /// With `meant`, a letter or digit of `value` has to be one that the pattern names.
    pub(super) fn may_run(&self, value: &str, meant: bool) -> bool {
        let states = || States::new(self.steps.len());
        // Where nothing that the pattern names was read so far, and where something was.
        let mut before = states();
        let mut after = states();
        let mut next = states();
        self.follow(0, &|_| true, &mut before);
        for read in value.chars() {
            let longest = match read {
                UNKNOWN => usize::MAX,
                // One character is at most two units.
                ANY => 2,
                read => {
                    for unit in read.encode_utf16(&mut [0; 2]) {
                        let accepts = |test: &Test| test.accepts(*unit, 0, &|_| None);
                        // A dot or a slash names nothing.
                        let says = read.is_alphanumeric();
                        let names =
                            |test: &Test| says && matches!(test, Test::Unit(it) if it == unit);
                        next.clear();
                        self.step(&after, accepts, &|_| true, &mut next);
                        self.step(&before, names, &|_| true, &mut next);
                        std::mem::swap(&mut after, &mut next);
                        next.clear();
                        self.step(&before, |it| accepts(it) && !names(it), &|_| true, &mut next);
                        std::mem::swap(&mut before, &mut next);
                    }
                    continue;
                }
            };
            self.spread(&mut before, longest);
            self.spread(&mut after, longest);
        }
        self.is_done(&after) || !meant && self.is_done(&before)
    }

    /// Reads one unit, and adds where that leads to.
    fn step(
        &self,
        now: &States,
        accepts: impl Fn(&Test) -> bool,
        holds: &impl Fn(Look) -> bool,
        next: &mut States,
    ) {
        for &state in &now.list {
            if let Some(Op::Take(test)) = self.steps.get(state)
                && accepts(test)
            {
                self.follow(state + 1, holds, next);
            }
        }
    }

    /// Adds every state that a text of at most so many units leads to.
    fn spread(&self, states: &mut States, longest: usize) {
        let mut begin = 0;
        for _ in 0..longest {
            let end = states.list.len();
            if begin == end {
                return;
            }
            for at in begin..end {
                let state = states.list.get(at).copied().unwrap_or_default();
                if let Some(Op::Take(_)) = self.steps.get(state) {
                    self.follow(state + 1, &|_| true, states);
                }
            }
            begin = end;
        }
    }

    fn is_done(&self, states: &States) -> bool {
        states.list.iter().any(|&state| matches!(self.steps.get(state), Some(Op::Done)))
    }

    /// Adds `state` and everything it leads to without reading a unit.
    fn follow(&self, state: usize, holds: &impl Fn(Look) -> bool, states: &mut States) {
        let mut stack = std::mem::take(&mut states.stack);
        stack.push(state);
        while let Some(state) = stack.pop() {
            // A state enters a set only once, which bounds the work per character.
            if !states.insert(state) {
                continue;
            }
            match self.steps.get(state) {
                Some(Op::Goto(to)) => stack.push(*to),
                Some(Op::Fork(one, other)) => stack.extend([*one, *other]),
                Some(Op::Look(look)) if holds(*look) => stack.push(state + 1),
                _ => {}
            }
        }
        states.stack = stack;
    }
}

/// A set of states in insertion order.
struct States {
    list: Vec<usize>,
    seen: Vec<bool>,
    /// Where `follow` still has to go; kept for its memory.
    stack: Vec<usize>,
}

impl States {
    fn new(len: usize) -> Self {
        Self { list: Vec::with_capacity(len), seen: vec![false; len], stack: Vec::new() }
    }

    fn clear(&mut self) {
        self.list.clear();
        self.seen.fill(false);
    }

    fn insert(&mut self, state: usize) -> bool {
        match self.seen.get_mut(state) {
            Some(seen) if !*seen => {
                *seen = true;
                self.list.push(state);
                true
            }
            _ => false,
        }
    }
}

impl Test {
    fn accepts(&self, read: u16, at: usize, unit: &impl Fn(usize) -> Option<u16>) -> bool {
        match self {
            Self::Unit(wanted) => *wanted == read,
            Self::Class(class) => class.contains(read),
            Self::Line => in_line(read),
            Self::LineNoDots => in_line(read) && !Look::dot_segment(at, unit),
            Self::Any => true,
        }
    }
}

fn in_line(unit: u16) -> bool {
    !LINE_ENDS.iter().any(|&end| u32::from(unit) == u32::from(end))
}

impl Look {
    fn holds(self, at: usize, unit: &impl Fn(usize) -> Option<u16>) -> bool {
        match self {
            Self::OneInLine => unit(at).is_some_and(in_line),
            Self::NoDots => !Self::dot_segment(at, unit),
            Self::NoDotsHere => !dots(at, unit),
            Self::Start => at == 0,
            Self::End => unit(at).is_none(),
        }
    }

    /// Returns true when a whole `.` or `..` segment starts here, at the start or behind a slash.
    fn dot_segment(at: usize, unit: &impl Fn(usize) -> Option<u16>) -> bool {
        (at == 0 && dots(at, unit)) || (unit(at) == Some(SLASH) && dots(at + 1, unit))
    }
}

const SLASH: u16 = b'/' as u16;
const DOT: u16 = b'.' as u16;

/// Returns true for one or two dots followed by a slash or the end.
fn dots(at: usize, unit: &impl Fn(usize) -> Option<u16>) -> bool {
    let ends = |at| matches!(unit(at), None | Some(SLASH));
    unit(at) == Some(DOT) && (ends(at + 1) || (unit(at + 1) == Some(DOT) && ends(at + 2)))
}

struct Builder {
    steps: Vec<Op>,
    wide: bool,
}

impl Builder {
    fn emit(&mut self, node: &Node) {
        match node {
            Node::Never => self.steps.push(Op::Take(Test::Class(Class::nothing()))),
            Node::Anything => self.star(Test::Any),
            Node::Char(char) => {
                let mut units = [0; 2];
                for unit in char.encode_utf16(&mut units) {
                    self.steps.push(Op::Take(Test::Unit(*unit)));
                }
            }
            Node::Class(class) => {
                // For deny and ask, `?` crosses directories as `*` does.
                let test = if self.wide && class.is_not_slash() {
                    Test::Any
                } else {
                    Test::Class(class.clone())
                };
                self.steps.push(Op::Take(test));
            }
            Node::Star => self.star(if self.wide { Test::Any } else { Test::Line }),
            Node::StarNoDots => self.star(if self.wide { Test::Any } else { Test::LineNoDots }),
            // A look only narrows, except `^` and `$`, which choose between alternatives.
            Node::Look(look) => {
                if !self.wide || matches!(look, Look::End | Look::Start) {
                    self.steps.push(Op::Look(*look));
                }
            }
            Node::Seq(nodes) => nodes.iter().for_each(|node| self.emit(node)),
            Node::Alt(nodes) => self.alternatives(nodes),
            Node::Maybe(node) => self.either(|b| b.emit(node), |_| {}),
            Node::Repeat(node) => {
                let start = self.steps.len();
                self.emit(node);
                let fork = self.steps.len();
                self.steps.push(Op::Fork(start, fork + 1));
            }
        }
    }

    fn star(&mut self, test: Test) {
        let at = self.steps.len();
        self.steps.extend([Op::Fork(at + 1, at + 3), Op::Take(test), Op::Goto(at)]);
    }

    fn alternatives(&mut self, nodes: &[Node]) {
        match nodes {
            [] => {}
            [last] => self.emit(last),
            [first, rest @ ..] => self.either(|b| b.emit(first), |b| b.alternatives(rest)),
        }
    }

    fn either(&mut self, one: impl FnOnce(&mut Self), other: impl FnOnce(&mut Self)) {
        let fork = self.steps.len();
        // The second target is set once the length of the first branch is known.
        self.steps.push(Op::Fork(fork + 1, 0));
        one(self);
        let leave = self.steps.len();
        self.steps.push(Op::Goto(0));
        self.set(fork, Op::Fork(fork + 1, leave + 1));
        other(self);
        let end = self.steps.len();
        self.set(leave, Op::Goto(end));
    }

    fn set(&mut self, at: usize, step: Op) {
        if let Some(slot) = self.steps.get_mut(at) {
            *slot = step;
        }
    }
}
