//! The text that a card shows of a command.

use crate::{CallEnd, OnDeny};

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

// The texts for the model, in wayland-core's own words where it has them.

/// The reason of an approval that nobody answered in time.
pub const TIMED_OUT: &str = "approval timed out (no host response)";

/// The reason of a denial for which the host gave none.
pub const DENIED_BY_HOST: &str = "denied by host";

/// The text before the reason in the tool's error result.
const DENIED: &str = "Tool denied: ";

/// Returns the tool's error result for a reason.
#[must_use]
pub fn denied(reason: &str) -> String {
    [DENIED, reason].concat()
}

/// Returns the reason in a tool's error result, for a wire that carries only the reason.
#[must_use]
pub fn reason_of(told: &str) -> &str {
    told.strip_prefix(DENIED).unwrap_or(told)
}

/// Returns the reason of a `tool_deny`: who decided, and their words. `None` when the call runs.
// INVARIANT: no reason names a person when nobody was asked.
#[must_use]
pub fn reason(end: &CallEnd<'_>) -> Option<String> {
    Some(match end {
        CallEnd::Approved { .. } => return None,
        CallEnd::Denied { by, reason, then } => {
            let words = reason.map_or_else(String::new, |words| format!(": {words}"));
            let then = match then {
                OnDeny::GoOn => "",
                OnDeny::Stop => " (the turn ends here)",
                OnDeny::Explain => " (explain in plain words what you want, and do not try again)",
            };
            format!("denied by {by}{words}{then}")
        }
        CallEnd::Forbidden { reason, .. } => format!("denied by policy: {reason}"),
        CallEnd::TimedOut { .. } => TIMED_OUT.to_owned(),
        // wayland-core's headless runs reported "denied by user" although nobody was asked (its
        // issue 946).
        CallEnd::Unreachable => "nobody could be asked: no approver is reachable".to_owned(),
        CallEnd::Cancelled { reason } => format!("cancelled: {reason}"),
        CallEnd::BatchStopped { tool, reason } => {
            let words = reason.map_or_else(String::new, |words| format!(": {words}"));
            format!("{tool} was denied before it, and with it the rest{words}")
        }
    })
}

#[cfg(test)]
mod tests {
    use crate::wcore::card::*;

    #[test]
    fn the_reason_says_who_decided_and_names_nobody_where_nobody_was_asked() {
        let denied =
            CallEnd::Denied { by: "Ana", reason: Some("not on Fridays"), then: OnDeny::GoOn };
        assert_eq!(reason(&denied).as_deref(), Some("denied by Ana: not on Fridays"));
        let late = CallEnd::TimedOut { after_s: 300 };
        assert_eq!(reason(&late).as_deref(), Some("approval timed out (no host response)"));
        let nobody = "nobody could be asked: no approver is reachable";
        assert_eq!(reason(&CallEnd::Unreachable).as_deref(), Some(nobody));
        assert_eq!(reason(&CallEnd::Approved { by: "Ana" }), None);
    }
}
