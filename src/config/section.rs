//! One section of a config while it is read. A key that was read is known; a key that is left over
//! is a mistake.

use super::node::{ConfigNode, ConfigPlace, ConfigTable, ConfigValue};
use countersign_port::IdForm;
use countersign_tokens::secret::Secret;

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
                    "{}: [{}] `{key}` wants tables in its list; this is {}",
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
    format!("wants {wanted}; this is {}", node.kind())
}
