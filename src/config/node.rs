//! TOML values that remember where they were written, for errors that name the place.

use std::{fmt, path::Path};
use toml::{
    Spanned,
    de::{DeTable, DeValue},
};

/// Where a value was written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Place {
    /// In the file, counted from 1.
    File { file: String, line: usize, column: usize },
    /// In an environment variable.
    Env(String),
}

/// A value and its place.
#[derive(Debug, Clone)]
pub(super) struct Node {
    pub place: Place,
    pub value: Value,
}

/// What a config can hold.
#[derive(Debug, Clone)]
pub(super) enum Value {
    Text(String),
    Number(i64),
    Truth(bool),
    List(Vec<Node>),
    Table(Table),
    /// A float or a date: nothing here takes one.
    Other(&'static str),
    /// From the environment: how it reads as TOML, and as it stands.
    Env {
        read: Box<Value>,
        raw: String,
    },
}

/// Keys with their places, in no special order.
pub(super) type Table = Vec<(String, Place, Node)>;

/// Reads a whole file.
///
/// # Errors
/// Where it is no TOML: the place and what is wrong.
pub(super) fn read_file(file: &Path, text: &str) -> Result<Table, String> {
    let lines = Lines { file: file.display().to_string(), text };
    match DeTable::parse(text) {
        Ok(table) => Ok(lines.table(table.get_ref())),
        Err(error) => {
            let place = lines.place(error.span().map_or(0, |span| span.start));
            // The text itself is not repeated: it may be a secret.
            Err(format!("{place}: this is no TOML: {}", error.message().replace('\n', ", ")))
        }
    }
}

/// Reads the value of an environment variable: as TOML where it is that, else as plain text.
pub(super) fn read_env(name: &str, raw: &str) -> Node {
    let place = Place::Env(name.into());
    let read = match DeValue::parse(raw) {
        Ok(value) => with_place(value.get_ref(), &|_| place.clone()),
        Err(_) => Value::Text(raw.into()),
    };
    Node { place, value: Value::Env { read: Box::new(read), raw: raw.into() } }
}

impl Node {
    /// The value as TOML.
    pub fn value(&self) -> &Value {
        match &self.value {
            Value::Env { read, .. } => read,
            value => value,
        }
    }

    /// The value as text; whatever stands in an environment variable is one.
    pub fn text(&self) -> Option<&str> {
        match &self.value {
            Value::Text(text) => Some(text),
            Value::Env { read, raw } => match read.as_ref() {
                Value::Text(text) => Some(text),
                _ => Some(raw),
            },
            _ => None,
        }
    }

    /// What it is, for errors.
    pub fn kind(&self) -> &'static str {
        match self.value() {
            Value::Text(_) => "a text",
            Value::Number(_) => "a number",
            Value::Truth(_) => "true or false",
            Value::List(_) => "a list",
            Value::Table(_) => "a table",
            Value::Other(kind) => kind,
            Value::Env { .. } => "a value",
        }
    }
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::File { file, line, column } => write!(f, "{file}:{line}:{column}"),
            Self::Env(name) => f.write_str(name),
        }
    }
}

/// Turns byte offsets into places.
struct Lines<'a> {
    file: String,
    text: &'a str,
}

impl Lines<'_> {
    fn place(&self, offset: usize) -> Place {
        let before = self.text.get(..offset).unwrap_or(self.text);
        let line = before.matches('\n').count() + 1;
        let column = before.chars().rev().take_while(|c| *c != '\n').count() + 1;
        Place::File { file: self.file.clone(), line, column }
    }

    fn table(&self, table: &DeTable<'_>) -> Table {
        table_with(table, &|offset| self.place(offset))
    }
}

fn table_with(table: &DeTable<'_>, place: &dyn Fn(usize) -> Place) -> Table {
    table
        .iter()
        .map(|(key, value)| {
            let name = key.get_ref().to_string();
            (name, place(key.span().start), node_with(value, place))
        })
        .collect()
}

fn node_with(value: &Spanned<DeValue<'_>>, place: &dyn Fn(usize) -> Place) -> Node {
    Node { place: place(value.span().start), value: with_place(value.get_ref(), place) }
}

fn with_place(value: &DeValue<'_>, place: &dyn Fn(usize) -> Place) -> Value {
    match value {
        DeValue::String(text) => Value::Text(text.to_string()),
        DeValue::Integer(number) => i64::from_str_radix(number.as_str(), number.radix())
            .map_or(Value::Other("a number beyond 64 bits"), Value::Number),
        DeValue::Boolean(truth) => Value::Truth(*truth),
        DeValue::Array(list) => {
            Value::List(list.iter().map(|value| node_with(value, place)).collect())
        }
        DeValue::Table(table) => Value::Table(table_with(table, place)),
        DeValue::Float(_) => Value::Other("a number with a fraction"),
        DeValue::Datetime(_) => Value::Other("a date"),
    }
}
