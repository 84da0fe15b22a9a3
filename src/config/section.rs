//! TOML values with their places, so that errors can name them, and one section of a config while it
//! is read. A key that was read is known; a key that is left over is a mistake.

use countersign_port::IdForm;
use countersign_tokens::secret::Secret;
use std::{fmt, path::Path};
use toml::{
    Spanned,
    de::{DeTable, DeValue},
};

/// A section, and the keys that were read so far.
pub(super) struct Section<'a> {
    name: String,
    place: Option<ConfigPlace>,
    table: ConfigTable,
    asked: Vec<String>,
    problems: &'a mut Vec<String>,
}

impl<'a> Section<'a> {
    /// Starts to read a section; `place` is where it begins, if it is written at all.
    pub fn new(
        name: &str,
        place: Option<ConfigPlace>,
        table: ConfigTable,
        problems: &'a mut Vec<String>,
    ) -> Self {
        Self { name: name.to_owned(), place, table, asked: Vec::new(), problems }
    }

    /// Reads one key; `None` if it is absent, or invalid and reported.
    pub fn get<T>(
        &mut self,
        key: &str,
        read: impl FnOnce(&ConfigNode) -> Result<T, String>,
    ) -> Option<T> {
        self.asked.push(key.to_owned());
        let (_, _, node) = self.table.iter().find(|(name, ..)| name == key)?;
        read(node)
            .map_err(|why| {
                self.problems.push(format!("{}: [{}] `{key}` {why}", node.place, self.name));
            })
            .ok()
    }

    /// Whether a key is written.
    pub fn has(&self, key: &str) -> bool {
        self.table.iter().any(|(name, ..)| name == key)
    }

    /// Reads a required key; `hint` tells the operator what to write.
    pub fn need<T>(
        &mut self,
        key: &str,
        hint: &str,
        read: impl FnOnce(&ConfigNode) -> Result<T, String>,
    ) -> Option<T> {
        let there = self.table.iter().any(|(name, ..)| name == key);
        // A section that is not written needs no keys.
        if !there && let Some(place) = &self.place {
            self.problems.push(format!("{place}: [{}] has no `{key}`; {hint}", self.name));
        }
        self.get(key, read)
    }

    /// Reads a list of tables, such as targets.
    pub fn tables<T>(
        &mut self,
        key: &str,
        name: &str,
        read: impl Fn(&mut Section<'_>) -> Option<T>,
    ) -> Vec<T> {
        let Some(list) = self.get(key, list) else { return Vec::new() };
        let mut read_all = Vec::new();
        for node in list {
            let ConfigValue::Table(table) = node.value() else {
                self.problems.push(format!(
                    "{}: [{}] `{key}` must be a list of tables; this is {}",
                    node.place,
                    self.name,
                    node.kind()
                ));
                continue;
            };
            let mut section =
                Section::new(name, Some(node.place.clone()), table.clone(), self.problems);
            read_all.extend(read(&mut section));
            section.finish();
        }
        read_all
    }

    /// The keys of a platform's lists that are written here.
    pub fn keys_of(&self, platform: &str) -> Vec<String> {
        let is_its = |key: &str| {
            key.strip_prefix(platform).is_some_and(|rest| rest.is_empty() || rest.starts_with('_'))
        };
        let keys = self.table.iter().map(|(key, ..)| key.clone());
        keys.filter(|key| is_its(key)).collect()
    }

    /// Reports a mistake of the whole section.
    pub fn problem(&mut self, why: &str) {
        if let Some(place) = &self.place {
            self.problems.push(format!("{place}: [{}] {why}", self.name));
        }
    }

    /// Reports every key that was not read.
    pub fn finish(self) {
        let asked: Vec<&str> = self.asked.iter().map(String::as_str).collect();
        for (key, place, _) in &self.table {
            if asked.contains(&key.as_str()) {
                continue;
            }
            let hint = match nearest(key, &asked) {
                Some(near) => format!("did you mean `{near}`?"),
                None => format!("it has {}", self.asked.join(", ")),
            };
            self.problems.push(format!("{place}: unknown key `{key}` in [{}]; {hint}", self.name));
        }
    }
}

/// The known word that is most similar, if one is similar enough.
pub(super) fn nearest<'a>(word: &str, known: &[&'a str]) -> Option<&'a str> {
    known
        .iter()
        .map(|candidate| (strsim::jaro_winkler(word, candidate), *candidate))
        .filter(|(likeness, _)| *likeness > 0.75)
        .max_by(|(a, _), (b, _)| a.total_cmp(b))
        .map(|(_, candidate)| candidate)
}

/// What is said of a name that is not among those known; `none` where there are none.
pub(super) fn unknown(what: &str, name: &str, known: &[&str], none: &str) -> String {
    match nearest(name, known) {
        Some(near) => format!("names the {what} `{name}`; did you mean `{near}`?"),
        None if known.is_empty() => format!("names the {what} `{name}`, and {none}"),
        None => format!("names the {what} `{name}`; the {what}s are {}", known.join(", ")),
    }
}

/// Any text.
pub(super) fn text(node: &ConfigNode) -> Result<String, String> {
    node.text().map(str::to_owned).ok_or_else(|| wants("a text in quotes", node))
}

/// A text that is not shown.
pub(super) fn secret(node: &ConfigNode) -> Result<Secret, String> {
    match text(node)?.trim() {
        "" => Err("is empty".into()),
        text => Ok(Secret::new(text)),
    }
}

/// True or false.
pub(super) fn flag(node: &ConfigNode) -> Result<bool, String> {
    match node.value() {
        ConfigValue::Truth(truth) => Ok(*truth),
        _ => Err(wants("true or false", node)),
    }
}

/// A whole number.
pub(super) fn number(node: &ConfigNode) -> Result<i64, String> {
    match node.value() {
        ConfigValue::Number(number) => Ok(*number),
        _ => Err(wants("a whole number", node)),
    }
}

/// Any list.
pub(super) fn list(node: &ConfigNode) -> Result<Vec<ConfigNode>, String> {
    match node.value() {
        ConfigValue::List(list) => Ok(list.clone()),
        _ => Err(wants("a list in [ ]", node)),
    }
}

/// A permanent id in the form of its platform.
pub(super) fn id_of(form: IdForm, node: &ConfigNode) -> Result<String, String> {
    match (form, node.value(), node.text()) {
        // Ids are written both with and without quotes.
        (IdForm::Digits, ConfigValue::Number(number), _) if *number > 0 => Ok(number.to_string()),
        (IdForm::Digits, ConfigValue::Text(text), _)
            if !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit()) =>
        {
            Ok(text.clone())
        }
        // SECURITY: a name can pass to another person, a number cannot.
        (IdForm::Digits, ..) => Err(wants("numeric ids, because names can change hands", node)),
        (IdForm::Text { fits, .. }, _, Some(text)) if fits(text) => Ok(text.to_owned()),
        (IdForm::Text { fits, .. }, ConfigValue::Number(number), _)
            if fits(&number.to_string()) =>
        {
            Ok(number.to_string())
        }
        (IdForm::Text { wanted, .. }, ..) => Err(wants(wanted, node)),
    }
}

/// The expected and the actual kind of value. The value is not shown, because it may be a secret.
pub(super) fn wants(wanted: &str, node: &ConfigNode) -> String {
    format!("must be {wanted}; this is {}", node.kind())
}

/// The place of a value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum ConfigPlace {
    /// In the file, counted from 1.
    File { file: String, line: usize, column: usize },
    /// In an environment variable.
    Env(String),
}

/// A value and its place.
#[derive(Debug, Clone)]
pub(super) struct ConfigNode {
    pub place: ConfigPlace,
    pub value: ConfigValue,
}

/// A value that a config can contain.
#[derive(Debug, Clone)]
pub(super) enum ConfigValue {
    Text(String),
    Number(i64),
    Truth(bool),
    List(Vec<ConfigNode>),
    Table(ConfigTable),
    /// A float or a date, which no key takes.
    Other(&'static str),
    /// From the environment: parsed as TOML, and the raw text.
    Env {
        read: Box<ConfigValue>,
        raw: String,
    },
}

/// Keys with their places, in no particular order.
pub(super) type ConfigTable = Vec<(String, ConfigPlace, ConfigNode)>;

/// Parses a whole file.
///
/// # Errors
/// If it is no TOML: the place and the error.
pub(super) fn read_file(file: &Path, text: &str) -> Result<ConfigTable, String> {
    let lines = Lines { file: file.display().to_string(), text };
    match DeTable::parse(text) {
        Ok(table) => Ok(lines.table(table.get_ref())),
        Err(error) => {
            let place = lines.place(error.span().map_or(0, |span| span.start));
            // The text is not repeated, because it may be a secret.
            Err(format!("{place}: invalid TOML: {}", in_words(error.message())))
        }
    }
}

/// What the parser says, for people.
fn in_words(problem: &str) -> String {
    match problem {
        "invalid basic string, expected `\"`" | "invalid literal string, expected `'`" => {
            "missing closing quote".to_owned()
        }
        other => other.replace('\n', ", "),
    }
}

/// Parses the value of an environment variable: as TOML if possible, otherwise as plain text.
pub(super) fn read_env(name: &str, raw: &str) -> ConfigNode {
    let place = ConfigPlace::Env(name.into());
    let read = match DeValue::parse(raw) {
        Ok(value) => with_place(value.get_ref(), &|_| place.clone()),
        Err(_) => ConfigValue::Text(raw.into()),
    };
    // The raw text is kept, because a token such as `123456` parses as a number.
    ConfigNode { place, value: ConfigValue::Env { read: Box::new(read), raw: raw.into() } }
}

impl ConfigNode {
    /// The value as TOML.
    pub fn value(&self) -> &ConfigValue {
        match &self.value {
            ConfigValue::Env { read, .. } => read,
            value => value,
        }
    }

    /// The value as text. Every environment variable is a text too, so a numeric token needs no
    /// quotes.
    pub fn text(&self) -> Option<&str> {
        match &self.value {
            ConfigValue::Text(text) => Some(text),
            ConfigValue::Env { read, raw } => match read.as_ref() {
                ConfigValue::Text(text) => Some(text),
                _ => Some(raw),
            },
            _ => None,
        }
    }

    /// The kind of value, for errors.
    pub fn kind(&self) -> &'static str {
        match self.value() {
            ConfigValue::Text(_) => "a text",
            ConfigValue::Number(_) => "a number",
            ConfigValue::Truth(_) => "true or false",
            ConfigValue::List(_) => "a list",
            ConfigValue::Table(_) => "a table",
            ConfigValue::Other(kind) => kind,
            ConfigValue::Env { .. } => "a value",
        }
    }
}

impl fmt::Display for ConfigPlace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::File { file, line, column } => write!(f, "{file}:{line}:{column}"),
            Self::Env(name) => f.write_str(name),
        }
    }
}

/// Converts byte offsets to places.
struct Lines<'a> {
    file: String,
    text: &'a str,
}

impl Lines<'_> {
    fn place(&self, offset: usize) -> ConfigPlace {
        let before = self.text.get(..offset).unwrap_or(self.text);
        let line = before.matches('\n').count() + 1;
        let column = before.chars().rev().take_while(|c| *c != '\n').count() + 1;
        ConfigPlace::File { file: self.file.clone(), line, column }
    }

    fn table(&self, table: &DeTable<'_>) -> ConfigTable {
        table_with(table, &|offset| self.place(offset))
    }
}

fn table_with(table: &DeTable<'_>, place: &dyn Fn(usize) -> ConfigPlace) -> ConfigTable {
    table
        .iter()
        .map(|(key, value)| {
            let name = key.get_ref().to_string();
            (name, place(key.span().start), node_with(value, place))
        })
        .collect()
}

fn node_with(value: &Spanned<DeValue<'_>>, place: &dyn Fn(usize) -> ConfigPlace) -> ConfigNode {
    ConfigNode { place: place(value.span().start), value: with_place(value.get_ref(), place) }
}

fn with_place(value: &DeValue<'_>, place: &dyn Fn(usize) -> ConfigPlace) -> ConfigValue {
    match value {
        DeValue::String(text) => ConfigValue::Text(text.to_string()),
        DeValue::Integer(number) => i64::from_str_radix(number.as_str(), number.radix())
            .map_or(ConfigValue::Other("a number beyond 64 bits"), ConfigValue::Number),
        DeValue::Boolean(truth) => ConfigValue::Truth(*truth),
        DeValue::Array(list) => {
            ConfigValue::List(list.iter().map(|value| node_with(value, place)).collect())
        }
        DeValue::Table(table) => ConfigValue::Table(table_with(table, place)),
        DeValue::Float(_) => ConfigValue::Other("a number with a fraction"),
        DeValue::Datetime(_) => ConfigValue::Other("a date"),
    }
}

/// The tables of a list, each written as [[name]], with their places.
#[derive(Default)]
pub(super) struct ConfigEntries {
    name: &'static str,
    tables: Vec<(ConfigPlace, ConfigTable)>,
}

impl ConfigEntries {
    /// Removes the list from the tree.
    pub fn of(root: &mut ConfigTable, name: &'static str, problems: &mut Vec<String>) -> Self {
        let found = root.iter().position(|(section, ..)| section == name);
        let Some((_, place, node)) = found.map(|index| root.swap_remove(index)) else {
            return Self::default();
        };
        let ConfigValue::List(nodes) = node.value() else {
            let what = wants(&format!("entries, each written as [[{name}]]"), &node);
            problems.push(format!("{place}: `{name}` {what}"));
            return Self::default();
        };
        let mut tables = Vec::new();
        for node in nodes {
            match node.value() {
                ConfigValue::Table(table) => tables.push((node.place.clone(), table.clone())),
                _ => {
                    let what = wants("a table", node);
                    problems.push(format!("{}: [[{name}]] {what}", node.place));
                }
            }
        }
        Self { name, tables }
    }

    /// Reads every entry; `read` is given those before it, and returns `None` for one that cannot
    /// be used.
    pub fn read<T>(
        self,
        problems: &mut Vec<String>,
        read: impl Fn(&mut Section<'_>, &[T]) -> Option<T>,
    ) -> Vec<T> {
        let name = format!("[{}]", self.name);
        let mut all = Vec::new();
        for (place, table) in self.tables {
            let mut section = Section::new(&name, Some(place), table, problems);
            let entry = read(&mut section, &all);
            section.finish();
            all.extend(entry);
        }
        all
    }
}

/// Reports an entry that comes after one without a condition; `earlier` is the name of that.
pub(super) fn is_reached(section: &mut Section<'_>, earlier: Option<&str>) -> bool {
    if let Some(name) = earlier {
        let why = format!("is never reached, because `{name}` before it has no condition");
        section.problem(&why);
    }
    earlier.is_none()
}

/// Reports an entry whose name another one has already.
pub(super) fn is_new(section: &mut Section<'_>, name: &str, earlier: bool) -> bool {
    if earlier {
        section.problem(&format!("has `{name}` twice"));
    }
    !earlier
}
