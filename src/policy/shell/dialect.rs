//! The shells whose texts the scanner reads.

/// Which shell will read the text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Dialect {
    /// bash.
    #[default]
    Bash,
    /// A plain `sh`: what bash and dash read differently is refused.
    Posix,
}
