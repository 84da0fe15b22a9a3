//! The description of a command-line program: everything that is known of it, as data.

use super::case::Case;
use super::files::{Depth, Files};
use super::grant::Grant;
use super::reach::{Pipe, Reach};
use super::reading::Reading;
use super::runs::Runs;
use super::words::Words;

/// Everything that is known of a program.
///
/// What is not said is not known: it runs nothing else, touches no known file, and no form of it
/// only reads. [`Program::named`] begins a description; each other method says one thing more.
#[derive(Clone, Copy)]
pub(crate) struct Program {
    /// Its names; one that ends in `*` stands for all that begin so.
    pub(crate) names: Words,
    /// What it is for the commands around it.
    pub(crate) roles: &'static [Role],
    /// Options in front of its sub-command that take the next word.
    pub(crate) global: Words,
    /// Options in front of its sub-command that change nothing.
    pub(crate) plain: Words,
    /// The forms that only read.
    pub(crate) reads: &'static [Reading],
    /// Options with which it only tells its version.
    pub(crate) versions: Words,
    /// Where it goes beyond a plain `name *` grant.
    pub(crate) beyond: &'static [Case],
    /// Where it always wants a person.
    pub(crate) critical: &'static [Case],
    /// What it does to the files among its operands.
    pub(crate) files: Files,
    /// How far it goes into the folders among its operands.
    pub(crate) depth: Depth,
    /// Options with prose behind them, which names no path.
    pub(crate) prose: Words,
    /// What it runs besides itself.
    pub(crate) runs: Runs,
    /// Whom it speaks to, and what it gives away.
    pub(crate) reaches: &'static [Reach],
    /// What it hands on in a pipeline.
    pub(crate) pipe: Pipe,
    /// What Always stores for it.
    pub(crate) grant: Grant,
}

impl Program {
    pub(crate) const fn named(names: Words) -> Self {
        Self {
            names,
            roles: &[],
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
            grant: Grant::ONE_WORD,
        }
    }

    pub(crate) const fn roles(self, roles: &'static [Role]) -> Self {
        Self { roles, ..self }
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

    pub(crate) const fn grant(self, grant: Grant) -> Self {
        Self { grant, ..self }
    }

    /// It has this role.
    pub(crate) fn is(&self, role: Role) -> bool {
        self.roles.contains(&role)
    }
}

/// What a program is for the commands around it, or for a card.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Role {
    /// It reads commands.
    Shell,
    /// It runs whatever program text or file it is given.
    Interpreter,
    /// It brings text from another host.
    Fetches,
    /// It prints its words.
    Says,
    /// It prints without end.
    Endless,
    /// It runs its operands on what it is fed (`xargs`).
    HandsOn,
    /// It takes statements from its input.
    Database,
    /// It gives the rights of another user.
    Privilege,
    /// A builtin that touches nothing but the shell.
    Quiet,
    /// A card names it with its sub-command.
    Titled,
    /// One name for many programs: a rule that names its sub-command does not name its options.
    Many,
    /// The folder that it works in has settings with which it runs programs.
    ObeysFolder,
}
