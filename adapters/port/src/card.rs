//! The platform-neutral picture of an ask.

use serde::{Deserialize, Serialize};

/// What a person sees of one ask in one place.
///
/// [`Card::title`] and the text in [`Block::Code`], [`Block::Quote`] and [`Block::Diff`] come from
/// an agent and are not to be trusted: an adapter shows them literally, so that they can neither
/// format, ping, link nor pass for the card's own words. Everything else is the bridge's own words
/// (plain text, to be escaped too).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Card {
    /// Opaque and unique per ask and target, at most 22 characters `[A-Za-z0-9_-]`. The same card
    /// is posted under the same id when a post is repeated, so a platform may use it to send only
    /// once.
    pub id: String,
    /// The ask's short public id, for people and for file names.
    pub ask: String,
    /// Counts up with every change of the card; the newest is the truth.
    pub revision: u32,
    /// What became of the ask, as a colour or a sign.
    pub tone: Tone,
    /// The first line: the command, file, URL or question itself, on one line, shortened between
    /// words where it is long. It is an agent's text, and also what a notification shows.
    pub title: String,
    /// Whether the first line says all that would run, so that the ask may be approved where nothing
    /// else of it is shown. A critical ask never is.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub whole: bool,
    /// The second line, also of a notification: the worst of what it would do, such as `→ Deletes
    /// /`. Empty where the first line says it, and once closed.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub worst: String,
    /// The next line: agent, project and machine, such as `claude-code · shop on mill`. The adapter
    /// adds the time that is left.
    #[serde(default)]
    pub origin: String,
    /// The content, top to bottom.
    pub blocks: Vec<Block>,
    /// Rows of buttons. At most 4 rows of at most 5 buttons where there is [`Card::more`], else 5.
    /// A closed card may have some too, such as *Undo*.
    pub buttons: Vec<Vec<Button>>,
    /// What is behind *More…*, at most 24: a second keyboard in place, a select or a menu. A
    /// platform that redraws a message for it gets the card by [`crate::Presses::card`].
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub more: Vec<Button>,
    /// When the ask expires, Unix milliseconds; `None` once closed or without deadline.
    pub deadline: Option<i64>,
}

/// What became of an ask.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Tone {
    /// Waiting for a person.
    Open,
    /// Waiting for a person, and critical: a sign and the word come before the first line.
    Critical,
    /// Approved or answered.
    Approved,
    /// Denied.
    Denied,
    /// Nobody answered in time.
    Expired,
    /// The caller went away or answered elsewhere.
    Cancelled,
}

impl Tone {
    /// Whether the ask waits for a person.
    #[must_use]
    pub fn is_open(self) -> bool {
        matches!(self, Self::Open | Self::Critical)
    }

    /// What became of an ask, as a sign before the first line.
    #[must_use]
    pub fn sign(self) -> &'static str {
        match self {
            Self::Open => "🔔",
            Self::Critical => "🛑",
            Self::Approved => "✅",
            Self::Denied => "⛔",
            Self::Expired => "⌛",
            Self::Cancelled => "⚪",
        }
    }
}

/// One part of a card.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase", tag = "kind")]
pub enum Block {
    /// The agent's text, verbatim: a command, arguments, a file's new content. Never cut silently:
    /// what does not fit is said in figures and carried whole as a file (see [`crate::excerpt`]).
    Code {
        /// What it is, such as `command`; empty where that is plain.
        label: String,
        /// The whole text, exactly.
        text: String,
        /// Whether one press approves every line of it, so that a card shows all of them, however
        /// many they are.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        whole: bool,
    },
    /// The agent's words to people, such as a reason or a question.
    Quote {
        /// What it is, such as `question`; empty for the agent's reason, which is shown as
        /// `says: “…”`.
        label: String,
        /// The text.
        text: String,
    },
    /// Short facts, such as agent, session, host and folder.
    Fields {
        /// In the order to be shown.
        fields: Vec<Field>,
    },
    /// A change of a file, line by line.
    Diff {
        /// The file; from an agent. Empty where the first line names it.
        path: String,
        /// How many lines come in.
        added: usize,
        /// How many lines go away.
        removed: usize,
        /// The lines, in order.
        lines: Vec<DiffLine>,
    },
    /// What is rarely needed: folded where the platform can fold, else small. Holds no other
    /// details.
    Details {
        /// In the order to be shown.
        blocks: Vec<Block>,
    },
    /// The bridge's own words on one line, such as what the call touches.
    Note {
        /// The text.
        text: String,
    },
    /// The end of the story: who decided, when, what was stored. Shown on the line of the title.
    Outcome {
        /// The text.
        text: String,
    },
}

/// A short fact.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Field {
    /// The fact's name.
    pub name: String,
    /// Its value; may hold text from an agent.
    pub value: String,
}

/// A line of a change.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct DiffLine {
    /// Where it is.
    pub side: DiffSide,
    /// The line without its end. An agent's text, but for what is skipped.
    pub text: String,
}

/// Where a line of a change is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum DiffSide {
    /// Before and after.
    Both,
    /// Before: it goes away.
    Removed,
    /// After: it comes in.
    Added,
    /// Lines that stay and are not shown: the text counts them, in the bridge's own words.
    Skipped,
}

/// A change as plain text, a sign in front of every line.
///
/// ```
/// use countersign_port::{DiffLine, DiffSide, diff_text};
/// let line = |side, text: &str| DiffLine { side, text: text.into() };
/// let lines = [line(DiffSide::Removed, "listen 80;"), line(DiffSide::Added, "listen 443;")];
/// assert_eq!(diff_text(&lines), "- listen 80;\n+ listen 443;");
/// ```
#[must_use]
pub fn diff_text(lines: &[DiffLine]) -> String {
    let line = |line: &DiffLine| {
        let sign = match line.side {
            DiffSide::Both => "  ",
            DiffSide::Removed => "- ",
            DiffSide::Added => "+ ",
            DiffSide::Skipped => "⋮ ",
        };
        format!("{sign}{}", line.text)
    };
    lines.iter().map(line).collect::<Vec<_>>().join("\n")
}

/// Something to press.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Button {
    /// Opaque, at most 40 bytes of `[A-Za-z0-9_.-]`; carries no authority and no meaning for
    /// adapters.
    pub token: String,
    /// At most 34 characters.
    pub label: String,
    /// How it looks.
    pub style: ButtonStyle,
}

/// How a button looks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ButtonStyle {
    /// Lets this one call go on.
    Approve,
    /// Lets it go on and remembers a rule.
    Always,
    /// Says no.
    Deny,
    /// An option of a question.
    Choice,
    /// An option that is chosen already.
    Chosen,
    /// Ends a multiple choice.
    Submit,
    /// Asks for free text: the core answers its press with [`crate::Outcome::TextWanted`].
    Text,
    /// Opens a view of the card, or leads back from it; decides nothing.
    Open,
    /// Lets a critical call go on, in the second step; looks like the danger that it is.
    Confirm,
}

/// The whole card without any markup.
#[must_use]
pub fn plain(card: &Card) -> String {
    let lines = [&card.title, &card.worst, &card.origin];
    let mut out: String =
        lines.iter().filter(|line| !line.is_empty()).map(|line| format!("{line}\n")).collect();
    for block in &card.blocks {
        out.push('\n');
        plain_block(block, &mut out);
    }
    out
}

fn plain_block(block: &Block, out: &mut String) {
    match block {
        Block::Code { label, text, .. } | Block::Quote { label, text } => {
            out.push_str(&format!("{label}:\n{text}\n"));
        }
        Block::Diff { path, lines, .. } => out.push_str(&format!("{path}\n{}\n", diff_text(lines))),
        Block::Details { blocks } => blocks.iter().for_each(|block| plain_block(block, out)),
        Block::Fields { fields } => {
            for field in fields {
                out.push_str(&format!("{}: {}\n", field.name, field.value));
            }
        }
        Block::Note { text } | Block::Outcome { text } => out.push_str(&format!("{text}\n")),
    }
}
