//! Texts that go along with a message as files.

use crate::fit::{one_line, short};

/// A text, exactly.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct Document {
    pub(crate) name: String,
    pub(crate) text: String,
}

/// Names for people who keep the file; nothing from an agent but letters, digits and dashes.
pub(crate) fn file_name(ask: &str, label: &str, index: usize) -> String {
    let plain = |text: &str| -> String {
        text.chars().filter(|c| c.is_ascii_alphanumeric() || *c == '-').take(24).collect()
    };
    let number = if index == 0 { String::new() } else { format!("-{}", index + 1) };
    let label = plain(label);
    let label = if label.is_empty() { "text".to_owned() } else { label };
    format!("{}-{label}{number}.txt", plain(&short(&one_line(ask), 40)))
}
