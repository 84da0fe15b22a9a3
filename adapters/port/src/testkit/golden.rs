//! The cards that the core draws, as its own tests hold them, and how a platform shows each.

use super::{closed, sample_card, sample_edit};
use crate::{Card, Tone};
use serde_json::Value;
use std::{env, fs, io, path::Path};

/// Pictures of the core's golden cards, one below the other, for a snapshot.
///
/// # Panics
/// When the cards cannot be read.
pub fn golden_cards(picture: impl Fn(&Card) -> String) -> String {
    let cards = cards_of_the_core().into_iter();
    cards.map(|(name, card)| format!("== {name}\n{}\n\n", picture(&card))).collect()
}

/// Compares what a platform is sent for every golden card, and for the samples of this kit, with
/// `tests/golden/PLATFORM.jsonl`, byte for byte. `UPDATE_CARDS=1` writes that file anew.
///
/// # Panics
/// When a card is sent otherwise than before, or the files cannot be read.
#[expect(clippy::expect_used, reason = "a test kit fails by panicking")]
pub fn golden_bytes(platform: &str, sent: impl Fn(&Card) -> Value) {
    let line = |(name, card): (String, Card)| format!("{name} {}\n", sent(&card));
    let now: String = cards_of_the_core().into_iter().chain(samples()).map(line).collect();
    let file = Path::new(GOLDEN).join(format!("{platform}.jsonl"));
    if env::var_os("UPDATE_CARDS").is_some() {
        fs::write(&file, &now).expect("the golden file is written");
    }
    let before = fs::read_to_string(&file).expect("the golden file is read");
    for (before, now) in before.lines().zip(now.lines()) {
        assert_eq!(before, now, "as {} holds it", file.display());
    }
    assert_eq!(before.lines().count(), now.lines().count(), "cards in {}", file.display());
}

const GOLDEN: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/golden");

#[expect(clippy::expect_used, reason = "a test kit fails by panicking")]
fn cards_of_the_core() -> Vec<(String, Card)> {
    let mut files: Vec<_> = fs::read_dir(Path::new(GOLDEN).join("cards"))
        .and_then(|files| files.map(|file| Ok(file?.path())).collect::<io::Result<_>>())
        .expect("the golden cards are listed");
    files.sort();
    assert!(files.len() >= 24, "{} cards", files.len());
    let one = |file: &Path| {
        let text = fs::read_to_string(file).expect("a golden card is read");
        let card = serde_json::from_str(&text).expect("a golden card is a card");
        (file.file_stem().unwrap_or_default().to_string_lossy().into_owned(), card)
    };
    files.iter().map(|file| one(file)).collect()
}

/// Cards of this kit that the core's golden ones do not have the like of.
fn samples() -> Vec<(String, Card)> {
    let markup = "rm -rf build/* && echo \"<done> & `dusted`\" </code></pre> ``` @everyone <@1>";
    let long = format!("echo start; {} rm -rf tail-end", "printf '%s' x; ".repeat(700));
    let padded = format!("ls{}{}; rm -rf ~", "\n".repeat(60), " ".repeat(900));
    let open = sample_card(markup);
    let cards = [
        ("sample.critical", Card { tone: Tone::Critical, ..open.clone() }),
        ("sample.closed", closed(&open)),
        ("sample.edit", sample_edit()),
        ("sample.empty", sample_card(" \n ")),
        ("sample.long", sample_card(&long)),
        ("sample.padded", sample_card(&padded)),
        ("sample.without_deadline", Card { deadline: None, origin: String::new(), ..open.clone() }),
        ("sample.open", open),
    ];
    cards.map(|(name, card)| (name.to_owned(), card)).into()
}
