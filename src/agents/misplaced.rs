//! What is said under an event that asks for a decision and cannot be decided there.

use countersign_port::line;

/// The message for the model, and the person at the terminal: where this agent's hook belongs.
pub(super) fn misplaced_message(event: &str, agent: &str, belongs: &str) -> String {
    format!(
        "countersign cannot decide under {}, so this is blocked. Its hook belongs under {belongs}: \
         `countersign connect {agent}` puts it there.",
        // The name comes from stdin and is printed on a terminal.
        line(&event.chars().take(60).collect::<String>())
    )
}
