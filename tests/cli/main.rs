//! The command line and the hook of Claude Code, through the real binary.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::string_slice,
    clippy::panic,
    reason = "tests fail by panicking"
)]

#[path = "../support/browser.rs"]
#[cfg(feature = "telegram")]
mod browser;
#[path = "../support/daemon.rs"]
#[allow(dead_code, reason = "the end-to-end tests use more of it")]
mod daemon;

#[path = "../support/telegram.rs"]
#[cfg(feature = "telegram")]
mod telegram_server;

mod acp;
mod agents;
mod agents_real;
mod agents_table;
mod appeal;
mod appeal_real;
mod approvers;
mod ask_lines;
mod asking;
mod auto_terminal_real;
mod chat_model;
#[cfg(feature = "telegram")]
mod chats;
mod claude_real;
mod claude_terminal;
mod codex;
mod codex_real;
mod documents;
mod execution;
mod gate;
mod guides;
mod hook;
mod hook_ends;
mod host_claude;
mod host_codex;
mod live;
mod log_delivery;
mod mcp;
mod mcp_golden;
mod mcp_http;
mod mcp_proxy;
mod model;
mod nono;
mod opencode;
mod opencode_gate;
mod opencode_races;
mod overtaken;
mod parked;
mod parked_real;
#[cfg(feature = "telegram")]
mod phone;
#[cfg(feature = "telegram")]
mod pictures;
mod policy;
mod process;
mod programs;
mod project_env;
mod proven_log;
mod qwen_real;
mod records;
mod remote_page;
mod responses_model;
mod running;
#[path = "../support/seats.rs"]
#[cfg(feature = "telegram")]
mod seats;
mod settings;
mod setup;
mod socket_client;
mod terminal;
mod up;
mod watch;
