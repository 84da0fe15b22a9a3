//! The access of a program to the files and folders among its operands.

use super::words::Words;

/// The access to a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Access {
    /// Its content is read.
    Read,
    /// It is created or changed.
    Write,
    /// It is deleted.
    Delete,
    /// It is moved to another place.
    Move,
    /// Its permissions or owner change.
    Rights,
}

/// The operands of a program that name files, and the access to them.
#[derive(Clone, Copy)]
pub(crate) enum Files {
    /// None that are known.
    Unknown,
    /// Every operand behind the first `skip`; `values` are options whose next word is not an
    /// operand.
    Each { access: Access, skip: usize, values: Words },
    /// The operands of `sed`, behind the script unless an option gives it; written with `-i`.
    Edited,
    /// The last operand is written; the others get this access.
    Transfer(Access),
    /// `if=` is read and `of=` is written.
    Assigned,
    /// The words behind these options are written.
    Behind(Words),
    /// The folders in which find starts; deleted when an action deletes what it finds.
    Searched,
    /// Every operand; a first one without a dash is a cluster of options.
    Archive,
}

/// The depth to which a program goes into the folders that it is given.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Depth {
    /// Prints their names only.
    Names,
    /// Opens the file or folder itself, and nothing below it.
    Opens,
    /// May read everything below.
    Walks,
    /// The same; without an operand it goes through the working directory.
    WalksHere,
    /// Walks with one of these options and opens otherwise; `here` as above.
    WalksWith { letters: &'static str, longs: Words, here: bool },
    /// Walks, and goes through the working directory with one of these words.
    WalksHereWith(Words),
}
