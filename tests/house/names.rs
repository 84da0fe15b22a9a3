//! Which file defines a name that another file uses.

use crate::crates::File;
use std::collections::BTreeSet;
use syn::{Item, UseTree, Visibility, visit::Visit};

/// The files that a file uses: those that define the names that it imports or spells with a path.
/// What a file only passes on (`pub use`) it does not use.
pub fn uses(file: &File, files: &[File]) -> BTreeSet<String> {
    let mut paths = Paths { found: Vec::new() };
    for item in &file.items {
        match item {
            Item::Use(import) if !matches!(import.vis, Visibility::Inherited) => {}
            Item::Use(import) => flatten(&import.tree, Vec::new(), &mut paths.found),
            other => paths.visit_item(other),
        }
    }
    let place = Place { krate: &file.krate, module: &file.module };
    let found = paths.found.iter().filter_map(|path| definer(place, path, files, 0));
    found.filter(|path| *path != file.path).collect()
}

#[derive(Clone, Copy)]
struct Place<'a> {
    krate: &'a str,
    module: &'a [String],
}

/// Collects the paths of two and more segments.
struct Paths {
    found: Vec<Vec<String>>,
}

impl<'ast> Visit<'ast> for Paths {
    fn visit_path(&mut self, path: &'ast syn::Path) {
        if path.segments.len() > 1 {
            self.found.push(path.segments.iter().map(|s| s.ident.to_string()).collect());
        }
        syn::visit::visit_path(self, path);
    }

    /// `pub(in crate::room)` says who may see a name; it uses nothing.
    fn visit_visibility(&mut self, _: &'ast Visibility) {}

    fn visit_item_use(&mut self, import: &'ast syn::ItemUse) {
        flatten(&import.tree, Vec::new(), &mut self.found);
    }
}

/// Every path of a tree of imports; a glob ends in `*`.
fn flatten(tree: &UseTree, mut before: Vec<String>, paths: &mut Vec<Vec<String>>) {
    match tree {
        UseTree::Path(path) => {
            before.push(path.ident.to_string());
            flatten(&path.tree, before, paths);
        }
        UseTree::Group(group) => {
            group.items.iter().for_each(|tree| flatten(tree, before.clone(), paths));
        }
        UseTree::Name(name) if name.ident == "self" => paths.push(before),
        UseTree::Name(name) => paths.push([before, vec![name.ident.to_string()]].concat()),
        UseTree::Rename(name) if name.ident == "self" => paths.push(before),
        UseTree::Rename(name) => paths.push([before, vec![name.ident.to_string()]].concat()),
        UseTree::Glob(_) => paths.push([before, vec!["*".to_owned()]].concat()),
    }
}

/// The file in which a path ends, through all that only pass names on.
fn definer(place: Place<'_>, path: &[String], files: &[File], depth: u32) -> Option<String> {
    if depth > 8 {
        return None;
    }
    let (krate, mut module, mut rest) = begin(place, path, files)?;
    while let Some((name, after)) = rest.split_first() {
        let deeper = [module.clone(), vec![name.clone()]].concat();
        if find(&krate, &deeper, files).is_none() {
            break;
        }
        (module, rest) = (deeper, after);
    }
    let file = find(&krate, &module, files)?;
    let Some(name) = rest.first() else { return Some(file.path.clone()) };
    let here = Place { krate: &krate, module: &module };
    passed_on(file, name)
        .into_iter()
        .find_map(|source| definer(here, &source, files, depth + 1))
        .or_else(|| Some(file.path.clone()))
}

/// Where a path starts: its crate, its module, and the segments that are left.
fn begin<'p>(
    place: Place<'_>,
    path: &'p [String],
    files: &[File],
) -> Option<(String, Vec<String>, &'p [String])> {
    let (first, mut rest) = path.split_first()?;
    let mut module = place.module.to_vec();
    let mut krate = place.krate.to_owned();
    match first.as_str() {
        "crate" => module.clear(),
        "self" => {}
        "super" => {
            module.pop();
            while let Some(("super", after)) = rest.split_first().map(|(s, r)| (s.as_str(), r)) {
                module.pop();
                rest = after;
            }
        }
        name if files.iter().any(|file| file.krate == name) => {
            name.clone_into(&mut krate);
            module.clear();
        }
        // A module that is declared here.
        name => {
            module.push(name.to_owned());
            find(&krate, &module, files)?;
        }
    }
    Some((krate, module, rest))
}

fn find<'f>(krate: &str, module: &[String], files: &'f [File]) -> Option<&'f File> {
    files.iter().find(|file| {
        file.krate == krate && file.module == module && !file.path.ends_with("src/main.rs")
    })
}

/// The paths under which a file passes a name on; to its own modules it passes on all that it
/// imports.
fn passed_on(file: &File, name: &str) -> Vec<Vec<String>> {
    let mut paths = Vec::new();
    for item in &file.items {
        if let Item::Use(import) = item {
            flatten_as(&import.tree, Vec::new(), name, &mut paths);
        }
    }
    paths
}

/// The paths of a tree that bring a name into scope under that name.
fn flatten_as(tree: &UseTree, before: Vec<String>, name: &str, paths: &mut Vec<Vec<String>>) {
    let with = |last: String| [before.clone(), vec![last]].concat();
    match tree {
        UseTree::Path(path) => flatten_as(&path.tree, with(path.ident.to_string()), name, paths),
        UseTree::Group(group) => {
            group.items.iter().for_each(|tree| flatten_as(tree, before.clone(), name, paths));
        }
        UseTree::Name(import) if import.ident == "self" => {
            if before.last().is_some_and(|last| last == name) {
                paths.push(before);
            }
        }
        UseTree::Name(import) if import.ident == name => paths.push(with(name.to_owned())),
        UseTree::Rename(import) if import.rename == name => {
            paths.push(with(import.ident.to_string()));
        }
        UseTree::Name(_) | UseTree::Rename(_) | UseTree::Glob(_) => {}
    }
}
