//! Reasons why a scan is uncertain.

use std::fmt;

/// The reason why a scan is uncertain, and its position.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("{doubt} (at byte {at})")]
pub struct Uncertainty {
    /// The reason.
    pub doubt: Doubt,
    /// Byte offset in the source.
    pub at: usize,
}

/// A construct that makes a scan uncertain.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Doubt {
    /// The text is longer than the scanner's limit.
    TooLong,
    /// The nesting is deeper than the scanner's limit.
    TooDeep,
    /// The text runs more commands than one person can judge.
    TooMany,
    /// A control character, which a terminal does not show as it is.
    Control,
    /// A character that is invisible or changes the reading direction.
    Invisible,
    /// The text ends in the middle of a construct.
    Unfinished,
    /// The text does not fit the grammar.
    Unexpected,
    /// A backslash at the end of a line inside a token.
    Continuation,
    /// A command name is known only at run time.
    DynamicName,
    /// Arithmetic on something that may hold more than a number.
    Arithmetic,
    /// A parameter expansion that evaluates its value.
    Expansion,
    /// A redirect whose form is ambiguous.
    Redirect,
    /// A here-document whose end is ambiguous.
    HereDocument,
    /// A backslash inside backticks.
    Backtick,
    /// An extended pattern.
    Pattern,
    /// `coproc`.
    Coprocess,
    /// An assignment to a variable that the shell itself obeys.
    Variable,
    /// A builtin that evaluates its arguments.
    Builtin,
    /// A construct that the shells which may run the text read differently.
    Dialect,
}

impl fmt::Display for Doubt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::TooLong => "the text is longer than 64 KiB",
            Self::TooDeep => "it is nested too deeply",
            Self::TooMany => "it runs more than 50 commands",
            Self::Control => "it holds a control character",
            Self::Invisible => "it holds an invisible or direction-changing character",
            Self::Unfinished => "it ends in the middle of a construct",
            Self::Unexpected => "it does not read as shell grammar",
            Self::Continuation => "a line continuation splits a token",
            Self::DynamicName => "a command name is only known when it runs",
            Self::Arithmetic => "arithmetic on a value that may hold more than a number",
            Self::Expansion => "an expansion that evaluates its value",
            Self::Redirect => "a redirect of an ambiguous form",
            Self::HereDocument => "a here-document whose end is ambiguous",
            Self::Backtick => "a backslash inside backticks",
            Self::Pattern => "an extended pattern",
            Self::Coprocess => "a coprocess",
            Self::Variable => "it sets a variable that the shell itself obeys",
            Self::Builtin => "a builtin that evaluates its arguments",
            Self::Dialect => "a construct that sh, bash and zsh read differently",
        })
    }
}
