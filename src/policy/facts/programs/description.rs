//! The description of a command-line program as data.

use super::case::Case;
use super::files::{Depth, Files};
use super::getopt::{Getopt, Syntax};
use super::grant::AlwaysRule;
use super::reach::{Pipe, Reach};
use super::reading::Reading;
use super::runs::Runs;
use super::words::Words;

/// Everything known about a program.
///
/// Anything not stated is unknown: the program then runs nothing else, touches no known file, and
/// no form of it only reads. [`Program::named`] starts a description; every other method adds one
/// fact.
#[derive(Clone, Copy)]
pub(crate) struct Program {
    /// Its names; one that ends in `*` stands for every name that starts so.
    pub(crate) names: Words,
    /// Its roles for the commands around it.
    pub(crate) roles: &'static [Role],
    /// The way in which it reads its options.
    pub(crate) syntax: Syntax,
    /// Options before its sub-command that take the next word as their value.
    pub(crate) global: Words,
    /// Options before its sub-command that change nothing.
    pub(crate) plain: Words,
    /// The forms that only read.
    pub(crate) reads: &'static [Reading],
    /// Options with which it only prints its version.
    pub(crate) versions: Words,
    /// Cases that go beyond a plain `name *` grant.
    pub(crate) beyond: &'static [Case],
    /// Cases that always need a person.
    pub(crate) critical: &'static [Case],
    /// The access to the files among its operands.
    pub(crate) files: Files,
    /// The depth to which it goes into the folders among its operands.
    pub(crate) depth: Depth,
    /// Options followed by prose, which names no path.
    pub(crate) prose: Words,
    /// The programs that it runs.
    pub(crate) runs: Runs,
    /// The hosts that it contacts, and what it publishes.
    pub(crate) reaches: &'static [Reach],
    /// Its role in a pipeline.
    pub(crate) pipe: Pipe,
    /// The rule that Always stores for it.
    pub(crate) grant: AlwaysRule,
}

impl Program {
    pub(crate) const fn named(names: Words) -> Self {
        Self {
            names,
            roles: &[],
            syntax: Syntax::Partly(""),
            global: "",
            plain: "",
            reads: &[],
            versions: "",
            beyond: &[],
            critical: &[],
            files: Files::Unknown,
            depth: Depth::Walks,
            prose: "",
            runs: Runs::Nothing,
            reaches: &[],
            pipe: Pipe::NONE,
            grant: AlwaysRule::ONE_WORD,
        }
    }

    /// Returns the same description for other names; facts added later may differ.
    pub(crate) const fn renamed(self, names: Words) -> Self {
        Self { names, ..self }
    }

    pub(crate) const fn roles(self, roles: &'static [Role]) -> Self {
        Self { roles, ..self }
    }

    /// Names all of its options.
    pub(crate) const fn options(self, getopt: Getopt) -> Self {
        Self { syntax: Syntax::Getopt(getopt), ..self }
    }

    /// Names long options that are beginnings of others.
    pub(crate) const fn whole(self, longs: Words) -> Self {
        Self { syntax: Syntax::Partly(longs), ..self }
    }

    /// States that it accepts long options only as they are written out.
    pub(crate) const fn written_out(self) -> Self {
        Self { syntax: Syntax::WrittenOut, ..self }
    }

    pub(crate) const fn global(self, global: Words) -> Self {
        Self { global, ..self }
    }

    pub(crate) const fn plain(self, plain: Words) -> Self {
        Self { plain, ..self }
    }

    pub(crate) const fn reads(self, reads: &'static [Reading]) -> Self {
        Self { reads, ..self }
    }

    pub(crate) const fn versions(self, versions: Words) -> Self {
        Self { versions, ..self }
    }

    pub(crate) const fn beyond(self, beyond: &'static [Case]) -> Self {
        Self { beyond, ..self }
    }

    pub(crate) const fn critical(self, critical: &'static [Case]) -> Self {
        Self { critical, ..self }
    }

    pub(crate) const fn files(self, files: Files) -> Self {
        Self { files, ..self }
    }

    pub(crate) const fn depth(self, depth: Depth) -> Self {
        Self { depth, ..self }
    }

    pub(crate) const fn prose(self, prose: Words) -> Self {
        Self { prose, ..self }
    }

    pub(crate) const fn runs(self, runs: Runs) -> Self {
        Self { runs, ..self }
    }

    pub(crate) const fn reaches(self, reaches: &'static [Reach]) -> Self {
        Self { reaches, ..self }
    }

    pub(crate) const fn pipe(self, pipe: Pipe) -> Self {
        Self { pipe, ..self }
    }

    pub(crate) const fn grant(self, grant: AlwaysRule) -> Self {
        Self { grant, ..self }
    }

    /// Returns true when it has this role.
    pub(crate) fn is(&self, role: Role) -> bool {
        self.roles.contains(&role)
    }
}

/// The role of a program for the commands around it, or on a card.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Role {
    /// Reads commands.
    Shell,
    /// Runs any program text or file that it is given.
    Interpreter,
    /// Fetches text from another host.
    Fetches,
    /// Prints its words.
    Says,
    /// Prints without end.
    Endless,
    /// Runs its operands on its input (`xargs`).
    HandsOn,
    /// Takes statements from its input.
    Database,
    /// Runs commands as another user.
    Privilege,
    /// It runs a program that stands among its words (`awk`).
    Programmed,
    /// Overwrites files that its words do not name.
    Overwrites,
    /// Does no more than what its effects on files say.
    OnlyFiles,
    /// Creates files and folders, and changes the content of none.
    Creates,
    /// Each of its words is a recipe of the project, which may do anything.
    Recipes,
    /// A builtin that touches nothing but the shell.
    Quiet,
    /// Appears on a card with its sub-command.
    Titled,
    /// One name for many programs: a rule for a sub-command does not cover its options.
    Many,
    /// Obeys settings in its working folder, which may make it run programs.
    ObeysFolder,
}
