//! Agents of the Agent Client Protocol (version 1), between an editor and its agent. Pure;
//! `cli::host` moves the lines.
//!
//! Every line is passed on unchanged, except permission requests and forms of the agent, which
//! become asks. Source of the names: <https://agentclientprotocol.com/protocol/schema>.
//!
//! INVARIANT: every request of the agent gets one reply: ours, or that of the editor, whichever
//! comes first; the other is cancelled or dropped.

mod batch;
mod call;
mod form;
mod late;
mod message;
mod permission;
mod proxy;
mod refused;
mod request;
mod session;
mod tool_calls;

pub use proxy::{AcpContext, AcpProxy, Prompts};

#[cfg(test)]
mod tests;
