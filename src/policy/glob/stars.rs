//! Stars in the full reader: within a segment, and over segments.

use super::node::{Look, Node};
use super::reader::{Kind, Reader};

impl Reader {
    pub(super) fn star(&mut self) {
        let (Kind::Star { behind_start, after_star }, next) =
            (self.previous, self.rest.front().copied())
        else {
            match self.previous {
                Kind::Globstar => {}
                previous => {
                    let behind_start = matches!(previous, Kind::Start | Kind::Slash);
                    let after_star = previous == Kind::Slash && self.behind_slash_is_star();
                    self.push(Node::Star, Kind::Star { behind_start, after_star });
                }
            }
            return;
        };
        if behind_start && matches!(next, None | Some('/')) {
            self.globstar(after_star);
        }
    }

    /// The node in front of the slash that was just read is a star.
    fn behind_slash_is_star(&self) -> bool {
        self.frames.last().is_some_and(|frame| {
            matches!(frame.current.iter().rev().nth(1), Some(Node::Star | Node::StarNoDots))
        })
    }

    /// `**` as a whole segment; the first star has been pushed already.
    fn globstar(&mut self, after_star: bool) {
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
        if first && next == Some('/') {
            self.rest.pop_front();
            let over = Node::Seq(vec![Node::StarNoDots, Node::Char('/')]);
            let node = Node::Alt(vec![Node::Look(Look::Start), Node::Char('/'), over]);
            self.push(node, Kind::Slash);
        } else if !first && !rooted && next == Some('/') {
            self.rest.pop_front();
            self.pop();
            let over = Node::Seq(vec![Node::Char('/'), Node::StarNoDots, Node::Char('/')]);
            let mut ways = vec![over, Node::Char('/')];
            if !self.rest.is_empty() {
                ways.push(Node::Look(Look::End));
            }
            self.push(Node::Alt(ways), Kind::Slash);
        } else if !first && !rooted && !after_star && next.is_none() {
            self.pop();
            let below = Node::Seq(vec![Node::Char('/'), Node::StarNoDots]);
            self.push(Node::Alt(vec![below, Node::Look(Look::End)]), Kind::Globstar);
        } else {
            self.push(Node::StarNoDots, Kind::Globstar);
        }
    }
}
