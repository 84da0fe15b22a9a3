//! ARCHITECTURE.md, held to the Cargo.toml of every room.

use super::generated;
use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::Path,
};
use toml::{Table, Value};

/// The Cargo.toml of the root package, and of those in these lists of the workspace.
fn manifests(lists: &[&str]) -> Vec<Table> {
    let read = |folder: &str| -> Table {
        fs::read_to_string(Path::new(folder).join("Cargo.toml")).unwrap().parse().unwrap()
    };
    let root = read(".");
    let workspace = root["workspace"].as_table().unwrap();
    let folders = lists.iter().flat_map(|list| workspace[*list].as_array().unwrap());
    let inner: Vec<_> = folders.map(|folder| read(folder.as_str().unwrap())).collect();
    [vec![root], inner].concat()
}

/// The crates in a table of dependencies, by their own names.
fn names(manifest: &Table, table: &str) -> Vec<String> {
    let name = |(name, value): (&String, &Value)| {
        value.get("package").map_or(name.clone(), |it| it.as_str().unwrap().to_owned())
    };
    let table = manifest.get(table).and_then(Value::as_table);
    table.into_iter().flatten().map(name).collect()
}

fn is_ours(name: &str) -> bool {
    name.starts_with("countersign")
}

#[test]
fn every_room_stands_on_the_floor_that_its_dependencies_give_it() {
    let mut below = BTreeMap::<String, Vec<String>>::new();
    for manifest in &manifests(&["members"]) {
        let name = manifest["package"]["name"].as_str().unwrap();
        let ours = names(manifest, "dependencies").into_iter().filter(|name| is_ours(name));
        // The stand-in for a dependency is no room.
        if is_ours(name) {
            below.insert(name.to_owned(), ours.collect());
        }
    }
    let mut floors = Vec::<Vec<String>>::new();
    while !below.is_empty() {
        let is_there = |name: &String| !below.contains_key(name);
        let next = below.iter().filter(|(_, uses)| uses.iter().all(is_there));
        let next: Vec<String> = next.map(|(name, _)| name.clone()).collect();
        assert!(!next.is_empty(), "rooms in a circle: {below:?}");
        below.retain(|name, _| !next.contains(name));
        floors.push(next);
    }
    let short = |name: &String| match name.strip_prefix("countersign-") {
        Some(room) => room.to_owned(),
        None => "cli, daemon, config".to_owned(),
    };
    let line = |floor: &Vec<String>| floor.iter().map(short).collect::<Vec<_>>().join(" · ");
    let lines: Vec<_> = floors.iter().map(line).collect();
    generated::parts("ARCHITECTURE.md", |_| format!("```\n{}\n```", lines.join("\n")));
}

#[test]
fn every_dependency_has_its_reason_and_every_reason_its_dependency() {
    let page = fs::read_to_string("ARCHITECTURE.md").unwrap();
    let (_, list) = page.split_once("\n## Dependencies\n").unwrap();
    let mut listed = BTreeSet::new();
    for item in list.lines().filter_map(|line| line.strip_prefix("- ")) {
        let (crates, reason) = item.split_once(": ").unwrap();
        assert!(!reason.trim().is_empty(), "{crates}");
        for name in crates.split(", ") {
            assert!(listed.insert(name.trim_matches('`').to_owned()), "{name} is there twice");
        }
    }
    let tables = ["dependencies", "dev-dependencies", "build-dependencies"];
    let manifests = manifests(&["members", "exclude"]);
    let used = manifests.iter().flat_map(|it| tables.map(|table| names(it, table)).concat());
    let used: BTreeSet<_> = used.filter(|name| !is_ours(name)).collect();
    let differ: Vec<_> = listed.symmetric_difference(&used).collect();
    assert!(differ.is_empty(), "in ARCHITECTURE.md or in a Cargo.toml alone: {differ:?}");
}
