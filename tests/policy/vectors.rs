//! Recorded answers of others: picomatch 4.0.7 `{dot, bash}` and seed 002's own gate.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    reason = "tests fail by panicking"
)]

use countersign_policy::glob::{Glob, GlobError};
use serde_json::Value;

fn rows(file: &str) -> Vec<Value> {
    let path = format!("{}/../../tests/vectors/{file}", env!("CARGO_MANIFEST_DIR"));
    let text = std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{path}: {error}"));
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

#[test]
fn globs_answer_as_picomatch_does() {
    let (mut over, mut under, mut narrow) = (Vec::new(), Vec::new(), Vec::new());
    let mut extglobs = 0;
    let rows = rows("picomatch.jsonl");
    for row in &rows {
        let (pattern, input) = (row["pattern"].as_str().unwrap(), row["input"].as_str().unwrap());
        let wanted = row["match"].as_bool().unwrap();
        let glob = match Glob::parse(pattern) {
            Ok(glob) => glob,
            Err(GlobError::Extglob(_)) => {
                extglobs += 1;
                continue;
            }
            Err(error) => panic!("{pattern}: {error}"),
        };
        match (wanted, glob.matches(input)) {
            (true, false) => under.push((pattern, input)),
            (false, true) => over.push((pattern, input)),
            _ => {}
        }
        if wanted && !glob.reaches(input) {
            narrow.push((pattern, input));
        }
    }
    println!("{} rows, {extglobs} with extglobs, under {under:?}", rows.len());
    assert_eq!(over, [], "an allow rule would match more than picomatch");
    assert_eq!(narrow, [], "a deny rule would match less than picomatch");
    assert_eq!(under, [], "not on the list of deviations");
}
