//! Walks through a call of any tool.

use std::borrow::Cow;

use crate::engine::guardrail::commands::Commands;
use crate::engine::guardrail::site::{Bases, Sink};
use crate::engine::guardrail::tools;
use crate::facts::call::Call;
use crate::facts::paths::Directories;
use crate::facts::tools::Kind;
use crate::shell::Scan;

/// Passes everything that a call names to a sink.
pub(super) fn walk(
    call: &Call,
    scan: Option<(&str, &Scan<'_>)>,
    dirs: Directories<'_>,
    sink: &mut impl Sink,
) {
    let cwd = dirs.cwd.filter(|cwd| cwd.starts_with('/'));
    let sure = cwd.map(Cow::Borrowed).into_iter().collect();
    // Without a working directory, a relative path may start anywhere.
    let bases = Bases { cwd, sure, is_loose: cwd.is_none(), is_lost: false };
    let Some((text, scan)) = scan else {
        if call.kind() == Kind::Shell {
            sink.unseen("is not where a command stands");
        }
        return tools::walk(call, &bases, sink);
    };
    let mut commands = Commands::new(sink, dirs);
    commands.text(text, scan, &bases, 0);
    // Arguments beside the command: another command, a folder, an environment.
    for (key, value) in call.args.as_object().into_iter().flatten() {
        // `description` is prose for people.
        let other = value.as_str().filter(|other| *other != text && key != "description");
        if let Some(other) = other {
            commands.beside(other, &bases);
        }
    }
}
