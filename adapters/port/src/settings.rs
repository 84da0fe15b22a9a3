//! What the config says of one account or of one target.

use std::{collections::BTreeMap, fmt};

/// The values of a config section, by key. The program has read and checked them as the
/// [`crate::Description`] of the platform asks.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Settings(BTreeMap<&'static str, Setting>);

/// One value.
#[derive(Clone, PartialEq, Eq)]
pub enum Setting {
    /// Any text: an address, an id.
    Text(String),
    /// A whole number.
    Number(i64),
    /// A text that no log, error or card may show.
    Secret(String),
}

impl Settings {
    /// Sets a value.
    pub fn set(&mut self, key: &'static str, value: Setting) {
        self.0.insert(key, value);
    }

    /// All values with their keys.
    pub fn entries(&self) -> impl Iterator<Item = (&'static str, &Setting)> {
        self.0.iter().map(|(key, value)| (*key, value))
    }

    /// The text or secret of a key; empty where it is not set.
    #[must_use]
    pub fn text(&self, key: &str) -> &str {
        match self.0.get(key) {
            Some(Setting::Text(text) | Setting::Secret(text)) => text,
            Some(Setting::Number(_)) | None => "",
        }
    }

    /// The number of a key, where it is set.
    #[must_use]
    pub fn number(&self, key: &str) -> Option<i64> {
        match self.0.get(key) {
            Some(Setting::Number(number)) => Some(*number),
            Some(Setting::Text(_) | Setting::Secret(_)) | None => None,
        }
    }
}

impl<const N: usize> From<[(&'static str, Setting); N]> for Settings {
    fn from(values: [(&'static str, Setting); N]) -> Self {
        Self(values.into())
    }
}

// SECURITY: a derived Debug would put secrets into logs.
impl fmt::Debug for Setting {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Text(text) => write!(f, "{text:?}"),
            Self::Number(number) => write!(f, "{number}"),
            Self::Secret(_) => f.write_str("…"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_secret_is_read_by_its_key_and_printed_nowhere() {
        let secret = Setting::Secret("7:SECRET".to_owned());
        let settings = Settings::from([("token", secret), ("chat", Setting::Number(-5))]);
        assert_eq!(settings.text("token"), "7:SECRET");
        assert_eq!((settings.number("chat"), settings.number("token")), (Some(-5), None));
        assert_eq!((settings.text("chat"), settings.text("other")), ("", ""));
        assert_eq!(format!("{settings:?}"), r#"Settings({"chat": -5, "token": …})"#);
    }
}
