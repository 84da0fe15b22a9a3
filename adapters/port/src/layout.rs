//! A card as a message: what is shown, what is cut, and which files carry the rest. One layout for
//! every platform; each says in [`Markup`] how it writes a text and in [`Limits`] what fits.
//!
//! INVARIANT: what a message does not show whole is counted in it and carried whole by a file,
//! wherever the platform can attach one.

use crate::{
    Block, Card, Excerpt, Field, Tone, diff_text, excerpt, folded, isolated, line, plain, visible,
};
use std::borrow::Cow;

/// What a message of a platform holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// The longest text, in the platform's own unit, see [`Markup::units`].
    pub units: usize,
    /// What a text is cut to before whole blocks are left out; characters.
    pub least: usize,
    /// The most files of a message; the last one carries all that has no file of its own. 0 where
    /// the platform attaches none to this card.
    pub files: usize,
}

/// A card, laid out.
#[derive(Debug, Clone, PartialEq)]
pub struct Layout<M> {
    /// The text.
    pub page: M,
    /// What the text does not show whole.
    pub files: Vec<TextFile>,
}

/// A text that goes along with a message.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct TextFile {
    /// Letters, digits, `-`, `_` and `.`.
    pub name: String,
    /// Exactly.
    pub text: String,
}

/// How words look on a line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Look {
    /// The fixed words of the layout. They hold nothing that has to be escaped.
    Plain,
    /// The sign of the tone before the first line.
    Sign,
    /// What a block is, such as `arguments`.
    Label,
    /// An agent's text on the first line or over a change: it stands out.
    Agent,
    /// The bridge's own words. They may quote names, paths and hosts.
    Own,
    /// The name of a fact.
    Name,
    /// The value of a fact; may hold an agent's text.
    Value,
    /// A remark of the layout's on what is not shown.
    Remark,
}

/// How a text with lines of its own looks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Dress {
    /// What would run or be written.
    Code,
    /// A change, line by line.
    Diff,
    /// An agent's words to people.
    Quote,
}

/// What the layout says of a text that is not shown as it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Remark<'a> {
    /// There is no text.
    Nothing,
    /// So many characters are left out between the head and the tail that follows.
    Cut(usize, Option<&'a str>),
    /// Blanks or empty lines are counted, or characters spelled out, instead of shown.
    Altered(Option<&'a str>),
    /// Invisible characters are spelled out.
    Invisible,
    /// So many characters are left out of the middle of a line.
    More(usize, Option<&'a str>),
    /// So many parts of the card are left out.
    Parts(usize, Option<&'a str>),
}

/// A message while it is written in a platform's markup.
// SECURITY: an implementation escapes every text but that of `Look::Plain`, `Sign` and `Remark`
// whole, so that nothing of it can format, link, mention or pass for the card's own words.
pub trait Markup: Clone {
    /// The sign of an open card.
    const OPEN: &'static str;
    /// Whether an agent's reason stands in quotation marks on a line instead of below a label.
    const REASON_ON_LINE: bool;
    /// What is between two facts, and between a fact's name and its value.
    const FACTS: (&'static str, &'static str);

    /// How long the text is, as the platform counts.
    fn units(&self) -> usize;

    /// Writes words on the current line.
    fn add(&mut self, words: &str, look: Look);

    /// Ends the current line, if anything is on it.
    fn end_line(&mut self);

    /// Writes until when an answer counts, in Unix milliseconds, behind `between`.
    fn deadline(&mut self, between: &str, at: i64);

    /// Writes a text with its own lines, set apart from the card's own words.
    fn boxed(&mut self, text: &str, dress: Dress);

    /// What follows is rarely needed, until [`Markup::unfold`].
    fn fold(&mut self);

    /// The end of what is rarely needed.
    fn unfold(&mut self);

    /// The words of a remark; `None` where the platform does without.
    fn remark(&self, remark: Remark<'_>) -> Option<String>;

    /// A block begins.
    fn begin(&mut self, _block: &Block) {}

    /// Writes the ask's id at the end, where people type it.
    fn ask(&mut self, _id: &str) {}
}

/// No card has more blocks than this to read on a phone.
const BLOCKS: usize = 100;

/// Lays out as much of a card as a message holds: all of it, else with each text cut, else with
/// fewer blocks too. `blank` is the empty message.
pub fn lay_out<M: Markup>(card: &Card, limits: Limits, blank: &M) -> Layout<M> {
    let texts = shown_texts(card);
    let compose = |blocks, room| Composer::compose(card, &texts, limits, blank, blocks, room);
    fitted(card.blocks.len(), limits, compose, |layout| layout.page.units())
}

/// Composes as much of so many blocks as fits. `compose` takes the number of blocks and the most
/// characters of a text; `units` measures what it composed.
fn fitted<T>(
    blocks: usize,
    limits: Limits,
    compose: impl Fn(usize, usize) -> T,
    units: impl Fn(&T) -> usize,
) -> T {
    let fits = |composed: &T| units(composed) <= limits.units;
    // Room that cuts nothing which could fit: words beside what would run get half of it.
    let (all, whole) = (blocks.min(BLOCKS), 2 * limits.units);
    let composed = compose(all, whole);
    if fits(&composed) {
        return composed;
    }
    let blocks = most(0, all, |blocks| fits(&compose(blocks, limits.least)));
    let room = most(limits.least, whole, |room| fits(&compose(blocks, room)));
    compose(blocks, room)
}

/// The most of `from..=to` that fits, or `from`.
fn most(from: usize, to: usize, fits: impl Fn(usize) -> bool) -> usize {
    let (mut good, mut beyond) = (from, to + 1);
    while beyond - good > 1 {
        let middle = good.midpoint(beyond);
        if fits(middle) {
            good = middle;
        } else {
            beyond = middle;
        }
    }
    good
}

/// A text of an agent: made once, because a card is tried in many lengths.
struct ShownText<'a> {
    exact: Cow<'a, str>,
    /// As it may be shown.
    shown: String,
}

/// A message with a bound on the length of every single text.
struct Composer<'a, M> {
    card: &'a Card,
    limits: Limits,
    /// Characters of each text.
    room: usize,
    /// Those that are not written yet.
    texts: std::slice::Iter<'a, ShownText<'a>>,
    page: M,
    files: Vec<TextFile>,
    /// Whether something is left out that no file of its own carries.
    rest: bool,
}

impl<'a, M: Markup> Composer<'a, M> {
    /// Writes the first `blocks` blocks of the card, at most `room` characters of each text.
    fn compose(
        card: &'a Card,
        texts: &'a [ShownText<'a>],
        limits: Limits,
        blank: &M,
        blocks: usize,
        room: usize,
    ) -> Layout<M> {
        let (page, texts) = (blank.clone(), texts.iter());
        let mut text = Self { card, limits, room, texts, page, files: vec![], rest: false };
        text.title();
        text.origin();
        card.blocks.iter().take(blocks).for_each(|block| text.block(block));
        if let Some(left) = card.blocks.len().checked_sub(blocks).filter(|left| *left > 0) {
            let file = text.rest_file();
            text.remark(Remark::Parts(left, file.as_deref()));
        }
        text.page.ask(&card.ask);
        if text.rest && limits.files > 0 {
            let name = text.rest_name();
            text.files.push(TextFile { name, text: plain(card) });
        }
        Layout { page: text.page, files: text.files }
    }

    /// The first line, and how it ended.
    fn title(&mut self) {
        let tone = self.card.tone;
        let sign = if tone == Tone::Open { M::OPEN } else { tone.sign() };
        self.page.add(&format!("{sign} "), Look::Sign);
        if tone == Tone::Critical {
            self.page.add("CRITICAL ", Look::Label);
        }
        self.brief(&line(&self.card.title), Look::Agent);
        for block in &self.card.blocks {
            if let Block::Outcome { text } = block {
                self.page.add(" · ", Look::Plain);
                self.brief(&line(text), Look::Own);
            }
        }
        self.page.end_line();
    }

    /// The second line: who asks from where, and the time that is left.
    fn origin(&mut self) {
        let origin = line(&self.card.origin);
        let shown = self.card.tone.is_open() && !origin.trim().is_empty();
        if shown {
            self.brief(&origin, Look::Own);
        }
        if let Some(deadline) = self.card.deadline {
            self.page.deadline(if shown { " · " } else { "" }, deadline);
        }
        self.page.end_line();
    }

    fn block(&mut self, block: &Block) {
        self.page.begin(block);
        match block {
            Block::Code { label, .. } => self.labelled(label, Dress::Code),
            Block::Quote { label, .. } if label.is_empty() => self.reason(),
            Block::Quote { label, .. } => self.labelled(label, Dress::Quote),
            Block::Diff { path, added, removed, .. } => {
                self.brief(&line(path), Look::Agent);
                self.page.add(&format!(" +{added} −{removed}"), Look::Plain);
                self.page.end_line();
                self.passage("change", Dress::Diff);
            }
            Block::Fields { fields } => self.facts(fields),
            Block::Note { .. } => {
                let text = self.texts.next().map_or("", |text| &text.shown);
                self.brief(text, Look::Own);
            }
            // It is on the line of the title.
            Block::Outcome { .. } => {}
            Block::Details { blocks } => {
                self.page.fold();
                blocks.iter().for_each(|block| self.block(block));
                self.page.unfold();
            }
        }
        self.page.end_line();
    }

    /// Why the agent wants it, in its own words.
    fn reason(&mut self) {
        if M::REASON_ON_LINE {
            self.page.add("says: “", Look::Plain);
            self.passage("reason", Dress::Quote);
            self.page.add("”", Look::Plain);
        } else {
            self.labelled("says", Dress::Quote);
        }
    }

    fn facts(&mut self, fields: &[Field]) {
        let (between, behind_name) = M::FACTS;
        for (nth, Field { name, value }) in fields.iter().enumerate() {
            match between {
                "\n" => self.page.end_line(),
                between => self.page.add(if nth > 0 { between } else { "" }, Look::Plain),
            }
            self.brief(&line(name), Look::Name);
            self.page.add(behind_name, Look::Plain);
            self.brief(&line(value), Look::Value);
        }
    }

    fn labelled(&mut self, label: &str, dress: Dress) {
        self.brief(&line(label), Look::Label);
        self.page.end_line();
        self.passage(label, dress);
    }

    /// An agent's text. What is cut out of it is said between head and tail, outside of the dress
    /// that an agent's text wears, and is carried whole by a file.
    fn passage(&mut self, label: &str, dress: Dress) {
        let Some(ShownText { exact, shown }) = self.texts.next() else { return };
        if shown.trim().is_empty() {
            let nothing = self.page.remark(Remark::Nothing).unwrap_or_default();
            return self.page.add(&nothing, Look::Remark);
        }
        let room = match dress {
            Dress::Code | Dress::Diff => self.room,
            Dress::Quote => self.lesser_room(),
        };
        let Excerpt { head, tail, hidden } = excerpt(shown, room);
        let is_altered = shown != exact;
        let is_attached = tail.is_some() || is_altered;
        let file = if is_attached { self.attach(label, exact) } else { None };
        self.page.boxed(&head, dress);
        match tail {
            Some(tail) => {
                self.remark(Remark::Cut(hidden, file.as_deref()));
                self.page.end_line();
                self.page.boxed(&tail, dress);
            }
            None if is_altered => self.remark(Remark::Altered(file.as_deref())),
            None => {}
        }
        if visible(exact) != **exact {
            self.remark(Remark::Invisible);
        }
    }

    /// The layout's own words on a line of their own.
    fn remark(&mut self, remark: Remark<'_>) {
        if let Some(words) = self.page.remark(remark) {
            self.page.end_line();
            self.page.add(&words, Look::Remark);
        }
    }

    /// A text that should be short; cut openly where it is not.
    fn brief(&mut self, text: &str, look: Look) {
        let Excerpt { head, tail, hidden } = excerpt(text, self.lesser_room());
        self.page.add(&isolated(&head), look);
        if let Some(tail) = tail {
            let file = self.rest_file();
            let more = self.page.remark(Remark::More(hidden, file.as_deref()));
            self.page.add(&format!(" … {} … ", more.unwrap_or_default()), Look::Remark);
            self.page.add(&isolated(&tail), look);
        }
    }

    /// What is said about a call never takes the room of what would run.
    fn lesser_room(&self) -> usize {
        (self.room / 2).max(self.limits.least)
    }

    /// Puts a text beside the message and names its file; the last place is the whole card's.
    fn attach(&mut self, label: &str, text: &str) -> Option<String> {
        if self.files.len() + 1 >= self.limits.files {
            return self.rest_file();
        }
        let ask = file_safe(&self.card.ask);
        let mut name = format!("{ask}-{}.txt", file_safe(label));
        if self.files.iter().any(|file| file.name == name) || name == self.rest_name() {
            name = format!("{ask}-{}-{}.txt", file_safe(label), self.files.len() + 1);
        }
        self.files.push(TextFile { name: name.clone(), text: text.to_owned() });
        Some(name)
    }

    /// The file that carries the whole card, where the platform attaches any.
    fn rest_file(&mut self) -> Option<String> {
        self.rest = true;
        (self.limits.files > 0).then(|| self.rest_name())
    }

    fn rest_name(&self) -> String {
        format!("{}-card.txt", file_safe(&self.card.ask))
    }
}

/// The texts of a card as they may be shown, in the order in which they are written.
fn shown_texts(card: &Card) -> Vec<ShownText<'_>> {
    let mut texts = Vec::new();
    card.blocks.iter().for_each(|block| gather(block, &mut texts));
    texts
}

fn gather<'a>(block: &'a Block, texts: &mut Vec<ShownText<'a>>) {
    let exact: Cow<'a, str> = match block {
        Block::Code { text, .. } | Block::Quote { text, .. } => text.into(),
        Block::Diff { lines, .. } => diff_text(lines).into(),
        Block::Note { text } => {
            return texts.push(ShownText { exact: text.into(), shown: visible(text) });
        }
        Block::Details { blocks } => return blocks.iter().for_each(|it| gather(it, texts)),
        Block::Fields { .. } | Block::Outcome { .. } => return,
    };
    texts.push(ShownText { shown: folded(&visible(&exact)), exact });
}

fn file_safe(name: &str) -> String {
    let safe = |c: char| if c.is_ascii_alphanumeric() { c } else { '_' };
    let name: String = name.chars().take(32).map(safe).collect();
    if name.is_empty() { "text".to_owned() } else { name }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LIMITS: Limits = Limits { units: 100, least: 10, files: 2 };

    /// So many blocks of texts of this length; what is composed of them are they and their room.
    fn drawn(blocks: usize, length: usize) -> (usize, usize) {
        fitted(blocks, LIMITS, |blocks, room| (blocks, room), |(n, room)| n * length.min(*room))
    }

    #[test]
    fn texts_are_cut_before_blocks_are_left_out_and_no_more_than_it_takes() {
        assert_eq!(drawn(4, 25), (4, 200), "all of it fits");
        assert_eq!(drawn(4, 26), (4, 25), "each text gives up one");
        assert_eq!(drawn(10, 90), (10, 10), "each text is cut to the least");
        assert_eq!(drawn(11, 90), (10, 10), "then a block is left out");
        assert_eq!(drawn(400, 1), (100, 200), "nobody reads more than a hundred blocks");
    }
}
