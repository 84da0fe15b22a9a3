//! The daemon's log on stderr: one line per event, whatever agents and people are called.

use super::{colour::wants_colour, say::escaped};
use countersign_port::line;
use std::io::{self, Write};
use tracing_subscriber::{EnvFilter, field::MakeExt, fmt::format};

/// Starts the log, as text or JSON.
fn start_log(filter: EnvFilter) {
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
