//! The folders that relative paths and `~` begin in.

/// Where a call happens.
#[derive(Debug, Clone, Copy, Default)]
pub struct Directories<'p> {
    /// The working directory, which is also the workspace.
    pub cwd: Option<&'p str>,
    /// The home directory.
    pub home: Option<&'p str>,
}
