//! The daemon's log on stderr: one line per event, whatever agents and people are called.

use super::colour::wants_colour;
use countersign_port::{line, visible};
use std::io::{self, Write};
use tracing_subscriber::{EnvFilter, field::MakeExt, fmt::format};

/// Starts the log, as text or JSON.
pub(super) fn init(filter: EnvFilter) {
    let colour = wants_colour(&io::stderr());
    let log = tracing_subscriber::fmt().with_env_filter(filter).with_ansi(colour);
    let json = std::env::var("COUNTERSIGN_LOG_FORMAT").is_ok_and(|format| format == "json");
    if json {
        log.json().with_writer(|| Escaped(io::stderr())).init();
    } else {
        // SECURITY: a name with a line break could look like an event of ours, and a control
        // character could change what the terminal shows.
        let fields = format::debug_fn(|out, field, value| {
            let value = line(&format!("{value:?}"));
            match field.name() {
                "message" => write!(out, "{value}"),
                // Added by tracing-log to the records of other crates; they repeat target and
                // position.
                log if log.starts_with("log.") => Ok(()),
                name => write!(out, "{name}={value}"),
            }
        });
        let fields = fields.delimited(" ");
        log.fmt_fields(fields).with_target(false).with_writer(io::stderr).init();
    }
}

/// A writer of JSON lines that escapes every hidden character.
struct Escaped<W>(W);

impl<W: Write> Write for Escaped<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        // tracing writes each event in one call, so no character is split between two.
        let text = String::from_utf8_lossy(bytes);
        self.0.write_all(escaped(&text).as_bytes())?;
        // The caller counts its own bytes, not the escaped ones.
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.0.flush()
    }
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

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests fail by panicking")]
    use super::*;

    #[test]
    fn hidden_characters_are_escaped_as_json_does_it_and_read_back() {
        let said =
            serde_json::json!({"agent": "a\u{202e}b\u{1b}[2K\n\u{e0041}ü👍\u{2028}"}).to_string();
        let written = escaped(&said);
        assert_eq!(written, r#"{"agent":"a\u202eb\u001b[2K\n\udb40\udc41ü👍\u2028"}"#);
        let back = |json: &str| serde_json::from_str::<serde_json::Value>(json).unwrap();
        assert_eq!(back(&written), back(&said));
    }
}
