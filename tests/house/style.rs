//! What a reader can rely on in every file: short lines, short files, one type for each name.

use crate::crates::files;
use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::{Path, PathBuf},
};
use syn::Item;

/// Names of two types: the wire's and the policy's own, which mean the same to people.
const SHARED_NAMES: &[&str] = &["Call", "Decision"];

const COLUMNS: usize = 100;
const LINES: usize = 400;

#[test]
fn no_line_is_longer_than_a_hundred_columns() {
    let mut long = Vec::new();
    for (path, text) in texts() {
        for (at, line) in text.lines().enumerate() {
            if line.chars().count() > COLUMNS {
                long.push(format!("{}:{}", path.display(), at + 1));
            }
        }
    }
    assert_eq!(long, Vec::<String>::new(), "rustfmt breaks neither comments nor texts");
}

#[test]
fn no_file_is_longer_than_four_hundred_lines_but_those_of_tests() {
    let of_tests = |path: &Path| path.iter().any(|part| part == "tests" || part == "tests.rs");
    let long = texts().into_iter().filter(|(path, _)| !of_tests(path));
    let long: Vec<_> = long.filter(|(_, text)| text.lines().count() > LINES).collect();
    let long: Vec<_> = long.into_iter().map(|(path, _)| path).collect();
    assert_eq!(long, Vec::<PathBuf>::new(), "split them by what they are about");
}

#[test]
fn a_type_name_is_used_for_one_type_only() {
    let mut places = BTreeMap::<String, Vec<String>>::new();
    for file in files(top()) {
        for name in file.items.iter().filter_map(type_name) {
            places.entry(name).or_default().push(file.path.clone());
        }
    }
    assert!(places.len() > 500, "{} types are too few to be all", places.len());
    places.retain(|_, files| files.len() > 1);
    let shared: BTreeSet<&str> = places.keys().map(String::as_str).collect();
    let allowed = BTreeSet::from_iter(SHARED_NAMES.iter().copied());
    assert_eq!(shared, allowed, "{places:#?}");
}

fn type_name(item: &Item) -> Option<String> {
    let name = match item {
        Item::Struct(item) => &item.ident,
        Item::Enum(item) => &item.ident,
        Item::Trait(item) => &item.ident,
        Item::Type(item) => &item.ident,
        Item::Union(item) => &item.ident,
        _ => return None,
    };
    Some(name.to_string())
}

fn top() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// Every source file of the program and the adapters, those of tests included.
fn texts() -> Vec<(PathBuf, String)> {
    let mut open = vec![top().join("src"), top().join("adapters")];
    let mut texts = Vec::new();
    while let Some(folder) = open.pop() {
        for entry in fs::read_dir(&folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                open.push(path);
            } else if path.extension().is_some_and(|end| end == "rs") {
                let text = fs::read_to_string(&path).unwrap();
                texts.push((path.strip_prefix(top()).unwrap().to_owned(), text));
            }
        }
    }
    assert!(texts.len() > 400, "{} files are too few to be all", texts.len());
    texts
}
