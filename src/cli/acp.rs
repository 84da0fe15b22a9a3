//! `countersign acp -- AGENT`: stands between an editor and its ACP agent.

use super::{
    Context, Exit,
    asking::InterruptSignals,
    caller, host,
    lines::of_stdin,
    open_calls::{OpenCalls, WithoutDaemon},
};
use anyhow::Result;
use countersign_agents::acp::{AcpContext, AcpProxy, Prompts};
use countersign_client::Client;
use countersign_tokens::ids;
use std::{path::Path, time::Duration};

/// The timeout for a connection to the daemon.
const CONNECT: Duration = Duration::from_secs(5);

#[derive(Debug, clap::Args)]
#[command(after_help = "\
In the editor's settings, put `countersign acp --` before the agent's command. Its permission
requests and questions become asks; every other line passes unchanged. Without a daemon a call is
denied; with --race the editor's own prompt stands as well, and the first answer counts.
Example: countersign acp -- gemini --acp")]
pub(super) struct AcpArgs {
    /// Let the editor prompt too; the first answer counts
    #[arg(long)]
    race: bool,
    /// The agent, after --
    #[arg(last = true, required = true, value_name = "AGENT")]
    agent: Vec<String>,
}

pub(super) async fn run(context: &Context, args: AcpArgs) -> Result<Exit> {
    // Registered first: a signal must not end the process before its asks are cancelled.
    let mut signals = InterruptSignals::new()?;
    let client = Client::new(&context.config()?.client, CONNECT)?;
    let program = args.agent.first().map(Path::new).and_then(Path::file_name);
    let program = program.map_or("acp".to_owned(), |name| name.to_string_lossy().into_owned());
    let around = AcpContext { program, host: caller::host(), run: ids::nonce() };
    let prompts = if args.race { Prompts::InEditorToo } else { Prompts::Here };
    let mut proxy = AcpProxy::new(around, prompts);
    let calls = OpenCalls::new(client, WithoutDaemon::Fails);
    host::serve(&args.agent, &mut proxy, of_stdin(), calls, &mut signals).await
}
