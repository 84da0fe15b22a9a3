//! The corpora and the thresholds that hold for them. `cargo test --test corpus -- --nocapture`
//! prints the table.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "tests fail by panicking"
)]

use countersign_policy_tools::score::{ScoreTable, defaults, score};

fn read(names: &[&str]) -> Vec<(String, String)> {
    let folder = format!("{}/../../tests/corpus", env!("CARGO_MANIFEST_DIR"));
    let file = |name: &&str| {
        let text = std::fs::read_to_string(format!("{folder}/{name}.jsonl")).unwrap();
        ((*name).to_owned(), text)
    };
    names.iter().map(file).collect()
}

fn corpora() -> ScoreTable {
    score(&read(&["bypass", "benign", "critical", "always", "defaults"])).unwrap()
}

#[test]
fn the_corpora_come_out_as_they_must() {
    let table = corpora();
    println!("{table}");
    let least = [
        ("bypass tier 1", 1.0),
        ("bypass tier 2", 1.0),
        ("bypass tier 3", 0.99),
        ("critical tier 1", 0.98),
        ("critical look-alikes", 0.99),
        ("benign", 0.98),
        ("always", 1.0),
    ];
    for (name, least) in least {
        let row = table.row(name).unwrap_or_else(|| panic!("no line {name}"));
        assert!(row.share() >= least, "{name}: {} of {}\n{:#?}", row.right, row.cases, row.wrong);
    }
}

#[test]
fn the_built_in_rules_alone_are_silent_about_reading_and_ask_about_everything_else() {
    let table = defaults(&read(&["bypass", "benign", "critical", "defaults"])).unwrap();
    println!("{table}");
    for (name, least) in [
        ("reading commands, silent", 0.98),
        ("changing commands, asked", 1.0),
        ("reading unseen, asked", 1.0),
    ] {
        let row = table.row(name).unwrap_or_else(|| panic!("no line {name}"));
        assert!(row.cases > 40, "{row:?}");
        assert!(row.share() >= least, "{name}: {} of {}\n{:#?}", row.right, row.cases, row.wrong);
    }
}
