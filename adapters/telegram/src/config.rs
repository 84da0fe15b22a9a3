//! What the adapter needs to know.

use countersign_port::Settings;

/// A bot of Telegram's.
#[derive(Clone)]
pub struct TelegramConfig {
    /// The bot's token, as @BotFather shows it.
    pub token: String,
    /// Where the Bot API is: `https://api.telegram.org` but for tests and own Bot API servers.
    pub api_url: String,
}

impl TelegramConfig {
    /// The bot of an account in the config.
    pub(crate) fn of(account: &Settings) -> Self {
        let text = |key| account.text(key).to_owned();
        Self { token: text("token"), api_url: text("api_url") }
    }
}

/// SECURITY: the token is not printed.
impl std::fmt::Debug for TelegramConfig {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("TelegramConfig").field("api_url", &self.api_url).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_printed_config_does_not_hold_the_token() {
        let config =
            TelegramConfig { token: "7:SECRET".into(), api_url: "https://example.org".into() };
        assert_eq!(
            format!("{config:?}"),
            "TelegramConfig { api_url: \"https://example.org\", .. }"
        );
    }
}
