//! The directories that relative paths and `~` refer to.

/// The directories of a call.
#[derive(Debug, Clone, Copy, Default)]
pub struct Directories<'p> {
    /// The working directory, which is also the workspace.
    pub cwd: Option<&'p str>,
    /// The home directory.
    pub home: Option<&'p str>,
}
