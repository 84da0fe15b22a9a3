//! Whether to colour what is written.

use std::io::IsTerminal;

/// Returns whether to colour on this stream; see <https://no-color.org>.
pub(super) fn wants_colour(stream: &impl IsTerminal) -> bool {
    stream.is_terminal() && std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty())
}
