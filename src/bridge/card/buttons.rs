//! The buttons of an ask's card: yes and no at once, everything else behind *More…*; and the second
//! step of a critical ask, which says once more what will happen.

use crate::{
    card::{self, Origin, always, change, effects, no_call, question},
    token::{ButtonToken, Pressed},
};
use countersign_domain::{OnDeny, PromptChoice as Way};
use countersign_gate::ask::{Ask, Scope, edit::editable};
use countersign_people::answer::TextPurpose;
use countersign_port::{Block, Button, ButtonStyle, Card, DiffLine, DiffSide, brief, excerpt};
use countersign_tokens::clock;

/// All of an open ask. While everything is paused only those that deny: no other counts.
pub(super) fn of_open(ask: &Ask, origin: Origin<'_>) -> Buttons {
    let maker = maker(ask, origin);
    let rows_alone = |rows| Buttons { rows, more: Vec::new() };
    let question = ask.body.call.questions.get(maker.step);
    let mut buttons = match (&ask.progress.edit, question, &ask.body.call.budget) {
        (Some(edit), ..) => rows_alone(change::proposal_buttons(ask, edit, origin)),
        (None, Some(_), _) => rows_alone(options(ask, maker)),
        _ if ask.body.resumes.is_some() => no_call::resumption_buttons(maker),
        _ if ask.body.review.is_some() => no_call::review_buttons(maker),
        (None, None, Some(budget)) => no_call::budget_buttons(budget, maker),
        _ if ask.body.critical => critical(ask, maker),
        _ if ask.body.call.appeal.is_some() => appeal(ask, maker),
        _ => permission(ask, maker),
    };
    if ask.stopped.is_some() {
        buttons.rows.iter_mut().for_each(|row| row.retain(denies));
        buttons.rows.retain(|row| !row.is_empty());
        buttons.more.retain(denies);
    }
    buttons
}

/// Whether a button denies, or asks for the words of a denial.
fn denies(button: &Button) -> bool {
    let reason = |token: ButtonToken| token.pressed == Pressed::Words(TextPurpose::Reason);
    button.style == ButtonStyle::Deny || ButtonToken::read(&button.token).is_some_and(reason)
}

/// Makes buttons for the step that an ask is at.
fn maker<'a>(ask: &Ask, origin: Origin<'a>) -> Maker<'a> {
    Maker { origin, step: if ask.is_question() { ask.progress.current() } else { 0 } }
}

fn options(ask: &Ask, maker: Maker<'_>) -> Vec<Vec<Button>> {
    let Some(asked) = ask.body.call.questions.get(maker.step) else { return Vec::new() };
    let options = asked.options.iter().enumerate().map(|(at, option)| {
        let chosen = ask.progress.chosen.contains(&at);
        let style = if chosen { ButtonStyle::Chosen } else { ButtonStyle::Choice };
        maker.button(&question::label(asked, at, option), style, Pressed::Choose(at))
    });
    let options: Vec<_> = options.flatten().collect();
    let per_row = match options.len() {
        0..=4 => 1,
        5..=8 => 2,
        _ => 5,
    };
    let mut rows: Vec<_> = options.chunks(per_row).map(<[Button]>::to_vec).collect();
    let submit = || maker.button("Submit", ButtonStyle::Submit, Pressed::Submit);
    rows.push(row([
        question::offers_several(asked).then(submit).flatten(),
        maker.button("Other…", ButtonStyle::Text, Pressed::Text),
        maker.button("Decline", ButtonStyle::Deny, Pressed::Deny),
    ]));
    rows
}

/// The button of a closed ask: what its answer stored can be revoked for some time; and what nobody
/// answered in time can be approved for when it comes again.
// All others go: disabled, they would fill a phone's screen below the line that says how it ended.
pub(super) fn of_closed(ask: &Ask, origin: Origin<'_>) -> Vec<Vec<Button>> {
    let maker = maker(ask, origin);
    let can = ask.answer().is_some_and(|answer| answer.stored.undo_until.is_some());
    let button = if can {
        maker.button("Undo", ButtonStyle::Choice, Pressed::Undo)
    } else if ask.takes_next_try() {
        let lasts = clock::brief_span(i64::from(ask.body.late_yes_s) * 1_000);
        let label = format!("Approve the next try ({lasts})");
        maker.button(&label, ButtonStyle::Choice, Pressed::Next)
    } else {
        None
    };
    button.map(|button| vec![button]).into_iter().collect()
}

/// No first: a machine has blocked this call. Either answer is for this one time.
fn appeal(ask: &Ask, maker: Maker<'_>) -> Buttons {
    let first = row([
        maker.button("Leave it blocked", ButtonStyle::Deny, Pressed::Deny),
        maker.button("Let it run once", ButtonStyle::Approve, Pressed::Approve(Scope::Once)),
    ]);
    let mut more = permission(ask, maker).more;
    more.retain(denies);
    Buttons { rows: vec![first], more }
}

/// Yes, always and no in one row; all else behind *More…*.
fn permission(ask: &Ask, maker: Maker<'_>) -> Buttons {
    let body = &ask.body;
    let remember = |scope| {
        let label = always::label(ask, scope)?;
        maker.button(&label, ButtonStyle::Always, Pressed::Approve(scope))
    };
    let deny = |choice, label, then| {
        let offered = body.choices.contains(&choice) && body.deny != then;
        offered.then(|| maker.button(label, ButtonStyle::Deny, Pressed::DenyAnd(then)))?
    };
    let first = row([
        maker.button("Approve", ButtonStyle::Approve, Pressed::Approve(Scope::Once)),
        if always::opens_choice(ask) {
            let all = Pressed::ChooseParts(always::all_parts(body));
            maker.button("Always…", ButtonStyle::Always, all)
        } else {
            remember(Scope::Always)
        },
        plain_deny(ask, maker),
    ]);
    let edit = editable(&body.call)
        .filter(|_| !body.takes_votes())
        .and_then(|_| maker.button("Edit…", ButtonStyle::Text, Pressed::Words(TextPurpose::Edit)));
    let more = row([
        remember(Scope::Timed(600)),
        remember(Scope::Session),
        remember(Scope::Timed(86_400)),
        remember(Scope::Prefix),
        remember(Scope::Exact),
        deny_with_reason(maker),
        deny(Way::Skip, "Skip", OnDeny::GoOn),
        deny(Way::DenyAndStop, "Deny and stop", OnDeny::Stop),
        deny(Way::DenyAndExplain, "Deny and explain", OnDeny::Explain),
        maker.button("Approve with a note…", ButtonStyle::Text, Pressed::Words(TextPurpose::Note)),
        edit,
    ]);
    Buttons { rows: vec![first], more }
}

/// No first; yes only in a second step.
// SECURITY: no button of this view approves.
fn critical(ask: &Ask, maker: Maker<'_>) -> Buttons {
    let reason = deny_with_reason(maker);
    let review = maker.button("Review and approve…", ButtonStyle::Open, Pressed::Review);
    let rows = vec![row([plain_deny(ask, maker), reason]), row([review])];
    let mut more = permission(ask, maker).more;
    more.retain(|button| button.style == ButtonStyle::Deny);
    Buttons { rows, more }
}

/// The second step of a critical ask: its yes says what will happen.
pub(super) fn confirm(ask: &Ask, origin: Origin<'_>) -> Vec<Vec<Button>> {
    let maker = maker(ask, origin);
    let order = effects::as_order(ask).unwrap_or_else(|| "run it".to_owned());
    let whole = format!("Yes, {order}");
    let label = match whole.chars().count() <= LABEL {
        true => whole,
        // Room for the count of what is cut.
        false => format!("Yes, {}", brief(&order, LABEL - 14)),
    };
    vec![
        row([maker.button("‹ Back", ButtonStyle::Open, Pressed::Back)]),
        row([maker.button(&label, ButtonStyle::Confirm, Pressed::Confirm)]),
    ]
}

fn plain_deny(ask: &Ask, maker: Maker<'_>) -> Option<Button> {
    let label = match ask.body.deny {
        OnDeny::GoOn => "Deny",
        OnDeny::Stop => "Deny and stop",
        OnDeny::Explain => "Deny and explain",
    };
    maker.button(label, ButtonStyle::Deny, Pressed::Deny)
}

pub(super) fn deny_with_reason(maker: Maker<'_>) -> Option<Button> {
    maker.button("Deny with reason…", ButtonStyle::Text, Pressed::Words(TextPurpose::Reason))
}

/// What fits on a button on every platform; characters.
pub(super) const LABEL: usize = 34;

/// Makes buttons for one step of one card.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Maker<'a> {
    pub(crate) origin: Origin<'a>,
    pub(crate) step: usize,
}

impl Maker<'_> {
    /// A button; `None` if its token would be too long.
    pub(crate) fn button(
        self,
        label: &str,
        style: ButtonStyle,
        pressed: Pressed,
    ) -> Option<Button> {
        let Origin { nonce, store } = self.origin;
        let nonce = nonce.to_owned();
        let store = store.to_owned();
        let token = ButtonToken { nonce, step: self.step, pressed, store }.write()?;
        Some(Button { token, label: label.to_owned(), style })
    }
}

/// The buttons of a card.
#[derive(Debug, Default)]
pub(super) struct Buttons {
    pub rows: Vec<Vec<Button>>,
    pub more: Vec<Button>,
}

pub(super) fn row<const N: usize>(buttons: [Option<Button>; N]) -> Vec<Button> {
    buttons.into_iter().flatten().collect()
}

/// A text that is longer is cut in the second step: the first step has shown it, and no platform
/// has to look it up.
const REVIEWED: usize = 6_000;
/// The same of a change: so many lines, and so much of each.
const LINES: usize = 100;
const LINE: usize = 160;

/// Draws the second step: what will happen, on the button that approves.
#[must_use]
pub fn review(ask: &Ask, origin: Origin<'_>) -> Card {
    let mut card = card::draw(ask, origin);
    // What was submitted cannot be approved while a change of it is proposed, or in a pause.
    if !ask.is_open() || ask.progress.edit.is_some() || ask.stopped.is_some() {
        return card;
    }
    card.blocks.retain(|block| !matches!(block, Block::Details { .. }));
    card.blocks.iter_mut().for_each(shorten);
    let text = "Approve once? This is the last confirmation.".to_owned();
    card.blocks.push(Block::Note { text });
    (card.buttons, card.more) = (confirm(ask, origin), Vec::new());
    card
}

/// Cuts what is long in the middle.
// SECURITY: what is cut is counted where it was, and the end is kept: the dangerous part likes it.
fn shorten(block: &mut Block) {
    match block {
        Block::Code { text, .. } | Block::Quote { text, .. } => {
            let cut = excerpt(text, REVIEWED);
            if let Some(tail) = cut.tail {
                let hidden = format!("⋮ {} characters; ‹ Back shows them", cut.hidden);
                *text = format!("{}\n{hidden}\n{tail}", cut.head);
            }
        }
        Block::Diff { lines, .. } => {
            let over = lines.len().saturating_sub(LINES);
            if over > 0 {
                let text = format!("{over} more lines of the change; ‹ Back shows them");
                let from = LINES - LINES / 3;
                let cut = DiffLine { side: DiffSide::Skipped, text };
                lines.splice(from..from + over, [cut]);
            }
            lines.iter_mut().for_each(|line| shorten_line(&mut line.text));
        }
        _ => {}
    }
}

fn shorten_line(text: &mut String) {
    let cut = excerpt(text, LINE);
    if let Some(tail) = cut.tail {
        *text = format!("{} ⋯{} characters⋯ {tail}", cut.head, cut.hidden);
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "tests fail by panicking")]
    use super::*;
    use countersign_gate::{ask::Body, call::Call};
    use countersign_port::diff_text;
    use serde_json::json;

    const CARD: Origin<'_> = Origin { nonce: "k3J9sQ0aZ_-b4LmX7yTn2w", store: "0wn5t0re" };

    fn reviewed(tool: &str, args: serde_json::Value) -> String {
        let call = Call::new("a", "s", tool, args);
        let body = Body { critical: true, ..Body::new(call, "no rule allows it") };
        let card = review(&Ask::opened("one", body.call.digest(), body, 0), CARD);
        let text = |block: &Block| match block {
            Block::Code { text, .. } => Some(text.clone()),
            Block::Diff { lines, .. } => Some(diff_text(lines)),
            _ => None,
        };
        card.blocks.iter().filter_map(text).max_by_key(String::len).unwrap()
    }

    #[test]
    fn a_long_change_keeps_its_end_and_says_how_many_lines_are_cut() {
        let new: Vec<_> = (1..=500).map(|n| format!("line {n}")).collect();
        let args = json!({"file_path": "/x", "old_string": "", "new_string": new.join("\n")});
        let text = reviewed("Edit", args);
        let lines: Vec<_> = text.lines().collect();
        let cut = "⋮ 400 more lines of the change; ‹ Back shows them";
        assert_eq!(
            (lines.len(), lines[66], lines[67], lines[68]),
            (101, "+ line 67", cut, "+ line 468")
        );
        assert_eq!((lines[0], lines[100]), ("+ line 1", "+ line 500"));
        let short =
            json!({"file_path": "/x", "old_string": "", "new_string": new[..100].join("\n")});
        assert_eq!(reviewed("Edit", short).lines().last(), Some("+ line 100"));
    }

    #[test]
    fn a_long_line_of_a_change_keeps_its_end_and_says_how_much_is_cut() {
        let new = format!("{};rm -rf ~", "x".repeat(1_000));
        let text =
            reviewed("Edit", json!({"file_path": "/x", "old_string": "", "new_string": new}));
        assert!(text.contains("x ⋯849 characters⋯ x") && text.ends_with(";rm -rf ~"), "{text}");
    }

    #[test]
    fn a_long_command_keeps_its_end_and_says_how_much_is_cut() {
        let command = format!("echo {};rm -rf ~", "x".repeat(7_000));
        let text = reviewed("Bash", json!({"command": command}));
        assert!(text.contains("\n⋮ 1014 characters; ‹ Back shows them\n"), "{text}");
        assert!(text.starts_with("echo x") && text.ends_with(";rm -rf ~"), "{text}");
    }
}
