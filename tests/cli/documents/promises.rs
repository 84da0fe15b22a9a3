//! docs/promises.md, held to the tests.

use std::{collections::BTreeSet, fs, path::Path};

/// Collects the names of all functions below a folder.
fn functions(folder: &Path, found: &mut BTreeSet<String>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            functions(&path, found);
        } else if path.extension().is_some_and(|end| end == "rs") {
            let text = fs::read_to_string(&path).unwrap();
            let names = text.split("fn ").skip(1).filter_map(|rest| rest.split_once('('));
            found.extend(names.map(|(name, _)| name.to_owned()));
        }
    }
}

#[test]
fn every_promise_names_tests_that_are_there() {
    let mut there = BTreeSet::new();
    for folder in ["src", "adapters", "tests"] {
        functions(Path::new(folder), &mut there);
    }
    let page = fs::read_to_string("docs/promises.md").unwrap();
    let rows: Vec<_> = page.lines().filter(|line| line.starts_with("| **")).collect();
    let promises: Vec<_> = rows.iter().map(|row| row.split_once('.').unwrap().0).collect();
    let numbers: Vec<_> = (1..=8).map(|number| format!("| **{number}")).collect();
    assert_eq!(promises, numbers);
    for row in rows {
        let named: Vec<_> = row.split('`').skip(1).step_by(2).collect();
        assert!(!named.is_empty(), "no test proves {row}");
        let missing: Vec<_> = named.iter().filter(|name| !there.contains(**name)).collect();
        assert!(missing.is_empty(), "docs/promises.md names tests that do not exist: {missing:?}");
    }
}
