//! The messages of zeptoclaw's workflow bridge.

/// Returns a request for approval of a workflow.
#[must_use]
pub fn request(workflow: &str, execution: &str, message: &str) -> String {
    let execution = short(execution);
    format!(
        "[r8r] Approval needed for {workflow} ({execution})\n> {message}\n\
         Reply: approve / reject [reason]"
    )
}

/// Returns the message that an approval has expired.
#[must_use]
pub fn expiry(workflow: &str, execution: &str, elapsed_s: u64) -> String {
    let (execution, elapsed) = (short(execution), elapsed(elapsed_s));
    format!(
        "[r8r] Approval for {workflow} ({execution}) expired after {elapsed}.\n\
         Re-run the workflow to try again."
    )
}

/// The reply to words that decide nothing.
pub const HELP: &str = "I didn't understand that. Reply **approve** or **reject [reason]**.";

/// Returns the first eight characters of an id.
#[must_use]
pub fn short(id: &str) -> &str {
    id.char_indices().nth(8).and_then(|(at, _)| id.get(..at)).unwrap_or(id)
}

/// Formats a duration in its largest units.
fn elapsed(seconds: u64) -> String {
    match (seconds / 3600, seconds % 3600 / 60) {
        (0, 0) => format!("{seconds}s"),
        (0, minutes) => format!("{minutes}m"),
        (hours, minutes) => format!("{hours}h {minutes}m"),
    }
}
