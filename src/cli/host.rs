//! `countersign host SYSTEM -- ENGINE`: runs an engine as its host, and turns its requests into
//! asks.

mod asks;
mod pipes;

use super::{Context, Exit, asking::InterruptSignals, caller, say, token};
use crate::profiles::{Profile, wcore::ModeChangeSource};
use crate::{
    agents::wcore::{EngineContext, EngineSession, Forward, LaunchOptions, Step},
    client::Client,
    protocol::CancelReason,
};
use anyhow::{Context as _, Result, anyhow};
use asks::Asks;
use pipes::{HostInput, Pipes};
use std::{process::ExitStatus, time::Duration};
use tokio::{
    process::{Child, Command},
    time::timeout,
};

/// The time for an engine to exit after its input is closed.
const FAREWELL: Duration = Duration::from_secs(5);

#[derive(Debug, clap::Args)]
pub(super) struct HostArgs {
    #[command(subcommand)]
    system: HostedSystem,
}

#[derive(Debug, clap::Subcommand)]
enum HostedSystem {
    /// A wayland-core engine: JSON lines on its stdin and stdout
    Wcore(HostWcoreArgs),
}

#[derive(Debug, clap::Args)]
#[command(after_help = "\
The engine's lines are passed on to stdout unchanged, and lines on stdin to the engine:
messages, set_mode, and answers by hand, which take the ask back. When stdin ends, everything that
waits is denied at once.
Example: countersign host wcore -- wayland-core --json-stream")]
struct HostWcoreArgs {
    /// The conversation that approvals for a session cover [default: the engine's own session]
    #[arg(long)]
    session: Option<String>,
    /// Let lines on stdin set the mode to auto_edit or force: the engine asks less then, or nothing
    #[arg(long)]
    allow_set_mode: bool,
    /// The engine, after --
    #[arg(last = true, required = true, value_name = "ENGINE")]
    engine: Vec<String>,
}

pub(super) async fn run(context: &Context, args: HostArgs) -> Result<Exit> {
    let HostedSystem::Wcore(args) = args.system;
    // Registered first: a signal must not end the process before its asks are cancelled.
    let mut signals = InterruptSignals::new()?;
    let config = context.config()?;
    let client = Client::new(&config.client, Duration::from_secs(5))?;
    let compat = config.policy.profile == Profile::Wcore && config.policy.compat;
    let rights = LaunchOptions {
        // Under compat our own host may set any mode, as the original's hosts may.
        modes: match args.allow_set_mode || compat {
            true => ModeChangeSource::WireOptedIn,
            false => ModeChangeSource::Wire,
        },
        compat,
        named: args.session.is_some(),
    };
    let cwd = std::env::current_dir().context("the current folder is not there")?;
    let around = EngineContext::new(args.session, caller::host(), Some(cwd.display().to_string()));
    let mut engine = start(&args.engine)?;
    let host = EngineHost {
        session: EngineSession::new(around, rights),
        pipes: Pipes::new(&mut engine)?,
        asks: Asks::new(client),
    };
    host.serve(engine, &mut signals).await
}

/// The reason why the host stops.
#[derive(Clone, Copy)]
enum HostEnd {
    /// The engine exited.
    Exited(ExitStatus),
    /// The engine closed its output, so it can ask nothing more.
    Silent,
    /// A signal was received.
    Signal,
}

/// One engine, with its session, pipes and asks.
struct EngineHost {
    session: EngineSession,
    pipes: Pipes,
    asks: Asks,
}

impl EngineHost {
    /// Moves lines in both directions until the engine is gone.
    async fn serve(mut self, mut engine: Child, signals: &mut InterruptSignals) -> Result<Exit> {
        let end = loop {
            tokio::select! {
                input = self.pipes.next() => match input {
                    Some(input) => self.take(&input),
                    None => break HostEnd::Silent,
                },
                (key, decided) = self.asks.next() => {
                    let decided = decided.as_ref().map_err(ToString::to_string);
                    let todo = self.session.decided(&key, decided);
                    self.act(todo);
                }
                status = engine.wait() => {
                    // Its last lines may still be in the pipe.
                    self.rest().await;
                    break HostEnd::Exited(status?);
                }
                () = signals.any() => break HostEnd::Signal,
            }
        };
        // A crash aborts the open asks; otherwise the session has ended.
        let broken = matches!(end, HostEnd::Exited(status) if !status.success());
        let todo = self.session.engine_ended(match broken {
            true => CancelReason::Aborted,
            false => CancelReason::SessionEnded,
        });
        self.act(todo);
        self.pipes.close_engine();
        let exit = match end {
            HostEnd::Exited(status) => exit(status),
            HostEnd::Silent => farewell(&mut engine).await.and_then(exit),
            HostEnd::Signal => farewell(&mut engine).await.map(|_| Exit::Interrupted),
        };
        self.asks.leave(self.session.name()).await;
        self.pipes.finish().await;
        exit
    }

    fn take(&mut self, input: &HostInput) {
        match input {
            HostInput::Engine(line) => {
                let todo = self.session.engine_line(&String::from_utf8_lossy(line));
                // Passed on before we act, so that the host sees a request before its answer.
                self.pipes.to_host(line.clone());
                self.act(todo);
            }
            HostInput::Host(line) => {
                let (passes, todo) = self.session.host_line(&String::from_utf8_lossy(line));
                if passes == Forward::On {
                    self.pipes.to_engine(line.clone());
                }
                self.act(todo);
            }
            HostInput::HostEnded => {
                let todo = self.session.host_ended();
                self.act(todo);
                self.pipes.close_engine();
            }
        }
    }

    /// Passes on what the engine wrote before it exited.
    async fn rest(&mut self) {
        // With a timeout, because a process that the engine started may keep its pipe open.
        while let Ok(Some(input)) = timeout(Duration::from_millis(500), self.pipes.next()).await {
            if let HostInput::Engine(line) = input {
                self.pipes.to_host(line);
            }
        }
    }

    fn act(&mut self, todo: Vec<Step>) {
        for act in todo {
            match act {
                Step::Send(line) => self.pipes.to_engine(format!("{line}\n").into_bytes()),
                Step::Submit { key, call } => self.asks.open(key, *call),
                Step::Cancel { key, why } => self.asks.take_back(&key, why),
                Step::Log(text) => say::aside(&text),
            }
        }
    }
}

fn start(words: &[String]) -> Result<Child> {
    let (program, arguments) = words.split_first().context("no engine")?;
    Command::new(program)
        .args(arguments)
        // SECURITY: the program that asks must not be able to answer for a person.
        .env_remove(token::VARIABLE)
        .env_remove(format!("{}_FILE", token::VARIABLE))
        .stdin(std::process::Stdio::piped())
        .stdout(std::process::Stdio::piped())
        // If we fail before the farewell, the engine must not run on without a host.
        .kill_on_drop(true)
        .spawn()
        .with_context(|| format!("{program} cannot be started"))
}

/// Waits for an engine whose input is closed to exit, then kills it.
async fn farewell(engine: &mut Child) -> Result<ExitStatus> {
    if let Ok(status) = timeout(FAREWELL, engine.wait()).await {
        return Ok(status?);
    }
    engine.start_kill()?;
    Ok(engine.wait().await?)
}

fn exit(status: ExitStatus) -> Result<Exit> {
    match status.success() {
        true => Ok(Exit::Good),
        false => Err(anyhow!("the engine ended with {status}")),
    }
}
