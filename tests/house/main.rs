//! The structure of the code, held to what ARCHITECTURE.md draws: which folder may use which;
//! and the documents, held to the program.
#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::panic,
    reason = "tests fail by panicking"
)]

mod crates;
mod metrics;
mod names;
mod pages;
mod routes;

use crates::{File, files};
use names::uses;
use std::{
    collections::{BTreeMap, BTreeSet},
    path::Path,
};

/// Who uses whom, by file.
type Arrows = BTreeMap<String, BTreeSet<String>>;

fn arrows() -> Arrows {
    let files = files(Path::new(env!("CARGO_MANIFEST_DIR")));
    files.iter().map(|file| (file.path.clone(), uses(file, &files))).collect()
}

#[test]
fn folders_use_each_other_only_as_the_architecture_says() {
    let page = std::fs::read_to_string("ARCHITECTURE.md").unwrap();
    let drawn = drawn(&page, "arrows");
    assert!(drawn.len() > 10, "ARCHITECTURE.md draws {} arrows", drawn.len());
    let mut built = BTreeSet::new();
    for (file, others) in arrows() {
        for other in others {
            let (from, to) = (room(&file), room(&other));
            if from != to {
                built.insert((from, to));
            }
        }
    }
    let unlisted: Vec<_> = built.difference(&drawn).collect();
    let unused: Vec<_> = drawn.difference(&built).collect();
    assert!(
        unlisted.is_empty() && unused.is_empty(),
        "not in ARCHITECTURE.md: {unlisted:?}\nin ARCHITECTURE.md, and not in the code: {unused:?}"
    );
}

#[test]
fn the_policy_crate_is_a_ladder_and_nothing_in_it_goes_up() {
    let page = std::fs::read_to_string("ARCHITECTURE.md").unwrap();
    let (rungs, drawn) = (lines(&page, "ladder"), drawn(&page, "ladder"));
    for (at, (rung, uses)) in rungs.iter().enumerate() {
        let below = |other: &str| rungs[..at].iter().any(|(name, _)| *name == other);
        assert!(uses.iter().all(|other| below(other)), "{rung} goes up: {uses:?}");
    }
    let rung = |file: &str| {
        let (rung, _) = file.strip_prefix("src/policy/")?.split_once('/')?;
        Some(rung.to_owned())
    };
    let mut built = BTreeSet::new();
    for (file, others) in arrows() {
        for other in others {
            if let (Some(from), Some(to)) = (rung(&file), rung(&other))
                && from != to
            {
                built.insert((from, to));
            }
        }
    }
    assert_eq!(built, drawn, "left the code, right the ladder in ARCHITECTURE.md");
}

/// The folder of a file that the architecture draws as one: `src/gate`, `adapters/port`.
fn room(file: &str) -> String {
    let mut parts = file.split('/');
    let (Some(top), Some(next)) = (parts.next(), parts.next()) else { return file.to_owned() };
    let name = next.strip_suffix(".rs").unwrap_or(next);
    if top == "src" { name.to_owned() } else { format!("{top}/{name}") }
}

/// The arrows of a block such as ```` ```arrows ```` : a line for each room,
/// `gate: store ask policy`.
fn drawn(page: &str, block: &str) -> BTreeSet<(String, String)> {
    let lines = lines(page, block).into_iter();
    lines
        .flat_map(|(from, to)| to.into_iter().map(move |to| (from.to_owned(), to.to_owned())))
        .collect()
}

/// The lines of a block: a name, and those behind its colon.
fn lines<'p>(page: &'p str, block: &str) -> Vec<(&'p str, Vec<&'p str>)> {
    let rest = page.split(&format!("```{block}\n")).nth(1);
    let lines = rest.and_then(|rest| rest.split("```").next()).unwrap_or_default().lines();
    let named = lines.filter_map(|line| line.split_once(':'));
    named.map(|(name, rest)| (name.trim(), rest.split_whitespace().collect())).collect()
}

#[test]
fn a_use_is_an_arrow_to_the_file_that_defines_the_name() {
    let file = |path: &str, krate: &str, module: &[&str], text: &str| {
        File::read(path, krate, module.iter().map(|m| (*m).to_owned()).collect(), text)
    };
    let files = [
        file("src/lib.rs", "house", &[], "pub mod a; pub mod b; pub use b::Shown;"),
        file("src/a.rs", "house", &["a"], "use crate::Shown; fn f() { crate::b::c::g() }"),
        file(
            "src/b.rs",
            "house",
            &["b"],
            "pub mod c; pub struct Shown; mod tests { use super::x; }",
        ),
        file("src/b/c.rs", "house", &["b", "c"], "pub fn g(x: super::Shown) {}"),
    ];
    let all: Vec<_> = files.iter().map(|file| uses(file, &files)).collect();
    let set = |names: &[&str]| names.iter().map(|n| (*n).to_owned()).collect::<BTreeSet<_>>();
    assert_eq!(
        all,
        [set(&[]), set(&["src/b.rs", "src/b/c.rs"]), set(&[]), set(&["src/b.rs"])],
        "a face that only passes names on uses nothing"
    );
}
