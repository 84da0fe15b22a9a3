//! `countersign mcp`: an MCP server on stdin and stdout. `countersign mcp-proxy --name NAME --
//! SERVER…`: a gate in front of an MCP server.
//!
//! FAIL-CLOSED: every tool call gets a reply, and only the daemon's decision makes it an approval.

use super::{
    Context, Exit, caller, host,
    lines::{LineWriter, of_stdin},
    open_calls::{CallNews, OpenCalls, WithoutDaemon},
    signals::Signals,
};
use anyhow::Result;
use countersign_agents::{
    hosted::SessionEnd,
    mcp::{Handled, McpServer, PendingTool, ProxyAround, ProxySession, read},
};
use countersign_client::{Client, Decided};
use countersign_domain::wire::CancelReason;
use countersign_tokens::ids;
use serde_json::Value;
use std::{collections::HashMap, time::Duration};
use tokio::time::{Instant, MissedTickBehavior, interval_at};

/// The timeout for a connection to the daemon.
const CONNECT: Duration = Duration::from_secs(2);

/// The time between two notifications that a call still waits. Clients give up after a minute.
const PROGRESS: Duration = Duration::from_secs(10);

/// The session of Claude Code, which it tells the MCP servers that it starts.
const CLAUDE_SESSION: &str = "CLAUDE_CODE_SESSION_ID";

#[derive(Debug, clap::Args)]
#[command(after_help = "\
An MCP client starts this; docs/mcp.md says how. Its tools are ask_human, for the model, and
approve, for the permission prompts of Claude Code without a terminal:
  claude -p 'do it' --mcp-config '{\"mcpServers\":{\"countersign\":{\"command\":\"countersign\",
    \"args\":[\"mcp\"]}}}' --permission-prompt-tool mcp__countersign__approve")]
pub(super) struct McpArgs {
    /// Who asks, as the card shows it [default: the name that the client gives]
    #[arg(long)]
    agent: Option<String>,
    /// The conversation that approvals for a session cover [default: Claude Code's own, else one
    /// for each start]
    #[arg(long)]
    session: Option<String>,
}

pub(super) async fn run(context: &Context, args: McpArgs) -> Result<Exit> {
    // Registered first: a signal must not end the process before its asks are cancelled.
    let mut signals = Signals::that_interrupt()?;
    let client = Client::new(&context.config()?.client, CONNECT)?;
    let (session, ends) = session(args.session, "mcp");
    let mut connection = McpConnection {
        server: McpServer::new(args.agent, caller::origin(session)?),
        calls: OpenCalls::new(client, WithoutDaemon::Fails),
        pending: HashMap::new(),
        out: LineWriter::new(tokio::io::stdout()),
    };
    let interrupted = tokio::select! {
        () = connection.serve() => false,
        () = signals.any() => true,
    };
    let McpConnection { server, mut calls, out, .. } = connection;
    calls.close(CancelReason::SessionEnded).await;
    if ends == SessionEnd::WithProgram {
        calls.leave(server.agent(), server.session()).await;
    }
    out.finish().await;
    Ok(if interrupted { Exit::Interrupted } else { Exit::Good })
}

/// The session that is named, or that of the Claude Code which started this, or one of its own.
fn session(named: Option<String>, prefix: &str) -> (String, SessionEnd) {
    let of_claude = || std::env::var(CLAUDE_SESSION).ok().filter(|name| !name.trim().is_empty());
    match named.or_else(of_claude) {
        Some(session) => (session, SessionEnd::Elsewhere),
        // Sessions without a name must not share grants.
        None => (format!("{prefix} {}", ids::ask_id()), SessionEnd::WithProgram),
    }
}

/// The connection to one client, with its open tool calls by key.
struct McpConnection {
    server: McpServer,
    calls: OpenCalls,
    pending: HashMap<String, PendingTool>,
    out: LineWriter,
}

impl McpConnection {
    /// Serves until the client closes its side.
    async fn serve(&mut self) {
        let mut lines = of_stdin();
        let mut ticks = interval_at(Instant::now() + PROGRESS, PROGRESS);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            tokio::select! {
                line = lines.recv() => match line {
                    Some(line) => self.line(&line),
                    None => return,
                },
                news = self.calls.next() => self.news(news),
                _ = ticks.tick() => self.progress(),
                // The client reads no more, so nobody could receive an answer.
                () = self.out.closed() => return,
            }
        }
    }

    fn line(&mut self, line: &[u8]) {
        if line.trim_ascii().is_empty() {
            return;
        }
        for message in read(line) {
            match message.map(|message| self.server.handle(message)) {
                Err(reply) | Ok(Handled::Reply(reply)) => self.send(&reply),
                Ok(Handled::Nothing) => {}
                Ok(Handled::Pending(pending)) => self.submit(*pending),
                Ok(Handled::Cancelled(id)) => self.cancel(&id),
            }
        }
    }

    fn submit(&mut self, pending: PendingTool) {
        let call = pending.call.clone();
        let key = call.key.clone().unwrap_or_default();
        self.pending.insert(key.clone(), pending);
        self.calls.open(key, call);
    }

    fn cancel(&mut self, id: &Value) {
        let calls = &mut self.calls;
        self.pending.retain(|key, pending| {
            let cancelled = pending.id == *id;
            if cancelled {
                calls.take_back(key, CancelReason::Aborted);
            }
            !cancelled
        });
    }

    fn news(&mut self, news: CallNews) {
        match news {
            CallNews::Opened(key, id) => {
                let waits = |pending: &mut PendingTool| {
                    pending.progress(&format!("A person is asked; the ask is {id}."))
                };
                let progress = self.pending.get_mut(&key).and_then(waits);
                progress.iter().for_each(|message| self.send(message));
            }
            CallNews::Decided(key, decided) => {
                let Some(pending) = self.pending.remove(&key) else { return };
                let why = (*decided).as_ref().err().map(ToString::to_string).unwrap_or_default();
                let decided: Result<&Decided, &str> = (*decided).as_ref().map_err(|_| why.as_str());
                self.send(&pending.reply(decided));
            }
        }
    }

    fn progress(&mut self) {
        let waits = |pending: &mut PendingTool| pending.progress("Still waiting for a decision.");
        let messages: Vec<Value> = self.pending.values_mut().filter_map(waits).collect();
        messages.iter().for_each(|message| self.send(message));
    }

    fn send(&self, message: &Value) {
        self.out.send(format!("{message}\n").into_bytes());
    }
}

#[derive(Debug, clap::Args)]
#[command(after_help = "\
An MCP client starts this in place of the server. Every tools/call is decided by your rules or by
a person, as the tool mcp__NAME__TOOL; everything else passes unchanged. Without a daemon no tool
runs.
Example: countersign mcp-proxy --name files -- npx -y @modelcontextprotocol/server-filesystem .")]
pub(super) struct McpProxyArgs {
    /// The server's name on cards and in rules
    #[arg(long, value_parser = server_name)]
    name: String,
    /// Who asks, as the card shows it [default: the name that the client gives]
    #[arg(long)]
    agent: Option<String>,
    /// The conversation that approvals for a session cover [default: Claude Code's own, else one
    /// for each start]
    #[arg(long)]
    session: Option<String>,
    /// The server with its options, after --
    #[arg(last = true, required = true, value_name = "SERVER")]
    server: Vec<String>,
}

pub(super) async fn run_proxy(context: &Context, args: McpProxyArgs) -> Result<Exit> {
    // Registered first: a signal must not end the process before its asks are cancelled.
    let mut signals = Signals::that_interrupt()?;
    let client = context.client()?;
    let (session, ends) = session(args.session, &args.name);
    let mut session = ProxySession::new(ProxyAround {
        server: args.name,
        agent: args.agent,
        origin: caller::origin(session)?,
        ends,
    });
    let calls = OpenCalls::new(client, WithoutDaemon::Fails);
    host::serve(&args.server, &mut session, of_stdin(), calls, &mut signals).await
}

/// A name that splits a tool's name in one way only.
fn server_name(text: &str) -> Result<String, String> {
    let plain = |letter: char| letter.is_ascii_alphanumeric() || matches!(letter, '-' | '_');
    let good = (1..=64).contains(&text.len()) && text.chars().all(plain);
    if good && !text.contains("__") && !text.starts_with('_') && !text.ends_with('_') {
        Ok(text.to_owned())
    } else {
        Err("use up to 64 letters, digits, - and single _ between them".to_owned())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_servers_name_cannot_be_taken_for_a_part_of_a_tools_name() {
        for good in ["files", "my-server_2"] {
            assert_eq!(server_name(good), Ok(good.to_owned()));
        }
        for bad in ["", "a__b", "_a", "a_", "a b", "a/b", "ü", &"x".repeat(65)] {
            assert!(server_name(bad).is_err(), "{bad}");
        }
    }
}
