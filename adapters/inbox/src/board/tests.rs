#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "tests fail by panicking")]

use super::*;
use countersign_port::testkit::{closed, sample_card};

fn card(id: &str) -> Card {
    Card { id: id.to_owned(), ..sample_card("ls") }
}

fn all(board: &Board) -> Vec<BoardCard> {
    let (mut cards, mut place) = (Vec::new(), Some(0));
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
    let (board, large) = (Board::default(), sample_card(&"x".repeat(LARGE + 1)));
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
    let (mut seen, mut told) = (0, 0);
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
        Block::Code { label: evil.clone(), text: evil.clone() },
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
