//! The files of all crates, as the compiler sees them outside of tests.

use std::{fs, path::Path};
use syn::{Attribute, Item};

/// Every crate: its name in paths, and where its root file is.
const CRATES: &[(&str, &str)] = &[
    ("countersign", "src/lib.rs"),
    ("countersign", "src/main.rs"),
    ("countersign_ask", "src/ask/lib.rs"),
    ("countersign_audit", "src/audit/lib.rs"),
    ("countersign_client", "src/client/lib.rs"),
    ("countersign_wcore", "src/embed/wcore/lib.rs"),
    ("countersign_zeptoclaw", "src/embed/zeptoclaw/lib.rs"),
    ("countersign_protocol", "src/protocol/lib.rs"),
    ("countersign_tokens", "src/tokens/lib.rs"),
    ("countersign_policy", "src/policy/lib.rs"),
    ("countersign_policy_tools", "src/policy_tools/lib.rs"),
    ("countersign_profiles", "src/profiles/lib.rs"),
    ("countersign_port", "adapters/port/src/lib.rs"),
    ("countersign_telegram", "adapters/telegram/src/lib.rs"),
    ("countersign_discord", "adapters/discord/src/lib.rs"),
    ("countersign_inbox", "adapters/inbox/src/lib.rs"),
    ("countersign_slack", "adapters/slack/src/lib.rs"),
];

/// One source file: a module.
pub struct File {
    /// From the top of the project.
    pub path: String,
    /// The crate's name as paths spell it.
    pub krate: String,
    /// The module's place in its crate; empty for the root.
    pub module: Vec<String>,
    /// Its text, without what only tests see.
    pub items: Vec<Item>,
}

impl File {
    pub fn read(path: &str, krate: &str, module: Vec<String>, text: &str) -> Self {
        let parsed = syn::parse_file(text).unwrap_or_else(|e| panic!("{path}: {e}"));
        let items = parsed.items.into_iter().filter(|item| !is_test(item)).collect();
        Self { path: path.to_owned(), krate: krate.to_owned(), module, items }
    }
}

/// All files of all crates.
pub fn files(top: &Path) -> Vec<File> {
    let mut files = Vec::new();
    for (krate, root) in CRATES {
        open(top, krate, root, Vec::new(), &mut files);
    }
    files
}

/// Reads a module's file and those of the modules that it declares.
fn open(top: &Path, krate: &str, path: &str, module: Vec<String>, files: &mut Vec<File>) {
    let text = fs::read_to_string(top.join(path)).unwrap_or_else(|e| panic!("{path}: {e}"));
    let file = File::read(path, krate, module, &text);
    let folder = match path.rsplit_once('/') {
        Some((folder, "lib.rs" | "main.rs" | "mod.rs")) => folder.to_owned(),
        _ => path.trim_end_matches(".rs").to_owned(),
    };
    let children: Vec<String> = file
        .items
        .iter()
        .filter_map(|item| match item {
            Item::Mod(module) if module.content.is_none() => Some(module.ident.to_string()),
            _ => None,
        })
        .collect();
    let module = file.module.clone();
    files.push(file);
    for child in children {
        let inner = [module.clone(), vec![child.clone()]].concat();
        let (flat, folded) = (format!("{folder}/{child}.rs"), format!("{folder}/{child}/mod.rs"));
        let path = if top.join(&flat).exists() { flat } else { folded };
        open(top, krate, &path, inner, files);
    }
}

fn is_test(item: &Item) -> bool {
    match item {
        Item::Mod(module) => module.ident == "tests" || only_for_tests(&module.attrs),
        Item::Fn(function) => only_for_tests(&function.attrs),
        Item::Use(import) => only_for_tests(&import.attrs),
        Item::Impl(block) => only_for_tests(&block.attrs),
        Item::Struct(item) => only_for_tests(&item.attrs),
        Item::Enum(item) => only_for_tests(&item.attrs),
        Item::Trait(item) => only_for_tests(&item.attrs),
        Item::Type(item) => only_for_tests(&item.attrs),
        _ => false,
    }
}

fn only_for_tests(attributes: &[Attribute]) -> bool {
    attributes.iter().any(|attribute| {
        let text = attribute.meta.require_list().map(|list| list.tokens.to_string());
        attribute.path().is_ident("cfg") && text.is_ok_and(|text| text.contains("test"))
    })
}
