//! Where platforms are named.

use countersign::platforms::BUILT_IN;
use std::{fs, path::Path};

/// Every source file of the program, without what only tests see.
fn sources(folder: &Path, found: &mut Vec<(String, String)>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let name = path.display().to_string();
        let of_tests = ["tests.rs", "/tests", "/fault_injection", "/card/twelve.rs"];
        if of_tests.iter().any(|end| name.contains(end)) {
            continue;
        }
        if path.is_dir() {
            sources(&path, found);
        } else if name.ends_with(".rs") {
            let text = fs::read_to_string(&path).unwrap();
            let code = text.split("#[cfg(test)]\nmod tests {").next().unwrap_or_default();
            found.push((name, code.to_owned()));
        }
    }
}

#[test]
fn outside_of_its_crate_a_platform_is_named_in_its_one_line_only() {
    let mut found = Vec::new();
    for folder in ["src", "adapters/port/src", "adapters/inbox/src"] {
        sources(Path::new(folder), &mut found);
    }
    assert!(found.len() > 100, "{} files", found.len());
    for registered in BUILT_IN {
        let named = |(file, text): &(String, String)| {
            let code = text.lines().filter(|line| !line.trim_start().starts_with("//"));
            let lines = code.filter(|line| line.to_lowercase().contains(registered.name)).count();
            (lines > 0).then(|| (file.clone(), lines))
        };
        let named: Vec<_> = found.iter().filter_map(named).collect();
        assert_eq!(named, [("src/platforms.rs".to_owned(), 1)], "{}", registered.name);
    }
}

#[test]
fn the_page_on_platforms_shows_the_line_as_it_stands() {
    let page = fs::read_to_string("docs/platforms.md").unwrap();
    let list = fs::read_to_string("src/platforms.rs").unwrap();
    let line = "\"telegram\" => countersign_telegram::TelegramPlatform,";
    assert!(list.contains(line) && page.contains(line));
    for part in ["tests/platforms/example.rs", "conformance", "Posting::MayRepeat", "TEXT_NOT_NOW"]
    {
        assert!(page.contains(part), "the page does not speak of {part}");
    }
}
