//! A shell text taken apart as molf does it: by tree-sitter's grammar of bash, which is the parser
//! that molf uses, errors included.
//!
//! What it misses (redirects of groups, whatever stands behind a broken quote, assignments) is the
//! business of [`countersign_policy::shell`], which the strict profile asks as well.

use tree_sitter::{Node, Parser, Tree};

use countersign_policy::always;

/// A part of a call that rules are matched against.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Piece {
    /// What the patterns of rules are matched against.
    pub text: String,
    /// The pattern that Always stores for it.
    pub always: String,
}

/// Every command of the text in the order in which the commands begin.
///
/// # Errors
/// When the parser cannot be had; the text is then not ruled on.
pub fn pieces(text: &str) -> Result<Vec<Piece>, String> {
    let tree = parse(text)?;
    let mut found = Vec::new();
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

/// A command with the redirects that hang on it and on nothing else.
fn piece(command: Node<'_>, text: &str) -> Option<Piece> {
    let tokens = tokens(command, text);
    if tokens.is_empty() {
        return None;
    }
    let redirected = command.parent().filter(|parent| parent.kind() == "redirected_statement");
    let written = text.get(redirected.unwrap_or(command).byte_range())?.trim();
    Some(Piece { text: written.to_owned(), always: pattern(&tokens) })
}

/// A text without a command stands for itself.
fn whole(text: &str) -> Piece {
    let mut tokens: Vec<&str> = text.split_whitespace().collect();
    if tokens.is_empty() {
        tokens.push("");
    }
    Piece { text: text.to_owned(), always: pattern(&tokens) }
}

/// The name and the plain arguments; assignments and substitutions are no tokens.
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
    let between = |quote| token.strip_prefix(quote).and_then(|rest| rest.strip_suffix(quote));
    between('"').or_else(|| between('\'')).unwrap_or(token)
}

/// `git push *`: the words that name what the command does, and any more.
fn pattern(tokens: &[&str]) -> String {
    let named = always::molf_prefix(tokens);
    let more = if tokens.len() > named.len() { " *" } else { "" };
    named.join(" ") + more
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests fail by panicking")]

    use super::pieces;

    #[test]
    fn a_very_deep_text_is_taken_apart_without_a_deep_stack() {
        let deep = format!("{}ls{}", "$(".repeat(20_000), ")".repeat(20_000));
        assert!(!pieces(&deep).unwrap().is_empty());
    }
}
