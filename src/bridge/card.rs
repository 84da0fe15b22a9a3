//! An ask as a card: what a person sees before they answer, and after. Pure.

mod budget;
mod buttons;
mod call;
mod change;
mod edit;
mod effects;
mod facts;
mod first;
mod lines;
mod maker;
mod named;
mod origin;
mod outcome;
mod part_of_change;
mod parts;
mod question;
mod readable;
mod remembered;
mod resumption;
mod review;
mod reviewed;
mod rows;
mod sheet;
mod tally;
pub mod terminal;
mod web;

use countersign_gate::{
    ask::{Ask, Decision, Silence, State, edit::edited_text},
    call::Call,
};
use countersign_port::{Block, Card, Tone, brief, line};
use countersign_tokens::clock;
pub use facts::thread_name;
pub(super) use maker::Maker;
pub use origin::Origin;
pub use review::review;
use sheet::Sheet;

/// What open cards say while everything is paused.
pub(super) const PAUSED: &str = "Paused: nothing is approved until /resume.";
/// How much of an agent's reason the card shows; all of it is in the details.
const REASON: usize = 240;

/// Draws the ask as it is now.
#[must_use]
pub fn draw(ask: &Ask, origin: Origin<'_>) -> Card {
    let ask = &*reviewed::by_its_agent(ask);
    let first = first::of(ask);
    let (mut sheet, mut details) = (Sheet::default(), Sheet::default());
    let says_why = warn(ask, &mut sheet);
    reason(ask, &mut sheet, &mut details);
    if let Some(review) = &ask.body.review {
        reviewed::draw(ask, review, &mut sheet);
    }
    if ask.is_open() && !ask.is_question() {
        effects::draw(ask, &mut sheet, &mut details);
    }
    match ask.body.call.questions.get(ask.progress.current()) {
        Some(asked) if ask.is_open() => question::draw(ask, asked, first.whole, &mut sheet),
        _ if ask.is_question() => question::settled(ask, &mut sheet),
        _ if ask.body.resumes.is_some() => resumption::draw(ask, &mut sheet),
        _ if ask.body.call.budget.is_some() => {
            let budget = ask.body.call.budget.iter();
            budget.for_each(|budget| budget::draw(ask, budget, &mut sheet));
        }
        _ => call::draw(ask, first.whole, &mut sheet, &mut details),
    }
    said(ask, &mut sheet);
    tally::draw(ask, &mut sheet, &mut details);
    notes(ask, &mut sheet, &mut details);
    facts::draw(ask, says_why, &mut details);
    let edit = ask.progress.edit.as_ref().filter(|_| ask.is_open());
    if let Some(edit) = edit {
        edit::draw(ask, edit, &mut sheet);
    }
    if let Some(updated) = ask.answer().and_then(|answer| answer.updated.as_ref()) {
        sheet.code("ran instead", &edited_text(&ask.body.call, &updated.args));
    }
    let buttons = match ask.is_open() {
        true => buttons::draw(ask, origin),
        false => rows::Buttons { rows: buttons::closed(ask, origin), more: Vec::new() },
    };
    Card {
        id: origin.nonce.to_owned(),
        ask: ask.id.clone(),
        revision: u32::try_from(ask.version).unwrap_or(u32::MAX),
        tone: tone(ask),
        title: first.text,
        origin: facts::origin(&ask.body.call),
        blocks: blocks(ask, sheet, details),
        buttons: buttons.rows,
        more: buttons.more,
        deadline: ask.deadline_at.filter(|_| ask.is_open() && ask.body.silence == Silence::Deny),
    }
}

/// The ask with the choice of the rules that Always stores in place of its buttons, these chosen.
#[must_use]
pub fn choice(ask: &Ask, origin: Origin<'_>, chosen: u32) -> Card {
    let card = draw(ask, origin);
    let approvable = ask.is_open() && ask.stopped.is_none();
    if approvable { parts::draw(card, ask, origin, chosen) } else { card }
}

/// The first line of the ask's card.
#[must_use]
pub fn title(ask: &Ask) -> String {
    first::of(ask).text
}

/// An open card shows its details folded; a closed one shows how it ended, and folds all else.
fn blocks(ask: &Ask, sheet: Sheet, details: Sheet) -> Vec<Block> {
    let (mut blocks, folded) = (sheet.finish(), details.finish());
    if let Some(answer) = ask.answer() {
        let end = Block::Outcome { text: outcome::of(ask, answer) };
        blocks.extend(folded);
        return vec![end, Block::Details { blocks }];
    }
    if !folded.is_empty() {
        blocks.push(Block::Details { blocks: folded });
    }
    blocks
}

/// The ask as it is now, to be looked at: its buttons lead nowhere.
#[must_use]
pub fn picture(ask: &Ask) -> Card {
    let mut card = draw(ask, Origin::default());
    let buttons = card.buttons.iter_mut().flatten().chain(&mut card.more);
    buttons.for_each(|button| button.token.clear());
    card
}

fn tone(ask: &Ask) -> Tone {
    match &ask.state {
        State::Open if ask.body.critical => Tone::Critical,
        State::Open => Tone::Open,
        State::Answered(answer) | State::Expired(answer) if answer.decision != Decision::Deny => {
            Tone::Approved
        }
        State::Answered(_) => Tone::Denied,
        State::Expired(_) => Tone::Expired,
        State::Cancelled(_) => Tone::Cancelled,
    }
}

/// What must be read before everything else; returns whether the whole reason for asking is in it.
fn warn(ask: &Ask, sheet: &mut Sheet) -> bool {
    let why = line(&ask.body.why);
    let short = brief(&why, REASON);
    let warns = ask.body.critical && ask.is_open();
    if warns {
        sheet.note(format!("Why: {short}"));
    }
    let call = &ask.body.call;
    let texts = call.args.to_string();
    web::oddities(&texts).into_iter().for_each(|odd| sheet.note(odd));
    warns && short == why
}

/// The agent's own reason, in quotes.
fn reason(ask: &Ask, sheet: &mut Sheet, details: &mut Sheet) {
    let call = &ask.body.call;
    let texts = [&call.reason, &call.description].into_iter().flatten();
    let mut texts = texts.filter(|text| !text.trim().is_empty() && !asks(call, text));
    if let Some(reason) = texts.next() {
        let short = brief(&line(reason.trim()), REASON);
        if short != reason.trim() {
            details.quote("says, in full", reason);
        }
        sheet.quote("", &short);
    }
    texts.for_each(|text| details.quote("says too", text));
}

fn asks(call: &Call, text: &str) -> bool {
    call.questions.iter().any(|question| question.question == text)
}

/// What the agent's own system says about it.
fn said(ask: &Ask, sheet: &mut Sheet) {
    if !ask.body.prompt.is_empty() {
        sheet.quote("prompt", &ask.body.prompt.join("\n"));
    }
}

/// The bridge's own words on an open card.
fn notes(ask: &Ask, sheet: &mut Sheet, details: &mut Sheet) {
    let body = &ask.body;
    if ask.stopped.is_some() && ask.is_open() {
        let left = ask.stopped.and_then(|clock| clock.left_ms);
        let left = left.map_or_else(String::new, |ms| format!(" with {} left", clock::span(ms)));
        sheet.note(format!("{PAUSED} Time stands still{left}."));
    }
    if let Some(at) = ask.deadline_at.filter(|_| ask.is_open())
        && body.silence == Silence::Approve
    {
        sheet.note(format!("If nobody answers, it is approved at {}.", clock::short(at)));
    }
    if sheet.spells_out() {
        sheet.note("Invisible characters are spelled out, such as \\u{200b}.");
    }
    if !ask.is_open() {
        return;
    }
    if !body.critical {
        remembered::draw(ask, sheet, details);
    }
    if let Some(problem) = body.rules_problem.as_deref() {
        sheet.note(format!("The last good rules are in force: {}", line(problem)));
    }
    body.cautions.iter().for_each(|caution| sheet.note(format!("⚠ {}", line(caution))));
}

#[cfg(test)]
mod properties;
#[cfg(test)]
mod tests;
#[cfg(test)]
mod twelve;
