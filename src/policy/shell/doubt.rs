//! Why the scanner does not claim certainty.

use std::fmt;

/// Why certainty was refused, and where.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("{doubt} (at byte {at})")]
pub struct Refusal {
    /// What was met.
    pub doubt: Doubt,
    /// Byte offset in the source.
    pub at: usize,
}

/// What the scanner met.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Doubt {
    /// The text is longer than the scanner reads.
    TooLong,
    /// Nested deeper than the scanner follows.
    TooDeep,
    /// More commands than one person can judge.
    TooMany,
    /// A control character, which a terminal does not show as it is.
    Control,
    /// A character that is invisible or changes the reading direction.
    Invisible,
    /// Ends in the middle of a construct.
    Unfinished,
    /// Something that does not fit the grammar.
    Unexpected,
    /// A backslash at the end of a line inside a token.
    Continuation,
    /// The command name is only known when it runs.
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
    /// A variable that the shell itself obeys.
    Variable,
    /// A builtin that evaluates its arguments.
    Builtin,
    /// A construct that this shell reads otherwise than bash.
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
            Self::Dialect => "a construct that sh and bash read differently",
        })
    }
}
