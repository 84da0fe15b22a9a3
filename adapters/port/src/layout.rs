//! A card as a message: what is shown, what is cut, and which files carry the rest. One layout for
//! every platform; each says in [`Markup`] how it writes a text and in [`Limits`] what fits.
//!
//! A card takes no more of a phone's screen than 24 rows of 40 characters. What would run comes
//! first there: words beside it are cut before it is, and of several texts the first keep most.
//! SECURITY: the first of them is never cut where it is short. It is the command, the change, or
//! the lines of a long command that a person must not miss. Nor is a text cut whose every line is
//! approved at once.
//!
//! INVARIANT: what a message does not show whole is counted in it, and stands whole in its fold or
//! in a file, wherever the platform has one.

use crate::{
    Block, Card, Excerpt, Field, Tone, brief, diff_text, excerpt, folded, isolated, line, plain,
    text::{WIDTH, excerpt_rows, rows_of},
    visible,
};
use std::borrow::Cow;

/// What a card takes of a screen.
const ROWS: usize = 24;
/// What a fold takes of it while nobody opens it.
const FOLD: usize = 3;
/// The most rows of a text that is shown whole, and of one that is cut.
const WHOLE: usize = 15;
const CUT: usize = 12;
/// What ` … (+123) … ` takes of a row.
const MARK: usize = 12;
/// The fewest rows of a text that is cut, and what the remark on it takes.
const FEWEST: usize = 4;
const REMARK: usize = 2;
/// The most characters of the agent's reason, of a note, which may name what a button stores, and
/// of other words.
const REASON: usize = 180;
const NOTE: usize = 240;
const WORDS: usize = 120;
/// The room of words that give way to what would run.
const FAIR: usize = 160;
/// What the time that is left takes, whatever the platform makes of it.
const DEADLINE: usize = 30;
/// No card has more blocks than this to read on a phone.
const BLOCKS: usize = 100;

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
    /// How many rows of 40 characters it takes on a screen.
    rows: usize,
    /// Whether a text that is cut gets fewer rows than it should.
    tight: bool,
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
    /// Why the agent wants it, in its own words.
    Reason,
}

/// A message while it is written in a platform's markup.
// SECURITY: an implementation escapes every text but that of `Look::Plain` and `Sign` whole, so
// that nothing of it can format, link, mention or pass for the card's own words.
pub trait Markup: Clone {
    /// Whether the platform can fold away what is rarely needed.
    const FOLDS: bool;
    /// Whether an agent's reason stands in quotation marks on a line instead of below a label.
    const REASON_ON_LINE: bool;
    /// Where the files of a message are, such as ` in the thread`; empty where they are in sight.
    const BESIDE: &'static str;

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

    /// A block begins.
    fn begin(&mut self, _block: &Block) {}

    /// Writes the ask's id at the end, where people type it.
    fn ask(&mut self, _id: &str) {}
}

/// Lays out as much of a card as a message holds: all of it, else with each text cut, else with
/// fewer blocks too. `blank` is the empty message.
pub fn lay_out<M: Markup>(card: &Card, limits: Limits, blank: &M) -> Layout<M> {
    let texts = shown_texts(card);
    let compose = |blocks, room, in_fold: bool| {
        let composed = |spare| {
            let empty = Composer {
                card,
                limits,
                room,
                spare,
                is_first: true,
                tight: false,
                texts: texts.iter(),
                page: blank.clone(),
                rows: Rows::default(),
                details: false,
                whole: in_fold.then(Vec::new),
                files: Vec::new(),
                rest: false,
            };
            empty.compose(blocks)
        };
        // First with every text as short as it may be, then with the rows that this leaves.
        let mut layout = composed(0);
        let mut spare = ROWS.saturating_sub(layout.rows);
        while spare > 0 {
            layout = composed(spare);
            let over = layout.rows.saturating_sub(ROWS);
            if over == 0 {
                break;
            }
            spare = spare.saturating_sub(over);
        }
        layout
    };
    let runs = |block: &Block| matches!(block, Block::Code { .. } | Block::Diff { .. });
    let kept = card.blocks.iter().position(runs).map_or(0, |at| at + 1);
    let is_facts = |block: &&Block| matches!(block, Block::Details { .. });
    let but_facts = card.blocks.len() - usize::from(card.blocks.last().filter(is_facts).is_some());
    let is_sent = |layout: &Layout<M>| layout.page.units() <= limits.units;
    let fits = |layout: &Layout<M>| is_sent(layout) && layout.rows <= ROWS;
    let fits_well = |layout: &Layout<M>| fits(layout) && !layout.tight;
    let beside = |blocks, room| compose(blocks, room, false);
    let (blocks, room) =
        fitted((kept, but_facts, card.blocks.len()), limits, beside, (fits_well, fits, is_sent));
    let layout = beside(blocks, room);
    if !M::FOLDS || layout.files.is_empty() {
        return layout;
    }
    // A text that the fold holds whole needs no message of its own.
    Some(compose(blocks, room, true)).filter(is_sent).unwrap_or(layout)
}

/// How many blocks fit, and the most characters of each text: as much as possible, and `kept`
/// blocks wherever they can be sent. What follows the first `but_facts` is rarely needed.
/// `compose` takes both.
fn fitted<T>(
    (kept, but_facts, blocks): (usize, usize, usize),
    limits: Limits,
    compose: impl Fn(usize, usize) -> T,
    (fits_well, fits, is_sent): (impl Fn(&T) -> bool, impl Fn(&T) -> bool, impl Fn(&T) -> bool),
) -> (usize, usize) {
    // Room that cuts nothing which could fit.
    let all = blocks.min(BLOCKS);
    let whole = 2 * limits.units;
    if fits_well(&compose(all, whole)) {
        return (all, whole);
    }
    // Words give way before what would run does, down to some rows each; then facts that are rarely
    // needed.
    for blocks in [all, but_facts.min(all)] {
        if fits(&compose(blocks, FAIR)) {
            return (blocks, most(FAIR, whole, |room| fits_well(&compose(blocks, room))));
        }
    }
    // SECURITY: what must not be missed is shown before the words around it, even beyond the screen.
    let kept = most(0, kept.min(all), |blocks| is_sent(&compose(blocks, limits.least)));
    let blocks = most(kept, all, |blocks| fits(&compose(blocks, limits.least)));
    (blocks, most(limits.least, whole, |room| fits(&compose(blocks, room))))
}

/// The most of `from..=to` that fits, or `from`.
fn most(from: usize, to: usize, fits: impl Fn(usize) -> bool) -> usize {
    let mut good = from;
    let mut beyond = to + 1;
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
    /// How many rows it takes whole.
    rows: usize,
    /// Every line of it is approved at once.
    whole: bool,
}

/// The rows that are written.
#[derive(Clone, Copy, Default)]
struct Rows {
    full: usize,
    /// Characters on the current line.
    column: usize,
}

impl Rows {
    fn words(&mut self, words: &str) {
        for (nth, part) in words.split('\n').enumerate() {
            if nth > 0 {
                self.end_line();
            }
            self.column += part.chars().count();
        }
    }

    fn boxed(&mut self, text: &str) {
        self.end_line();
        // A box shows the line that an end of a line begins.
        self.full += rows_of(text) + usize::from(text.ends_with('\n'));
    }

    fn end_line(&mut self) {
        self.full += self.column.div_ceil(WIDTH);
        self.column = 0;
    }
}

/// A message with a bound on the length of every single text.
struct Composer<'a, M> {
    card: &'a Card,
    limits: Limits,
    /// How many characters words have, twice; what would run has more of them.
    room: usize,
    /// Rows that texts may take beyond the fewest.
    spare: usize,
    /// Whether what would run is still to come.
    is_first: bool,
    tight: bool,
    /// Those that are not written yet.
    texts: std::slice::Iter<'a, ShownText<'a>>,
    page: M,
    rows: Rows,
    /// Among what is rarely needed.
    details: bool,
    /// The texts that were cut and that the fold is to show whole; `None` where files carry them.
    whole: Option<Vec<(&'a str, &'a str)>>,
    files: Vec<TextFile>,
    /// Whether something is left out that no file of its own carries.
    rest: bool,
}

impl<'a, M: Markup> Composer<'a, M> {
    /// Writes the first `blocks` blocks of the card.
    fn compose(mut self, blocks: usize) -> Layout<M> {
        let card = self.card;
        self.title();
        // SECURITY: whatever gives way, the worst of what a call does is read.
        let worst = excerpt(&line(&card.worst), WORDS);
        self.rest |= worst.tail.is_some();
        self.add(&isolated(&worst.head), Look::Own);
        self.end_line();
        self.origin();
        card.blocks.iter().take(blocks).for_each(|block| self.block(block));
        if let Some(left) = card.blocks.len().checked_sub(blocks).filter(|left| *left > 0) {
            self.rest = true;
            let parts = if left == 1 { "part" } else { "parts" };
            let place = self.rest_file().map(|file| format!("in {file}"));
            self.remark(&missing(&format!("{left} more {parts}"), place));
        } else if let Some(file) = self.rest_file().filter(|_| self.rest) {
            self.remark(&format!("✂️ All of it in {file}"));
        }
        self.end_line();
        if self.whole.as_ref().is_some_and(|whole| !whole.is_empty()) {
            self.fold(&[]);
        }
        self.page.ask(&card.ask);
        let is_folded = |block: &Block| matches!(block, Block::Details { .. });
        // It has a row of its own where no fold ends the card.
        let in_fold =
            card.blocks.iter().take(blocks).next_back().is_some_and(is_folded) && !self.rest;
        self.rows.full += usize::from(M::FOLDS && !in_fold);
        if self.rest && self.limits.files > 0 {
            let name = self.rest_name();
            self.files.push(TextFile { name, text: plain(card) });
        }
        Layout { page: self.page, files: self.files, rows: self.rows.full, tight: self.tight }
    }

    /// The first line, and how it ended.
    fn title(&mut self) {
        let tone = self.card.tone;
        self.add(&format!("{} ", tone.sign()), Look::Sign);
        if tone == Tone::Critical {
            self.add("CRITICAL ", Look::Label);
        }
        self.brief(&line(&self.card.title), Look::Agent);
        for block in &self.card.blocks {
            if let Block::Outcome { text } = block {
                self.add(" · ", Look::Plain);
                self.brief(&line(text), Look::Own);
            }
        }
        self.end_line();
    }

    /// Who asks from where, and the time that is left.
    fn origin(&mut self) {
        let origin = line(&self.card.origin);
        let shown = self.card.tone.is_open() && !origin.trim().is_empty();
        if shown {
            self.brief(&origin, Look::Own);
        }
        if let Some(deadline) = self.card.deadline {
            self.page.deadline(if shown { " · " } else { "" }, deadline);
            self.rows.column += DEADLINE;
        }
        self.end_line();
    }

    fn block(&mut self, block: &'a Block) {
        self.page.begin(block);
        match block {
            Block::Code { label, .. } => self.labelled(label, Dress::Code),
            Block::Quote { label, .. } if label.is_empty() => self.reason(),
            Block::Quote { label, .. } => self.labelled(label, Dress::Quote),
            Block::Diff { path, added, removed, .. } => {
                if !path.is_empty() {
                    self.brief(&line(path), Look::Agent);
                    self.add(&format!(" +{added} −{removed}"), Look::Plain);
                    self.end_line();
                }
                self.passage("change", Dress::Diff);
            }
            Block::Fields { fields } => self.facts(fields),
            Block::Note { .. } => {
                let text = self.texts.next().map_or("", |text| &text.shown);
                self.brief(text, Look::Own);
            }
            // It is on the line of the title.
            Block::Outcome { .. } => {}
            Block::Details { blocks } => self.fold(blocks),
        }
        self.end_line();
    }

    /// What is rarely needed: a fold takes some rows, whatever it holds.
    fn fold(&mut self, blocks: &'a [Block]) {
        self.end_line();
        let before = self.rows.full;
        self.page.fold();
        self.details = true;
        blocks.iter().for_each(|block| self.block(block));
        for (label, text) in self.whole.as_mut().map(std::mem::take).unwrap_or_default() {
            self.end_line();
            self.add(if label.is_empty() { "in whole" } else { label }, Look::Label);
            self.end_line();
            self.boxed(text, Dress::Code);
            self.end_line();
        }
        self.details = false;
        self.page.unfold();
        if M::FOLDS {
            self.rows.full = self.rows.full.min(before + FOLD);
        }
    }

    /// Why the agent wants it, in its own words.
    fn reason(&mut self) {
        let Some(ShownText { exact, shown, .. }) = self.texts.next() else { return };
        let most = if self.details && M::FOLDS { usize::MAX } else { REASON };
        let whole = line(shown.trim());
        let short = brief(&whole, (self.room / 2).min(most).max(self.limits.least / 2));
        self.rest |= short != whole || shown != exact;
        if M::REASON_ON_LINE {
            self.add("says: “", Look::Plain);
            self.boxed(&short, Dress::Reason);
            self.add("”", Look::Plain);
        } else {
            self.add("says", Look::Label);
            self.end_line();
            self.boxed(&short, Dress::Reason);
        }
    }

    /// Short facts: each on a line, but where what is rarely needed cannot be folded away.
    fn facts(&mut self, fields: &[Field]) {
        for (nth, Field { name, value }) in fields.iter().enumerate() {
            match self.details && !M::FOLDS {
                true if nth > 0 => self.add(" · ", Look::Plain),
                true => {}
                false => self.end_line(),
            }
            self.brief(&line(name), Look::Name);
            self.add(": ", Look::Plain);
            self.brief(&line(value), Look::Value);
        }
    }

    fn labelled(&mut self, label: &'a str, dress: Dress) {
        self.brief(&line(label), Look::Label);
        self.end_line();
        self.passage(label, dress);
    }

    /// An agent's text. What is cut out of it is said between head and tail, outside of the dress
    /// that an agent's text wears, and is carried whole by a file.
    fn passage(&mut self, label: &'a str, dress: Dress) {
        let Some(text) = self.texts.next() else { return };
        let ShownText { exact, shown, .. } = text;
        if shown.trim().is_empty() {
            return self.add("(nothing)", Look::Remark);
        }
        let (Excerpt { head, tail, hidden }, lines) = self.cut(text, dress);
        let before = self.rows.full;
        self.boxed(&head, dress);
        if text.whole {
            // However many there are, the card needs them.
            self.rows.full = before;
        }
        let is_altered = shown != exact;
        if let Some(tail) = tail {
            let folds = !is_altered && !self.details;
            let place = match self.whole.as_mut().filter(|_| folds) {
                Some(whole) => {
                    whole.push((label, shown));
                    Some("below, with all of it".to_owned())
                }
                None => self.attach(label, exact).map(|file| format!("in {file}")),
            };
            self.remark(&missing(&cut_off(lines, hidden), place));
            self.end_line();
            self.boxed(tail.trim_end_matches('\n'), dress);
        } else if is_altered && let Some(file) = self.attach(label, exact) {
            self.remark(&format!("✂️ To the letter in {file}"));
        }
        if visible(exact) != **exact {
            self.remark("Invisible characters are spelled out.");
        }
    }

    /// The part of a text that is shown, and how many lines are left out where it is whole ones.
    fn cut(&mut self, text: &ShownText<'_>, dress: Dress) -> (Excerpt, Option<usize>) {
        let folds = self.details && M::FOLDS;
        let room = match dress {
            Dress::Quote | Dress::Reason if !folds => (self.room / 2).max(self.limits.least),
            _ => self.room.saturating_mul(4),
        };
        let whole = || (Excerpt { head: text.shown.clone(), tail: None, hidden: 0 }, None);
        let runs = matches!(dress, Dress::Code | Dress::Diff);
        if text.whole {
            return whole();
        }
        if runs && std::mem::take(&mut self.is_first) && text.rows <= WHOLE {
            // Its rows are counted in the first try already.
            return whole();
        }
        let rows = if folds { None } else { self.rows_for(text.rows) };
        let (cut, lines) = match rows {
            Some(rows) => excerpt_rows(&text.shown, rows),
            None => whole(),
        };
        let shown = cut.head.chars().count() + cut.tail.iter().flat_map(|it| it.chars()).count();
        if shown > room { (excerpt(&text.shown, room), None) } else { (cut, lines) }
    }

    /// How many rows a text of this many gets; `None` where it is shown whole. The texts before it
    /// have taken theirs already.
    fn rows_for(&mut self, rows: usize) -> Option<usize> {
        let over = rows.saturating_sub(FEWEST + REMARK);
        if rows <= WHOLE && over <= self.spare {
            self.spare -= over;
            return None;
        }
        let more = self.spare.min(CUT - FEWEST);
        self.tight |= more < CUT - FEWEST;
        self.spare -= more;
        Some(FEWEST + more)
    }

    /// The layout's own words on a line of their own.
    fn remark(&mut self, words: &str) {
        self.end_line();
        self.add(words, Look::Remark);
    }

    /// A text that should be short; cut openly where it is not.
    fn brief(&mut self, text: &str, look: Look) {
        // What is said about a call never takes the room of what would run.
        let most = match look {
            _ if self.details && M::FOLDS => usize::MAX,
            Look::Own => NOTE,
            _ => WORDS,
        };
        let room = (self.room / 2).min(most).max(self.limits.least);
        // What says how much is missing takes its part of a row.
        let whole = text.chars().nth(room).is_none();
        let room = if whole { room } else { room.saturating_sub(MARK).max(self.limits.least) };
        let Excerpt { head, tail, hidden } = excerpt(text, room);
        self.add(&isolated(&head), look);
        if let Some(tail) = tail {
            self.rest = true;
            self.add(&format!(" … (+{hidden}) … "), Look::Remark);
            self.add(&isolated(&tail), look);
        }
    }

    fn add(&mut self, words: &str, look: Look) {
        self.rows.words(words);
        self.page.add(words, look);
    }

    fn boxed(&mut self, text: &str, dress: Dress) {
        if dress == Dress::Reason && M::REASON_ON_LINE {
            self.rows.words(text);
        } else {
            self.rows.boxed(text);
        }
        self.page.boxed(text, dress);
    }

    fn end_line(&mut self) {
        self.rows.end_line();
        self.page.end_line();
    }

    /// Puts a text beside the message and says where; the last place is the whole card's.
    fn attach(&mut self, label: &str, text: &str) -> Option<String> {
        if self.files.len() + 1 >= self.limits.files {
            self.rest = true;
            return self.rest_file();
        }
        let ask = file_safe(&self.card.ask);
        let mut name = format!("{ask}-{}.txt", file_safe(label));
        if self.files.iter().any(|file| file.name == name) || name == self.rest_name() {
            name = format!("{ask}-{}-{}.txt", file_safe(label), self.files.len() + 1);
        }
        let place = format!("{name}{}", M::BESIDE);
        self.files.push(TextFile { name, text: text.to_owned() });
        Some(place)
    }

    /// Where the file is that carries the whole card, if the platform attaches any.
    fn rest_file(&self) -> Option<String> {
        (self.limits.files > 0).then(|| format!("{}{}", self.rest_name(), M::BESIDE))
    }

    fn rest_name(&self) -> String {
        format!("{}-card.txt", file_safe(&self.card.ask))
    }
}

/// Says how much is left out, and where all of it is.
fn missing(what: &str, place: Option<String>) -> String {
    match place {
        Some(place) => format!("✂️ {what} {place}"),
        None => format!("✂️ {what} not shown"),
    }
}

/// How much of a text is left out: so many lines, where it is whole ones.
fn cut_off(lines: Option<usize>, characters: usize) -> String {
    match lines {
        Some(1) => "1 more line".to_owned(),
        Some(lines) => format!("{lines} more lines"),
        None => format!("{characters} more characters"),
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
            let exact = text.into();
            let shown = visible(text);
            return texts.push(ShownText { exact, shown, rows: 0, whole: false });
        }
        Block::Details { blocks } => return blocks.iter().for_each(|it| gather(it, texts)),
        Block::Fields { .. } | Block::Outcome { .. } => return,
    };
    let shown = folded(&visible(&exact));
    let whole = matches!(block, Block::Code { whole: true, .. });
    texts.push(ShownText { rows: rows_of(&shown), shown, exact, whole });
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
        let fits = |(n, room): &(usize, usize)| n * length.min(*room) <= LIMITS.units;
        fitted((0, blocks, blocks), LIMITS, |blocks, room| (blocks, room), (fits, fits, fits))
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
