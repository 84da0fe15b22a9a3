//! The buttons of an open ask.

use super::{
    super::token::{Pressed, Token},
    origin::Origin,
    question,
};
use crate::gate::ask::{Ask, Scope};
use countersign_port::{Button, ButtonStyle};
use countersign_profiles::{OnDeny, PromptChoice as Way};

/// All rows of them.
pub(super) fn draw(ask: &Ask, origin: Origin<'_>) -> Vec<Vec<Button>> {
    let step = if ask.is_question() { ask.progress.current() } else { 0 };
    let button = |label: &str, style, pressed| {
        let (nonce, store) = (origin.nonce.to_owned(), Some(origin.store.to_owned()));
        let token = Token { nonce, step, pressed, store }.write()?;
        Some(Button { token, label: label.to_owned(), style })
    };
    let row = |buttons: &[Option<Button>]| buttons.iter().flatten().cloned().collect::<Vec<_>>();
    let Some(asked) = ask.body.call.questions.get(step) else {
        return permission(ask, &button);
    };
    let options = asked.options.iter().enumerate().map(|(at, option)| {
        let chosen = ask.progress.chosen.contains(&at);
        let style = if chosen { ButtonStyle::Chosen } else { ButtonStyle::Choice };
        button(&question::label(asked, at, option), style, Pressed::Choose(at))
    });
    let options: Vec<_> = options.flatten().collect();
    let per_row = match options.len() {
        0..=4 => 1,
        5..=8 => 2,
        _ => 5,
    };
    let mut rows: Vec<_> = options.chunks(per_row).map(<[Button]>::to_vec).collect();
    let submit = || button("Submit", ButtonStyle::Submit, Pressed::Submit);
    rows.push(row(&[
        question::offers_several(asked).then(submit).flatten(),
        button("Other…", ButtonStyle::Text, Pressed::Text),
        button("Decline", ButtonStyle::Deny, Pressed::Deny),
    ]));
    rows
}

/// The buttons under a wish for permission: yes and no first, what is remembered next, other ways
/// to say no last.
fn permission(
    ask: &Ask,
    button: &impl Fn(&str, ButtonStyle, Pressed) -> Option<Button>,
) -> Vec<Vec<Button>> {
    let body = &ask.body;
    let approve = |label: &str, scope| {
        body.offers(scope).then(|| button(label, ButtonStyle::Always, Pressed::Approve(scope)))?
    };
    let deny = |choice, label, then| {
        let offered = body.choices.contains(&choice) && body.deny != then;
        offered.then(|| button(label, ButtonStyle::Deny, Pressed::DenyAnd(then)))?
    };
    let plain_deny = match body.deny {
        OnDeny::GoOn => "Deny",
        OnDeny::Stop => "Deny and stop",
        OnDeny::Explain => "Deny and explain",
    };
    let rows = [
        vec![
            button("Approve", ButtonStyle::Approve, Pressed::Approve(Scope::Once)),
            approve("Always", Scope::Always),
            button(plain_deny, ButtonStyle::Deny, Pressed::Deny),
        ],
        vec![
            approve("10 minutes", Scope::Timed(600)),
            approve("This session", Scope::Session),
            approve("24 hours", Scope::Timed(86_400)),
        ],
        vec![
            approve("Always this prefix", Scope::Prefix),
            approve("Always exactly this", Scope::Exact).filter(|_| offers_exact(ask)),
        ],
        vec![
            deny(Way::Skip, "Skip", OnDeny::GoOn),
            deny(Way::DenyAndStop, "Deny and stop", OnDeny::Stop),
            deny(Way::DenyAndExplain, "Deny and explain", OnDeny::Explain),
        ],
    ];
    let rows = rows.into_iter().map(|row| row.into_iter().flatten().collect::<Vec<_>>());
    rows.filter(|row| !row.is_empty()).collect()
}

/// Whether remembering only this very call is less than what Always remembers.
pub(super) fn offers_exact(ask: &Ask) -> bool {
    ask.body.offers(Scope::Exact) && ask.body.exact != ask.body.always
}
