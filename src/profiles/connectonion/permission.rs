//! Permissions without asking: the entries of `host.yaml` and of a session.

use regex::Regex;
use serde_json::Value;

/// A permission, with the key that selects its calls.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Permission {
    /// The calls.
    pub key: PermissionKey,
    /// An entry that does not allow is skipped; no entry denies.
    pub allowed: bool,
    /// The source of the permission.
    pub source: PermissionSource,
    /// The reason, for people.
    pub reason: String,
    /// Globs that these arguments must match as well.
    pub when: Vec<(String, String)>,
    /// The lifetime.
    pub expires: Expires,
}

/// The source of a permission.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PermissionSource {
    /// The template of ConnectOnion itself.
    Safe,
    /// A `host.yaml`.
    Config,
    /// A skill, for the turn.
    Skill,
    /// A person, for the session.
    User,
    /// The profile of the session.
    Mode,
}

impl PermissionSource {
    /// Returns ConnectOnion's word for the source.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Safe => "safe",
            Self::Config => "config",
            Self::Skill => "skill",
            Self::User => "user",
            Self::Mode => "mode",
        }
    }
}

/// The lifetime of a permission.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Expires {
    /// No end.
    Never,
    /// Until the turn ends.
    TurnEnd,
    /// Until the session ends.
    SessionEnd,
}

/// The calls of a permission: a tool's name, `Bash(command)` or `Bash(beginning *)`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PermissionKey {
    text: String,
    pub(super) form: PermissionForm,
}

/// The three forms of a key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum PermissionForm {
    /// Every call of the tool of this name.
    Tool,
    /// The shell tool with exactly this command.
    Exact(String),
    /// The shell tool with commands that start with these words.
    Prefix(String),
}

impl PermissionKey {
    /// Reads a key; every text is a valid one.
    #[must_use]
    pub fn new(text: &str) -> Self {
        let command = text.strip_prefix("Bash(").and_then(|rest| rest.strip_suffix(')'));
        let form = match command {
            None => PermissionForm::Tool,
            Some(command) => match command.strip_suffix(" *") {
                Some(beginning) => PermissionForm::Prefix(beginning.to_owned()),
                None => PermissionForm::Exact(command.to_owned()),
            },
        };
        Self { text: text.to_owned(), form }
    }

    /// Returns the key as written.
    #[must_use]
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Returns true when a call matches as ConnectOnion compares: as texts, where case counts for
    /// tool names only. Chains are not considered.
    #[must_use]
    pub fn matches(&self, tool: &str, args: &Value) -> bool {
        // `Bash(…)` keys apply to the tool `bash` alone; `shell` and `run` are not covered.
        let command = || args.get("command").and_then(Value::as_str).unwrap_or_default();
        self.text == tool
            || self.form != PermissionForm::Tool && is_bash(tool) && self.fits(command())
    }

    /// Returns true when a command fits a `Bash(…)` key, or the key is the shell tool's own name.
    // ConnectOnion itself stumbles over a blank command, which has no first word.
    pub(super) fn fits(&self, command: &str) -> bool {
        match &self.form {
            PermissionForm::Tool => self.text == "bash",
            PermissionForm::Exact(exact) => exact == command,
            PermissionForm::Prefix(beginning) => {
                // `git diff *` also covers `git diff` alone, as in ConnectOnion.
                begins(command, beginning)
                    || format!("{beginning} *") == command
                    || command.split_whitespace().next() == Some(beginning.as_str())
            }
        }
    }
}

impl Permission {
    /// Creates the permission that an approval for the session grants: the whole tool.
    #[must_use]
    pub fn session(tool: &str) -> Self {
        Self {
            key: PermissionKey::new(tool),
            allowed: true,
            source: PermissionSource::User,
            reason: "approved for session".to_owned(),
            when: Vec::new(),
            expires: Expires::SessionEnd,
        }
    }

    /// Returns true when the arguments fit every glob of `when`; a missing one counts as empty.
    #[must_use]
    pub fn fits_args(&self, args: &Value, literally: bool) -> bool {
        self.when.iter().all(|(name, glob)| match args.get(name) {
            None => fnmatch("", glob),
            Some(Value::String(text)) => {
                // `docs/*` must not permit `docs/../.ssh`.
                let climbs = !literally && text.split('/').any(|part| part == "..");
                fnmatch(text, glob) && (!climbs || fnmatch(&flat(text), glob))
            }
            // The texts that Python gives these values, as the globs expect them.
            Some(Value::Bool(truth)) => fnmatch(if *truth { "True" } else { "False" }, glob),
            Some(Value::Null) => fnmatch("None", glob),
            Some(Value::Number(number)) => fnmatch(&number.to_string(), glob),
            // FAIL-CLOSED: the text form of a list is not specified.
            Some(value) => literally && fnmatch(&value.to_string(), glob),
        })
    }
}

/// Permissions in source order; each key occurs once.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Permissions(Vec<Permission>);

impl Permissions {
    /// Adds a permission; it replaces one with the same key and keeps its position.
    pub fn put(&mut self, permission: Permission) {
        // As in a Python dict, the new value takes the old position. Positions matter, because the
        // first match wins.
        match self.0.iter_mut().find(|other| other.key == permission.key) {
            Some(place) => *place = permission,
            None => self.0.push(permission),
        }
    }

    /// Iterates over those that allow.
    pub fn allowed(&self) -> impl Iterator<Item = &Permission> {
        self.0.iter().filter(|permission| permission.allowed)
    }

    /// Iterates over all of them.
    pub fn iter(&self) -> impl Iterator<Item = &Permission> {
        self.0.iter()
    }

    /// Returns only those that a person gave.
    #[must_use]
    pub fn of_people(&self) -> Self {
        // Where a policy requires a human, `Bash(co *)` of a skill must not permit `co deploy`.
        Self(self.0.iter().filter(|one| one.source == PermissionSource::User).cloned().collect())
    }
}

impl FromIterator<Permission> for Permissions {
    fn from_iter<I: IntoIterator<Item = Permission>>(all: I) -> Self {
        let mut permissions = Self::default();
        all.into_iter().for_each(|one| permissions.put(one));
        permissions
    }
}

/// Recognizes ConnectOnion's shell tool, whose name it compares without case.
pub(super) fn is_bash(tool: &str) -> bool {
    tool.eq_ignore_ascii_case("bash")
}

/// Returns true for `git diff` and `git diff x` with the beginning `git diff`, but not for `git
/// difftool`.
fn begins(command: &str, beginning: &str) -> bool {
    command.strip_prefix(beginning).is_some_and(|rest| rest.is_empty() || rest.starts_with(' '))
}

fn flat(path: &str) -> String {
    countersign_policy::paths::clean(path, countersign_policy::paths::Directories::default())
        .into_owned()
}

/// Returns true when a command fits the glob of `when: {command: …}`, if there is one.
pub(super) fn command_fits(permission: &Permission, text: &str) -> bool {
    let glob = permission.when.iter().find(|(name, _)| name == "command").map(|(_, glob)| glob);
    glob.is_none_or(|glob| {
        glob.is_empty() || fnmatch(text, glob) || glob.strip_suffix(" *") == Some(text)
    })
}

// The globs of `when:`, as Python's `fnmatch` reads them: `*` crosses `/`, nothing escapes.

/// Returns true when the whole of `text` fits `pattern`.
// FAIL-CLOSED: a pattern that cannot be compiled fits nothing.
pub(super) fn fnmatch(text: &str, pattern: &str) -> bool {
    Regex::new(&regex(pattern)).is_ok_and(|regex| regex.is_match(text))
}

fn regex(pattern: &str) -> String {
    let mut regex = r"(?s)\A".to_owned();
    let mut rest = pattern.chars();
    while let Some(char) = rest.next() {
        match char {
            '*' => regex += ".*",
            '?' => regex += ".",
            '[' => match class(rest.as_str()) {
                Some((class, behind)) => {
                    regex += &class;
                    rest = behind.chars();
                }
                // Without a closing bracket, `[` is an ordinary character.
                None => regex += r"\[",
            },
            char => regex += &regex::escape(&char.to_string()),
        }
    }
    regex + r"\z"
}

/// Reads the class behind a `[` and returns what follows it; `None` when no `]` closes it.
fn class(behind: &str) -> Option<(String, &str)> {
    let (negation, inside) = match behind.strip_prefix('!') {
        Some(inside) => ("^", inside),
        None => ("", behind),
    };
    // A `]` at the very start is one of the characters.
    let first = inside.chars().next()?.len_utf8();
    let end = first + inside.get(first..)?.find(']')?;
    let chars = inside.get(..end)?.chars().map(|char| match char {
        '-' => "-".to_owned(),
        char => regex::escape(&char.to_string()),
    });
    let class = format!("[{negation}{}]", chars.collect::<String>());
    Some((class, inside.get(end + 1..)?))
}

#[cfg(test)]
mod tests {
    use super::fnmatch;

    #[test]
    fn a_star_crosses_everything_and_nothing_escapes() {
        for (text, pattern, fits) in [
            ("docs/guide/intro.md", "docs/**/*.md", true),
            ("a/b.md", "*.md", true),
            ("a\nb", "a*b", true),
            ("", "*", true),
            ("", "?", false),
            ("ls -F", "ls *", true),
            ("ls", "ls *", false),
            ("[ -f x ]", "[ -f x ]", false),
            ("b", "[!a]", true),
            ("]", "[]a]", true),
            ("-", "[a-]", true),
            ("m", "[a-z]", true),
            ("[x", "[x", true),
            ("Ab", "ab", false),
            ("\\a", "\\a", true),
            ("b", "[!^a&&b]", false),
            ("^", "[^a]", true),
            ("a", "[z-a]", false),
        ] {
            assert_eq!(fnmatch(text, pattern), fits, "{text} {pattern}");
        }
    }

    #[test]
    fn many_stars_do_not_take_for_ever() {
        let pattern = "*a".repeat(50) + "b";
        assert!(!fnmatch(&"a".repeat(5_000), &pattern));
    }
}
