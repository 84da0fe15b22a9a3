//! The pages for users: every link between them leads somewhere, and the site has all of them.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::{Component, Path, PathBuf},
};

/// A page by its path from the top, such as `docs/team.md`.
type Pages = BTreeMap<PathBuf, String>;

fn pages() -> Pages {
    let mut pages = Pages::new();
    for folder in ["", "docs", "docs/profiles"] {
        for entry in fs::read_dir(Path::new(".").join(folder)).unwrap() {
            let name = PathBuf::from(entry.unwrap().file_name());
            if name.extension().is_some_and(|end| end == "md") {
                let page = Path::new(folder).join(name);
                let text = fs::read_to_string(&page).unwrap();
                pages.insert(page, text);
            }
        }
    }
    pages
}

#[test]
fn every_relative_link_of_a_page_leads_to_a_file_and_every_anchor_to_a_heading() {
    let pages = pages();
    let (mut broken, mut followed) = (Vec::new(), 0);
    for (page, text) in &pages {
        for link in links(text).filter(|link| !link.contains("://") && !link.contains('@')) {
            followed += 1;
            let (file, anchor) = link.split_once('#').unwrap_or((link, ""));
            let target = match file {
                "" => page.clone(),
                file => flat(&page.parent().unwrap().join(file)),
            };
            let is_there = match (pages.get(&target), anchor) {
                (_, "") => Path::new(".").join(&target).exists(),
                (Some(text), anchor) => anchors(text).contains(anchor),
                (None, _) => false,
            };
            if !is_there {
                broken.push(format!("{}: {link}", page.display()));
            }
        }
    }
    assert_eq!(broken, Vec::<String>::new());
    assert!(followed > 100, "only {followed} links were found");
}

#[test]
fn every_path_of_the_repository_that_a_page_names_is_there() {
    let (mut missing, mut named) = (Vec::new(), 0);
    for (page, text) in &pages() {
        for word in prose(text).flat_map(|line| line.split('`').skip(1).step_by(2)) {
            let is_path =
                ["src/", "tests/", "config/", ".ci/"].iter().any(|it| word.starts_with(it));
            // In capitals: a name of the reader's.
            if is_path && !word.contains([' ', '*']) && !word.contains(char::is_uppercase) {
                named += 1;
                if !Path::new(word).exists() {
                    missing.push(format!("{}: {word}", page.display()));
                }
            }
        }
    }
    assert_eq!(missing, Vec::<String>::new());
    assert!(named > 10, "only {named} paths were found");
}

#[test]
fn the_site_lists_every_page_once() {
    let summary = fs::read_to_string("docs/SUMMARY.md").unwrap();
    let mut listed: Vec<_> =
        links(&summary).map(PathBuf::from).filter(|it| !it.starts_with("..")).collect();
    listed.sort();
    let of_docs = |page: PathBuf| page.strip_prefix("docs").map(Path::to_path_buf).ok();
    let mut wanted: Vec<_> = pages().into_keys().filter_map(of_docs).collect();
    wanted.retain(|page| page != Path::new("SUMMARY.md"));
    wanted.sort();
    assert_eq!(listed, wanted);
}

/// The targets of the links in a text, without those in code.
fn links(text: &str) -> impl Iterator<Item = &str> {
    let parts = prose(text).flat_map(|line| line.split("](").skip(1));
    parts.filter_map(|rest| rest.split_once(')').map(|(link, _)| link)).filter(|it| !it.is_empty())
}

/// The lines outside of fenced code.
fn prose(text: &str) -> impl Iterator<Item = &str> {
    let mut code = false;
    text.lines().filter(move |line| {
        let fence = line.trim_start().starts_with("```");
        code ^= fence;
        !code && !fence
    })
}

/// The anchors that GitHub and mdBook make of the headings.
fn anchors(text: &str) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    for heading in prose(text).filter(|line| line.starts_with('#')) {
        let heading = heading.trim_start_matches('#').trim().to_lowercase();
        let kept = heading.chars().filter(|c| c.is_alphanumeric() || " -_".contains(*c));
        let anchor: String = kept.map(|c| if c == ' ' { '-' } else { c }).collect();
        let again = (1..).map(|n| format!("{anchor}-{n}")).find(|name| !found.contains(name));
        let name = if found.contains(&anchor) { again.unwrap() } else { anchor };
        found.insert(name);
    }
    found
}

/// The path without `.` and `..`.
fn flat(path: &Path) -> PathBuf {
    let mut flat = PathBuf::new();
    for part in path.components() {
        match part {
            Component::ParentDir => {
                flat.pop();
            }
            Component::Normal(name) => flat.push(name),
            _ => {}
        }
    }
    flat
}
