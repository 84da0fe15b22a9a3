//! The meaning of people's words at the terminal and in a chat.

/// The meaning of a line at the terminal's prompt.
#[derive(Clone, Debug, PartialEq, Eq)]
#[must_use]
pub enum CliAnswer {
    /// Yes.
    Approved,
    /// A no, with the text for the model.
    Denied(String),
    /// Neither; the question is repeated.
    AskAgain,
}

/// The decision in a chat message.
#[derive(Clone, Debug, PartialEq, Eq)]
#[must_use]
pub enum ChatReply {
    /// It approves.
    Approved {
        /// The words after the first.
        reason: String,
    },
    /// It rejects.
    Rejected {
        /// The words after the first.
        reason: String,
    },
}

/// Reads a line at the prompt; `None` is the end of the input.
// FAIL-CLOSED: an empty line is a no, and so is the end of the input.
pub fn cli_answer(line: Option<&str>) -> CliAnswer {
    match line.map(|line| line.trim().to_lowercase()).as_deref() {
        Some("y" | "yes") => CliAnswer::Approved,
        None | Some("" | "n" | "no") => CliAnswer::Denied("Execution not approved.".to_owned()),
        Some(_) => CliAnswer::AskAgain,
    }
}

/// Reads a chat message: its first word decides, the others are the reason. Returns `None` when it
/// decides nothing.
///
/// The system takes any sentence that starts with `y` or `ok` for an approval. Here these two
/// approve only on their own, and a question approves nothing; `compat` reads as the system does.
// FAIL-CLOSED: a rejection is taken at its first word, as in the system.
#[must_use]
pub fn reply(text: &str, compat: bool) -> Option<ChatReply> {
    let text = text.trim();
    let (first, rest) = text.split_once(char::is_whitespace).unwrap_or((text, ""));
    let reason = rest.trim().to_owned();
    // "ok, but first …" is talk and not an approval.
    let small_talk = !reason.is_empty() && !compat;
    match first.to_lowercase().as_str() {
        "y" | "ok" if small_talk => None,
        "approve" | "approved" | "yes" | "lgtm" if small_talk && text.ends_with('?') => None,
        // The words of zeptoclaw's own parser.
        "approve" | "approved" | "yes" | "y" | "lgtm" | "ok" => {
            Some(ChatReply::Approved { reason })
        }
        "reject" | "rejected" | "no" | "n" | "deny" | "denied" => {
            Some(ChatReply::Rejected { reason })
        }
        _ => None,
    }
}
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
    let execution = short(execution);
    let elapsed = elapsed(elapsed_s);
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
