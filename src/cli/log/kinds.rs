//! The kinds of events.

/// All of them.
const KINDS: [&str; 46] = [
    "asked",
    "shown",
    "voted",
    "answered",
    "expired",
    "cancelled",
    "postponed",
    "undone",
    "overtaken",
    "reminded",
    "escalated",
    "handed_over",
    "undelivered",
    "started",
    "finished",
    "refused",
    "ruled",
    "allowed",
    "review",
    "reviewed",
    "signed_in",
    "saved",
    "revoked",
    "budget_used",
    "next_try_approved",
    "mode",
    "paused",
    "resumed",
    "away",
    "snoozed",
    "back",
    "agent_paused",
    "agent_resumed",
    "token_added",
    "token_rotated",
    "token_revoked",
    "passkey_added",
    "passkey_removed",
    "passkey_refused",
    "config",
    "rules",
    "restored",
    "forgot",
    "log_broken",
    "log_accepted",
    "log_key",
];

/// A kind as it is written after `--kind`. One that does not exist would match nothing, as if
/// nothing had happened.
pub(super) fn known(text: &str) -> Result<String, String> {
    if KINDS.contains(&text) {
        return Ok(text.to_owned());
    }
    let likeness = |kind: &&str| strsim::jaro_winkler(text, kind);
    let near = KINDS.iter().copied().filter(|kind| likeness(kind) > 0.75);
    let near = near.max_by(|a, b| likeness(a).total_cmp(&likeness(b)));
    Err(match near {
        Some(near) => format!("no event is of this kind; did you mean `{near}`?"),
        None => "no event is of this kind; `countersign log --help` lists them".to_owned(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_kind_that_does_not_exist_is_refused_with_the_one_that_was_meant() {
        assert_eq!(known("answered"), Ok("answered".to_owned()));
        let near = "no event is of this kind; did you mean `answered`?";
        assert_eq!(known("anwsered"), Err(near.to_owned()));
        let none = "no event is of this kind; `countersign log --help` lists them";
        assert_eq!(known("xyz"), Err(none.to_owned()));
    }

    #[test]
    fn the_documentation_names_every_kind_and_no_other() {
        let page = include_str!("../../../docs/log.md");
        let table = page.split("| kind | what happened |").nth(1).unwrap_or_default();
        let rows = table.lines().skip(2).take_while(|line| line.starts_with('|'));
        let cells = rows.filter_map(|row| row.split('|').nth(1));
        let mut named: Vec<&str> =
            cells.flat_map(|cell| cell.split('`').skip(1).step_by(2)).collect();
        let mut known = KINDS.to_vec();
        named.sort_unstable();
        known.sort_unstable();
        assert_eq!(named, known);
    }
}
