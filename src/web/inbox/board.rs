//! The cards that the inbox shows.

use countersign_port::{Block, Card, DiffLine, Field, folded, locked, visible};
use countersign_tokens::clock;
use serde::Serialize;
use std::{
    collections::{BTreeMap, BTreeSet, HashMap},
    ops::Bound,
    sync::Mutex,
};
use tokio::sync::watch;

/// A card with more text than this, in bytes, is not kept: its text is in the core's store, and
/// is read from there for every page that shows it.
const LARGE: usize = 48 * 1024;
/// How much text is told of the board at once, in bytes.
const PAGE: usize = 512 * 1024;
/// How many changes are told at once.
const CHANGES: usize = 100;

/// How many closed cards are kept for the page.
const CLOSED_KEPT: usize = 50;

/// All cards, open and lately closed, in the order in which they arrived.
#[derive(Default)]
pub(crate) struct Board {
    cards: Mutex<Cards>,
    /// Counts changes; those that follow the board wait for it to grow.
    version: watch::Sender<u64>,
}

/// The cards and three ways to find them, so that nothing takes longer where many asks are open.
#[derive(Default)]
struct Cards {
    /// By place: the board's version that brought the card.
    by_place: BTreeMap<u64, BoardCard>,
    /// The place of each card id.
    places: HashMap<String, u64>,
    /// The place of what each version changed, as far as nothing later has changed it again.
    changed: BTreeMap<u64, u64>,
    /// The versions that closed a card.
    closed: BTreeSet<u64>,
}

/// A card on the board.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(crate) struct BoardCard {
    /// Fit to be shown: nothing in it hides or reorders text.
    card: Card,
    /// The blocks whose text only runs of blanks make long: what is shown of it at first, by
    /// number.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    folded: BTreeMap<usize, String>,
    /// When it came, Unix milliseconds.
    since: i64,
    /// When it closed, Unix milliseconds.
    closed: Option<i64>,
    /// The board's version that this card came with.
    #[serde(skip)]
    version: u64,
    /// The card's own revision. A large card is kept without its text, as revision 0.
    #[serde(skip)]
    revision: u32,
}

/// Some of the cards on the board, in the order in which they arrived.
pub(crate) struct BoardPage {
    pub(crate) cards: Vec<BoardCard>,
    /// Behind which place the next page begins; `None`: this is the last one.
    pub(crate) next: Option<u64>,
}

impl Board {
    /// Puts a card up, or redraws it. INVARIANT: an older revision never replaces a newer one.
    pub(crate) fn put(&self, card: &Card) {
        let revision = card.revision;
        let large = weight(card) > LARGE;
        let card = if large { without_text(card) } else { shown(card) };
        let mut cards = locked(&self.cards);
        let old = cards.get(&card.id);
        if old.is_some_and(|old| {
            old.revision > revision || (old.revision == revision && old.card == card)
        }) {
            return;
        }
        let version = *self.version.borrow() + 1;
        let closed = (!card.tone.is_open()).then(clock::machine_ms);
        let since = old.map_or_else(clock::machine_ms, |old| old.since);
        let folded = folds(&card);
        cards.put(BoardCard { since, closed, card, folded, version, revision });
        // Still under the lock, so that versions are told in order.
        self.version.send_replace(version);
    }

    /// Some cards that changed after a version, in the order in which they changed, and the version
    /// that they lead to. Version 0 is before everything.
    pub(crate) fn since(&self, version: u64) -> (Vec<BoardCard>, u64) {
        let cards = locked(&self.cards);
        let changed = cards.changed.range(version + 1..).take(CHANGES);
        let changed: Vec<_> =
            changed.filter_map(|(_, place)| cards.by_place.get(place)).cloned().collect();
        let all = changed.len() < CHANGES;
        let last = changed.last().filter(|_| !all).map(|kept| kept.version);
        (changed, last.unwrap_or(*self.version.borrow()))
    }

    /// Some cards behind this place, of those that came no later than this version.
    pub(crate) fn page(&self, place: u64, version: u64) -> BoardPage {
        let cards = locked(&self.cards);
        let mut page = BoardPage { cards: Vec::new(), next: None };
        let mut left = PAGE;
        // A page that was opened on an empty board may be read after the first card came: a range
        // that ends before it begins would panic.
        let places = (Bound::Excluded(place), Bound::Included(version.max(place)));
        for (place, kept) in cards.by_place.range(places) {
            page.cards.push(kept.clone());
            left = left.saturating_sub(weight(&kept.card) + 1000);
            if left == 0 {
                page.next = Some(*place);
                break;
            }
        }
        page
    }

    /// The card of this id as pages show it; without buttons where its text is not kept here.
    pub(crate) fn card(&self, id: &str) -> Option<Card> {
        locked(&self.cards).get(id).map(|kept| kept.card.clone())
    }

    /// The current version of the board.
    pub(crate) fn version(&self) -> u64 {
        *self.version.borrow()
    }

    /// Tells when the board has changed.
    pub(crate) fn follow(&self) -> watch::Receiver<u64> {
        self.version.subscribe()
    }
}

impl Cards {
    fn get(&self, id: &str) -> Option<&BoardCard> {
        self.by_place.get(self.places.get(id)?)
    }

    /// Puts a card in its place, or at the end, and forgets the oldest closed one that is too many.
    fn put(&mut self, new: BoardCard) {
        let version = new.version;
        let place = *self.places.entry(new.card.id.clone()).or_insert(version);
        if new.closed.is_some() {
            self.closed.insert(version);
        }
        self.changed.insert(version, place);
        if let Some(old) = self.by_place.insert(place, new) {
            self.changed.remove(&old.version);
            self.closed.remove(&old.version);
        }
        if self.closed.len() > CLOSED_KEPT
            && let Some(oldest) = self.closed.pop_first()
            && let Some(place) = self.changed.remove(&oldest)
            && let Some(forgotten) = self.by_place.remove(&place)
        {
            self.places.remove(&forgotten.card.id);
        }
    }
}

impl BoardCard {
    /// The id of its card, where its text is not kept here.
    pub(crate) fn elsewhere(&self) -> Option<&str> {
        (self.card.revision == 0 && self.revision > 0).then_some(self.card.id.as_str())
    }

    /// The same with the whole card.
    pub(crate) fn with(self, card: &Card) -> Self {
        let card = shown(card);
        Self { folded: folds(&card), card, ..self }
    }
}

/// How much text a card has, in bytes.
fn weight(card: &Card) -> usize {
    card.blocks.iter().map(weight_of).sum()
}

fn weight_of(block: &Block) -> usize {
    match block {
        Block::Code { text, .. } | Block::Quote { text, .. } => text.len(),
        Block::Diff { lines, .. } => lines.iter().map(|line| line.text.len() + 1).sum(),
        Block::Note { text } | Block::Outcome { text } => text.len(),
        Block::Fields { fields } => fields.iter().map(|field| field.value.len()).sum(),
        Block::Details { blocks } => blocks.iter().map(weight_of).sum(),
    }
}

/// The placeholder of a card until its text is read.
// FAIL-CLOSED: it has no buttons, so that nobody approves what they do not see.
fn without_text(card: &Card) -> Card {
    let text =
        "This card is large. It is being read; if it does not appear, look at the daemon's log.";
    Card {
        revision: 0,
        title: visible(&card.title).chars().take(1000).collect(),
        blocks: vec![Block::Note { text: text.to_owned() }],
        buttons: Vec::new(),
        more: Vec::new(),
        ..card.clone()
    }
}

/// The texts of a card from which empty lines and blanks are taken that push the rest out of sight;
/// those in the fold stay as they are.
fn folds(card: &Card) -> BTreeMap<usize, String> {
    let fold = |(at, block): (usize, &Block)| match block {
        Block::Code { text, .. } | Block::Quote { text, .. } => {
            Some((at, folded(text))).filter(|(_, shown)| shown != text)
        }
        _ => None,
    };
    card.blocks.iter().enumerate().filter_map(fold).collect()
}

/// The card with everything visible that would hide, reorder or fake text.
fn shown(card: &Card) -> Card {
    let mut card = card.clone();
    card.title = visible(&card.title);
    card.worst = visible(&card.worst);
    card.origin = visible(&card.origin);
    card.blocks.iter_mut().for_each(show);
    for button in card.buttons.iter_mut().flatten().chain(&mut card.more) {
        button.label = visible(&button.label);
    }
    card
}

fn show(block: &mut Block) {
    match block {
        Block::Code { label, text, .. } | Block::Quote { label, text } => {
            *label = visible(label);
            *text = visible(text);
        }
        Block::Diff { path, lines, .. } => {
            *path = visible(path);
            for DiffLine { text, .. } in lines {
                *text = visible(text);
            }
        }
        Block::Fields { fields } => {
            for Field { name, value } in fields {
                *name = visible(name);
                *value = visible(value);
            }
        }
        Block::Details { blocks } => blocks.iter_mut().for_each(show),
        Block::Note { text } | Block::Outcome { text } => *text = visible(text),
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::indexing_slicing, clippy::unwrap_used, reason = "tests fail by panicking")]

    use super::*;
    use countersign_port_testkit::{closed, sample_card};

    fn card(id: &str) -> Card {
        Card { id: id.to_owned(), ..sample_card("ls") }
    }

    fn all(board: &Board) -> Vec<BoardCard> {
        let mut cards = Vec::new();
        let mut place = Some(0);
        while let Some(from) = place {
            let page = board.page(from, board.version());
            cards.extend(page.cards);
            place = page.next;
        }
        cards
    }

    fn ids(board: &Board) -> Vec<String> {
        all(board).into_iter().map(|kept| kept.card.id).collect()
    }

    #[test]
    fn an_older_revision_never_replaces_a_newer_one() {
        let board = Board::default();
        board.put(&closed(&card("a")));
        board.put(&card("a"));
        assert_eq!(all(&board)[0].card, closed(&card("a")));
        assert_eq!(board.version(), 1);
    }

    #[test]
    fn cards_keep_the_place_in_which_they_arrived() {
        let board = Board::default();
        board.put(&card("a"));
        board.put(&card("b"));
        board.put(&Card { revision: 2, ..card("a") });
        assert_eq!(ids(&board), ["a", "b"]);
    }

    #[test]
    fn a_large_card_is_kept_without_its_text_and_without_buttons_until_it_is_read() {
        let board = Board::default();
        let large = sample_card(&"x".repeat(LARGE + 1));
        board.put(&large);
        board.put(&large);
        let kept = all(&board).remove(0);
        assert_eq!((board.version(), kept.elsewhere()), (1, Some(large.id.as_str())));
        assert!(kept.card.buttons.is_empty() && weight(&kept.card) < 200);
        let whole = kept.with(&large);
        assert_eq!((&whole.card, whole.elsewhere()), (&large, None));
        let newer = Card { revision: large.revision + 1, ..large.clone() };
        board.put(&newer);
        board.put(&large);
        assert_eq!((board.version(), all(&board)[0].revision), (2, newer.revision));
    }

    #[test]
    fn a_large_board_is_told_in_pages_and_its_changes_too() {
        let board = Board::default();
        let id = |n: usize| format!("c{n}");
        for n in 0..700 {
            board.put(&card(&id(n)));
        }
        assert!(board.page(0, board.version()).next.is_some());
        assert_eq!(ids(&board), (0..700).map(id).collect::<Vec<_>>());
        let mut seen = 0;
        let mut told = 0;
        while seen < board.version() {
            let (changed, version) = board.since(seen);
            assert!(changed.len() <= CHANGES && version > seen);
            (seen, told) = (version, told + changed.len());
        }
        assert_eq!(told, 700);
    }

    #[test]
    fn the_same_card_again_is_no_change() {
        let board = Board::default();
        board.put(&card("a"));
        board.put(&card("a"));
        assert_eq!(board.version(), 1);
    }

    #[test]
    fn a_follower_gets_each_changed_card_once_in_order_of_change() {
        let board = Board::default();
        for id in ["a", "b", "c"] {
            board.put(&card(id));
        }
        let seen = board.version();
        board.put(&closed(&card("c")));
        board.put(&closed(&card("a")));
        let (changed, version) = board.since(seen);
        let ids: Vec<_> = changed.iter().map(|kept| kept.card.id.as_str()).collect();
        assert_eq!((ids, version), (vec!["c", "a"], 5));
        assert_eq!(board.since(version), (vec![], 5));
    }

    /// Somebody opens the page at the moment when the first request comes.
    #[test]
    fn a_page_of_an_empty_board_stays_empty_when_a_card_has_come_since() {
        let board = Board::default();
        let seen = board.version();
        board.put(&card("a"));
        let page = board.page(0, seen);
        assert_eq!((page.cards, page.next), (vec![], None));
        let (changed, version) = board.since(seen);
        assert_eq!((changed.len(), version), (1, 1), "it is told as a change");
    }

    #[test]
    fn only_the_last_fifty_closed_cards_are_kept_and_open_ones_always() {
        let board = Board::default();
        board.put(&card("open"));
        for n in 0..60 {
            board.put(&closed(&card(&format!("c{n}"))));
        }
        let ids = ids(&board);
        assert_eq!(ids.len(), 51);
        assert_eq!((ids[0].as_str(), ids[1].as_str(), ids[50].as_str()), ("open", "c10", "c59"));
    }

    #[test]
    fn invisible_characters_are_visible_in_every_part_of_a_card() {
        let evil = "a\u{202e}b".to_owned();
        let mut card = card("a");
        (card.title, card.origin) = (evil.clone(), evil.clone());
        let line = DiffLine { side: countersign_port::DiffSide::Added, text: evil.clone() };
        let path = evil.clone();
        card.blocks = vec![
            Block::Details {
                blocks: vec![Block::Diff { path, added: 1, removed: 0, lines: vec![line] }],
            },
            Block::Code { label: evil.clone(), text: evil.clone(), whole: false },
            Block::Quote { label: evil.clone(), text: evil.clone() },
            Block::Fields { fields: vec![Field { name: evil.clone(), value: evil.clone() }] },
            Block::Note { text: evil.clone() },
            Block::Outcome { text: evil.clone() },
        ];
        card.more = card.buttons[0].clone();
        card.more.truncate(1);
        card.more[0].label = evil.clone();
        card.buttons[0][0].label = evil;
        let board = Board::default();
        board.put(&card);
        let json = serde_json::to_string(&all(&board)).unwrap();
        assert!(!json.contains('\u{202e}'));
        assert_eq!(json.matches(r"a\\u{202e}b").count(), 14);
    }
}
