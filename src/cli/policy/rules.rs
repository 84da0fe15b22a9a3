//! Loads the rules file of a policy command.

use crate::{cli::Context, daemon};
use anyhow::{Context as _, Result, anyhow};
use countersign_policy::{DEFAULT_RULES, Rules};
use std::{fs, path::Path};

/// Rules with their name for messages.
pub(super) struct NamedRules {
    pub(super) name: String,
    pub(super) rules: Rules,
}

/// Loads the named file, or the one that the daemon uses, or the built-in rules.
pub(super) fn load(context: &Context, named: Option<&Path>) -> Result<NamedRules> {
    let (name, text) = match named {
        Some(file) => (file.display().to_string(), text(file)?),
        None => {
            let file = daemon::rules_path(&context.config()?);
            match file.exists() {
                true => (file.display().to_string(), text(&file)?),
                false => ("the built-in rules".to_owned(), DEFAULT_RULES.to_owned()),
            }
        }
    };
    let rules = parse(&text, &name, home().as_deref())?;
    Ok(NamedRules { name, rules })
}

/// Parses rules; the error lists every mistake with its place.
pub(super) fn parse(text: &str, name: &str, home: Option<&str>) -> Result<Rules> {
    Rules::parse(text, name, home).map_err(|problems| {
        let each: Vec<_> = problems.iter().map(ToString::to_string).collect();
        anyhow!(each.join("\n"))
    })
}

pub(super) fn text(file: &Path) -> Result<String> {
    fs::read_to_string(file).with_context(|| file.display().to_string())
}

/// This user's home folder, for `~/` in rules.
pub(in crate::cli) fn home() -> Option<String> {
    etcetera::home_dir().ok().map(|home| home.display().to_string())
}
