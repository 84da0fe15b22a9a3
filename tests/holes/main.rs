//! What enemies tried, row by row: agents, callers, strangers and luckless operators against the
//! real binary.
#![cfg(all(feature = "telegram", feature = "discord"))]
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::string_slice,
    clippy::panic,
    reason = "tests fail by panicking"
)]

#[path = "../support/browser.rs"]
mod browser;
#[path = "../e2e/chats.rs"]
mod chats;
#[path = "../support/daemon.rs"]
#[allow(dead_code, reason = "the end-to-end tests use more of it")]
mod daemon;
#[path = "../support/discord.rs"]
#[allow(unused_imports, reason = "the end-to-end tests use more of it")]
mod discord_server;
#[path = "../support/inbox.rs"]
mod inbox_visitor;
#[path = "../support/bodies.rs"]
mod made;
#[path = "../support/postgres.rs"]
mod postgres;
#[path = "../cli/process.rs"]
#[allow(dead_code, reason = "the command line's tests use more of it")]
mod process;
#[path = "../support/seats.rs"]
mod seats;
#[path = "../support/telegram.rs"]
mod telegram_server;
#[path = "../support/world.rs"]
mod world;

mod activation;
mod agent_limits;
mod agent_tokens;
mod answer_rules;
mod bodies;
mod budgets;
mod cards;
mod clock;
mod connections;
mod defaults;
mod descriptors;
mod fencing;
mod floods;
mod forwarded;
mod guardrail;
mod hook;
mod impostor;
mod inner_repository;
mod keys;
mod languages;
mod links;
mod log;
mod names;
mod numbers;
mod options;
mod own_program;
mod page;
mod proxies;
mod questions;
mod receiving;
mod retention;
mod reviews;
mod samples;
mod secrets;
mod sessions;
mod shells;
mod sizes;
mod store;
mod targets;
mod token_scopes;
mod tokens;
mod two_daemons;
