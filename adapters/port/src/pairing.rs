//! Pairing: a person sends a code to the bot, which shows who they are and where cards may go.

use crate::{CheckError, Presser, Settings, Target};

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

    #[test]
    fn a_code_is_a_word_that_begins_like_one() {
        assert_eq!(pairing_code("/start pair-7xY_-"), Some("pair-7xY_-"));
        assert_eq!(pairing_code("pair-7x\nplease"), Some("pair-7x"));
        assert_eq!(pairing_code("/start repair-7x"), None);
        assert_eq!(pairing_code(""), None);
    }
}
