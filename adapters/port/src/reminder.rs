//! Reminders of cards that nobody answers.

/// What a reminder says, in reply to its card.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reminder {
    /// The bridge's own words; plain text, to be escaped.
    pub text: String,
    /// Whom it mentions: them and nobody else.
    pub people: Vec<Mention>,
}

/// A person whom a message mentions.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mention {
    /// Their lasting id on the platform.
    pub id: String,
    /// Their name, to be escaped.
    pub name: String,
}
