//! What a shell text would run, read by a strict scanner that refuses what it does not fully
//! understand. bash itself is the judge (`tests/policy/oracle.rs`).
//!
//! INVARIANT: while [`Scan::understood`] is true, every simple command that bash would execute is
//! in [`Scan::commands`]. After a refusal the list still holds whatever could be read, so that
//! deny rules see it; it must never be used to allow.

mod ansi;
mod arithmetic;
mod characters;
mod class;
mod condition;
mod cursor;
mod doubt;
mod expand;
mod grammar;
mod guess;
mod heredoc;
mod names;
mod simple;
mod vet;
mod word;

use std::borrow::Cow;
use std::ops::Range;

use cursor::Scanner;
pub use doubt::{Doubt, Refusal};

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

/// Which shell will read the text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Dialect {
    /// bash.
    #[default]
    Bash,
    /// A plain `sh`: what bash and dash read differently is refused.
    Posix,
}

/// Longer texts are refused unread.
const MAX_LENGTH: usize = 64 * 1024;

/// Reads a shell text as bash would. Never fails: what is not understood is in [`Scan::refusal`].
#[must_use]
pub fn scan(source: &str) -> Scan<'_> {
    scan_as(source, Dialect::Bash)
}

/// Reads a shell text for a certain shell.
#[must_use]
pub fn scan_as(source: &str, dialect: Dialect) -> Scan<'_> {
    if source.len() > MAX_LENGTH {
        let refusal = Some(Refusal { doubt: Doubt::TooLong, at: MAX_LENGTH });
        return Scan { commands: guess::commands(source, 0), refusal, ..Scan::default() };
    }
    let mut scanner = Scanner::new(source, dialect);
    scanner.out.refusal = characters::inspect(source);
    let end = scanner.whole();
    let conflict = scanner.names.conflict();
    let mut scan = scanner.out;
    if let Err(refusal) = end {
        // FAIL-CLOSED: deny rules still see every word that may be a command name.
        scan.refusal.get_or_insert(refusal);
        scan.commands.extend(guess::commands(source, 0));
    }
    scan.refusal = scan.refusal.or(conflict);
    scan
}
