//! Whether a pattern covers a command.

/// Whether a pattern covers a command.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Reach {
    No,
    /// It may: a word that decides it will only be known when it runs.
    Maybe,
    Yes,
}

impl Reach {
    pub(crate) fn of(covers: bool) -> Self {
        if covers { Self::Yes } else { Self::No }
    }
}
