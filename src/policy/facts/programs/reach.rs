//! Whom a program speaks to, and what it hands on.

use super::when::When;
use super::words::Words;

/// Whom a program speaks to, and what it gives away.
#[derive(Clone, Copy)]
pub(crate) enum Reach {
    /// It publishes with this sub-command, and one of these words behind it (any where empty).
    Publishes { sub: Words, second: Words, title: Title, to: To },
    /// Each operand of the form `host:path`.
    Copies,
    /// Its first operand is a host.
    Host,
    /// Its operands are addresses.
    Addresses,
    /// With these sub-commands: a repository, or the default remote.
    Repository(Words),
    /// With these sub-commands: its package registry.
    Registry(Words),
}

/// How many words of a command a card repeats.
#[derive(Clone, Copy)]
pub(crate) enum Title {
    /// The name and the sub-command.
    Two,
    /// And the word behind it.
    Three,
}

/// Where something goes that is published.
#[derive(Clone, Copy)]
pub(crate) enum To {
    /// That is known of the program.
    Known(&'static str),
    /// All operands behind the sub-command; this where there are none.
    Rest(&'static str),
    /// The operand behind the sub-command.
    Second,
    /// The last operand.
    Last,
}

/// What a program does in a pipeline.
#[derive(Clone, Copy)]
pub(crate) struct Pipe {
    /// It turns its input into another text.
    pub(crate) decodes: When,
    /// It sends its input to another host.
    pub(crate) sends: When,
    /// It prints secrets; where nothing is said, when one of its words names one.
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
