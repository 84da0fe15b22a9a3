//! Splits a shell text as molf does: with tree-sitter's grammar of bash, the parser that molf uses,
//! errors included.
//!
//! It misses redirects of groups, everything behind a broken quote, and assignments.
//! [`countersign_policy::shell`] covers these; the strict profile consults it as well.

use countersign_policy::{always, call::Call};
use serde_json::Value;
use tree_sitter::{Node, Parser, Tree};

/// A part of a call that rules are matched with.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Piece {
    /// The text that the patterns of rules are matched with.
    pub text: String,
    /// The pattern that Always stores for it.
    pub always: String,
}

/// Returns every command of the text, in the order in which the commands start.
///
/// # Errors
/// When the parser is not available; the text is then not decided.
pub fn pieces(text: &str) -> Result<Vec<Piece>, String> {
    let tree = parse(text)?;
    let mut found = Vec::new();
    // A cursor instead of recursion: a walker that recursed over tree-sitter's tree overflowed at
    // 30,000 nested commands.
    let mut cursor = tree.walk();
    loop {
        if cursor.node().kind() == "command" {
            found.extend(piece(cursor.node(), text));
        }
        if cursor.goto_first_child() {
            continue;
        }
        while !cursor.goto_next_sibling() {
            if !cursor.goto_parent() {
                if found.is_empty() {
                    found.push(whole(text.trim()));
                }
                return Ok(found);
            }
        }
    }
}

fn parse(text: &str) -> Result<Tree, String> {
    let mut parser = Parser::new();
    let language = tree_sitter_bash::LANGUAGE.into();
    parser.set_language(&language).map_err(|error| format!("no grammar of bash: {error}"))?;
    parser.parse(text, None).ok_or_else(|| "the command text could not be parsed".to_owned())
}

/// Returns a command with the redirects that belong to it alone.
fn piece(command: Node<'_>, text: &str) -> Option<Piece> {
    let tokens = tokens(command, text);
    if tokens.is_empty() {
        return None;
    }
    // Only a redirect of this very command counts: `ls | sort > out` loses it, as in molf.
    let redirected = command.parent().filter(|parent| parent.kind() == "redirected_statement");
    let written = text.get(redirected.unwrap_or(command).byte_range())?.trim();
    Some(Piece { text: written.to_owned(), always: pattern(&tokens) })
}

/// Treats a text without a command as one piece.
fn whole(text: &str) -> Piece {
    let mut tokens: Vec<&str> = text.split_whitespace().collect();
    if tokens.is_empty() {
        tokens.push("");
    }
    Piece { text: text.to_owned(), always: pattern(&tokens) }
}

/// Returns the name and the plain arguments; assignments and substitutions are skipped.
fn tokens<'t>(command: Node<'_>, text: &'t str) -> Vec<&'t str> {
    let mut cursor = command.walk();
    let children = command.children(&mut cursor);
    let tokens = children.filter_map(|child| {
        let token = text.get(child.byte_range())?;
        match child.kind() {
            "command_name" | "word" | "number" => Some(token),
            "string" | "raw_string" | "concatenation" | "expansion" | "simple_expansion" => {
                Some(unquoted(token))
            }
            _ => None,
        }
    });
    tokens.collect()
}

fn unquoted(token: &str) -> &str {
    // Only quotes around the whole token are removed, as in molf.
    let between = |quote| token.strip_prefix(quote).and_then(|rest| rest.strip_suffix(quote));
    between('"').or_else(|| between('\'')).unwrap_or(token)
}

/// Returns `git push *`: the words that name the action, and any more.
fn pattern(tokens: &[&str]) -> String {
    // Options count as words, so molf offers `git -C *`.
    let named = always::molf_prefix(tokens);
    let more = if tokens.len() > named.len() { " *" } else { "" };
    named.join(" ") + more
}

/// Returns the parts of a call that rules are matched with; none for tools that only their name
/// decides.
///
/// # Errors
/// As [`pieces`].
pub fn pieces_of_call(call: &Call) -> Result<Vec<Piece>, String> {
    let text = |key: &str| call.args.get(key).and_then(Value::as_str);
    // The first key that is present counts, whatever its value.
    let first = |keys: [&str; 2]| {
        let key = keys.into_iter().find(|key| call.args.get(key).is_some_and(|v| !v.is_null()));
        key.and_then(text)
    };
    let value = match call.canonical_tool() {
        "shell_exec" => {
            return call.command().map_or_else(|| Ok(Vec::new()), pieces);
        }
        "read_file" | "write_file" | "edit_file" => first(["path", "file_path"]),
        "glob" => first(["pattern", "path"]),
        "grep" => text("path"),
        "skill" => text("name"),
        // Only names of the older form carry a value; for others Always stores nothing in molf.
        _ if call.tool.starts_with("mcp:") => Some(call.tool.as_str()),
        _ => None,
    };
    let piece = |value: &str| Piece { text: value.to_owned(), always: value.to_owned() };
    Ok(value.map(piece).into_iter().collect())
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests fail by panicking")]

    use crate::molf::commands::pieces;

    #[test]
    fn a_very_deep_text_is_taken_apart_without_a_deep_stack() {
        let deep = format!("{}ls{}", "$(".repeat(20_000), ")".repeat(20_000));
        assert!(!pieces(&deep).unwrap().is_empty());
    }
}
