//! The result of a scan: simple commands, their words and redirects.

use std::borrow::Cow;
use std::ops::Range;

use crate::shell::simple::changes_directory;
use crate::shell::{Doubt, Uncertainty};

/// The scanner's result for one shell text; it borrows from the text wherever possible.
#[derive(Debug, Clone, Default)]
pub struct Scan<'a> {
    /// Every simple command in source order. Commands of a substitution come before the command
    /// that uses their output.
    pub commands: Vec<Command<'a>>,
    /// Functions that the text defines; their bodies are in `commands` with [`Via::Function`].
    pub functions: Vec<&'a str>,
    /// The first reason why the scan is uncertain; [`Doubt::TooMany`] only where there is no other.
    pub refusal: Option<Uncertainty>,
    /// The text starts something with `&`.
    pub background: bool,
    /// The text holds `case`, `select`, `time`, `[[`, arithmetic or an array.
    pub elaborate: bool,
    /// Index of the first command in an endless loop that only starts commands with `&`.
    pub breeding: Option<usize>,
    /// A loop or a function changes the directory, or may run in another one than where it stands:
    /// which `cd` came before a command is not told by their order.
    pub wanders: bool,
}

impl Scan<'_> {
    /// Returns true when `commands` is complete and exact.
    #[must_use]
    pub fn understood(&self) -> bool {
        self.refusal.is_none()
    }

    /// Returns true when `commands` is complete and exact, however many they are.
    #[must_use]
    pub fn read_whole(&self) -> bool {
        self.refusal.as_ref().is_none_or(|refusal| refusal.doubt == Doubt::TooMany)
    }

    /// Iterates over the commands that change the directory.
    pub(crate) fn moves(&self) -> impl Iterator<Item = &Command<'_>> {
        self.commands.iter().filter(|command| changes_directory(&command.argv))
    }

    pub(super) fn refuse(&mut self, new: Uncertainty) {
        if self.read_whole() && self.refusal.is_none_or(|_| new.doubt != Doubt::TooMany) {
            self.refusal = Some(new);
        }
    }
}

/// One simple command.
#[derive(Debug, Clone, Default)]
pub struct Command<'a> {
    /// The command name and its arguments. Empty for bare assignments and for the redirects of a
    /// compound command (`{ …; } > file`).
    pub argv: Vec<Word<'a>>,
    /// `NAME=value` assignments before the name.
    pub assigns: Vec<Assign<'a>>,
    /// Redirects, in order.
    pub redirects: Vec<Redirect<'a>>,
    /// Position in the pipeline.
    pub pipe: PipePosition,
    /// The part of the text where the command was found.
    pub via: Via,
    /// Index of the command (`cd`, `pushd`, `popd`) that last changed the directory for this one.
    pub moved_by: Option<usize>,
    /// The first variable of the environment whose value the command uses: one that may hold a
    /// secret and that the text has not certainly assigned before.
    pub environment: Option<&'a str>,
}

impl Command<'_> {
    /// Returns the last here-document or here-string, if its text is known.
    pub(crate) fn here_text(&self) -> Option<&str> {
        let here = |op| matches!(op, RedirectOp::HereDocument | RedirectOp::HereString);
        self.redirects.iter().rfind(|redirect| here(redirect.op))?.target.literal()
    }

    /// Returns the source from the command's first word or redirect target to its last.
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
    /// The value of a literal word. For any other word: quotes removed, expansions (`$x`, `$(…)`,
    /// `~`, `{a,b}`) left as written.
    pub text: Cow<'a, str>,
    /// The precision of `text`: how far it is what the program receives.
    pub kind: WordKind,
    /// Part of the word is quoted.
    pub quoted: bool,
    /// Byte range in the source.
    pub span: Range<usize>,
}

impl<'a> Word<'a> {
    /// Creates a word that stands nowhere in the source.
    pub(crate) fn made(text: impl Into<Cow<'a, str>>, kind: WordKind) -> Self {
        Self { text: text.into(), kind, quoted: false, span: 0..0 }
    }

    /// Returns the exact argument that the program receives, if the text alone determines it.
    #[must_use]
    pub fn literal(&self) -> Option<&str> {
        (self.kind == WordKind::Literal).then_some(&*self.text)
    }
}

/// The precision of a word's text: how far it is what the program receives.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WordKind {
    /// Exactly `text`.
    Literal,
    /// `~` or `~/…` with a literal rest: the home directory followed by the rest.
    Home,
    /// File names that match the pattern `text`, or `text` itself.
    Glob,
    /// Known only at run time; may become several words or, unquoted, none.
    Dynamic,
}

/// `NAME=value`.
#[derive(Debug, Clone)]
pub struct Assign<'a> {
    /// The variable.
    pub name: &'a str,
    /// The value. For an array: everything between the parentheses, as [`WordKind::Dynamic`].
    pub value: Word<'a>,
}

/// A redirect of one command.
#[derive(Debug, Clone)]
pub struct Redirect<'a> {
    /// The file descriptor before the operator.
    pub fd: Option<u32>,
    /// The operator.
    pub op: RedirectOp,
    /// The file, descriptor or text after the operator; for a here-document, its body.
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
    /// Returns true for operators that create or change a file.
    #[must_use]
    pub fn writes(self) -> bool {
        use RedirectOp::{Append, AppendBoth, ReadWrite, Write, WriteBoth};
        matches!(self, Write | Append | ReadWrite | WriteBoth | AppendBoth)
    }
}

/// The position of a command in its pipeline.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum PipePosition {
    /// Not in a pipeline.
    #[default]
    Alone,
    /// Writes into a pipe.
    First,
    /// Reads from one pipe and writes into another.
    Middle,
    /// Reads from a pipe.
    Last,
}

impl PipePosition {
    /// Returns true when the command's input comes from another command.
    #[must_use]
    pub fn reads(self) -> bool {
        matches!(self, Self::Middle | Self::Last)
    }
}

/// The part of the text where a command was found.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Via {
    /// In the text itself, compound commands included.
    #[default]
    Direct,
    /// In `$(…)`, backticks or `<(…)`.
    Substitution,
    /// In the body of a function; runs only if the function is called.
    Function,
    /// Guessed after a refusal; only deny rules may use it.
    Guess,
}
