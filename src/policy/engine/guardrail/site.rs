//! One command, or one call of another tool: what it names, and relative to what.

use std::borrow::Cow;

use super::programs::Usage;

/// A text that a command or a call may turn into a path.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Operand<'o> {
    pub(crate) text: &'o str,
    /// A shell expands the variables in it.
    pub(crate) is_dynamic: bool,
    pub(crate) usage: Usage,
}

/// The directories that relative paths may refer to.
#[derive(Clone, Debug)]
pub(crate) struct Bases<'b> {
    /// The working directory of the call; `None` when unknown.
    pub(crate) cwd: Option<&'b str>,
    /// The directories in which the command may run, as far as they can be determined.
    pub(crate) sure: Vec<Cow<'b, str>>,
    /// The text changes the directory somewhere, so it may also run in any folder above.
    pub(crate) is_loose: bool,
    /// The text changes to a directory that is known only at run time.
    pub(crate) is_lost: bool,
}

/// Receives what is found in a call, in order.
pub(crate) trait Sink {
    /// Receives a command or call with its operands.
    fn site(&mut self, operands: &[Operand<'_>], bases: &Bases<'_>);

    /// Receives a text that may contain anything: a here-document, an interpreter's program.
    fn text(&mut self, text: &str, bases: &Bases<'_>);

    /// Receives the values of a call that may connect to what they name.
    fn values(&mut self, _values: &[&str]) {}

    /// Receives the words of a command.
    fn command(&mut self, _argv: &[crate::shell::Word<'_>]) {}

    /// Receives the words of what may be a command.
    fn guessed(&mut self, argv: &[crate::shell::Word<'_>]) {
        self.command(argv);
    }

    /// Receives a text that a program of this name is given and may run.
    fn given(&mut self, _program: &str, _text: &str) {}

    /// Receives the file of a redirect, which may be a connection.
    fn redirect(&mut self, _target: &crate::shell::Word<'_>) {}

    /// Receives a command of a text with its assignments and redirects.
    fn whole(&mut self, _command: &crate::shell::Command<'_>) {}

    /// Receives the news that the last command gets further words, known only when it runs.
    fn opened(&mut self) {
        self.unseen("gets names that are only known when it runs");
    }

    /// Receives the news that a part cannot be seen and may reach anything.
    fn unseen(&mut self, _why: &'static str) {}

    /// Returns true when nothing that follows can change the finding.
    fn is_done(&self) -> bool {
        false
    }
}

/// Returns the path that a text names from a base, for a look-up on the host.
pub(crate) fn joined(base: &str, text: &str) -> String {
    match text.starts_with('/') {
        true => text.to_owned(),
        false => [base, "/", text].concat(),
    }
}
