//! Environment variables, which override the file.

use super::node::{self, ConfigNode, ConfigPlace, ConfigTable, ConfigValue};
use super::read::{ConfigReader, PREFIX};
use super::secrets;

impl ConfigReader<'_> {
    /// Applies one environment variable over the file.
    pub(super) fn overlay(&mut self, name: &str, value: &str) {
        // Variables are in upper case by convention, keys in lower case.
        let lower = name.trim_start_matches(PREFIX).to_ascii_lowercase();
        let Some((section, key)) = lower.split_once("__") else {
            self.problems.push(format!("{name}: names no key; it wants {PREFIX}SECTION__KEY"));
            return;
        };
        // Only secrets have a `_FILE` form: other keys may end in `_file` themselves, such as
        // `ca_file`.
        let from_file = key
            .strip_suffix("_file")
            .filter(|key| secrets::keys(self.platforms).contains(&(section, *key)));
        let (key, node) = match from_file {
            None => (key, node::read_env(name, value)),
            Some(key) => match std::fs::read_to_string(self.places.resolve(&self.base, value)) {
                Ok(secret) => {
                    let secret = ConfigValue::Text(secret.trim_end().to_owned());
                    (key, ConfigNode { place: ConfigPlace::Env(name.into()), value: secret })
                }
                Err(error) => {
                    self.problems.push(format!("{name}: {value} cannot be read: {error}"));
                    return;
                }
            },
        };
        let place = node.place.clone();
        if !self.root.iter().any(|(name, ..)| name == section) {
            let table =
                ConfigNode { place: place.clone(), value: ConfigValue::Table(ConfigTable::new()) };
            self.root.push((section.to_owned(), place.clone(), table));
        }
        for (_, _, node_of_section) in self.root.iter_mut().filter(|(name, ..)| name == section) {
            if let ConfigValue::List(_) = node_of_section.value {
                let why = format!("{name}: [[{section}]] is a list, which no variable overrides");
                self.problems.push(why);
            }
            if let ConfigValue::Table(table) = &mut node_of_section.value {
                // The environment wins; the key of the file is removed so that it is not read
                // twice.
                table.retain(|(name, ..)| name != key);
                table.push((key.to_owned(), place.clone(), node.clone()));
            }
        }
    }
}
