//! The corpora and the thresholds that hold for them. `cargo test --test corpus -- --nocapture`
//! prints the table.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "tests fail by panicking"
)]

use countersign_policy::score::{Table, score};

fn corpora() -> Table {
    let folder = format!("{}/../../tests/corpus", env!("CARGO_MANIFEST_DIR"));
    let corpora: Vec<(String, String)> = ["bypass", "benign", "critical", "always"]
        .map(|name| {
            let text = std::fs::read_to_string(format!("{folder}/{name}.jsonl")).unwrap();
            (name.to_owned(), text)
        })
        .into();
    score(&corpora).unwrap()
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
