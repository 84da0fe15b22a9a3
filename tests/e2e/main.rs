//! End-to-end tests: the real binary against fakes of the chat platforms.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::string_slice,
    clippy::panic,
    reason = "tests fail by panicking"
)]

#[path = "../support/authenticator.rs"]
mod authenticator;
#[path = "../support/browser.rs"]
mod browser;
#[path = "../support/codex.rs"]
mod codex_server;
#[path = "../support/connectonion.rs"]
#[cfg(all(feature = "telegram", feature = "discord"))]
mod connectonion_peer;
#[path = "../support/daemon.rs"]
mod daemon;
#[path = "../support/discord.rs"]
#[cfg(feature = "discord")]
mod discord_server;
#[path = "../support/disk.rs"]
mod disk_of_our_own;
#[path = "../support/engine.rs"]
mod engine;
#[path = "../support/inbox.rs"]
mod inbox_visitor;
#[path = "../support/line.rs"]
mod line;
#[path = "../support/ntfy.rs"]
mod ntfy_server;
#[path = "../support/oidc.rs"]
mod oidc_provider;
#[path = "../support/postgres.rs"]
mod postgres;
#[path = "../support/seats.rs"]
mod seats;
#[path = "../support/server.rs"]
mod server;
#[path = "../support/slack.rs"]
#[cfg(feature = "slack")]
mod slack_server;
#[path = "../support/telegram.rs"]
#[cfg(feature = "telegram")]
mod telegram_server;
#[path = "../support/tls.rs"]
mod tls;

#[cfg(feature = "telegram")]
mod admins;
#[cfg(feature = "telegram")]
mod answerers;
#[cfg(all(feature = "telegram", feature = "discord"))]
mod chats;
mod codex;
#[cfg(all(feature = "telegram", feature = "discord"))]
mod connectonion;
mod core;
#[cfg(all(feature = "telegram", feature = "discord"))]
mod crash;
#[cfg(all(feature = "telegram", feature = "discord"))]
mod critical;
#[cfg(all(feature = "telegram", feature = "discord"))]
mod digests;
#[cfg(feature = "discord")]
mod discord;
mod disk;
#[cfg(all(feature = "telegram", feature = "discord"))]
mod duty;
#[cfg(all(feature = "telegram", feature = "discord"))]
mod edit;
#[cfg(all(feature = "telegram", feature = "discord", feature = "slack"))]
mod everywhere;
#[cfg(all(feature = "telegram", feature = "discord", feature = "slack"))]
mod floods;
#[cfg(all(feature = "telegram", feature = "discord"))]
mod grants;
mod history;
mod http_routes;
#[cfg(all(feature = "telegram", feature = "discord"))]
mod inbox;
mod inbox_pages;
#[cfg(all(feature = "telegram", feature = "discord", feature = "slack"))]
mod labels;
#[cfg(all(feature = "telegram", feature = "discord"))]
mod molf;
#[cfg(all(feature = "telegram", feature = "discord"))]
mod molf_chat;
mod ntfy;
#[cfg(all(feature = "telegram", feature = "discord"))]
mod ohmypi;
mod oidc;
#[cfg(feature = "telegram")]
mod outage;
mod passkeys;
#[cfg(all(feature = "telegram", feature = "discord"))]
mod pause;
#[cfg(all(feature = "telegram", feature = "discord"))]
mod people;
#[cfg(all(feature = "telegram", feature = "discord"))]
mod phone;
#[cfg(all(feature = "telegram", feature = "discord"))]
mod races;
#[cfg(feature = "telegram")]
mod reload;
mod restart;
mod restore;
#[cfg(all(feature = "telegram", feature = "discord"))]
mod routes;
mod rules;
#[cfg(feature = "telegram")]
mod saved_rules;
#[cfg(feature = "telegram")]
mod shared;
#[cfg(all(feature = "telegram", feature = "discord"))]
mod sign_in;
#[cfg(feature = "slack")]
mod slack;
mod store;
#[cfg(feature = "telegram")]
mod telegram;
#[cfg(all(feature = "telegram", feature = "discord", feature = "slack"))]
mod threads;
#[cfg(all(feature = "telegram", feature = "discord"))]
mod unanswered;
#[cfg(all(feature = "telegram", feature = "discord"))]
mod votes;
#[cfg(all(feature = "telegram", feature = "discord"))]
mod wcore;
#[cfg(all(feature = "telegram", feature = "discord"))]
mod words;
#[cfg(all(feature = "telegram", feature = "discord"))]
mod zeptoclaw;
