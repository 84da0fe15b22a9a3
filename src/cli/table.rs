//! Rows of short values: aligned on a terminal, joined by two blanks for a program.

use super::say::{self, Colour};
use std::io::{self, IsTerminal};

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
        Self { text: say::literal(text), colour }
    }
}

/// Renders rows for stdout as it is.
pub(super) fn draw(rows: &[Vec<Cell>]) -> String {
    drawn(rows, io::stdout().is_terminal())
}

fn drawn(rows: &[Vec<Cell>], aligned: bool) -> String {
    let widths = if aligned { widths(rows) } else { Vec::new() };
    let line = |row: &Vec<Cell>| {
        let cells = row.iter().enumerate().map(|(at, cell)| {
            let width = widths.get(at).copied().unwrap_or_default();
            // The last one is not padded: blanks at the end of a line would wrap it.
            let missing = if at + 1 < row.len() { width.saturating_sub(length(cell)) } else { 0 };
            format!("{}{}", say::paint(cell.colour, &cell.text), " ".repeat(missing))
        });
        cells.collect::<Vec<_>>().join("  ")
    };
    rows.iter().map(line).collect::<Vec<_>>().join("\n")
}

/// The width of each column.
fn widths(rows: &[Vec<Cell>]) -> Vec<usize> {
    let mut widths = Vec::new();
    for row in rows {
        for (at, cell) in row.iter().enumerate() {
            match widths.get_mut(at) {
                Some(width) => *width = length(cell).max(*width),
                None => widths.push(length(cell)),
            }
        }
    }
    widths
}

fn length(cell: &Cell) -> usize {
    cell.text.chars().count()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_terminal_gets_columns_and_a_program_gets_values_without_padding() {
        let row = |texts: [&str; 3]| texts.map(Cell::plain).into_iter().collect::<Vec<_>>();
        let rows = [row(["k3f9", "Ana", "git push"]), row(["p2", "the deadline", "ls\u{1b}[2K"])];
        let aligned = "k3f9  Ana           git push\np2    the deadline  ls\\u{1b}[2K";
        assert_eq!(drawn(&rows, true), aligned);
        let plain = "k3f9  Ana  git push\np2  the deadline  ls\\u{1b}[2K";
        assert_eq!(drawn(&rows, false), plain);
    }
}
