//! The hosts that a program contacts, and its role in a pipeline.

use super::when::When;
use super::words::Words;

/// The hosts that a program contacts, and what it publishes.
#[derive(Clone, Copy)]
pub(crate) enum Reach {
    /// Publishes with this sub-command and one of these words behind it (any word when empty).
    Publishes { sub: Words, second: Words, title: Title, to: To },
    /// Each operand of the form `host:path`.
    Copies,
    /// Its first operand is a host.
    Host,
    /// Its operands are addresses.
    Addresses,
    /// A repository or the default remote, with these sub-commands.
    Repository(Words),
    /// Its package registry, with these sub-commands.
    Registry(Words),
}

/// The number of a command's words that a card repeats.
#[derive(Clone, Copy)]
pub(crate) enum Title {
    /// The name and the sub-command.
    Two,
    /// The word behind it as well.
    Three,
}

/// The destination of a publication.
#[derive(Clone, Copy)]
pub(crate) enum To {
    /// A fixed destination of the program.
    Known(&'static str),
    /// All operands behind the sub-command, or this text when there are none.
    Rest(&'static str),
    /// The operand behind the sub-command.
    Second,
    /// The last operand.
    Last,
}

/// The role of a program in a pipeline.
#[derive(Clone, Copy)]
pub(crate) struct Pipe {
    /// Turns its input into another text.
    pub(crate) decodes: When,
    /// Sends its input to another host.
    pub(crate) sends: When,
    /// Prints secrets; `None` means: when one of its words names a secret.
    pub(crate) tells: Option<When>,
}

impl Pipe {
    pub(crate) const NONE: Self = Self { decodes: When::Never, sends: When::Never, tells: None };

    pub(crate) const fn decodes(when: When) -> Self {
        Self { decodes: when, ..Self::NONE }
    }

    pub(crate) const fn sends(when: When) -> Self {
        Self { sends: when, ..Self::NONE }
    }

    pub(crate) const fn tells(when: When) -> Self {
        Self { tells: Some(when), ..Self::NONE }
    }

    pub(crate) const fn and_tells(self, when: When) -> Self {
        Self { tells: Some(when), ..self }
    }
}
