//! What the adapter needs to know.

use countersign_port::Settings;

/// An app of Slack's in one workspace.
#[derive(Clone)]
pub struct SlackConfig {
    /// The bot's token, `xoxb-…`: reads and writes.
    pub token: String,
    /// The app's token, `xapp-…`: opens the connection over which presses come.
    pub app_token: String,
    /// Where Slack is: an origin, `https://slack.com` but for tests and proxies.
    pub api_url: String,
}

impl SlackConfig {
    /// The app of an account in the config.
    pub(crate) fn of(account: &Settings) -> Self {
        let text = |key| account.text(key).to_owned();
        Self { token: text("token"), app_token: text("app_token"), api_url: text("api_url") }
    }
}
