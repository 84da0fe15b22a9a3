//! One command, or one call of another tool: what it names, and from where.

use std::borrow::Cow;

use super::programs::Usage;

/// A text that a command or a call may turn into a path.
#[derive(Clone, Copy, Debug)]
pub(super) struct Operand<'o> {
    pub(super) text: &'o str,
    /// A shell expands its variables.
    pub(super) is_dynamic: bool,
    pub(super) usage: Usage,
}

/// Where relative paths may begin.
#[derive(Clone, Debug)]
pub(super) struct Bases<'b> {
    /// The working directory of the call; `None` when it was not said.
    pub(super) cwd: Option<&'b str>,
    /// Where the command runs, as far as that can be told.
    pub(super) sure: Vec<Cow<'b, str>>,
    /// The text changes the directory somewhere, so that it may run anywhere above as well.
    pub(super) is_loose: bool,
    /// It goes to a directory that is only known when it runs.
    pub(super) is_lost: bool,
}

/// Takes what is found in a call, in order.
pub(super) trait Sink {
    /// A command or call, with its operands.
    fn site(&mut self, operands: &[Operand<'_>], bases: &Bases<'_>);

    /// A text in which anything may stand: a here-document, the program of an interpreter.
    fn text(&mut self, text: &str, bases: &Bases<'_>);

    /// The words of a command.
    fn command(&mut self, _argv: &[crate::shell::Word<'_>]) {}

    /// Something that cannot be seen may reach anything.
    fn unseen(&mut self, _why: &'static str) {}

    /// Nothing that is still to come can change what was found.
    fn is_done(&self) -> bool {
        false
    }
}

/// The path that a text names from a base; what the host is asked about.
pub(super) fn joined(base: &str, text: &str) -> String {
    match text.starts_with('/') {
        true => text.to_owned(),
        false => [base, "/", text].concat(),
    }
}
