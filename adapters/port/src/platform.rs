//! What the program has to know of a chat platform, and what the config says of it.

use crate::{Adapter, Presser, Target};
use std::{collections::BTreeMap, fmt, sync::Arc};

/// A chat platform. An adapter's crate offers one, and the program's list of platforms names it in
/// one line. Config, secrets, targets, lease, approvers, `doctor`, the welcome and the default
/// config go over that list.
#[crate::async_trait]
pub trait Platform: Send + Sync {
    /// What can be said of it without an account.
    fn description(&self) -> &'static Description;

    /// The target that an entry of `targets` in the config means.
    ///
    /// # Errors
    /// A sentence that begins with the key that is wrong, such as "`topic` is too large".
    fn target(&self, entry: &Settings) -> Result<Target, String>;

    /// Whether sessions can have threads of their own at this target.
    ///
    /// # Errors
    /// Why not, such as "a topic has no topics of its own".
    fn threads_at(&self, _target: &Target) -> Result<(), String> {
        Err("this platform has no threads".to_owned())
    }

    /// The target of direct messages to the person with this id; `None` where the bot cannot write
    /// to people.
    fn direct(&self, _person: &str) -> Option<Target> {
        None
    }

    /// An adapter for this account, not connected yet.
    fn adapter(&self, account: &Settings) -> Arc<dyn Adapter>;

    /// The account's name on the platform, when the platform accepts it; for `doctor`.
    ///
    /// # Errors
    /// [`CheckError`]
    async fn check(&self, account: &Settings) -> Result<String, CheckError>;

    /// The target's name on the platform, when cards can be posted there; for `doctor`.
    ///
    /// # Errors
    /// [`CheckError`]
    async fn check_target(&self, account: &Settings, target: &Target)
    -> Result<String, CheckError>;

    /// Whether the bot can make threads at a target where sessions have some; for `doctor`.
    ///
    /// # Errors
    /// [`CheckError`]
    async fn check_threads(&self, _account: &Settings, _target: &Target) -> Result<(), CheckError> {
        Ok(())
    }

    /// How people come by an account and pair their phones; `None` where they write the config by
    /// hand.
    fn guide(&self) -> Option<&dyn Guide> {
        None
    }
}

/// What can be said of a platform without an account.
#[derive(Debug, Clone, Copy)]
pub struct Description {
    /// Its name, in small letters: its section in the config, its build feature, the name of its
    /// approvers, its label in logs and metrics.
    pub name: &'static str,
    /// The keys of its section, besides `targets`.
    pub keys: &'static [Key],
    /// The key whose value is the account: daemons that have the same one share it, and one of
    /// them leads.
    pub account: &'static str,
    /// The keys of an entry of `targets`.
    pub target: &'static [Key],
    /// Its lists of people in `[approvers]`.
    pub approvers: &'static [ApproverList],
    /// Its section as the default config shows it, commented out.
    pub example: &'static str,
}

/// A key in the config.
#[derive(Debug, Clone, Copy)]
pub struct Key {
    /// Its name.
    pub name: &'static str,
    /// What it takes.
    pub takes: Takes,
    /// What holds when it is not set.
    pub absent: Absent,
}

/// What a key takes.
#[derive(Debug, Clone, Copy)]
pub enum Takes {
    /// A secret: it may also come from a file, and no two secrets may be the same.
    Secret,
    /// The address of an HTTP server.
    Url,
    /// A whole number.
    Number,
    /// A lasting id of the platform.
    Id(IdForm),
}

/// What holds when a key is not set.
#[derive(Debug, Clone, Copy)]
pub enum Absent {
    /// That is an error, and this says what to write.
    Wrong(&'static str),
    /// This value.
    Means(&'static str),
    /// Nothing.
    Nothing,
}

/// One list of people in `[approvers]`.
#[derive(Debug, Clone, Copy)]
pub struct ApproverList {
    /// Its key: the platform's name, or that with an ending, such as `discord_roles`.
    pub key: &'static str,
    /// What is in it.
    pub names: Names,
    /// How an entry is spelled.
    pub form: IdForm,
    /// Its value as the default config shows it.
    pub example: &'static str,
}

/// What an approver's entry names.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Names {
    /// A person, by [`crate::Presser::id`].
    People,
    /// Everybody with a role, by [`crate::Presser::roles`].
    Roles,
}

/// How a platform spells its lasting ids.
// SECURITY: names can be changed by their owners, so no form of an id is ever a name.
#[derive(Clone, Copy)]
pub enum IdForm {
    /// As digits; in the config as a number or in quotes.
    Digits,
    /// In another way.
    Text {
        /// Whether a text is one.
        fits: fn(&str) -> bool,
        /// What is wanted, such as "member ids such as U024BE7LH".
        wanted: &'static str,
    },
}

impl fmt::Debug for IdForm {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Digits => f.write_str("Digits"),
            Self::Text { wanted, .. } => write!(f, "Text({wanted})"),
        }
    }
}

impl Description {
    /// What is missing for cards to be posted and presses to be taken; empty where all is there.
    // FAIL-CLOSED: without an account of its own an adapter would compete for another's lease, and
    // without targets no card would ever be posted.
    #[must_use]
    pub fn faults(&self) -> Vec<String> {
        let is_needed = |key: &Key| matches!(key.absent, Absent::Wrong(_));
        let is_account = |key: &&Key| key.name == self.account && is_needed(key);
        let is_secret = |key: &Key| matches!(key.takes, Takes::Secret);
        let plain = |name: &str| {
            !name.is_empty() && name.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit())
        };
        let is_of_us = |list: &ApproverList| {
            let rest = list.key.strip_prefix(self.name);
            rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('_'))
        };
        let tests = [
            (plain(self.name), "its name is not in small letters"),
            (
                self.keys.iter().find(is_account).is_some_and(is_secret),
                "it registers no account: `account` has to be a secret that must be set",
            ),
            (
                self.target.iter().any(is_needed),
                "it registers no targets: an entry needs a key that must be set",
            ),
            (
                self.approvers.iter().any(|list| list.key == self.name)
                    && self.approvers.iter().all(is_of_us),
                "it registers no approvers under its name",
            ),
        ];
        let failed = tests.into_iter().filter(|(holds, _)| !holds);
        failed.map(|(_, what)| format!("the platform `{}`: {what}", self.name)).collect()
    }
}

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

/// Why the check of an account or a target failed. Each is a sentence that says what is wrong and
/// how to fix it.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum CheckError {
    /// The platform itself refuses the account's secret.
    #[error("{0}")]
    WrongToken(String),
    /// The platform gave no answer, or one that cannot be read. It says nothing of the secret.
    #[error("{0}")]
    Unreachable(String),
    /// The platform asks to come back later. It says nothing of the secret.
    #[error("{0}")]
    RateLimited(String),
    /// Something else.
    #[error("{0}")]
    Other(String),
}

/// What every pairing code begins with, so that an adapter knows one when it sees one.
pub const PAIRING_PREFIX: &str = "pair-";

/// A pairing code that somebody sent to the bot.
// SECURITY: it grants nothing. A person at the daemon's machine confirms it, or does not.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PairingMessage {
    /// Who sent it, as the platform itself vouches for it.
    pub presser: Presser,
    /// Where they sent it: a target, as cards would have it.
    pub target: Target,
    /// That place in words for people, such as "a private chat".
    pub place: String,
    /// The code; may be anything.
    pub code: String,
}

/// How people come by an account on a platform and pair their phones with it, for
/// `countersign connect`.
#[crate::async_trait]
pub trait Guide: Send + Sync {
    /// How to get the secret of an account, step by step, each in a line or two.
    fn steps(&self) -> &'static [&'static str];

    /// How a person brings the code to the bot.
    ///
    /// # Errors
    /// [`CheckError`]
    async fn invitation(
        &self,
        account: &Settings,
        code: &str,
        place: PairingPlace,
    ) -> Result<Invitation, CheckError>;

    /// The entry of `targets` in the config that means this target: the reverse of
    /// [`crate::Platform::target`].
    fn entry(&self, target: &Target) -> Settings;

    /// What a person has to know of the bot in this chat: what it may not do or does not see
    /// there. Each is a sentence.
    async fn notes(&self, account: &Settings, target: &Target) -> Vec<String>;
}

/// Where a person is to send the code.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PairingPlace {
    /// To the bot alone.
    Private,
    /// Into a group or a channel, where others see the cards too.
    Group,
}

/// How a person brings the code to the bot.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Invitation {
    /// What to do, step by step, each in a line.
    pub steps: Vec<String>,
    /// The link to open first, which is also shown as a QR code.
    pub link: String,
}

/// The pairing code in a text that somebody wrote to the bot.
#[must_use]
pub fn pairing_code(text: &str) -> Option<&str> {
    text.split_whitespace().find(|word| word.starts_with(PAIRING_PREFIX))
}

#[cfg(test)]
mod tests {
    use super::*;

    const KEY: Key = Key { name: "token", takes: Takes::Secret, absent: Absent::Wrong("set it") };
    const ROOM: Key = Key { name: "room", takes: Takes::Number, absent: Absent::Wrong("a room") };
    const LIST: ApproverList =
        ApproverList { key: "talk", names: Names::People, form: IdForm::Digits, example: "[1]" };
    const WHOLE: Description = Description {
        name: "talk",
        keys: &[KEY],
        account: "token",
        target: &[ROOM],
        approvers: &[LIST],
        example: "",
    };

    #[test]
    fn a_registration_without_account_targets_or_approvers_has_a_fault() {
        assert_eq!(WHOLE.faults(), [""; 0]);
        let without = [
            (Description { name: "Talk Now", ..WHOLE }, "small letters"),
            (Description { account: "secret", ..WHOLE }, "no account"),
            (Description { keys: &[ROOM], account: "room", ..WHOLE }, "no account"),
            (Description { target: &[], ..WHOLE }, "no targets"),
            (Description { approvers: &[], ..WHOLE }, "no approvers"),
            (
                Description { approvers: &[LIST, ApproverList { key: "other", ..LIST }], ..WHOLE },
                "no approvers",
            ),
        ];
        for (description, what) in without {
            let faults = description.faults();
            assert!(faults.iter().any(|fault| fault.contains(what)), "{what}: {faults:?}");
        }
    }

    #[test]
    fn a_secret_is_read_by_its_key_and_printed_nowhere() {
        let secret = Setting::Secret("7:SECRET".to_owned());
        let settings = Settings::from([("token", secret), ("chat", Setting::Number(-5))]);
        assert_eq!(settings.text("token"), "7:SECRET");
        assert_eq!((settings.number("chat"), settings.number("token")), (Some(-5), None));
        assert_eq!((settings.text("chat"), settings.text("other")), ("", ""));
        assert_eq!(format!("{settings:?}"), r#"Settings({"chat": -5, "token": …})"#);
    }

    #[test]
    fn a_code_is_a_word_that_begins_like_one() {
        assert_eq!(pairing_code("/start pair-7xY_-"), Some("pair-7xY_-"));
        assert_eq!(pairing_code("pair-7x\nplease"), Some("pair-7x"));
        assert_eq!(pairing_code("/start repair-7x"), None);
        assert_eq!(pairing_code(""), None);
    }
}
