//! An ask as a card: what a person sees before they answer, and after. Pure.

mod always;
mod answer;
mod buttons;
mod call;
mod change;
mod effects;
mod facts;
mod no_call;
mod question;
pub mod terminal;
mod title;

pub(super) use buttons::Maker;
pub use buttons::review;
use change::FileChange;
use countersign_gate::{
    ask::{Ask, Decision, Silence, State, edit::edited_text},
    call::{Call, DIALOG_WAITS},
};
use countersign_port::{Block, Card, DiffLine, Field, Tone, brief, line, visible};
use countersign_tokens::clock;
pub(super) use effects::{effect_line, weight};
pub(super) use facts::origin;
pub use facts::thread_name;

/// What open cards say while everything is paused.
pub(super) const PAUSED: &str = "Paused: nothing is approved until /resume.";
/// How much of an agent's reason the card shows; all of it is in the details.
const REASON: usize = 160;
/// How much of what a person said to the agent the card shows.
const SAID: usize = 100;
/// The name of that fact: only the agent's side has heard it.
const TOLD: &str = "says it was told";

/// Draws the ask as it is now.
#[must_use]
pub fn draw(ask: &Ask, origin: Origin<'_>) -> Card {
    let ask = &*no_call::by_its_agent(ask);
    let first = title::of(ask);
    let mut sheet = Sheet::default();
    let mut details = Sheet::default();
    let says_why = warn(ask, &mut sheet);
    reason(ask, &mut sheet, &mut details);
    if let Some(review) = &ask.body.review {
        no_call::draw_review(ask, review, &mut sheet);
    }
    let mut worst = if ask.is_open() && !ask.is_question() {
        effects::draw(ask, first.whole, &mut sheet, &mut details)
    } else {
        String::new()
    };
    // Where an address really leads is worse than that it is reached.
    if ask.is_open() && !ask.body.critical {
        sheet.swap_warning(&mut worst);
    }
    match ask.body.call.questions.get(ask.progress.current()) {
        Some(asked) if ask.is_open() => question::draw(ask, asked, first.whole, &mut sheet),
        _ if ask.is_question() => question::settled(ask, first.whole, &mut sheet),
        _ if ask.body.resumes.is_some() => no_call::draw_resumption(ask, &mut sheet),
        _ => match &ask.body.call.budget {
            Some(budget) => no_call::draw_budget(ask, budget, &mut sheet),
            None => call::draw(ask, first.whole, &mut sheet, &mut details),
        },
    }
    prompt(ask, &mut sheet);
    answer::draw_votes(ask, &mut sheet, &mut details);
    notes(ask, &mut sheet, &mut details);
    facts::draw(ask, says_why, &mut details);
    let edit = ask.progress.edit.as_ref().filter(|_| ask.is_open());
    if let Some(edit) = edit {
        change::draw_proposal(ask, edit, &mut sheet);
    }
    if let Some(updated) = ask.answer().and_then(|answer| answer.updated.as_ref()) {
        sheet.code("ran instead", &edited_text(&ask.body.call, &updated.args));
    }
    let buttons = if ask.is_open() {
        buttons::of_open(ask, origin)
    } else {
        buttons::Buttons { rows: buttons::of_closed(ask, origin), more: Vec::new() }
    };
    Card {
        id: origin.nonce.to_owned(),
        ask: ask.id.clone(),
        revision: u32::try_from(ask.version).unwrap_or(u32::MAX),
        tone: tone(ask),
        title: first.text,
        whole: first.whole && is_plain(ask) && sheet.is_brief(),
        worst,
        origin: facts::origin(&ask.body.call),
        blocks: blocks(ask, sheet, details),
        buttons: buttons.rows,
        more: buttons.more,
        deadline: ask.deadline_at.filter(|_| ask.is_open() && ask.silence() == Silence::Deny),
    }
}

/// The ask with the choice of the rules that Always stores in place of its buttons, these chosen.
#[must_use]
pub fn choice(ask: &Ask, origin: Origin<'_>, chosen: u32) -> Card {
    let card = draw(ask, origin);
    let approvable = ask.is_open() && ask.stopped.is_none();
    if approvable { always::draw_choice(card, ask, origin, chosen) } else { card }
}

/// The first line of the ask's card.
#[must_use]
pub fn title(ask: &Ask) -> String {
    title::of(ask).text
}

/// An open card shows its details folded; a closed one shows how it ended, and folds all else.
fn blocks(ask: &Ask, sheet: Sheet, details: Sheet) -> Vec<Block> {
    let mut blocks = sheet.blocks;
    let folded = details.blocks;
    if let Some(answer) = ask.answer() {
        let end = Block::Outcome { text: answer::outcome(ask, answer) };
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

/// Whether it is a call that one press may let run, of which nothing but its text has to be read.
// SECURITY: a critical call is approved nowhere but on its own card, and so is one with a warning.
fn is_plain(ask: &Ask) -> bool {
    let body = &ask.body;
    let warns = body.critical
        || body.call.appeal.is_some()
        || !body.cautions.is_empty()
        || !title::odd_addresses(&body.call).is_empty();
    let is_call = !ask.is_question() && !body.is_no_call() && ask.progress.edit.is_none();
    ask.is_open() && is_call && !warns
}

fn tone(ask: &Ask) -> Tone {
    match &ask.state {
        State::Open if ask.body.critical => Tone::Critical,
        State::Open => Tone::Open,
        // Nothing ran, whatever was answered.
        State::Answered(answer) if answer.overruled.is_some() => Tone::Cancelled,
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
    let warns = (ask.body.critical || ask.body.call.appeal.is_some()) && ask.is_open();
    // The second line says why a call is critical.
    let second = effects::critical(ask);
    if warns && second.is_none() && !effects::says_deleted(ask) {
        sheet.note(format!("Why: {short}"));
    }
    let call = &ask.body.call;
    title::odd_addresses(call).into_iter().for_each(|odd| sheet.note(odd));
    warns && second.map_or(short == why, |clause| brief(clause, effects::LENGTH) == clause)
}

/// The agent's own reason, in quotes, and what it says a person told it.
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
    let told = call.person_said.iter().filter(|text| !text.trim().is_empty());
    let told = told.map(|text| fact(TOLD, &format!("“{}”", brief(&line(text.trim()), SAID))));
    sheet.fields(told.collect());
}

fn asks(call: &Call, text: &str) -> bool {
    call.questions.iter().any(|question| question.question == text)
}

/// What the agent's own system says about it.
fn prompt(ask: &Ask, sheet: &mut Sheet) {
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
        sheet.note(format!("{PAUSED} Deadline paused{left}."));
    }
    if let Some(at) = ask.deadline_at.filter(|_| ask.is_open()).map(clock::short) {
        if ask.silence() == Silence::Approve {
            sheet.note(format!("If nobody answers, it is approved at {at}."));
        }
        if body.call.meta.as_ref().and_then(|meta| meta.get(DIALOG_WAITS)) == Some(&true.into()) {
            sheet.note(format!("No dialog in the terminal until {at}."));
        }
    }
    if sheet.spelled_out {
        sheet.note("Invisible characters are spelled out.");
    }
    if !ask.is_open() {
        return;
    }
    if !body.critical {
        always::draw_stored(ask, sheet, details);
    }
    if let Some(problem) = body.rules_problem.as_deref() {
        sheet.note(format!("The last good rules are in force: {}", line(problem)));
    }
    body.cautions.iter().for_each(|caution| sheet.note(format!("⚠ {}", line(caution))));
}

/// Which card it is, and whose: its buttons' tokens carry both.
#[derive(Debug, Clone, Copy, Default)]
pub struct Origin<'a> {
    /// Names the card.
    pub nonce: &'a str,
    /// The id of the store that holds it.
    pub store: &'a str,
}

/// A card's blocks while they are written. What comes from outside is made visible here, and
/// nowhere taken for the card's own words.
#[derive(Default)]
pub(super) struct Sheet {
    blocks: Vec<Block>,
    /// A text held characters that are spelled out.
    spelled_out: bool,
}

impl Sheet {
    /// The agent's text, verbatim. The label is ours.
    pub(super) fn code(&mut self, label: &str, text: &str) {
        let text = self.seen(text);
        self.blocks.push(Block::Code { label: label.to_owned(), text, whole: false });
    }

    /// The same where one press approves every line.
    pub(super) fn whole_code(&mut self, label: &str, text: &str) {
        let text = self.seen(text);
        self.blocks.push(Block::Code { label: label.to_owned(), text, whole: true });
    }

    /// The agent's words to people. The label is ours.
    pub(super) fn quote(&mut self, label: &str, text: &str) {
        let text = self.seen(text);
        self.blocks.push(Block::Quote { label: label.to_owned(), text });
    }

    /// Short facts, where there are any. Their names are ours.
    pub(super) fn fields(&mut self, fields: Vec<Field>) {
        if !fields.is_empty() {
            self.blocks.push(Block::Fields { fields });
        }
    }

    /// Our own words; what is from outside in them is one line already.
    pub(super) fn note(&mut self, text: impl Into<String>) {
        self.blocks.push(Block::Note { text: text.into() });
    }

    /// A change of a file.
    fn change(&mut self, path: &str, FileChange { added, removed, lines, .. }: FileChange) {
        let seen = |line: DiffLine| DiffLine { text: self.seen(&line.text), ..line };
        let lines = lines.into_iter().map(seen).collect();
        self.blocks.push(Block::Diff { path: line(path), added, removed, lines });
    }

    /// Whether nothing of the call is on it: only what it touches, and what its agent says of it.
    fn is_brief(&self) -> bool {
        self.blocks.iter().all(|block| match block {
            Block::Note { .. } => true,
            Block::Quote { label, .. } => label.is_empty(),
            Block::Fields { fields } => fields.iter().all(|field| field.name == TOLD),
            _ => false,
        })
    }
    /// Puts the first of the warnings on the second line, as a lock screen shows no more, and in its
    /// place what stood there.
    fn swap_warning(&mut self, worst: &mut String) {
        let is_warning =
            |block: &Block| matches!(block, Block::Note { text } if text.starts_with('⚠'));
        let Some(at) = self.blocks.iter().position(is_warning) else { return };
        if let Some(Block::Note { text }) = self.blocks.get_mut(at) {
            std::mem::swap(text, worst);
            if text.is_empty() {
                self.blocks.remove(at);
            }
        }
    }

    fn seen(&mut self, text: &str) -> String {
        let seen = visible(text);
        self.spelled_out |= seen != text;
        seen
    }
}

/// A short fact. What is from outside stays on one line, so that it cannot pass for another fact.
pub(super) fn fact(name: impl Into<String>, value: &str) -> Field {
    Field { name: name.into(), value: line(value) }
}

/// The beginning of a text, on one line, with an ellipsis where it goes on.
pub(super) fn glance(text: &str, most: usize) -> String {
    let mut short: String = text.chars().take(most).collect();
    if text.chars().count() > most {
        short.push('…');
    }
    line(&short)
}

#[cfg(test)]
mod goldens;
#[cfg(test)]
mod properties;
#[cfg(test)]
mod tests;
