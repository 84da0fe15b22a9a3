//! The forms of a program that only read.

use super::words::Words;

/// A form of a program that only reads, with all the options that it may have then.
///
/// Left out, so that they ask: options that run a program, write a file, reach another host, follow
/// links out of the workspace, or read names of files from a file.
#[derive(Clone, Copy)]
pub(crate) struct Reading {
    /// The words that must come first.
    pub(crate) sub: Words,
    /// Short options without a value; `#` stands for numbers (`-20`).
    pub(crate) flags: &'static str,
    /// Short options with a value.
    pub(crate) values: &'static str,
    /// Long options: `name`, `name=` with a value, `name?` with or without, `name:` with a file.
    pub(crate) longs: &'static [Words],
    /// What else may follow.
    pub(crate) operands: Operands,
}

/// A program that only reads with these options and operands.
pub(crate) const fn reading(
    flags: &'static str,
    values: &'static str,
    longs: &'static [Words],
    operands: Operands,
) -> Reading {
    Reading { sub: "", flags, values, longs, operands }
}

/// The same of a sub-command.
pub(crate) const fn form(
    sub: Words,
    flags: &'static str,
    values: &'static str,
    longs: &'static [Words],
    operands: Operands,
) -> Reading {
    Reading { sub, flags, values, longs, operands }
}

/// What the operands of a program that reads are.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Operands {
    /// There are none.
    None,
    /// Anything; no word is an option.
    Words,
    /// Words that are known.
    Literals,
    /// Names of variables, which are printed.
    Variables,
    /// A format that begins with `+`.
    Format,
    /// Files and folders, of which only names and numbers are shown.
    Names,
    /// Files that are shown.
    Contents,
    /// The same, for programs with options that write or run: no file name may pass for one.
    Guarded,
    /// One such file at most: another one would be written.
    OneFile,
    /// A text and files; files alone with one of these options.
    Pattern(Words),
    /// A script of sed, and files.
    Sed,
    /// A program of awk, and files.
    Awk,
    /// A program of jq, and files.
    Jq,
    /// Starting points and tests of find; its words are no options.
    Find,
    /// The letters of ps; its words are no options.
    Ps,
    /// Revisions and paths of git.
    Revisions,
    /// Patterns to list by, with one of these options.
    Listed(Words),
    /// One key of git's configuration.
    Setting,
}
