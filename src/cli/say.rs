//! Output of the commands: answers to stdout, the rest to stderr, colour only on terminals.

use super::columns;
use anyhow::Result;
use countersign_port::{line, visible};
use serde::Serialize;
use serde_json::json;
use std::{
    borrow::Cow,
    fmt::Display,
    io::{self, IsTerminal, Write},
};

/// Writes lines to stdout.
pub(super) fn out(text: &str) -> Result<()> {
    let mut stdout = io::stdout().lock();
    writeln!(stdout, "{text}")?;
    // Flushed, so that a broken pipe is an error here and not a silent loss at exit.
    stdout.flush()?;
    Ok(())
}

/// Writes lines with words of others to stdout; on a terminal, what does not fit is marked.
pub(super) fn lines(text: &str) -> Result<()> {
    match columns::of(io::stdout()) {
        Some(width) => out(&columns::marked(text, width)),
        None => out(text),
    }
}

/// The same on stderr.
pub(super) fn aside_lines(text: &str) {
    match columns::of(io::stderr()) {
        Some(width) => aside(&columns::marked(text, width)),
        None => aside(text),
    }
}

/// Writes a person's answer to stdout, as [`words`].
pub(super) fn answer(text: &str) -> Result<()> {
    out(&words(text))
}

/// Words of others for stdout: unchanged for a program, with hidden characters visible on a
/// terminal.
pub(super) fn words(text: &str) -> Cow<'_, str> {
    if io::stdout().is_terminal() { visible(text).into() } else { text.into() }
}

/// Writes JSON to stdout, with hidden characters escaped in case it is a terminal.
pub(super) fn json(value: &impl Serialize) -> Result<()> {
    out(&escaped(&serde_json::to_string_pretty(value)?))
}

/// Writes a reply to stdout: its message, or all of it as JSON.
pub(super) fn reply(reply: &impl Serialize, message: &str, as_json: bool) -> Result<()> {
    if as_json { json(reply) } else { out(&literal(message)) }
}

/// Writes rows as a table, or that there are none.
pub(super) fn rows(rows: &[Vec<Cell>], none: &str) -> Result<()> {
    if rows.is_empty() { out(none) } else { lines(&table(rows)) }
}

/// Writes what there is as a table, or as JSON under a name.
pub(super) fn list<T: Serialize>(
    name: &str,
    all: &[T],
    row: impl Fn(&T) -> Vec<Cell>,
    none: &str,
    as_json: bool,
) -> Result<()> {
    if as_json {
        return json(&json!({ name: all }));
    }
    rows(&all.iter().map(row).collect::<Vec<_>>(), none)
}

/// Writes lines of others, in which hidden characters become visible.
pub(super) fn literal_lines<'t>(lines: impl IntoIterator<Item = &'t str>) -> Result<()> {
    self::lines(&lines.into_iter().map(literal).collect::<Vec<_>>().join("\n"))
}

/// So many things, in words: `1 ask`, `3 asks`.
pub(super) fn counted<N: From<u8> + PartialEq + Display>(count: N, what: &str) -> String {
    if count == N::from(1) { format!("1 {what}") } else { format!("{count} {what}s") }
}

/// The same on one line.
pub(super) fn json_line(value: &serde_json::Value) -> Result<()> {
    out(&escaped(&value.to_string()))
}

/// Writes a message to stderr that is not the answer.
pub(super) fn aside(text: &str) {
    // A closed stderr is no reason to stop.
    let _ = writeln!(io::stderr().lock(), "{}", visible(text));
}

/// Writes an error to stderr.
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

/// Colours text for stdout, if colour is wanted there.
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

/// Text of an agent or a person within our own words: on one line, with hidden characters visible.
pub(super) fn literal(text: &str) -> String {
    line(text)
}

/// Escapes the hidden characters that JSON leaves unescaped, in JSON's own form.
pub(super) fn escaped(json: &str) -> String {
    let mut out = String::with_capacity(json.len() + 16);
    let mut letter = [0; 4];
    for c in json.chars() {
        let text = &*c.encode_utf8(&mut letter);
        if matches!(c, '\n' | '\t' | ' '..='~') || visible(text) == text {
            out.push(c);
        } else {
            c.encode_utf16(&mut [0; 2])
                .iter()
                .for_each(|unit| out.push_str(&format!("\\u{unit:04x}")));
        }
    }
    out
}

/// Returns whether the error is that our output's reader has gone.
pub(super) fn is_broken_pipe(error: &anyhow::Error) -> bool {
    let io = error.downcast_ref::<io::Error>();
    io.is_some_and(|error| error.kind() == io::ErrorKind::BrokenPipe)
}

/// Returns whether to colour on this stream; see <https://no-color.org>.
pub(super) fn wants_colour(stream: &impl IsTerminal) -> bool {
    stream.is_terminal() && std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty())
}

/// A value of a row.
pub(super) struct Cell {
    text: String,
    colour: Colour,
}

impl Cell {
    /// Text of an agent or a person, or our own, on one line.
    pub(super) fn plain(text: &str) -> Self {
        Self::coloured(Colour::Plain, text)
    }

    /// The same in a colour.
    pub(super) fn coloured(colour: Colour, text: &str) -> Self {
        Self { text: literal(text), colour }
    }
}

/// Renders rows for stdout as it is.
pub(super) fn table(rows: &[Vec<Cell>]) -> String {
    drawn(rows, columns::of(io::stdout()))
}

fn drawn(rows: &[Vec<Cell>], terminal: Option<usize>) -> String {
    let widths = terminal.map(|width| widths(rows, width / 3)).unwrap_or_default();
    let line = |row: &Vec<Cell>| {
        let cells = row.iter().enumerate().map(|(at, cell)| {
            let width = widths.get(at).copied().unwrap_or_default();
            // The last one is not padded: blanks at the end of a line would wrap it.
            let missing = if at + 1 < row.len() { width.saturating_sub(length(cell)) } else { 0 };
            format!("{}{}", paint(cell.colour, &cell.text), " ".repeat(missing))
        });
        cells.collect::<Vec<_>>().join("  ")
    };
    rows.iter().map(line).collect::<Vec<_>>().join("\n")
}

/// The width of each column; 0 of one that is wider than `most`, which would wrap every row.
fn widths(rows: &[Vec<Cell>], most: usize) -> Vec<usize> {
    let mut widths = Vec::new();
    for row in rows {
        for (at, cell) in row.iter().enumerate() {
            match widths.get_mut(at) {
                Some(width) => *width = length(cell).max(*width),
                None => widths.push(length(cell)),
            }
        }
    }
    widths.iter().map(|width| if *width > most { 0 } else { *width }).collect()
}

fn length(cell: &Cell) -> usize {
    columns::count(&cell.text)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests fail by panicking")]
    use super::*;

    #[test]
    fn what_an_agent_wrote_cannot_move_the_cursor_or_hide() {
        let shown = "ls\\u{1b}[2K\\u{d}\\u{202e}x ü ⏎ y";
        assert_eq!(literal("ls\u{1b}[2K\r\u{202e}x ü\ny"), shown);
    }

    #[test]
    fn hidden_characters_are_escaped_as_json_does_it_and_read_back() {
        let said =
            serde_json::json!({"agent": "a\u{202e}b\u{1b}[2K\n\u{e0041}ü👍\u{2028}"}).to_string();
        let written = escaped(&said);
        assert_eq!(written, r#"{"agent":"a\u202eb\u001b[2K\n\udb40\udc41ü👍\u2028"}"#);
        let back = |json: &str| serde_json::from_str::<serde_json::Value>(json).unwrap();
        assert_eq!(back(&written), back(&said));
    }

    #[test]
    fn a_terminal_gets_columns_and_a_program_gets_values_without_padding() {
        let row = |texts: [&str; 3]| texts.map(Cell::plain).into_iter().collect::<Vec<_>>();
        let rows = [row(["k3f9", "Ana", "git push"]), row(["p2", "the deadline", "ls\u{1b}[2K"])];
        let aligned = "k3f9  Ana           git push\np2    the deadline  ls\\u{1b}[2K";
        assert_eq!(drawn(&rows, Some(80)), aligned);
        let plain = "k3f9  Ana  git push\np2  the deadline  ls\\u{1b}[2K";
        assert_eq!(drawn(&rows, None), plain);
        // Who answered is wider than a third of this terminal.
        assert_eq!(drawn(&rows, Some(30)), "k3f9  Ana  git push\np2    the deadline  ls\\u{1b}[2K");
    }
}
