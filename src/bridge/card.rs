//! An ask as a card: what a person sees before they answer, and after. Pure.

mod buttons;
mod call;
mod facts;
mod lines;
mod notes;
mod origin;
mod outcome;
mod question;
mod sheet;

use crate::{
    gate::{
        ask::{Ask, Decision, Silence, State},
        call::Call,
    },
    text::line,
};
use countersign_port::{Card, Tone};
pub use origin::Origin;
use sheet::Sheet;

/// Draws the ask as it stands now.
#[must_use]
pub fn draw(ask: &Ask, origin: Origin<'_>) -> Card {
    let mut sheet = Sheet::default();
    match ask.body.call.questions.get(ask.progress.current()) {
        Some(asked) if ask.is_open() => question::draw(ask, asked, &mut sheet),
        _ if ask.is_question() => question::settled(ask, &mut sheet),
        _ => call::draw(&ask.body.call, &mut sheet),
    }
    said(ask, &mut sheet);
    facts::draw(ask, &mut sheet);
    notes::draw(ask, &mut sheet);
    if let Some(answer) = ask.answer() {
        sheet.outcome(outcome::of(ask, answer));
    }
    Card {
        id: origin.nonce.to_owned(),
        ask: ask.id.clone(),
        revision: u32::try_from(ask.version).unwrap_or(u32::MAX),
        tone: tone(&ask.state),
        title: title(ask),
        blocks: sheet.finish(),
        buttons: if ask.is_open() { buttons::draw(ask, origin) } else { Vec::new() },
        deadline: ask.deadline_at.filter(|_| ask.is_open() && ask.body.silence == Silence::Deny),
    }
}

/// The ask as it stands now, to be looked at: its buttons lead nowhere.
#[must_use]
pub fn picture(ask: &Ask) -> Card {
    let mut card = draw(ask, Origin::default());
    card.buttons.iter_mut().flatten().for_each(|button| button.token.clear());
    card
}

fn title(ask: &Ask) -> String {
    let call = &ask.body.call;
    let agent = line(&call.agent);
    if ask.is_question() {
        return match call.questions.len() {
            1 => format!("{agent} asks a question"),
            many if ask.is_open() => {
                format!("{agent} asks question {} of {many}", ask.progress.current() + 1)
            }
            many => format!("{agent} asks {many} questions"),
        };
    }
    match call::is_command(call) {
        true => format!("{agent} wants to run a command"),
        false => format!("{agent} wants to use {}", line(&call.tool)),
    }
}

fn tone(state: &State) -> Tone {
    match state {
        State::Open => Tone::Open,
        State::Answered(answer) | State::Expired(answer) if answer.decision != Decision::Deny => {
            Tone::Approved
        }
        State::Answered(_) => Tone::Denied,
        State::Expired(_) => Tone::Expired,
        State::Cancelled(_) => Tone::Cancelled,
    }
}

/// What the agent and its own system say about it.
fn said(ask: &Ask, sheet: &mut Sheet) {
    let call = &ask.body.call;
    for (label, text) in [("reason", &call.reason), ("description", &call.description)] {
        let Some(text) = text else { continue };
        if !text.trim().is_empty() && !asks(call, text) {
            sheet.quote(label, text);
        }
    }
    if !ask.body.prompt.is_empty() {
        sheet.quote("prompt", &ask.body.prompt.join("\n"));
    }
}

fn asks(call: &Call, text: &str) -> bool {
    call.questions.iter().any(|question| question.question == text)
}

#[cfg(test)]
mod properties;
#[cfg(test)]
mod tests;
