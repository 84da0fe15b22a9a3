//! The config that `connect` changes, key by key.

use crate::{
    cli::{Context, files, init, say},
    config::{Config, edit},
};
use anyhow::{Context as _, Result, anyhow};
use std::{fs, path::PathBuf};
use toml::Value;

/// The config that is set up.
pub(super) struct Setup<'a> {
    pub(super) context: &'a Context,
    pub(super) file: PathBuf,
    /// Whether there is a copy of it as it was before this run.
    is_backed_up: bool,
}

/// One change of the config.
pub(super) enum ConfigChange<'a> {
    /// A key gets this value.
    Set { section: &'a str, key: &'a str, value: Value },
    /// A list gets this entry.
    Add { section: &'a str, key: &'a str, entry: Value },
}

impl<'a> Setup<'a> {
    /// Makes a config where there is none.
    pub(super) fn open(context: &'a Context) -> Result<Self> {
        let file = Config::file(context.flag.as_deref())?;
        let is_new = !file.exists();
        if is_new {
            let made = init::write(&file, false)?;
            let config = made.config.display();
            let token = made.token.display();
            say::out(&format!("Made {config} and {token}."))?;
        }
        Ok(Self { context, file, is_backed_up: is_new })
    }

    /// The config as it is now.
    pub(super) fn config(&self) -> Result<Config> {
        self.context.config()
    }

    /// Writes all of these changes or none, after a copy of what was there.
    // INVARIANT: the file is a config that works at every moment, so this command may be
    // interrupted anywhere.
    pub(super) fn write(&mut self, changes: &[ConfigChange<'_>]) -> Result<()> {
        let name = self.file.display().to_string();
        let mut after = self.text()?;
        for change in changes {
            let changed = match change {
                ConfigChange::Set { section, key, value } => edit::set(&after, section, key, value),
                ConfigChange::Add { section, key, entry } => edit::add(&after, section, key, entry),
            };
            after = changed.with_context(|| name.clone())?;
        }
        self.replace(&after)
    }

    /// The text of the config.
    pub(super) fn text(&self) -> Result<String> {
        fs::read_to_string(&self.file).with_context(|| self.file.display().to_string())
    }

    /// Gives back an earlier text; no copy, because the same change makes the present one again.
    pub(super) fn restore(&mut self, earlier: &str) -> Result<()> {
        self.is_backed_up = true;
        self.replace(earlier)
    }

    /// Replaces the text of the config, after a copy of what was there.
    pub(super) fn replace(&mut self, after: &str) -> Result<()> {
        if after == self.text()? {
            return Ok(());
        }
        let name = self.file.display().to_string();
        let file = self.file.clone();
        files::replace_if(&file, after, |new| {
            let read = Config::load(Some(new)).map(drop);
            let new = new.display().to_string();
            read.map_err(|error| anyhow!("{}", error.to_string().replace(&new, &name)))?;
            self.back_up()
        })
    }

    fn back_up(&mut self) -> Result<()> {
        if !self.is_backed_up {
            if let Some(copy) = files::back_up(&self.file)? {
                say::out(&format!("Saved a backup of the config: {}.", copy.display()))?;
            }
            self.is_backed_up = true;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "tests fail by panicking")]
    use super::*;

    #[test]
    fn a_change_after_which_the_config_would_not_load_is_refused_and_leaves_nothing_behind() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("countersign.toml");
        let before = "[daemon]\napprover_token = \"same\" # mine\n";
        fs::write(&file, before).unwrap();
        let context = Context { flag: Some(file.clone()) };
        let mut setup = Setup::open(&context).unwrap();
        let value = Value::String("same".to_owned());
        let change = ConfigChange::Set { section: "client", key: "token", value };
        let refused = setup.write(&[change]).unwrap_err().to_string();
        assert!(refused.starts_with(&format!("{}:5:9: [client] `token`", file.display())));
        assert!(!refused.contains("same\""), "no secret in an error: {refused}");
        assert_eq!(fs::read_to_string(&file).unwrap(), before);
        let left = fs::read_dir(folder.path()).unwrap().map(|it| it.unwrap().file_name());
        assert_eq!(left.collect::<Vec<_>>(), ["countersign.toml"]);
    }

    #[test]
    fn all_changes_are_written_with_one_copy_of_what_was_there() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("countersign.toml");
        fs::write(&file, "# mine\n").unwrap();
        let context = Context { flag: Some(file.clone()) };
        let mut setup = Setup::open(&context).unwrap();
        let set = |key, value: &str| ConfigChange::Set {
            section: "policy",
            key,
            value: Value::String(value.to_owned()),
        };
        setup.write(&[set("timeout", "7m"), set("on_timeout", "wait")]).unwrap();
        setup.write(&[set("timeout", "8m")]).unwrap();
        let after = "# mine\n\n[policy]\non_timeout = \"wait\"\ntimeout = \"8m\"\n";
        assert_eq!(fs::read_to_string(&file).unwrap(), after);
        let copies = [1, 2].map(|at| folder.path().join(format!("countersign.toml.{at}.bak")));
        assert_eq!(fs::read_to_string(&copies[0]).unwrap(), "# mine\n");
        assert!(!copies[1].exists());
    }
}
