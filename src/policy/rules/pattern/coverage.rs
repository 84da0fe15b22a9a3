//! The degree to which a pattern covers a command.

/// Tells whether a pattern covers a command.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Coverage {
    No,
    /// It may: a word that decides it is known only at run time.
    Maybe,
    Yes,
}

impl Coverage {
    pub(crate) fn of(covers: bool) -> Self {
        if covers { Self::Yes } else { Self::No }
    }
}
