//! An MCP server with two tools: `approve` for Claude Code's `--permission-prompt-tool`, and
//! `ask_human`; and a gate in front of other servers. Pure; `cli::mcp` serves it on stdin and
//! stdout, `api::mcp` over HTTP, and `cli::mcp_proxy` runs the gate.

mod ask_human;
mod message;
mod proxy;
mod server;
mod tools;

pub use message::{RpcMessage, error_reply, read};
pub use proxy::{ProxyAround, ProxySession};
pub use server::{Handled, McpCaller, McpServer, PendingTool, VERSIONS};

#[cfg(test)]
mod tests;
