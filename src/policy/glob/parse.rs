//! Parses a pattern as picomatch does, which has three readers: one for a handful of common shapes,
//! one for patterns without slashes and groups, and the full one.

use super::error::{GlobError, refuse};
use super::node::{Node, Tree, flat};
use super::reader::GlobReader;
use super::shapes::{common_shape, plain};

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
        return Ok(Tree { node: Node::Seq(plain(pattern)), negated: false });
    }
    Ok(GlobReader::new(pattern).read())
}
