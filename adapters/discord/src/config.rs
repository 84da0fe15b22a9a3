//! What the adapter needs to know.

use countersign_port::Settings;

/// A bot of Discord's.
#[derive(Clone)]
pub struct DiscordConfig {
    /// The bot's token, as the developer portal shows it.
    pub token: String,
    /// Where Discord is: an origin, `https://discord.com` but for tests and proxies.
    pub api_url: String,
    /// The id of the role that new cards mention; `None` mentions nobody.
    pub mention: Option<String>,
}

impl DiscordConfig {
    /// The bot of an account in the config.
    pub(crate) fn of(account: &Settings) -> Self {
        let text = |key| account.text(key).to_owned();
        let mention = Some(text("mention")).filter(|role| !role.is_empty());
        Self { token: text("token"), api_url: text("api_url"), mention }
    }
}

/// Whether this is Discord itself.
pub(crate) fn is_discord(api_url: &str) -> bool {
    api_url.trim_end_matches('/').eq_ignore_ascii_case("https://discord.com")
}
