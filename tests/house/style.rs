//! What a reader can rely on in every file: short lines.

use std::{
    fs,
    path::{Path, PathBuf},
};

const COLUMNS: usize = 100;

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
