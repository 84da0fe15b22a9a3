//! The shells whose language the scanner reads.

/// The shell that will read the text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Dialect {
    /// bash.
    #[default]
    Bash,
    /// A plain `sh`. Anything that bash and dash read differently is refused.
    Posix,
}
