//! The forms of a program that only read.

use super::words::Words;

/// A form of a program that only reads, with all options allowed in it.
///
/// Options that run a program, write a file, contact a host, follow links out of the workspace or
/// read file names from a file are left out, so that they ask.
#[derive(Clone, Copy)]
pub(crate) struct Reading {
    /// The words that must come first.
    pub(crate) sub: Words,
    /// Short options without a value; `#` stands for numbers (`-20`).
    pub(crate) flags: &'static str,
    /// Short options with a value.
    pub(crate) values: &'static str,
    /// Long options: `name`, `name=` with a value, `name?` with an optional value, `name:` with a
    /// file, `name==` with two texts.
    pub(crate) longs: &'static [Words],
    /// Words that may follow besides options.
    pub(crate) operands: Operands,
}

/// Creates the form of a program that only reads with these options and operands.
pub(crate) const fn reading(
    flags: &'static str,
    values: &'static str,
    longs: &'static [Words],
    operands: Operands,
) -> Reading {
    Reading { sub: "", flags, values, longs, operands }
}

/// Creates the form of a sub-command.
pub(crate) const fn form(
    sub: Words,
    flags: &'static str,
    values: &'static str,
    longs: &'static [Words],
    operands: Operands,
) -> Reading {
    Reading { sub, flags, values, longs, operands }
}

/// The operands of a program that reads.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Operands {
    /// None.
    None,
    /// Any words; none is an option.
    Words,
    /// Known words.
    Literals,
    /// Names of variables, which are printed.
    Variables,
    /// A format that starts with `+`.
    Format,
    /// Files and folders, of which only names and numbers are printed.
    Names,
    /// Files that are printed.
    Contents,
    /// The same, for programs with options that write or run: no file name may act as an option.
    Guarded,
    /// At most one such file: a second one would be written.
    OneFile,
    /// A text and files; only files with one of these options.
    Pattern(Words),
    /// A script of sed, and files.
    Sed,
    /// A program of awk, and files.
    Awk,
    /// A program of jq, and files.
    Jq,
    /// Starting points and tests of find, whose words are not options.
    Find,
    /// The letters of ps, whose words are not options.
    Ps,
    /// Revisions and paths of git.
    Revisions,
    /// Patterns to list by, with one of these options.
    Listed(Words),
    /// One key of git's configuration.
    Setting,
}
