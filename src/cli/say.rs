//! How the commands speak: answers on stdout, the rest on stderr, colour only where it is wanted.

use super::log::escaped;
use crate::text::{line, visible};
use anyhow::Result;
use std::io::{self, IsTerminal, Write};

/// Writes lines to stdout.
pub(super) fn out(text: &str) -> Result<()> {
    let mut stdout = io::stdout().lock();
    writeln!(stdout, "{text}")?;
    stdout.flush()?;
    Ok(())
}

/// Writes a person's answer to stdout: exactly as it is for a program, visible for a person.
pub(super) fn answer(text: &str) -> Result<()> {
    if io::stdout().is_terminal() { out(&visible(text)) } else { out(text) }
}

/// Writes JSON for machines to stdout; a person may read it in a terminal all the same.
pub(super) fn json(value: &serde_json::Value) -> Result<()> {
    out(&escaped(&serde_json::to_string_pretty(value)?))
}

/// Tells the person at the terminal something that is not the answer.
pub(super) fn aside(text: &str) {
    // Nobody may be reading; that is no reason to stop.
    let _ = writeln!(io::stderr().lock(), "{}", visible(text));
}

/// Says what went wrong.
pub(super) fn problem(error: &anyhow::Error) {
    let text = format!("{error:#}");
    let mark = if wants_colour(&io::stderr()) { "\u{1b}[31merror:\u{1b}[0m" } else { "error:" };
    for line in text.lines() {
        let _ = writeln!(io::stderr().lock(), "{mark} {}", literal(line));
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

/// Text of an agent or a person among our own words in a terminal: visible, on one line.
pub(super) fn literal(text: &str) -> String {
    line(text)
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
        let shown = "ls\\u{1b}[2K\\u{d}\\u{202e}x ü ⏎ y";
        assert_eq!(literal("ls\u{1b}[2K\r\u{202e}x ü\ny"), shown);
    }
}
