//! Sets of characters: `[…]`, `[:name:]`, `{a..c}`.

use super::node::{Class, Node};

/// Returns the class of `{a..c}`: the single characters between the two.
pub(super) fn range(nodes: &[Node], at: usize) -> Node {
    let (low, high) = nodes.split_at(at.min(nodes.len()));
    match (low, high) {
        ([Node::Char(one)], [Node::Char(other)]) => match (unit(*one), unit(*other)) {
            (Some(one), Some(other)) => Node::Class(Class {
                ranges: vec![(one.min(other), one.max(other))],
                negated: false,
            }),
            _ => Node::Never,
        },
        _ => Node::Never,
    }
}

pub(super) fn unit(char: char) -> Option<u16> {
    u16::try_from(u32::from(char)).ok()
}

/// Turns the characters of a class into ranges; `None` is an unescaped `-`. Returns false for a
/// range that runs backwards, which no regex accepts.
pub(super) fn spans(units: &[Option<char>], ranges: &mut Vec<(u16, u16)>) -> bool {
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
