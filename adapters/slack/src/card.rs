//! A card as the blocks of a Slack message.

use crate::bot::put;
use crate::payload::SUBMIT;
use crate::rich::{RichText, TextLook, escape};
use countersign_port::{
    Button, ButtonStyle, Card, Dress, Limits, Look, Markup, TextFile, brief, lay_out, line,
};
use serde_json::{Value, json};

/// What a card's text holds. Slack publishes no limit for `rich_text`; every other block of text
/// has 3,000.
const LIMITS: Limits = Limits { units: 2_900, least: 40, files: 10 };
/// What a notification shows of a title.
const NOTIFICATION: usize = 300;
/// What a button and an option hold.
const LABEL: usize = 75;
/// What an overflow menu and a select hold.
const OVERFLOW: usize = 5;
const OPTIONS: usize = 100;
/// The most boxes to tick.
const BOXES: usize = 10;

/// A drawn card.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct SlackMessage {
    /// What a notification shows; mark-up is escaped.
    pub text: String,
    /// The text and the buttons.
    pub blocks: Vec<Value>,
    /// What the text does not show whole, for the card's thread.
    pub files: Vec<TextFile>,
}

/// Draws a card. Whatever it holds, it fits, and what is left out is said and put into the thread.
pub(crate) fn draw(card: &Card) -> SlackMessage {
    let layout = lay_out(card, LIMITS, &RichText::default());
    let title = brief(&line(&card.title), NOTIFICATION);
    let lines = [title, line(&card.worst), line(&card.origin)];
    let lines: Vec<_> = lines.into_iter().filter(|line| !line.is_empty()).collect();
    let text = escape(&format!("{} {}", card.tone.sign(), lines.join("\n")));
    let blocks = layout.page.block().into_iter().chain(rows(card)).collect();
    SlackMessage { text, blocks, files: layout.files }
}

impl Markup for RichText {
    const FOLDS: bool = false;
    const REASON_ON_LINE: bool = false;
    const BESIDE: &'static str = " in the thread";

    fn units(&self) -> usize {
        self.characters()
    }

    fn add(&mut self, words: &str, look: Look) {
        let look = match look {
            Look::Plain | Look::Sign | Look::Own | Look::Value => TextLook::Plain,
            Look::Label | Look::Agent | Look::Name => TextLook::Bold,
            Look::Remark => TextLook::Italic,
        };
        self.write(words, look);
    }

    fn end_line(&mut self) {
        Self::end_line(self);
    }

    fn deadline(&mut self, between: &str, at: i64) {
        self.write(&format!("{between}⏳ until "), TextLook::Plain);
        self.add_time(at.div_euclid(1000));
    }

    fn boxed(&mut self, text: &str, dress: Dress) {
        match dress {
            Dress::Code | Dress::Diff => self.code(text),
            Dress::Quote | Dress::Reason => self.quote(text),
        }
    }

    // Slack folds nothing and has no small print.
    fn fold(&mut self) {}

    fn unfold(&mut self) {}
}

/// The rows of buttons; *More…* is at the end of the last one.
fn rows(card: &Card) -> Vec<Value> {
    let ticked = ticked(card);
    let drawn = |it: &Button| match (&ticked, it.style) {
        (Some(_), ButtonStyle::Choice | ButtonStyle::Chosen) => None,
        (Some(_), ButtonStyle::Submit) => Some(button(it, &format!("{SUBMIT}{}", it.token))),
        _ => Some(button(it, &it.token)),
    };
    let rows = card.buttons.iter().map(|row| row.iter().filter_map(drawn).collect());
    let mut rows: Vec<Vec<Value>> = rows.filter(|row: &Vec<Value>| !row.is_empty()).collect();
    rows.splice(0..0, ticked.clone().map(|boxes| vec![boxes]));
    if let Some(more) = more(card) {
        match rows.last_mut() {
            Some(last) => last.push(more),
            None => rows.push(vec![more]),
        }
    }
    rows.into_iter().map(|elements| json!({"type": "actions", "elements": elements})).collect()
}

/// The options of a multiple choice as boxes, which Slack keeps until somebody submits them: an
/// edit for every tick would use up the workspace's allowance. `None` where the card has none, or
/// more than Slack takes.
fn ticked(card: &Card) -> Option<Value> {
    let all = || card.buttons.iter().flatten();
    all().find(|it| it.style == ButtonStyle::Submit)?;
    let is_option = |it: &&Button| matches!(it.style, ButtonStyle::Choice | ButtonStyle::Chosen);
    let is_chosen = |it: &&Button| it.style == ButtonStyle::Chosen;
    let option = |it: &Button| json!({"text": plain_label(&it.label), "value": it.token});
    let options: Vec<Value> = all().filter(is_option).map(option).collect();
    let chosen: Vec<Value> = all().filter(is_chosen).map(option).collect();
    let first = all().find(is_option)?;
    if options.len() > BOXES {
        return None;
    }
    let marks = all().filter(is_option).map(|it| if is_chosen(&it) { '1' } else { '0' });
    let marks: String = marks.collect();
    // Slack shows what somebody ticked under an id, not what a redrawn message says, so what is
    // chosen elsewhere needs another one.
    let mut drawn = json!({"type": "checkboxes", "options": options,
        "action_id": format!("{}:{marks}", first.token)});
    if !chosen.is_empty() {
        put(&mut drawn, "initial_options", chosen.into());
    }
    Some(drawn)
}

fn button(button: &Button, action_id: &str) -> Value {
    let style = match button.style {
        ButtonStyle::Approve | ButtonStyle::Submit => Some("primary"),
        ButtonStyle::Deny | ButtonStyle::Confirm => Some("danger"),
        ButtonStyle::Always
        | ButtonStyle::Choice
        | ButtonStyle::Chosen
        | ButtonStyle::Text
        | ButtonStyle::Open => None,
    };
    let mut drawn = json!({"type": "button", "action_id": action_id, "value": button.token,
        "text": label(button)});
    if let Some(style) = style {
        put(&mut drawn, "style", style.into());
    }
    drawn
}

/// What is behind *More…*: a small menu where it is short, else a select. Each option carries its
/// button's token.
fn more(card: &Card) -> Option<Value> {
    let option = |button: &Button| json!({"text": label(button), "value": button.token});
    let options: Vec<Value> = card.more.iter().take(OPTIONS).map(option).collect();
    let action_id = format!("{}:more", card.id);
    match options.len() {
        0 => None,
        1..=OVERFLOW => {
            Some(json!({"type": "overflow", "action_id": action_id, "options": options}))
        }
        _ => Some(json!({"type": "static_select", "action_id": action_id, "options": options,
            "placeholder": {"type": "plain_text", "text": "More…", "emoji": false}})),
    }
}

/// Without emoji, so that `:name:` in a rule stays as it is.
fn label(button: &Button) -> Value {
    // A button has no other way to look chosen.
    let mark = if button.style == ButtonStyle::Chosen { "✓ " } else { "" };
    plain_label(&format!("{mark}{}", button.label))
}

fn plain_label(label: &str) -> Value {
    let text: String = line(label).chars().take(LABEL).collect();
    let text = if text.trim().is_empty() { "…".to_owned() } else { text };
    json!({"type": "plain_text", "text": text, "emoji": false})
}

#[cfg(test)]
mod tests;
