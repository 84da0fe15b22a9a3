//! What the model is told, in wayland-core's own words where it has them.

use crate::{End, Then};

/// Why an approval was denied that nobody answered in time.
pub const TIMED_OUT: &str = "approval timed out (no host response)";

/// Why an approval was denied, where the host gave no reason.
pub const DENIED_BY_HOST: &str = "denied by host";

/// What stands before the reason in the tool's error result.
const DENIED: &str = "Tool denied: ";

/// The tool's error result for a reason.
#[must_use]
pub fn denied(reason: &str) -> String {
    [DENIED, reason].concat()
}

/// The reason in a tool's error result, for a wire that carries the reason alone.
#[must_use]
pub fn reason_of(told: &str) -> &str {
    told.strip_prefix(DENIED).unwrap_or(told)
}

/// The reason of a `tool_deny`: who decided, and their words. `None` where the call runs.
// INVARIANT: no reason names a person where nobody was asked.
#[must_use]
pub fn reason(end: &End<'_>) -> Option<String> {
    Some(match end {
        End::Approved { .. } => return None,
        End::Denied { by, reason, then } => {
            let words = reason.map_or_else(String::new, |words| format!(": {words}"));
            let then = match then {
                Then::GoOn => "",
                Then::Stop => " (the turn ends here)",
                Then::Explain => " (explain in plain words what you want, and do not try again)",
            };
            format!("denied by {by}{words}{then}")
        }
        End::Forbidden { reason, .. } => format!("denied by policy: {reason}"),
        End::TimedOut { .. } => TIMED_OUT.to_owned(),
        End::Unreachable => "nobody could be asked: no approver is reachable".to_owned(),
        End::Cancelled { reason } => format!("cancelled: {reason}"),
        End::BatchStopped { tool, reason } => {
            let words = reason.map_or_else(String::new, |words| format!(": {words}"));
            format!("{tool} was denied before it, and with it the rest{words}")
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_reason_says_who_decided_and_names_nobody_where_nobody_was_asked() {
        let denied = End::Denied { by: "Ana", reason: Some("not on Fridays"), then: Then::GoOn };
        assert_eq!(reason(&denied).as_deref(), Some("denied by Ana: not on Fridays"));
        let late = End::TimedOut { after_s: 300 };
        assert_eq!(reason(&late).as_deref(), Some("approval timed out (no host response)"));
        let nobody = "nobody could be asked: no approver is reachable";
        assert_eq!(reason(&End::Unreachable).as_deref(), Some(nobody));
        assert_eq!(reason(&End::Approved { by: "Ana" }), None);
    }
}
