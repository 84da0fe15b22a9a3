//! How the commands speak: answers on stdout, the rest on stderr, colour only where it is wanted.

use anyhow::Result;
use std::io::{self, IsTerminal, Write};

/// Writes lines to stdout.
pub(super) fn out(text: &str) -> Result<()> {
    let mut stdout = io::stdout().lock();
    writeln!(stdout, "{text}")?;
    stdout.flush()?;
    Ok(())
}

/// Writes JSON for machines to stdout.
pub(super) fn json(value: &serde_json::Value) -> Result<()> {
    out(&serde_json::to_string_pretty(value)?)
}

/// Tells the person at the terminal something that is not the answer.
pub(super) fn aside(text: &str) {
    // Nobody may be reading; that is no reason to stop.
    let _ = writeln!(io::stderr().lock(), "{text}");
}

/// Says what went wrong.
pub(super) fn problem(error: &anyhow::Error) {
    let text = format!("{error:#}");
    let mark = if wants_colour(&io::stderr()) { "\u{1b}[31merror:\u{1b}[0m" } else { "error:" };
    for line in text.lines() {
        aside(&format!("{mark} {line}"));
    }
}

/// A colour for stdout.
#[derive(Debug, Clone, Copy)]
pub(super) enum Colour {
    Green,
    Yellow,
    Red,
    Plain,
}

/// Paints text for stdout, where that is wanted.
pub(super) fn paint(colour: Colour, text: &str) -> String {
    let code = match colour {
        Colour::Green => 32,
        Colour::Yellow => 33,
        Colour::Red => 31,
        Colour::Plain => return text.to_owned(),
    };
    if !wants_colour(&io::stdout()) {
        return text.to_owned();
    }
    format!("\u{1b}[{code}m{text}\u{1b}[0m")
}

/// See <https://no-color.org>.
fn wants_colour(stream: &impl IsTerminal) -> bool {
    stream.is_terminal() && std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty())
}

/// Text of an agent for a terminal: what could move the cursor or hide is made visible.
pub(super) fn literal(text: &str) -> String {
    text.chars().flat_map(visible).collect()
}

fn visible(c: char) -> Vec<char> {
    let hidden = matches!(c, '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{2069}' | '\u{feff}');
    if c.is_control() || hidden { c.escape_default().collect() } else { vec![c] }
}

/// Whether whoever read our output has left.
pub(super) fn is_broken_pipe(error: &anyhow::Error) -> bool {
    let io = error.downcast_ref::<io::Error>();
    io.is_some_and(|error| error.kind() == io::ErrorKind::BrokenPipe)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_an_agent_wrote_cannot_move_the_cursor_or_hide() {
        assert_eq!(literal("ls\u{1b}[2K\r\u{202e}x ü"), "ls\\u{1b}[2K\\r\\u{202e}x ü");
    }
}
