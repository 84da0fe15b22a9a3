//! Where platforms are named.

use countersign::platforms::BUILT_IN;
use std::{
    fs,
    path::{Path, PathBuf},
};

/// Every source file below a folder, without inline tests and the test programs of its rooms.
fn sources(folder: &Path, found: &mut Vec<(PathBuf, String)>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            if !path.ends_with("tests") {
                sources(&path, found);
            }
        } else if path.extension().is_some_and(|end| end == "rs") {
            let text = fs::read_to_string(&path).unwrap();
            let code = text.replace("pub(crate) mod tests {", "mod tests {");
            let code = code.split("#[cfg(test)]\nmod tests {").next().unwrap_or_default();
            found.push((path, code.to_owned()));
        }
    }
}

/// Where the modules of a file are that only tests see; each is a file, a folder or both.
fn test_modules((path, text): &(PathBuf, String)) -> Vec<PathBuf> {
    let face = ["mod.rs", "lib.rs", "main.rs"].iter().any(|name| path.ends_with(name));
    let below = if face { path.parent().unwrap().to_owned() } else { path.with_extension("") };
    let text = text.replace("#[cfg(any(test, debug_assertions))]", "#[cfg(test)]");
    let marked = text.split("#[cfg(test)]\n").skip(1);
    let module = |rest: &str| {
        let (_, name) = rest.split_once(';')?.0.split_once("mod ")?;
        name.chars().all(|c| c.is_alphanumeric() || c == '_').then(|| below.join(name))
    };
    marked.filter_map(module).collect()
}

#[test]
fn a_module_behind_cfg_test_is_found_where_its_file_is() {
    let text = "mod a;\n#[cfg(test)]\npub(crate) mod b;\n#[cfg(test)]\nfn c() { d(); }\n";
    let found = |path: &str| test_modules(&(path.into(), text.to_owned()));
    assert_eq!(found("src/x/mod.rs"), [Path::new("src/x/b")]);
    assert_eq!(found("src/x.rs"), [Path::new("src/x/b")]);
}

#[test]
fn outside_of_its_crate_a_platform_is_named_in_its_one_line_only() {
    let mut found = Vec::new();
    for folder in ["src", "adapters/port/src"] {
        sources(Path::new(folder), &mut found);
    }
    let tests: Vec<_> = found.iter().flat_map(test_modules).collect();
    found.retain(|(path, _)| !tests.iter().any(|it| path.with_extension("").starts_with(it)));
    assert!(found.len() > 100, "{} files", found.len());
    for registered in BUILT_IN {
        let named = |(file, text): &(PathBuf, String)| {
            let code = text.lines().filter(|line| !line.trim_start().starts_with("//"));
            let lines = code.filter(|line| line.to_lowercase().contains(registered.name)).count();
            (lines > 0).then(|| (file.display().to_string(), lines))
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
