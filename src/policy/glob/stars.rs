//! Stars in the full reader: within a segment, and over segments.

use super::node::{Look, Node};
use super::reader::{GlobReader, PieceKind};

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
