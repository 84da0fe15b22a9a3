//! The adapters that the config asks for.

use super::listen;
use crate::config::Config;
use axum::Router;
use countersign_port::NamedAdapter;
use std::sync::Arc;

/// The adapters, and the inbox's page.
pub(super) struct Adapters {
    pub(super) all: Vec<NamedAdapter>,
    pub(super) inbox: Router,
}

/// Makes the adapters; none of them is connected yet.
pub(super) fn build(config: &Config, local: &listen::Inbox) -> Adapters {
    let inbox = countersign_inbox::Inbox::new(countersign_inbox::Config {
        access_token: local.token.reveal().to_owned(),
        allowed_hosts: vec![
            local.address.ip().to_string(),
            gethostname::gethostname().to_string_lossy().into_owned(),
        ],
    });
    let router = inbox.router();
    let mut all = vec![NamedAdapter { name: "inbox", adapter: Arc::new(inbox) }];
    all.extend(telegram(config));
    all.extend(discord(config));
    Adapters { all, inbox: router }
}

#[cfg(feature = "telegram")]
fn telegram(config: &Config) -> Option<NamedAdapter> {
    let telegram = config.telegram.as_ref()?;
    let adapter = Arc::new(countersign_telegram::Telegram::new(countersign_telegram::Config {
        token: telegram.token.reveal().to_owned(),
        api_url: telegram.api_url.clone(),
    }));
    Some(NamedAdapter { name: "telegram", adapter })
}

#[cfg(not(feature = "telegram"))]
fn telegram(config: &Config) -> Option<NamedAdapter> {
    if config.telegram.is_some() {
        tracing::error!("[telegram] is configured, but this program was built without it");
    }
    None
}

#[cfg(feature = "discord")]
fn discord(config: &Config) -> Option<NamedAdapter> {
    let discord = config.discord.as_ref()?;
    let adapter = Arc::new(countersign_discord::Discord::new(countersign_discord::Config {
        token: discord.token.reveal().to_owned(),
        api_url: discord.api_url.clone(),
    }));
    Some(NamedAdapter { name: "discord", adapter })
}

#[cfg(not(feature = "discord"))]
fn discord(config: &Config) -> Option<NamedAdapter> {
    if config.discord.is_some() {
        tracing::error!("[discord] is configured, but this program was built without it");
    }
    None
}
