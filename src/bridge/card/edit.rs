//! A change that somebody proposes: what would run instead, and the buttons for it.

use super::{
    super::token::{Pressed, Token},
    origin::Origin,
    sheet::Sheet,
};
use crate::{
    gate::{
        answer::EditStep,
        ask::{
            Ask,
            edit::{ProposedEdit, editable, edited_text},
        },
        call::Accepts,
    },
    text::line,
};
use countersign_port::{Button, ButtonStyle};
use similar::TextDiff;

/// How much of a digest people are shown; characters.
const DIGEST: usize = 12;

/// Writes the change as a diff, and what it touches.
pub(super) fn draw(ask: &Ask, edit: &ProposedEdit, sheet: &mut Sheet) {
    let call = &ask.body.call;
    let new = edited_text(call, &edit.args);
    sheet.code("change", &diff(editable(call).unwrap_or_default(), &new));
    let digest: String = edit.digest.chars().take(DIGEST).collect();
    sheet.note(format!("Changed by {}; nothing of it runs yet. Digest {digest}.", line(&edit.by)));
    if edit.critical {
        sheet.note("The changed call is critical.");
    }
    if !edit.effects.is_empty() {
        let effects: Vec<String> = edit.effects.iter().take(4).map(|it| line(it)).collect();
        sheet.note(format!("The changed call touches: {}", effects.join("; ")));
    }
    if !takes_edits(ask) {
        sheet.note("This agent takes no changed call: it is told no, with the text as the reason.");
    }
}

/// The buttons of an ask with a proposed change. What was submitted cannot be approved meanwhile.
pub(super) fn buttons(ask: &Ask, edit: &ProposedEdit, origin: Origin<'_>) -> Vec<Vec<Button>> {
    let button = |label: &str, style, pressed, step| {
        let (nonce, store) = (origin.nonce.to_owned(), Some(origin.store.to_owned()));
        let token = Token { nonce, step, pressed, store }.write()?;
        Some(Button { token, label: label.to_owned(), style })
    };
    let step = |label, style, step| button(label, style, Pressed::Edit(step), edit.nth);
    let yes = match (takes_edits(ask), edit.critical, edit.reviewed) {
        (false, ..) => step("Deny, with this text", ButtonStyle::Deny, EditStep::Approve),
        (true, true, false) => step("Review the change…", ButtonStyle::Text, EditStep::Review),
        (true, true, true) => {
            step("Yes, run the changed call", ButtonStyle::Approve, EditStep::Approve)
        }
        (true, false, _) => step("Approve as changed", ButtonStyle::Approve, EditStep::Approve),
    };
    let no = button("Deny", ButtonStyle::Deny, Pressed::Deny, 0);
    let first = if edit.critical { [no, yes] } else { [yes, no] };
    let drop = step("Drop the change", ButtonStyle::Choice, EditStep::Drop);
    vec![first.into_iter().flatten().collect(), drop.into_iter().collect()]
}

fn takes_edits(ask: &Ask) -> bool {
    ask.body.call.accepts.contains(&Accepts::UpdatedInput)
}

/// The lines that differ, with some around them.
fn diff(old: &str, new: &str) -> String {
    let diff = TextDiff::from_lines(old, new);
    let text = diff.unified_diff().context_radius(2).to_string();
    let lines = text.lines().filter(|line| !line.starts_with("\\ No newline"));
    lines.collect::<Vec<_>>().join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_change_is_shown_as_the_lines_that_differ() {
        let shown = diff("a\nb\nc\nd\ne", "a\nb\nC\nd\ne");
        assert!(shown.ends_with(" a\n b\n-c\n+C\n d\n e"), "{shown}");
        assert!(diff("git push", "git push --dry-run").ends_with("-git push\n+git push --dry-run"));
    }
}
