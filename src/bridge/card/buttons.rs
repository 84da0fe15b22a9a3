//! The buttons of an ask's card: yes and no at once, everything else behind *More…*.

use super::{
    super::token::{ButtonToken, Pressed},
    budget, edit, effects,
    maker::{LABEL, Maker},
    origin::Origin,
    parts, question, remembered, resumption, reviewed,
    rows::{Buttons, row},
};
use countersign_gate::ask::{Ask, Scope, edit::editable};
use countersign_people::answer::TextPurpose;
use countersign_port::{Button, ButtonStyle, brief};
use countersign_profiles::{OnDeny, PromptChoice as Way};

/// All of an open ask. While everything is paused only those that deny: no other counts.
pub(super) fn draw(ask: &Ask, origin: Origin<'_>) -> Buttons {
    let maker = maker(ask, origin);
    let rows_alone = |rows| Buttons { rows, more: Vec::new() };
    let question = ask.body.call.questions.get(maker.step);
    let mut buttons = match (&ask.progress.edit, question) {
        (Some(edit), _) => rows_alone(edit::buttons(ask, edit, origin)),
        (None, Some(_)) => rows_alone(options(ask, maker)),
        (None, None) if ask.body.resumes.is_some() => resumption::buttons(maker),
        (None, None) if ask.body.review.is_some() => reviewed::buttons(maker),
        (None, None) if ask.body.call.budget.is_some() => match &ask.body.call.budget {
            Some(budget) => budget::buttons(budget, maker),
            None => Buttons::default(),
        },
        (None, None) if ask.body.critical => critical(ask, maker),
        (None, None) => permission(ask, maker),
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

/// The button of a closed ask: what its answer stored can be revoked for some time.
pub(super) fn closed(ask: &Ask, origin: Origin<'_>) -> Vec<Vec<Button>> {
    let can = ask.answer().is_some_and(|answer| answer.stored.undo_until.is_some());
    let undo = maker(ask, origin).button("Undo", ButtonStyle::Choice, Pressed::Undo);
    undo.filter(|_| can).map(|undo| vec![undo]).into_iter().collect()
}

/// Yes, always and no in one row; all else behind *More…*.
fn permission(ask: &Ask, maker: Maker<'_>) -> Buttons {
    let body = &ask.body;
    let remember = |scope| {
        let label = remembered::label(ask, scope)?;
        maker.button(&label, ButtonStyle::Always, Pressed::Approve(scope))
    };
    let deny = |choice, label, then| {
        let offered = body.choices.contains(&choice) && body.deny != then;
        offered.then(|| maker.button(label, ButtonStyle::Deny, Pressed::DenyAnd(then)))?
    };
    let first = row([
        maker.button("Approve", ButtonStyle::Approve, Pressed::Approve(Scope::Once)),
        match remembered::opens(ask) {
            true => {
                let all = Pressed::ChooseParts(parts::all(body));
                maker.button("Always…", ButtonStyle::Always, all)
            }
            false => remember(Scope::Always),
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
        maker.button("Deny with reason…", ButtonStyle::Text, Pressed::Words(TextPurpose::Reason)),
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
    let permission = permission(ask, maker);
    let reason =
        maker.button("Deny with reason…", ButtonStyle::Text, Pressed::Words(TextPurpose::Reason));
    let review = maker.button("Review and approve…", ButtonStyle::Open, Pressed::Review);
    let rows = vec![row([plain_deny(ask, maker), reason]), row([review])];
    let denies = |button: &Button| button.style == ButtonStyle::Deny;
    Buttons { rows, more: permission.more.into_iter().filter(denies).collect() }
}

/// The second step of a critical ask: its yes says what will happen.
pub(super) fn review(ask: &Ask, origin: Origin<'_>) -> Vec<Vec<Button>> {
    let maker = maker(ask, origin);
    let order = effects::order(ask).unwrap_or_else(|| "run it".to_owned());
    // Room for the count of what is cut.
    let label = format!("Yes, {}", brief(&order, LABEL - 14));
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
