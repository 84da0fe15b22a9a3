//! What the adapter needs to know.

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

/// Whether this is Discord itself.
pub(crate) fn is_discord(api_url: &str) -> bool {
    api_url.trim_end_matches('/').eq_ignore_ascii_case("https://discord.com")
}
