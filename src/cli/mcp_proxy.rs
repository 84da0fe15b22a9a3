//! `countersign mcp-proxy --name NAME -- SERVER…`: a gate in front of an MCP server.

use super::{
    Context, Exit,
    asking::InterruptSignals,
    caller, host,
    lines::of_stdin,
    mcp::claude_session,
    open_calls::{OpenCalls, WithoutDaemon},
};
use anyhow::{Context as _, Result};
use countersign_agents::{
    hosted::SessionEnd,
    mcp::{ProxyAround, ProxySession},
};
use countersign_tokens::ids;

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
    /// Who asks, as the card shows it [default: the name that the client tells]
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

pub(super) async fn run(context: &Context, args: McpProxyArgs) -> Result<Exit> {
    // Registered first: a signal must not end the process before its asks are cancelled.
    let mut signals = InterruptSignals::new()?;
    let client = context.client()?;
    let cwd = std::env::current_dir().context("the current folder is not there")?;
    let (session, ends) = match args.session.or_else(claude_session) {
        Some(session) => (session, SessionEnd::Elsewhere),
        // Sessions without a name must not share grants.
        None => (format!("{} {}", args.name, ids::ask_id()), SessionEnd::WithProgram),
    };
    let session = ProxySession::new(ProxyAround {
        server: args.name,
        agent: args.agent,
        session,
        ends,
        host: caller::host(),
        cwd: Some(cwd.display().to_string()),
        run: ids::nonce(),
    });
    let calls = OpenCalls::new(client, WithoutDaemon::Fails);
    host::serve(&args.server, session, of_stdin(), calls, &mut signals).await
}

/// A name that splits a tool's name in one way only.
fn server_name(text: &str) -> Result<String, String> {
    let plain = |letter: char| letter.is_ascii_alphanumeric() || matches!(letter, '-' | '_');
    let good = (1..=64).contains(&text.len()) && text.chars().all(plain);
    match good && !text.contains("__") && !text.starts_with('_') && !text.ends_with('_') {
        true => Ok(text.to_owned()),
        false => Err("say up to 64 letters, digits, - and single _ between them".to_owned()),
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
