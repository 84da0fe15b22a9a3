//! The commands for which oh-my-pi's bash tool always asks a person. They are searched in the raw
//! text, so a quoted mention counts too, and so does any absolute target of a forced `rm`.

use std::sync::LazyLock;

use regex::RegexSet;

/// `\b` separates ASCII words here, as in the system's own expressions.
const SHAPES: [&str; 21] = [
    // Deletion and permissions, recursively from an absolute path.
    r"(?i)(?-u:\b)rm\s+(?:-\S+\s+)*(?:--force|--recursive|-[a-z]*[rf][a-z]*)\s+(?:-\S+\s+)*/",
    r"(?i)(?-u:\b)rm\s+(?:-\S+\s+)*--no-preserve-root(?-u:\b)",
    r"(?i)(?-u:\b)sudo\s+rm(?-u:\b)",
    r"(?i)(?-u:\b)chmod\s+-R\s+[0-7]+\s+/",
    r"(?-u:\b)chmod\s+-R\s+[-+=,agorstuwxX]+\s+/",
    r"(?i)(?-u:\b)chown\s+-R\s+\S+\s+/",
    // Disks.
    r"(?i)>\s*/dev/sd[a-z]",
    r"(?i)(?-u:\b)mkfs(?:\.|(?-u:\b))",
    r"(?i)(?-u:\b)dd\s+if=.+of=/dev/",
    r"(?i)(?-u:\b)shred\s+/dev/",
    r"(?i)(?-u:\b)cryptsetup(?-u:\b)",
    // Login accounts.
    r"(?i)>\s*/etc/(?:passwd|shadow|sudoers)(?-u:\b)",
    r"(?i)(?-u:\b)tee\s+(?:-a\s+)?/etc/(?:passwd|shadow|sudoers)(?-u:\b)",
    // Fetched text that is run.
    r"(?i)(?-u:\b)(?:curl|fetch|wget)(?-u:\b)[^|]*\|\s*(?:bash|fish|sh|zsh)(?-u:\b)",
    r"(?i)(?:^|[\s;&|(])(?:bash|sh|source|zsh|\.)\s+<\(\s*(?:curl|fetch|wget)(?-u:\b)",
    r#"(?i)(?-u:\b)eval\s+(?:["'`]?\$\(|`)\s*(?:curl|fetch|wget)(?-u:\b)"#,
    // The machine itself, and shells for others.
    r":\(\)\s*\{\s*:\s*\|\s*:",
    r"(?-u:\b)kill\s+-9\s+1(?-u:\b)",
    r"(?i)(?:^|[\s;&|(])(?:halt|poweroff|reboot|shutdown)(?:\s|$|[;|&])",
    r"(?i)(?:^|[\s;&|(])init\s+0(?-u:\b)",
    r"(?i)(?-u:\b)nc(?-u:\b)[^|;]*\s-[a-z]*[ec][a-z]*\s",
];

/// FAIL-CLOSED: if the expressions could not be compiled, every text would match; a test checks
/// that they can.
static CRITICAL: LazyLock<Option<RegexSet>> = LazyLock::new(|| RegexSet::new(SHAPES).ok());

/// Returns true when the text has one of the shapes.
#[must_use]
pub fn matches(text: &str) -> bool {
    // A match only asks. Another project that denied on such a list measured 893 false denials in
    // 40 of 147 tasks.
    CRITICAL.as_ref().is_none_or(|shapes| shapes.is_match(text))
}

#[cfg(test)]
mod tests {
    use super::matches;

    #[test]
    fn the_expressions_can_be_read() {
        assert!(!matches("echo hello"));
        assert!(matches("rm -rf /"));
    }
}
