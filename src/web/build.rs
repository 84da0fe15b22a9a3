//! Puts the files of the inbox's pages together, so that a browser asks for few and each is small: the
//! modules of a page become one, the style sheets of a page become one, and each is compressed as well.

use flate2::{Compression, write::GzEncoder};
use std::{
    collections::BTreeMap,
    env, fs,
    hash::{DefaultHasher, Hash, Hasher},
    io::{self, Write},
    path::{Path, PathBuf},
};

/// Where the sources are.
const ASSETS: &str = "inbox/assets";
/// The first module of each page. A worker imports nothing.
const SCRIPTS: [&str; 4] = ["inbox.js", "door.js", "sign-in.js", "worker.js"];
/// The style sheets of each page, in their order.
const STYLES: [(&str, &[&str]); 2] = [
    ("base.css", &["base.css"]),
    ("inbox.css", &["base.css", "inbox.css", "card.css", "pages.css"]),
];
/// The files that stay as they are.
const OTHERS: [&str; 3] = ["icon.svg", "icon.png", "manifest.webmanifest"];

fn main() -> io::Result<()> {
    println!("cargo:rerun-if-changed=build.rs");
    println!("cargo:rerun-if-changed={ASSETS}");
    let mut files = BTreeMap::new();
    for name in SCRIPTS {
        files.insert(name, Bundle::of(name)?.into_bytes());
    }
    for (name, parts) in STYLES {
        let parts: Vec<_> = parts.iter().map(|part| read(part)).collect::<io::Result<_>>()?;
        files.insert(name, parts.concat().into_bytes());
    }
    for name in OTHERS {
        files.insert(name, fs::read(Path::new(ASSETS).join(name))?);
    }
    let out = PathBuf::from(env::var_os("OUT_DIR").ok_or_else(|| wrong("OUT_DIR is not set"))?);
    let mut hash = DefaultHasher::new();
    for (name, content) in &files {
        (name, content).hash(&mut hash);
        let mut small = GzEncoder::new(vec![], Compression::best());
        small.write_all(content)?;
        fs::write(out.join(name), content)?;
        fs::write(out.join(format!("{name}.gz")), small.finish()?)?;
    }
    println!("cargo:rustc-env=INBOX_FILES={:016x}", hash.finish());
    Ok(())
}

/// A module and all that it imports as one module.
///
/// Each is a function that returns what it exports, and runs once, before those that import it. That is what
/// a browser does with modules that do not import each other in a circle, and write their imports and
/// exports one a line. The first runs last, outside of a function, and may await.
#[derive(Default)]
struct Bundle {
    text: String,
    /// The modules that are in it; `false` while their imports are read.
    known: BTreeMap<String, bool>,
}

impl Bundle {
    fn of(first: &str) -> io::Result<String> {
        let mut bundle = Self::default();
        let (lines, _) = bundle.module(first)?;
        bundle.text.push_str(&lines);
        Ok(bundle.text)
    }

    fn add(&mut self, name: &str) -> io::Result<()> {
        match self.known.insert(name.to_owned(), false) {
            Some(true) => {}
            Some(false) => return Err(wrong(format!("{name} imports itself in the end"))),
            None => {
                let (lines, exported) = self.module(name)?;
                let variable = variable(name);
                let all = exported.join(", ");
                let whole =
                    format!("const {variable} = (() => {{\n{lines}return {{ {all} }};\n}})();\n");
                self.text.push_str(&whole);
            }
        }
        self.known.insert(name.to_owned(), true);
        Ok(())
    }

    /// The lines of a module without its comments, and what it exports. What it imports is added before.
    fn module(&mut self, name: &str) -> io::Result<(String, Vec<String>)> {
        let mut lines = String::new();
        let mut exported = vec![];
        let source = read(name)?;
        let mut in_comment = false;
        for line in source.lines() {
            let begins = line.trim_start();
            in_comment |= begins.starts_with("/*");
            if in_comment || begins.starts_with("//") {
                in_comment &= !line.ends_with("*/");
                continue;
            }
            let line = match (line.strip_prefix("import "), line.strip_prefix("export ")) {
                (Some(import), _) => self.import(name, import)?,
                (None, Some(export)) => {
                    exported.push(exported_name(name, export)?.to_owned());
                    export.to_owned()
                }
                (None, None) => line.to_owned(),
            };
            lines.push_str(&line);
            lines.push('\n');
        }
        Ok((lines, exported))
    }

    /// Of `import { one, two } from "./it.js";` the line that does the same in the bundle.
    fn import(&mut self, name: &str, import: &str) -> io::Result<String> {
        let parts = import.strip_suffix("\";").and_then(|it| it.split_once(" from \"./"));
        let Some((names, from)) = parts.filter(|(names, _)| !names.contains(" as ")) else {
            return Err(wrong(format!(
                "{name}: an import must be `import {{ … }} from \"./….js\";`"
            )));
        };
        self.add(from)?;
        Ok(format!("const {names} = {};", variable(from)))
    }
}

/// What a line exports by its first words, such as `async function send(`.
fn exported_name<'a>(name: &str, export: &'a str) -> io::Result<&'a str> {
    let kinds = ["const ", "async function ", "function ", "class "];
    let rest = kinds.iter().find_map(|kind| export.strip_prefix(kind));
    let ends = |letter: char| !(letter.is_alphanumeric() || letter == '_' || letter == '$');
    rest.and_then(|rest| rest.split(ends).next()).ok_or_else(|| {
        wrong(format!("{name}: `export {export}` must name a constant, a function or a class"))
    })
}

/// The variable of a module; no source has one of this kind.
fn variable(name: &str) -> String {
    format!("$${}", name.trim_end_matches(".js").replace('-', "_"))
}

fn read(name: &str) -> io::Result<String> {
    fs::read_to_string(Path::new(ASSETS).join(name))
        .map_err(|problem| wrong(format!("{ASSETS}/{name}: {problem}")))
}

fn wrong(what: impl Into<String>) -> io::Error {
    io::Error::other(what.into())
}
