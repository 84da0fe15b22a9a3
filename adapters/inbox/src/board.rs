//! The cards that stand in the inbox.

use countersign_port::{Block, Card, Field, Tone, folded, visible};
use serde::Serialize;
use std::{
    collections::{BTreeMap, BTreeSet, HashMap},
    sync::{Mutex, MutexGuard, PoisonError},
    time::{SystemTime, UNIX_EPOCH},
};
use tokio::sync::watch;

/// How many closed cards are kept for the page.
const CLOSED_KEPT: usize = 50;

/// All cards, open and lately closed, in the order in which they arrived.
#[derive(Default)]
pub(crate) struct Board {
    cards: Mutex<Cards>,
    /// Counts changes; whoever follows the board waits for it to grow.
    version: watch::Sender<u64>,
}

/// The cards and three ways to find them, so that nothing takes longer where many asks are open.
#[derive(Default)]
struct Cards {
    /// By place: the board's version that brought the card.
    standing: BTreeMap<u64, Standing>,
    /// The place of each card id.
    places: HashMap<String, u64>,
    /// The place of what each version changed, as far as nothing later has changed it again.
    changed: BTreeMap<u64, u64>,
    /// The versions that closed a card.
    closed: BTreeSet<u64>,
}

/// A card on the board.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(crate) struct Standing {
    /// Fit to be shown: nothing in it hides or reorders text.
    card: Card,
    /// The blocks whose text only runs of blanks make long: what is shown of it at first, by number.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    folded: BTreeMap<usize, String>,
    /// When it came, Unix milliseconds.
    since: i64,
    /// When it closed, Unix milliseconds.
    closed: Option<i64>,
    /// The board's version that this card came with.
    #[serde(skip)]
    version: u64,
}

impl Board {
    /// Puts a card up, or redraws it. INVARIANT: an older revision never replaces a newer one.
    pub(crate) fn put(&self, card: &Card) {
        let card = shown(card);
        let mut cards = self.lock();
        let old = cards.get(&card.id);
        if old.is_some_and(|old| old.card.revision > card.revision || old.card == card) {
            return;
        }
        let version = *self.version.borrow() + 1;
        let closed = (card.tone != Tone::Open).then(now);
        let since = old.map_or_else(now, |old| old.since);
        let folded = folds(&card);
        cards.put(Standing { since, closed, card, folded, version });
        // Still under the lock, so that versions are told in order.
        self.version.send_replace(version);
    }

    /// The cards that changed after a version, in the order in which they changed, and the version that
    /// they lead to. Version 0 is before everything.
    pub(crate) fn since(&self, version: u64) -> (Vec<Standing>, u64) {
        let cards = self.lock();
        let changed = cards.changed.range(version + 1..);
        let changed = changed.filter_map(|(_, place)| cards.standing.get(place)).cloned();
        (changed.collect(), *self.version.borrow())
    }

    /// All cards in the order in which they arrived, and the version they stand at.
    pub(crate) fn all(&self) -> (Vec<Standing>, u64) {
        let cards = self.lock();
        (cards.standing.values().cloned().collect(), *self.version.borrow())
    }

    /// Tells when the board has changed.
    pub(crate) fn follow(&self) -> watch::Receiver<u64> {
        self.version.subscribe()
    }

    fn lock(&self) -> MutexGuard<'_, Cards> {
        // Nothing that is done under the lock can panic halfway.
        self.cards.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Cards {
    fn get(&self, id: &str) -> Option<&Standing> {
        self.standing.get(self.places.get(id)?)
    }

    /// Puts a card in its place, or at the end, and forgets the oldest closed one that is too many.
    fn put(&mut self, new: Standing) {
        let version = new.version;
        let place = *self.places.entry(new.card.id.clone()).or_insert(version);
        if new.closed.is_some() {
            self.closed.insert(version);
        }
        self.changed.insert(version, place);
        if let Some(old) = self.standing.insert(place, new) {
            self.changed.remove(&old.version);
            self.closed.remove(&old.version);
        }
        if self.closed.len() > CLOSED_KEPT
            && let Some(oldest) = self.closed.pop_first()
            && let Some(place) = self.changed.remove(&oldest)
            && let Some(forgotten) = self.standing.remove(&place)
        {
            self.places.remove(&forgotten.card.id);
        }
    }
}

/// The time, Unix milliseconds.
pub(crate) fn now() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_millis()).unwrap_or(i64::MAX)
}

/// The texts of a card from which empty lines and blanks are taken that push the rest out of sight.
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
    for block in &mut card.blocks {
        match block {
            Block::Code { label, text } | Block::Quote { label, text } => {
                *label = visible(label);
                *text = visible(text);
            }
            Block::Fields { fields } => {
                for Field { name, value } in fields {
                    *name = visible(name);
                    *value = visible(value);
                }
            }
            Block::Note { text } | Block::Outcome { text } => *text = visible(text),
        }
    }
    for button in card.buttons.iter_mut().flatten() {
        button.label = visible(&button.label);
    }
    card
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "tests fail by panicking")]

    use super::*;
    use countersign_port::testkit::{closed, sample_card};

    fn card(id: &str) -> Card {
        Card { id: id.to_owned(), ..sample_card("ls") }
    }

    fn ids(board: &Board) -> Vec<String> {
        board.all().0.into_iter().map(|standing| standing.card.id).collect()
    }

    #[test]
    fn an_older_revision_never_replaces_a_newer_one() {
        let board = Board::default();
        board.put(&closed(&card("a")));
        board.put(&card("a"));
        assert_eq!(board.all().0[0].card, closed(&card("a")));
        assert_eq!(board.all().1, 1);
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
    fn the_same_card_again_is_no_change() {
        let board = Board::default();
        board.put(&card("a"));
        board.put(&card("a"));
        assert_eq!(board.all().1, 1);
    }

    #[test]
    fn a_follower_gets_each_changed_card_once_in_order_of_change() {
        let board = Board::default();
        for id in ["a", "b", "c"] {
            board.put(&card(id));
        }
        let (_, seen) = board.all();
        board.put(&closed(&card("c")));
        board.put(&closed(&card("a")));
        let (changed, version) = board.since(seen);
        let ids: Vec<_> = changed.iter().map(|standing| standing.card.id.as_str()).collect();
        assert_eq!((ids, version), (vec!["c", "a"], 5));
        assert_eq!(board.since(version), (vec![], 5));
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
        card.title = evil.clone();
        card.blocks = vec![
            Block::Code { label: evil.clone(), text: evil.clone() },
            Block::Quote { label: evil.clone(), text: evil.clone() },
            Block::Fields { fields: vec![Field { name: evil.clone(), value: evil.clone() }] },
            Block::Note { text: evil.clone() },
            Block::Outcome { text: evil.clone() },
        ];
        card.buttons[0][0].label = evil;
        let board = Board::default();
        board.put(&card);
        let json = serde_json::to_string(&board.all().0).unwrap();
        assert!(!json.contains('\u{202e}'));
        assert_eq!(json.matches(r"a\\u{202e}b").count(), 10);
    }
}
