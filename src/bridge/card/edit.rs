//! A change that somebody proposes: what would run instead, and the buttons for it.

use super::{
    super::token::Pressed, change, maker::Maker, named::first, origin::Origin, sheet::Sheet,
};
use countersign_gate::{
    ask::{
        Ask,
        edit::{ProposedEdit, editable, edited_text},
    },
    call::Accepts,
};
use countersign_people::answer::EditStep;
use countersign_policy::argument_names::FILES;
use countersign_port::{Button, ButtonStyle, line};

/// How much of a digest people are shown; characters.
const DIGEST: usize = 12;

/// Writes the change as a diff, and what it touches.
pub(super) fn draw(ask: &Ask, edit: &ProposedEdit, sheet: &mut Sheet) {
    let call = &ask.body.call;
    let new = edited_text(call, &edit.args);
    let change = change::between(editable(call).unwrap_or_default(), &new);
    let path = first(&call.args, FILES).map_or("proposed change", |it| it.1);
    sheet.change(path, (change.added, change.removed), change.lines);
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
    let maker = |step| Maker { origin, step };
    let step = |label, style, step| maker(edit.nth).button(label, style, Pressed::Edit(step));
    let yes = match (takes_edits(ask), edit.critical, edit.reviewed) {
        (false, ..) => step("Deny, with this text", ButtonStyle::Deny, EditStep::Approve),
        (true, true, false) => step("Review the change…", ButtonStyle::Text, EditStep::Review),
        (true, true, true) => {
            step("Yes, run the changed call", ButtonStyle::Approve, EditStep::Approve)
        }
        (true, false, _) => step("Approve as changed", ButtonStyle::Approve, EditStep::Approve),
    };
    let no = maker(0).button("Deny", ButtonStyle::Deny, Pressed::Deny);
    let first = if edit.critical { [no, yes] } else { [yes, no] };
    let drop = step("Drop the change", ButtonStyle::Choice, EditStep::Drop);
    vec![first.into_iter().flatten().collect(), drop.into_iter().collect()]
}

fn takes_edits(ask: &Ask) -> bool {
    ask.body.call.accepts.contains(&Accepts::UpdatedInput)
}
