//! The text that a card shows of a command.

/// Returns true when the command gets the red line: a hint for a person, never a verdict.
#[must_use]
pub fn destructive_warning(command: &str) -> bool {
    let text = command.to_lowercase();
    // `dd` counts only as a word of its own; other words contain these letters too.
    text.starts_with("dd ") || MARKS.iter().any(|mark| text.contains(mark))
}

/// Returns what the card shows of a command: all of it. The peer's own card omits what follows the
/// last redirect.
#[must_use]
pub fn card_label(command: &str, compat: bool) -> &str {
    let command = command.trim();
    if !compat {
        return command;
    }
    // The peer shows `echo x >> ~/.ssh/authorized_keys` as `echo x`.
    let bytes = command.as_bytes();
    let begins = |at: usize| at == 0 || bytes.get(at - 1).is_some_and(u8::is_ascii_whitespace);
    let last = command.rmatch_indices('>').map(|(at, _)| at).find(|at| begins(*at));
    last.and_then(|at| command.get(..at)).unwrap_or(command).trim_end()
}

const MARKS: &[&str] = &[
    "rm -rf",
    "rm -fr",
    "git push --force",
    "git push -f",
    " dd ",
    "mkfs",
    ":(){",
    "> /dev/sd",
    "chmod -r 777",
    "remove-item -recurse -force",
    "format-volume",
];
