//! TOML values with their places, so that errors can name them.

use std::{fmt, path::Path};
use toml::{
    Spanned,
    de::{DeTable, DeValue},
};

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
            Err(format!("{place}: this is no TOML: {}", error.message().replace('\n', ", ")))
        }
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
