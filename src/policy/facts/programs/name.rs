//! The name of a program.

/// Returns the name of a program without its directory.
#[must_use]
pub fn base(name: &str) -> &str {
    let slash = name.bytes().rposition(|b| b == b'/');
    slash.and_then(|at| name.get(at + 1..)).unwrap_or(name)
}
