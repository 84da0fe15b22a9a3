//! `countersign host SYSTEM -- ENGINE`: runs an engine as its host, and turns its requests into
//! asks.

use super::{
    Context, Exit, caller,
    lines::{PipeInput, Pipes, of_stdin, queued},
    open_calls::{CallNews, OpenCalls, WithoutDaemon},
    park::{self, ParkingHost, Start, WhileParked},
    run::command,
    say,
    signals::Signals,
    when,
};
use anyhow::{Context as _, Result, anyhow, bail};
use countersign_agents::{
    CodexOutput, CodexRun, ControlSession,
    acp::{AcpContext, AcpProxy, Prompts},
    hosted::{EngineInput, Forward, HostedSession, SessionEnd, Step, TICK},
    wcore::{EngineSession, LaunchOptions},
};
use countersign_client::Client;
use countersign_domain::{parked::ParkedRun, wire::CancelReason};
use countersign_profiles::{Profile, wcore::ModeChangeSource};
use countersign_tokens::ids;
use serde_json::json;
use std::{
    io::Read as _,
    path::Path,
    process::{ExitStatus, Stdio},
    time::Duration,
};
use tokio::{
    process::{Child, Command},
    sync::mpsc,
    time::{Instant, MissedTickBehavior, interval_at, timeout},
};

/// The timeout for a connection to the daemon.
const CONNECT: Duration = Duration::from_secs(5);

/// The time without a line after which an engine that may be done gets no more input.
const QUIET: Duration = Duration::from_secs(60);

#[derive(Debug, clap::Args)]
pub(super) struct HostArgs {
    #[command(subcommand)]
    system: HostedSystem,
}

#[derive(Debug, clap::Subcommand)]
enum HostedSystem {
    /// A wayland-core engine: JSON lines on its stdin and stdout
    Wcore(HostWcoreArgs),
    /// Claude Code without a terminal: its stream-json on stdin and stdout
    ClaudeCode(HostClaudeCodeArgs),
    /// Codex without a terminal: one prompt for its app-server
    Codex(HostCodexArgs),
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
    // Registered first: a signal must not end the process before its asks are cancelled.
    let mut signals = Signals::that_interrupt()?;
    let config = context.config()?;
    let client = Client::new(&config.client, CONNECT)?;
    match args.system {
        HostedSystem::Wcore(args) => {
            let compat = config.policy.profile == Profile::Wcore && config.policy.compat;
            let rights = LaunchOptions {
                // Under compat our own host may set any mode, as the original's hosts may.
                modes: if args.allow_set_mode || compat {
                    ModeChangeSource::WireOptedIn
                } else {
                    ModeChangeSource::Wire
                },
                compat,
                named: args.session.is_some(),
            };
            // Sessions without a name must not share grants.
            let session = args.session.unwrap_or_else(|| format!("wcore {}", ids::ask_id()));
            let mut session = EngineSession::new(caller::origin(session)?, rights);
            // An engine outlives a restart of the daemon.
            let calls = OpenCalls::new(client, WithoutDaemon::Waits);
            serve(&args.engine, &mut session, of_stdin(), calls, &mut signals).await
        }
        HostedSystem::ClaudeCode(HostClaudeCodeArgs {
            prompt: Some(prompt),
            park: true,
            after: after_s,
            engine: words,
        }) => {
            park::check()?;
            let host = caller::host();
            let cwd = caller::folder()?;
            let run = ParkedRun { host, cwd, transcript: None, words, after_s, seal: None };
            let while_parked = WhileParked::Wait;
            let host = ParkingHost { hook: &park::hook(context)?, client, run, while_parked };
            host.serve(Start::Prompt(prompt), &mut signals).await
        }
        HostedSystem::ClaudeCode(args) => {
            let origin = caller::origin(format!("claude {}", ids::ask_id()))?;
            let session = ControlSession::new(origin);
            // With a prompt nobody writes to our stdin.
            let (mut session, lines) = match &args.prompt {
                Some(prompt) => (session.without_host(), queued(&[message(prompt)])),
                None => (session, of_stdin()),
            };
            let calls = OpenCalls::new(client, WithoutDaemon::Fails);
            serve(&hosting(args.engine), &mut session, lines, calls, &mut signals).await
        }
        HostedSystem::Codex(args) => {
            let origin = caller::origin(String::new())?;
            let output = if args.json { CodexOutput::Frames } else { CodexOutput::Messages };
            let retries = Duration::from_secs(args.retry_for);
            let mut run = CodexRun::new(args.prompt()?, origin, output).ending_after(retries);
            let opening = queued(&run.opening());
            let calls = OpenCalls::new(client, WithoutDaemon::Fails);
            serve(&args.words(), &mut run, opening, calls, &mut signals).await
        }
    }
}

/// Runs a program as its host until it ends.
pub(super) async fn serve(
    words: &[String],
    session: &mut impl HostedSession,
    lines: mpsc::Receiver<Vec<u8>>,
    asks: OpenCalls,
    signals: &mut Signals,
) -> Result<Exit> {
    let mut engine = start(words)?;
    let host = EngineHost { session, pipes: Pipes::with_lines(&mut engine, lines)?, asks };
    host.serve(engine, signals).await
}

/// The reason why the host stops.
#[derive(Clone, Copy)]
enum HostEnd {
    /// The engine exited.
    Exited(ExitStatus),
    /// The engine closed its output, so it can ask nothing more; or nobody is there for it.
    Silent,
    /// A signal was received.
    Signal,
}

/// One engine, with its session, pipes and asks.
struct EngineHost<'s, S> {
    session: &'s mut S,
    pipes: Pipes,
    asks: OpenCalls,
}

impl<S: HostedSession> EngineHost<'_, S> {
    /// Moves lines in both directions until the engine is gone.
    async fn serve(mut self, mut engine: Child, signals: &mut Signals) -> Result<Exit> {
        let mut last_line = Instant::now();
        let mut ticks = interval_at(last_line + TICK, TICK);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let end = loop {
            tokio::select! {
                input = self.pipes.next() => match input {
                    Some(input) => {
                        last_line = Instant::now();
                        self.take(input);
                    }
                    None => break HostEnd::Silent,
                },
                news = self.asks.next() => self.news(&news),
                _ = ticks.tick() => {
                    let todo = self.session.tick();
                    self.act(todo);
                    let maybe_over = self.session.input() == EngineInput::OverWhenQuiet;
                    if maybe_over && last_line.elapsed() > QUIET {
                        self.pipes.close_inner();
                    }
                }
                status = engine.wait() => {
                    // Its last lines may still be in the pipe.
                    self.rest().await;
                    break HostEnd::Exited(status?);
                }
                () = signals.any() => break HostEnd::Signal,
            }
            match self.session.input() {
                EngineInput::Over => self.pipes.close_inner(),
                EngineInput::Abandoned => break HostEnd::Silent,
                EngineInput::Open | EngineInput::OverWhenQuiet => {}
            }
        };
        // A crash aborts the open asks; otherwise the session has ended.
        let broken = matches!(end, HostEnd::Exited(status) if !status.success());
        let todo = self.session.engine_ended(if broken {
            CancelReason::Aborted
        } else {
            CancelReason::SessionEnded
        });
        self.act(todo);
        self.pipes.close_inner();
        let exit = self.exit(end, &mut engine).await;
        match self.session.ends() {
            SessionEnd::WithProgram => {
                self.asks.leave(self.session.agent(), self.session.name()).await;
            }
            SessionEnd::Elsewhere => self.asks.close(CancelReason::SessionEnded).await,
        }
        self.pipes.finish().await;
        exit
    }

    /// The exit code. Why the session failed says more than how its program ended by our hand.
    async fn exit(&self, end: HostEnd, engine: &mut Child) -> Result<Exit> {
        let status = match end {
            HostEnd::Exited(status) => status,
            HostEnd::Silent | HostEnd::Signal => farewell(engine).await?,
        };
        match (end, self.session.failure()) {
            (HostEnd::Signal, _) => Ok(Exit::Interrupted),
            (HostEnd::Silent, Some(why)) => Err(anyhow!(why)),
            (HostEnd::Exited(_), Some(why)) if status.success() => Err(anyhow!(why)),
            _ if status.success() => Ok(Exit::Good),
            _ => Err(anyhow!("{} ended with {status}", self.session.program())),
        }
    }

    fn news(&mut self, news: &CallNews) {
        let todo = match news {
            CallNews::Opened(key, ask) => self.session.opened(key, ask),
            CallNews::Decided(key, decided) => {
                let decided = (**decided).as_ref().map_err(ToString::to_string);
                self.session.decided(key, decided)
            }
        };
        self.act(todo);
    }

    fn take(&mut self, input: PipeInput) {
        let todo = match input {
            PipeInput::Inner(line) => {
                let (passes, todo) = self.session.engine_line(&line);
                // Passed on before we act, so that the host sees a request before its answer.
                if passes == Forward::On {
                    self.pipes.to_outer(line);
                }
                todo
            }
            PipeInput::Outer(line) => {
                let (passes, todo) = self.session.host_line(&line);
                if passes == Forward::On {
                    self.pipes.to_inner(line);
                }
                todo
            }
            PipeInput::OuterEnded => self.session.host_ended(),
        };
        self.act(todo);
    }

    /// Passes on what the engine wrote before it exited.
    async fn rest(&mut self) {
        // With a timeout, because a process that the engine started may keep its pipe open.
        while let Ok(Some(input)) = timeout(Duration::from_millis(500), self.pipes.next()).await {
            let PipeInput::Inner(line) = input else { continue };
            let (passes, mut todo) = self.session.engine_line(&line);
            if passes == Forward::On {
                self.pipes.to_outer(line);
            }
            // Nobody is there to ask for, or to answer.
            todo.retain(|step| !matches!(step, Step::Submit { .. } | Step::Send(_)));
            self.act(todo);
        }
    }

    fn act(&mut self, todo: Vec<Step>) {
        for act in todo {
            match act {
                Step::Send(line) => self.pipes.to_inner(format!("{line}\n").into_bytes()),
                Step::Tell(line) => self.pipes.to_outer(format!("{line}\n").into_bytes()),
                Step::Submit { key, call } => self.asks.open(key, *call),
                Step::Cancel { key, why } => self.asks.take_back(&key, why),
                // SECURITY: a model's words must not command a terminal.
                Step::Say(text) => {
                    self.pipes.to_outer(format!("{}\n", say::words(&text)).into_bytes());
                }
                Step::Log(text) => say::aside(&text),
            }
        }
    }
}

/// The time for a program to exit after its input is closed.
const FAREWELL: Duration = Duration::from_secs(5);

/// Starts a program with pipes for its input and output; its stderr stays ours.
fn start(words: &[String]) -> Result<Child> {
    let (program, arguments) = words.split_first().context("no program")?;
    Command::from(command(program, arguments))
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        // If we fail before the farewell, it must not run on without us.
        .kill_on_drop(true)
        .spawn()
        .with_context(|| format!("{program} cannot be started"))
}

/// Waits for a program whose input is closed to exit, then kills it.
async fn farewell(child: &mut Child) -> Result<ExitStatus> {
    if let Ok(status) = timeout(FAREWELL, child.wait()).await {
        return Ok(status?);
    }
    child.start_kill()?;
    Ok(child.wait().await?)
}

#[derive(Debug, clap::Args)]
#[command(after_help = "\
Claude Code runs with --input-format stream-json, --output-format stream-json and
--permission-prompt-tool stdio. Its prompts are answered by your rules or by a person; every other
line passes unchanged in both directions. When stdin ends, the turn still runs to its end. Without a
daemon every prompt is denied.
Example: countersign host claude-code --prompt 'run the tests' -- claude -p")]
struct HostClaudeCodeArgs {
    /// The prompt; without it, messages are read from stdin as Claude Code's JSON lines
    #[arg(long, value_name = "TEXT")]
    prompt: Option<String>,
    /// End the process while a person is asked about a call for longer than --after, and go on from
    /// there with the answer; every call comes here first, as with `connect --gate`
    #[arg(long, requires = "prompt")]
    park: bool,
    /// How long a call may wait before it parks the run
    #[arg(long, value_name = "TIME", requires = "park", default_value = "10m",
        value_parser = when::seconds)]
    after: u64,
    /// Claude Code with its options, after --
    #[arg(last = true, required = true, value_name = "CLAUDE")]
    engine: Vec<String>,
}

/// The options that make us the host. One that the caller gives is left as it is.
const OPTIONS: [&[&str]; 4] = [
    &["--input-format", "stream-json"],
    &["--output-format", "stream-json"],
    &["--permission-prompt-tool", "stdio"],
    &["--verbose"],
];

/// These words of Claude Code with the options that make us its host.
pub(super) fn hosting(mut words: Vec<String>) -> Vec<String> {
    let given = |words: &[String], option: &str| {
        let with_value = format!("{option}=");
        words.iter().any(|word| word == option || word.starts_with(&with_value))
    };
    if !given(&words, "-p") && !given(&words, "--print") {
        words.push("-p".to_owned());
    }
    for option in OPTIONS {
        if option.first().is_some_and(|name| !given(&words, name)) {
            words.extend(option.iter().map(|word| (*word).to_owned()));
        }
    }
    words
}

/// A message of the user, as Claude Code reads it.
pub(super) fn message(text: &str) -> String {
    let message = json!({"type": "user", "message": {"role": "user", "content": text},
        "parent_tool_use_id": null, "session_id": ""});
    message.to_string()
}

#[derive(Debug, clap::Args)]
#[command(after_help = "\
Runs `codex app-server` and gives it one prompt. What Codex asks, commands, changes of files and
questions, is answered by your rules or by a person; whether it asks is up to its own approval
policy and sandbox. What it says is printed. Without a daemon, and for what no card can show, it is
denied.
Example: countersign host codex --prompt 'run the tests' -- codex -c model='\"gpt-5.1-codex\"'")]
struct HostCodexArgs {
    /// The prompt; without it, all of stdin is the prompt
    #[arg(long, value_name = "TEXT")]
    prompt: Option<String>,
    /// Print every frame of the app-server, as JSON lines, instead of what Codex says
    #[arg(long)]
    json: bool,
    /// How many seconds Codex may retry after an error, such as a model that cannot be reached,
    /// before the run ends
    #[arg(long, value_name = "SECONDS", default_value_t = 120)]
    retry_for: u64,
    /// Codex with its options, after --
    #[arg(last = true, required = true, value_name = "CODEX")]
    engine: Vec<String>,
}

/// The part of Codex that takes frames on its stdin.
const SERVER: &str = "app-server";

impl HostCodexArgs {
    /// The prompt.
    ///
    /// # Errors
    /// If there is none.
    fn prompt(&self) -> Result<String> {
        let prompt = match &self.prompt {
            Some(prompt) => prompt.clone(),
            None => {
                let mut text = String::new();
                std::io::stdin().read_to_string(&mut text).context("stdin is not a text")?;
                text
            }
        };
        if prompt.trim().is_empty() {
            bail!("there is no prompt: give it with --prompt, or on stdin");
        }
        Ok(prompt)
    }

    /// The words that start the app-server.
    fn words(&self) -> Vec<String> {
        let mut words = self.engine.clone();
        if !words.iter().any(|word| word == SERVER) {
            words.push(SERVER.to_owned());
        }
        words
    }
}

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
    /// Ask the agent to work in this mode of its own, such as `default`: it asks for permission only
    /// as far as its mode does
    #[arg(long)]
    mode: Option<String>,
    /// The agent, after --
    #[arg(last = true, required = true, value_name = "AGENT")]
    agent: Vec<String>,
}

/// Stands between an editor and its ACP agent.
pub(super) async fn run_acp(context: &Context, args: AcpArgs) -> Result<Exit> {
    // Registered first: a signal must not end the process before its asks are cancelled.
    let mut signals = Signals::that_interrupt()?;
    let client = Client::new(&context.config()?.client, CONNECT)?;
    let program = args.agent.first().map(Path::new).and_then(Path::file_name);
    let program = program.map_or("acp".to_owned(), |name| name.to_string_lossy().into_owned());
    let around = AcpContext { program, host: caller::host(), run: ids::nonce(), mode: args.mode };
    let prompts = if args.race { Prompts::InEditorToo } else { Prompts::Here };
    let mut proxy = AcpProxy::new(around, prompts);
    let calls = OpenCalls::new(client, WithoutDaemon::Fails);
    serve(&args.agent, &mut proxy, of_stdin(), calls, &mut signals).await
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_makes_us_the_host_is_added_where_it_is_not_given() {
        let words = |engine: &[&str]| {
            let engine = engine.iter().map(|word| (*word).to_owned()).collect();
            hosting(engine).join(" ")
        };
        let added = "--input-format stream-json --output-format stream-json \
                     --permission-prompt-tool stdio --verbose";
        assert_eq!(words(&["claude", "-p"]), format!("claude -p {added}"));
        assert_eq!(words(&["claude"]), format!("claude -p {added}"));
        let given = "claude --print --verbose --input-format=stream-json --output-format \
                     stream-json --permission-prompt-tool stdio";
        assert_eq!(words(&given.split(' ').collect::<Vec<_>>()), given);
    }
}
