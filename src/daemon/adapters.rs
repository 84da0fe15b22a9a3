//! The adapters that the config asks for.

use super::listen;
use crate::config::Config;
use axum::Router;
use countersign_port::Adapter;
use std::sync::Arc;

/// The adapters, and the inbox's page.
pub(super) struct Adapters {
    pub(super) all: Vec<Arc<dyn Adapter>>,
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
    let mut all: Vec<Arc<dyn Adapter>> = vec![Arc::new(inbox)];
    all.extend(telegram(config));
    all.extend(discord(config));
    Adapters { all, inbox: router }
}

#[cfg(feature = "telegram")]
fn telegram(config: &Config) -> Option<Arc<dyn Adapter>> {
    let telegram = config.telegram.as_ref()?;
    Some(Arc::new(countersign_telegram::Telegram::new(countersign_telegram::Config {
        token: telegram.token.reveal().to_owned(),
        api_url: telegram.api_url.clone(),
    })))
}

#[cfg(not(feature = "telegram"))]
fn telegram(config: &Config) -> Option<Arc<dyn Adapter>> {
    if config.telegram.is_some() {
        tracing::error!("[telegram] is configured, but this program was built without it");
    }
    None
}

#[cfg(feature = "discord")]
fn discord(config: &Config) -> Option<Arc<dyn Adapter>> {
    let discord = config.discord.as_ref()?;
    Some(Arc::new(countersign_discord::Discord::new(countersign_discord::Config {
        token: discord.token.reveal().to_owned(),
        api_url: discord.api_url.clone(),
    })))
}

#[cfg(not(feature = "discord"))]
fn discord(config: &Config) -> Option<Arc<dyn Adapter>> {
    if config.discord.is_some() {
        tracing::error!("[discord] is configured, but this program was built without it");
    }
    None
}
