//! Events as comma-separated values (RFC 4180).

use super::words::{of, told};
use crate::cli::say;
use anyhow::Result;
use countersign_client::Happened;
use countersign_tokens::clock;

const HEADINGS: [&str; 7] = ["id", "at", "kind", "ask", "agent", "session", "what"];

pub(super) fn headings() -> Result<()> {
    say::out(&HEADINGS.join(","))
}

pub(super) fn row(happened: &Happened) -> Result<()> {
    let Happened { kind, event, .. } = happened;
    let ask = event.ask.as_ref().map_or("", |ask| ask.id.as_str());
    let [agent, session] = ["agent", "session"].map(|name| of(event, name).unwrap_or_default());
    let (id, at, what) = (event.id.to_string(), clock::rfc3339(event.at), told(kind, event));
    let values = [&id, &at, kind, ask, agent, session, &what].map(value);
    say::out(&values.join(","))
}

/// A value, in quotes where it needs them.
// SECURITY: a spreadsheet runs what begins like a formula, and agents choose these words.
fn value(text: &str) -> String {
    let text = say::literal(text);
    let formula = text.starts_with(['=', '+', '-', '@', '\t']);
    let text = if formula { format!("'{text}") } else { text };
    match text.contains([',', '"', '\n', '\r']) {
        true => format!("\"{}\"", text.replace('"', "\"\"")),
        false => text,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_ends_where_it_should_and_runs_nothing() {
        let cases = [
            ("ls", "ls"),
            ("a, b", "\"a, b\""),
            ("say \"x\"", "\"say \"\"x\"\"\""),
            ("=cmd|' /C calc'!A0", "'=cmd|' /C calc'!A0"),
            ("-1,2", "\"'-1,2\""),
        ];
        for (text, wanted) in cases {
            assert_eq!(value(text), wanted, "{text}");
        }
    }
}
