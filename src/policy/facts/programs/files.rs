//! What a program does to the files and folders among its operands.

use super::words::Words;

/// What happens to a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Access {
    /// Its content is read.
    Read,
    /// It is created or changed.
    Write,
    /// It is deleted.
    Delete,
    /// It goes somewhere else.
    Move,
    /// Its rights or owner change.
    Rights,
}

/// Which operands of a program name files, and what happens to them.
#[derive(Clone, Copy)]
pub(crate) enum Files {
    /// None that are known.
    Unknown,
    /// Every operand behind the first `skip`; `values` are options whose next word is none.
    Each { access: Access, skip: usize, values: Words },
    /// The operands of `sed`, behind a script where no option gives it; written with `-i`.
    Edited,
    /// The last one is written; this happens to the others.
    Transfer(Access),
    /// `if=` is read and `of=` is written.
    Assigned,
    /// The words behind these options are written.
    Behind(Words),
    /// All of them; the first is a cluster of options where it has no dash.
    Archive,
}

/// How far a program goes into the folders that it is given.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Depth {
    /// It only says their names.
    Names,
    /// It opens that file or folder and nothing below it.
    Opens,
    /// It may go through all that lies below.
    Walks,
    /// The same, and through the working directory where it is given none.
    WalksHere,
    /// It walks with one of these options and opens otherwise; `here` as above.
    WalksWith { letters: &'static str, longs: Words, here: bool },
    /// It walks, and through the working directory with one of these words.
    WalksHereWith(Words),
}
