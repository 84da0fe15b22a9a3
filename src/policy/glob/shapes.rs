//! The patterns that picomatch reads by a table, and those without slashes and groups.

use super::node::{Class, Look, Node};

/// Returns picomatch's fixed reading of `*`, `**`, `*/*`, `**/.*` and the like, each also with
/// `.word` behind it.
pub(super) fn common_shape(pattern: &str) -> Option<Vec<Node>> {
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
    Node::Seq(plain(pattern))
}

/// Reads a pattern without slashes, groups, classes and quotes.
pub(super) fn plain(pattern: &str) -> Vec<Node> {
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
    nodes
}
