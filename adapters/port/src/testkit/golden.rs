//! The cards that the core draws, as its own tests hold them.

use crate::Card;
use std::{fs, io, path::Path};

/// Pictures of the core's golden cards, one below the other, for a snapshot.
///
/// # Panics
/// When the cards cannot be read.
#[expect(clippy::expect_used, reason = "a test kit fails by panicking")]
pub fn golden_cards(picture: impl Fn(&Card) -> String) -> String {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/golden/cards");
    let mut files: Vec<_> = fs::read_dir(folder)
        .and_then(|files| files.map(|file| Ok(file?.path())).collect::<io::Result<_>>())
        .expect("the golden cards are listed");
    files.sort();
    assert!(files.len() >= 24, "{} cards", files.len());
    let one = |file: &Path| {
        let text = fs::read_to_string(file).expect("a golden card is read");
        let card: Card = serde_json::from_str(&text).expect("a golden card is a card");
        let name = file.file_stem().unwrap_or_default().to_string_lossy();
        format!("== {name}\n{}\n\n", picture(&card))
    };
    files.iter().map(|file| one(file)).collect()
}
