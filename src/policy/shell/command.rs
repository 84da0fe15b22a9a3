//! What a shell text is made of: simple commands, their words and redirects.

use std::borrow::Cow;
use std::ops::Range;

use super::doubt::Refusal;

/// What the scanner could read of a shell text; borrowed from the text wherever possible.
#[derive(Debug, Clone, Default)]
pub struct Scan<'a> {
    /// Every simple command, in source order, those of substitutions before the command that
    /// uses their output.
    pub commands: Vec<Command<'a>>,
    /// Functions that the text defines; their bodies are in `commands`, with [`Via::Function`].
    pub functions: Vec<&'a str>,
    /// Why certainty was refused, the first reason only.
    pub refusal: Option<Refusal>,
    /// Something is started with `&`.
    pub background: bool,
    /// A loop without end that does nothing but start commands with `&`: the first of them.
    pub breeding: Option<usize>,
}

impl Scan<'_> {
    /// True when `commands` is complete and exact.
    #[must_use]
    pub fn understood(&self) -> bool {
        self.refusal.is_none()
    }
}

/// One simple command.
#[derive(Debug, Clone, Default)]
pub struct Command<'a> {
    /// The command name and its arguments; empty for bare assignments, and for the redirects of a
    /// compound command (`{ …; } > file`).
    pub argv: Vec<Word<'a>>,
    /// `NAME=value` in front of the name.
    pub assigns: Vec<Assign<'a>>,
    /// Redirects, in order.
    pub redirects: Vec<Redirect<'a>>,
    /// Place in the pipeline.
    pub pipe: PipePosition,
    /// Where in the text the command was found.
    pub via: Via,
    /// The command of the text that changed the directory for this one (`cd`, `pushd`, `popd`).
    pub moved_by: Option<usize>,
}

impl Command<'_> {
    /// The command as it was written in `source`, with what stands in front of it and its
    /// redirects.
    #[must_use]
    pub fn written_in<'s>(&self, source: &'s str) -> Option<&'s str> {
        let spans = || {
            let redirects = self.redirects.iter().filter(|r| r.op != RedirectOp::HereDocument);
            self.argv.iter().map(|word| &word.span).chain(redirects.map(|r| &r.target.span))
        };
        let start = spans().map(|span| span.start).min()?;
        let end = spans().map(|span| span.end).max()?;
        source.get(start..end)
    }
}

/// A word of a command after quote removal.
#[derive(Debug, Clone)]
pub struct Word<'a> {
    /// The value of a literal word. Otherwise the word as far as it can be known: quotes removed,
    /// expansions (`$x`, `$(…)`, `~`, `{a,b}`) left as they were written.
    pub text: Cow<'a, str>,
    /// How far `text` is what the program will get.
    pub kind: WordKind,
    /// Some part of the word was quoted.
    pub quoted: bool,
    /// Bytes of the source, for pointing at it.
    pub span: Range<usize>,
}

impl Word<'_> {
    /// The exact argument that the program gets, if that is known from the text alone.
    #[must_use]
    pub fn literal(&self) -> Option<&str> {
        (self.kind == WordKind::Literal).then_some(&*self.text)
    }
}

/// How far a word's text is what the program will get.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WordKind {
    /// Exactly `text`.
    Literal,
    /// `~` or `~/…`, the rest literal: `text` with the home directory in front.
    Home,
    /// File names that match the pattern `text`, or `text` itself.
    Glob,
    /// Decided when it runs; may be several words or, unquoted, none.
    Dynamic,
}

/// `NAME=value`.
#[derive(Debug, Clone)]
pub struct Assign<'a> {
    /// The variable.
    pub name: &'a str,
    /// The value; for an array all that stands between the parentheses, as [`WordKind::Dynamic`].
    pub value: Word<'a>,
}

/// A redirect of one command.
#[derive(Debug, Clone)]
pub struct Redirect<'a> {
    /// The descriptor in front of the operator.
    pub fd: Option<u32>,
    /// The operator.
    pub op: RedirectOp,
    /// The file, descriptor or text behind the operator; for a here-document its body.
    pub target: Word<'a>,
}

/// The operator of a redirect.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RedirectOp {
    /// `<`
    Read,
    /// `>` and `>|`
    Write,
    /// `>>`
    Append,
    /// `<>`
    ReadWrite,
    /// `&>` and `>& file`
    WriteBoth,
    /// `&>>`
    AppendBoth,
    /// `<&` and `>&` with a number or `-`
    Duplicate,
    /// `<<<`
    HereString,
    /// `<<` and `<<-`
    HereDocument,
}

impl RedirectOp {
    /// True for operators that create or change a file.
    #[must_use]
    pub fn writes(self) -> bool {
        use RedirectOp::{Append, AppendBoth, ReadWrite, Write, WriteBoth};
        matches!(self, Write | Append | ReadWrite | WriteBoth | AppendBoth)
    }
}

/// Place of a command in its pipeline.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum PipePosition {
    /// Not in a pipeline.
    #[default]
    Alone,
    /// Writes into a pipe.
    First,
    /// Reads from one and writes into another.
    Middle,
    /// Reads from a pipe.
    Last,
}

impl PipePosition {
    /// True when the command's input comes from another command.
    #[must_use]
    pub fn reads(self) -> bool {
        matches!(self, Self::Middle | Self::Last)
    }
}

/// Where a command was found.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Via {
    /// In the text itself, compound commands included.
    #[default]
    Direct,
    /// In `$(…)`, backticks or `<(…)`.
    Substitution,
    /// In the body of a function: runs if the function is called.
    Function,
    /// Guessed behind the place of a refusal: good for deny rules only.
    Guess,
}
