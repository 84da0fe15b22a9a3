//! One section of a config while it is read: what is asked for is known, what is left over is a
//! mistake.

use super::node::{Node, Place, Table, Value};
use crate::secret::Secret;
use countersign_port::IdForm;

/// A section and the keys that were asked for so far.
pub(super) struct Section<'a> {
    name: String,
    place: Option<Place>,
    table: Table,
    asked: Vec<String>,
    problems: &'a mut Vec<String>,
}

impl<'a> Section<'a> {
    /// Begins to read; `place` is where the section begins, where it is written at all.
    pub fn new(
        name: &str,
        place: Option<Place>,
        table: Table,
        problems: &'a mut Vec<String>,
    ) -> Self {
        Self { name: name.to_owned(), place, table, asked: Vec::new(), problems }
    }

    /// Reads one key; `None` when it is absent, or wrong and noted.
    pub fn get<T>(
        &mut self,
        key: &str,
        read: impl FnOnce(&Node) -> Result<T, String>,
    ) -> Option<T> {
        self.asked.push(key.to_owned());
        let (_, _, node) = self.table.iter().find(|(name, ..)| name == key)?;
        read(node)
            .map_err(|why| {
                self.problems.push(format!("{}: [{}] `{key}` {why}", node.place, self.name));
            })
            .ok()
    }

    /// Reads one key that the section makes no sense without; `hint` says what to write.
    pub fn need<T>(
        &mut self,
        key: &str,
        hint: &str,
        read: impl FnOnce(&Node) -> Result<T, String>,
    ) -> Option<T> {
        let there = self.table.iter().any(|(name, ..)| name == key);
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
            let Value::Table(table) = node.value() else {
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

    /// Notes what is wrong with it as a whole.
    pub fn problem(&mut self, why: &str) {
        if let Some(place) = &self.place {
            self.problems.push(format!("{place}: [{}] {why}", self.name));
        }
    }

    /// Notes every key that nobody asked for.
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

/// The known word that was most likely meant.
pub(super) fn nearest<'a>(word: &str, known: &[&'a str]) -> Option<&'a str> {
    known
        .iter()
        .map(|candidate| (strsim::jaro_winkler(word, candidate), *candidate))
        .filter(|(likeness, _)| *likeness > 0.75)
        .max_by(|(a, _), (b, _)| a.total_cmp(b))
        .map(|(_, candidate)| candidate)
}

/// Any text.
pub(super) fn text(node: &Node) -> Result<String, String> {
    node.text().map(str::to_owned).ok_or_else(|| wants("a text in quotes", node))
}

/// A text that is kept from sight.
pub(super) fn secret(node: &Node) -> Result<Secret, String> {
    match text(node)?.trim() {
        "" => Err("is empty".into()),
        text => Ok(Secret::new(text)),
    }
}

/// True or false.
pub(super) fn flag(node: &Node) -> Result<bool, String> {
    match node.value() {
        Value::Truth(truth) => Ok(*truth),
        _ => Err(wants("true or false", node)),
    }
}

/// A whole number.
pub(super) fn number(node: &Node) -> Result<i64, String> {
    match node.value() {
        Value::Number(number) => Ok(*number),
        _ => Err(wants("a whole number", node)),
    }
}

/// Any list.
pub(super) fn list(node: &Node) -> Result<Vec<Node>, String> {
    match node.value() {
        Value::List(list) => Ok(list.clone()),
        _ => Err(wants("a list in [ ]", node)),
    }
}

/// A lasting id, in the form that its platform gives it.
pub(super) fn id_of(form: IdForm, node: &Node) -> Result<String, String> {
    match (form, node.value(), node.text()) {
        (IdForm::Digits, Value::Number(number), _) if *number > 0 => Ok(number.to_string()),
        (IdForm::Digits, Value::Text(text), _)
            if !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit()) =>
        {
            Ok(text.clone())
        }
        // SECURITY: names can be changed by their owners, numbers cannot.
        (IdForm::Digits, ..) => Err(wants("numeric ids, because names can change hands", node)),
        (IdForm::Text { fits, .. }, _, Some(text)) if fits(text) => Ok(text.to_owned()),
        (IdForm::Text { wanted, .. }, ..) => Err(wants(wanted, node)),
    }
}

/// What is wanted and what is there instead, never the value itself: it may be a secret.
pub(super) fn wants(wanted: &str, node: &Node) -> String {
    format!("wants {wanted}; this is {}", node.kind())
}
