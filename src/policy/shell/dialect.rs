//! The shells whose language the scanner reads.

/// The shells that may read the text. What they read differently is a doubt.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Dialect {
    /// bash, or zsh where it is the user's shell: most tools named `Bash` run either.
    #[default]
    Bash,
    /// Also a plain `sh`, such as dash.
    Posix,
}
