//! The command line, one file per concept. Answers go to stdout, everything else to stderr.

mod answer;
mod ask;
mod asking;
mod backup;
mod caller;
mod columns;
mod complete;
mod connect;
mod context;
mod digest;
mod doctor;
mod files;
mod grants;
mod history;
mod hook;
mod host;
mod init;
mod lines;
mod log;
mod mcp;
mod next;
mod open;
mod open_calls;
mod park;
mod parked;
mod pause;
mod pending;
mod people;
mod policy;
mod prompt;
mod reference;
mod run;
mod say;
mod serve;
mod signals;
mod status;
#[cfg(test)]
mod tests;
mod token;
mod up;
mod verify;
mod watch;
mod when;

use anyhow::Result;
use clap::{
    CommandFactory, FromArgMatches, Parser, Subcommand,
    error::{ContextKind, ContextValue, ErrorKind},
};
use clap_complete::CompleteEnv;
use context::Context;
use countersign_client::ClientError;
use futures::FutureExt;
use std::{env, ffi::OsString, path::PathBuf, process::ExitCode};

/// The version with the commit and its date, where the build knew them.
const VERSION: &str = env!("COUNTERSIGN_VERSION");

/// The approval bridge between AI agents and the people who answer for them.
#[derive(Debug, Parser)]
#[command(version = VERSION, propagate_version = true, after_help = FIRST_STEPS)]
struct Cli {
    /// The config file [default: $COUNTERSIGN_CONFIG, else ~/.config/countersign/countersign.toml]
    #[arg(long, global = true, value_name = "FILE")]
    config: Option<PathBuf>,
    #[command(subcommand)]
    command: Option<CliCommand>,
}

/// The commands by what they are for, as `--help` lists them.
const GROUPS: [(&str, &[&str]); 7] = [
    ("Start", &["up", "serve", "init", "doctor", "connect", "disconnect"]),
    ("Answer", &["open", "watch", "pending", "approve", "deny", "answer", "undo"]),
    ("Ask", &["ask", "run", "verify"]),
    ("Look back", &["history", "log", "digest", "suggest"]),
    ("Rules and people", &["grants", "policy", "approvers", "duty", "token", "passkeys"]),
    (
        "Operate",
        &[
            "status",
            "parked",
            "pause",
            "resume",
            "reload",
            "backup",
            "restore",
            "docs",
            "completions",
            "man",
            "schema",
        ],
    ),
    ("Called by programs", &["hook", "host", "acp", "mcp", "mcp-proxy"]),
];

const FIRST_STEPS: &str = "\
First steps:
  countersign                             see what is set up, and what to do next
  countersign up                          set everything up, step by step
  countersign serve --demo                run the daemon here, with a first ask to press
  countersign ask -- rm -rf build         ask a person; the exit code is the answer
  countersign connect claude-code         let Claude Code ask here
  countersign open                        open the inbox in the browser
  countersign doctor                      see what is set up, and how to fix what is not

Exit codes of ask and run: 0 allowed, 1 fault, 2 usage, 3 denied, 4 refused token, 5 expired,
6 not proven, 8 still pending, 130 interrupted.";

#[derive(Debug, Subcommand)]
enum CliCommand {
    /// Set everything up, step by step: config, daemon, agents, phone; it can be repeated
    Up(up::UpArgs),
    /// Run the daemon in the foreground
    Serve(serve::ServeArgs),
    /// Write a commented config with fresh tokens
    Init(init::InitArgs),
    /// Check everything that is set up, and say how to fix it
    Doctor(doctor::DoctorArgs),
    /// Ask whether a command may run, or ask a person a question
    Ask(ask::AskArgs),
    /// Ask whether a command may run, and run it if so
    Run(run::RunArgs),
    /// Check that a person approved exactly this command, and that it runs once
    Verify(verify::VerifyTokenArgs),
    /// Called by agents; `connect` sets it up
    Hook(hook::HookArgs),
    /// Run an agent without a terminal, and answer its prompts
    Host(host::HostArgs),
    /// Put an editor's ACP agent behind your rules
    Acp(host::AcpArgs),
    /// Serve the MCP tools `approve` and `ask_human` on stdin and stdout
    Mcp(mcp::McpArgs),
    /// Put an MCP server behind your rules
    McpProxy(mcp::McpProxyArgs),
    /// Connect your phone or an agent
    Connect(connect::ConnectArgs),
    /// Disconnect an agent, or a phone that is lost
    Disconnect(connect::DisconnectArgs),
    /// Show status and problems
    Status(status::StatusArgs),
    /// Show who could answer a call, and why
    Approvers(people::ApproversArgs),
    /// Show who is on duty by the rotas of the config
    Duty(people::DutyArgs),
    /// List what waits for an answer
    Pending(pending::PendingArgs),
    /// List runs that wait without a process, or go on with them
    Parked(parked::ParkedArgs),
    /// List what was asked before, or show one ask in whole
    History(history::HistoryArgs),
    /// Sum up what was asked: how many, how fast, by whom; needs the approver's token
    Digest(digest::DigestArgs),
    /// Suggest rules that would have saved asks, and change nothing; needs the approver's token
    Suggest(digest::SuggestArgs),
    /// Watch what waits live in the terminal, and answer with one key
    Watch(watch::WatchArgs),
    /// Show what happens, event by event
    Log(log::LogArgs),
    /// Open the inbox in the browser, or print its private link
    Open(open::OpenArgs),
    /// Print the private inbox link; the same as `open --print`
    #[command(hide = true)]
    Inbox(open::InboxArgs),
    /// Approve what waits; needs the approver's token
    Approve(answer::ApproveArgs),
    /// Deny what waits; needs the approver's token
    Deny(answer::DenyArgs),
    /// Answer questions that wait; needs the approver's token
    Answer(answer::AnswerArgs),
    /// Pause all calls and deadlines until `resume`; needs the approver's token
    Pause(pause::PauseArgs),
    /// End the pause; needs the approver's token
    Resume(pause::ResumeArgs),
    /// Reload the config; needs the approver's token
    Reload(serve::ReloadArgs),
    /// Undo what an answer of the last 10 minutes stored; needs the approver's token
    Undo(answer::UndoArgs),
    /// List what was approved for longer than once, or revoke it
    Grants(grants::GrantsArgs),
    /// Give agents tokens of their own; needs the approver's token
    Token(token::TokenArgs),
    /// List the passkeys of people, or remove one; needs the approver's token
    Passkeys(people::PasskeysArgs),
    /// Copy the store into a file, also while the daemon runs
    Backup(backup::BackupArgs),
    /// Put a backup in the place of the store, while no daemon runs
    Restore(backup::RestoreArgs),
    /// Check calls, explain decisions, test and import rules; needs no daemon
    Policy(policy::PolicyArgs),
    /// Open the documentation in the browser
    Docs(reference::DocsArgs),
    /// Print completions for a shell
    Completions(complete::CompletionsArgs),
    /// Write the manual pages
    Man(reference::ManArgs),
    /// Print the description of the HTTP API for machines
    Schema(reference::SchemaArgs),
}

/// The command line, with its commands in groups.
#[must_use]
pub fn command() -> clap::Command {
    let command = Cli::command();
    let line = |name: &&str| {
        let about = command.find_subcommand(name).and_then(clap::Command::get_about);
        format!("  {name:<12} {}\n", about.map(ToString::to_string).unwrap_or_default())
    };
    let group = |(title, names): &(&str, &[&str])| {
        let names: String = names.iter().map(line).collect();
        format!("{title}:\n{names}\n")
    };
    let groups: String = GROUPS.iter().map(group).collect();
    let template = format!(
        "{{about-with-newline}}\n{{usage-heading}} {{usage}}\n\n{groups}Options:\n{{options}}{{after-help}}"
    );
    command.help_template(template)
}

/// Parses the arguments, runs the command, and prints its error.
#[must_use]
pub fn main() -> ExitCode {
    // First: what a hook prints must not be up to a variable of a project's environment.
    if let Some(exit) = hook_or_version() {
        return exit.into();
    }
    // Ends the process where a shell asks for completions.
    CompleteEnv::with_factory(command).var(complete::VARIABLE).complete();
    let Cli { config: flag, command } = match parsed(env::args_os().collect()) {
        Ok(parsed) => parsed,
        Err(exit) => return exit.into(),
    };
    let context = Context::new(flag);
    let done = match command {
        Some(command) => dispatch(&context, command),
        None => wait(next::run(&context)).map(good),
    };
    match done {
        Ok(exit) => exit.into(),
        Err(error) => {
            // A reader that has gone, such as `head`, is no error to report.
            if !say::is_broken_pipe(&error) {
                say::problem(&error);
            }
            Exit::of(&error).into()
        }
    }
}

/// Parses the arguments; prints what is wrong with them, or the help that was asked for.
fn parsed(words: Vec<OsString>) -> Result<Cli, Exit> {
    let found = command().try_get_matches_from(&words);
    let mut error = match found.and_then(|found| Cli::from_arg_matches(&found)) {
        Ok(parsed) => return Ok(parsed),
        Err(error) => error,
    };
    if let Some(fix) = missing_dashes(&error, &words) {
        say::problem(&Misused(fix).into());
        return Err(Exit::Usage);
    }
    suggest_nearest(&mut error, &words);
    // A closed stderr is no reason to report anything else.
    let _ = error.print();
    Err(if error.use_stderr() { Exit::Usage } else { Exit::Good })
}

/// How to write a command to ask for whose words were taken for our own.
fn missing_dashes(error: &clap::Error, words: &[OsString]) -> Option<String> {
    let Some(ContextValue::String(stray)) = error.get(ContextKind::InvalidArg) else { return None };
    if error.kind() != ErrorKind::UnknownArgument || stray.starts_with('-') {
        return None;
    }
    let words: Vec<&str> = words.iter().skip(1).map(|word| word.to_str()).collect::<Option<_>>()?;
    let at = words.iter().position(|word| word == stray)?;
    let (ours, theirs) = words.split_at(at);
    if !ours.iter().any(|word| ["ask", "run", "explain"].contains(word)) {
        return None;
    }
    let theirs = shlex::try_join(theirs.iter().copied()).ok()?;
    Some(format!("put `--` before the command: countersign {} -- {theirs}", ours.join(" ")))
}

/// Names the commands that a mistyped one is nearest to: what it begins, else what differs least.
/// `pause` stops every agent: it is named only to who typed its beginning, and last.
fn suggest_nearest(error: &mut clap::Error, words: &[OsString]) {
    let Some(ContextValue::String(typed)) = error.get(ContextKind::InvalidSubcommand) else {
        return;
    };
    let mut known = match error.get(ContextKind::SuggestedSubcommand) {
        Some(ContextValue::Strings(names)) => names.clone(),
        _ => Vec::new(),
    };
    if words.get(1).is_some_and(|first| *first == **typed) {
        known = command().get_subcommands().map(|it| it.get_name().to_owned()).collect();
    }
    let distance = |name: &String| {
        if name.starts_with(typed.as_str()) { 0 } else { strsim::damerau_levenshtein(typed, name) }
    };
    known.retain(|name| name != "pause" || distance(name) == 0);
    let nearest = known.iter().map(distance).min().filter(|it| *it <= MOST_TYPOS);
    known.retain(|name| nearest == Some(distance(name)));
    known.sort_by_key(|name| name == "pause");
    if known.is_empty() {
        error.remove(ContextKind::SuggestedSubcommand);
    } else {
        error.insert(ContextKind::SuggestedSubcommand, ContextValue::Strings(known));
    }
}

/// How many letters of a command may be wrong for another to be meant.
const MOST_TYPOS: usize = 2;

/// The words that start this program here; before it is installed, cargo does.
fn program() -> &'static str {
    if env::var_os("CARGO").is_some() { "cargo run --" } else { "countersign" }
}

/// A command with what it does, as a line of what is next.
fn step(words: &str, what: &str) -> String {
    format!("  {:<38}{what}", format!("{} {words}", program()))
}

fn dispatch(context: &Context, command: CliCommand) -> Result<Exit> {
    match command {
        CliCommand::Up(args) => wait(up::run(context, &args)).map(good),
        CliCommand::Serve(args) => serve::run(context, &args).map(good),
        CliCommand::Init(args) => init::run(context, &args).map(good),
        CliCommand::Doctor(args) => wait(doctor::run(context, &args)),
        CliCommand::Ask(args) => wait(ask::run(context, args)),
        CliCommand::Run(args) => run::run(context, args),
        CliCommand::Verify(args) => wait(verify::run(context, args)),
        CliCommand::Hook(args) => Ok(hook::run(context, &args, None)),
        CliCommand::Host(args) => wait(host::run(context, args)),
        CliCommand::Acp(args) => wait(host::run_acp(context, args)),
        CliCommand::Approvers(args) => people::approvers(context, args).map(good),
        CliCommand::Mcp(args) => wait(mcp::run(context, args)),
        CliCommand::McpProxy(args) => wait(mcp::run_proxy(context, args)),
        CliCommand::Connect(args) => connect::connect(context, args),
        CliCommand::Disconnect(args) => connect::disconnect(context, args).map(good),
        CliCommand::Status(args) => wait(status::run(context, &args)),
        CliCommand::Pending(args) => wait(pending::run(context, &args)).map(good),
        CliCommand::Parked(args) => wait(parked::run(context, args)),
        CliCommand::Open(args) => wait(open::run(context, &args)).map(good),
        CliCommand::History(args) => wait(history::run(context, args)).map(good),
        CliCommand::Digest(args) => wait(digest::digest(context, args)).map(good),
        CliCommand::Suggest(args) => wait(digest::suggest(context, args)).map(good),
        CliCommand::Watch(_) => wait(watch::run(context)).map(good),
        CliCommand::Log(args) => wait(log::run(context, args)),
        CliCommand::Inbox(args) => wait(open::run(context, &args.into())).map(good),
        CliCommand::Approve(args) => wait(answer::approve(context, args)),
        CliCommand::Deny(args) => wait(answer::deny(context, args)),
        CliCommand::Answer(args) => wait(answer::answer(context, args)),
        CliCommand::Pause(args) => wait(pause::pause(context, &args)).map(good),
        CliCommand::Resume(args) => wait(pause::resume(context, &args)).map(good),
        CliCommand::Duty(args) => people::duty(context, &args).map(good),
        CliCommand::Reload(args) => wait(serve::reload(context, &args)).map(good),
        CliCommand::Undo(args) => wait(answer::undo(context, args)),
        CliCommand::Grants(args) => wait(grants::run(context, args)).map(good),
        CliCommand::Token(args) => wait(token::run(context, args)).map(good),
        CliCommand::Passkeys(args) => wait(people::passkeys(context, args)).map(good),
        CliCommand::Backup(args) => wait(backup::run(context, args)).map(good),
        CliCommand::Restore(args) => wait(backup::run_restore(context, args)).map(good),
        CliCommand::Policy(args) => policy::run(context, args),
        CliCommand::Docs(args) => reference::docs(&args).map(good),
        CliCommand::Completions(args) => complete::run(&args).map(good),
        CliCommand::Man(args) => reference::man::<Cli>(&args).map(good),
        CliCommand::Schema(args) => reference::schema(&args).map(good),
    }
}

/// The exit code of a command that has none of its own.
fn good((): ()) -> Exit {
    Exit::Good
}

/// The result of a command, as its exit code.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Exit {
    /// Success; an ask was allowed.
    Good = 0,
    /// A fault.
    Fault = 1,
    /// The arguments are invalid; clap exits with the same code.
    Usage = 2,
    /// An ask was denied.
    Denied = 3,
    /// The token is missing or insufficient.
    Refused = 4,
    /// Nobody answered in time.
    Expired = 5,
    /// The log or the token does not prove what it should.
    Unproven = 6,
    /// The ask is still open.
    Pending = 8,
    /// Stopped by a signal.
    Interrupted = 130,
}

impl Exit {
    /// The exit code for an error.
    // FAIL-CLOSED: no error exits with 0.
    fn of(error: &anyhow::Error) -> Self {
        match error.downcast_ref::<ClientError>() {
            Some(ClientError::Refused(_)) => Self::Refused,
            _ if error.is::<context::NoToken>() => Self::Refused,
            _ if error.is::<Misused>() => Self::Usage,
            _ => Self::Fault,
        }
    }
}

/// Invalid arguments that clap cannot detect.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
struct Misused(String);

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        Self::from(exit as u8)
    }
}

/// Runs a short-lived command to its end.
fn wait<T>(command: impl Future<Output = Result<T>>) -> Result<T> {
    // One thread suffices: a command waits for a single daemon.
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    // Boxed: otherwise the runtime's loop is compiled anew for each command.
    runtime.block_on(command.boxed_local())
}

/// A hook's command line.
#[derive(Debug, Parser)]
struct HookLine {
    #[arg(long, global = true)]
    config: Option<PathBuf>,
    #[command(subcommand)]
    command: OnlyHook,
}

#[derive(Debug, Subcommand)]
enum OnlyHook {
    Hook(hook::HookArgs),
}

/// Runs a hook or prints the version, which programs wait for on each of their steps: building the
/// other commands costs more than what these do. `None` for any other command line, and for one
/// with a mistake, which the whole parser reports.
fn hook_or_version() -> Option<Exit> {
    let words: Vec<OsString> = env::args_os().collect();
    if let [_, version] = words.as_slice()
        && (version == "--version" || version == "-V")
    {
        return Some(match say::out(&format!("countersign {VERSION}")) {
            Ok(()) => Exit::Good,
            Err(_) => Exit::Fault,
        });
    }
    if !words.iter().take(4).any(|word| word == "hook") {
        return None;
    }
    let signals = match hook::begin(&words) {
        Ok(signals) => signals,
        Err(error) => {
            say::problem(&error);
            return Some(Exit::Usage);
        }
    };
    let HookLine { config, command: OnlyHook::Hook(args) } =
        HookLine::try_parse_from(words).ok()?;
    Some(hook::run(&Context::new(config), &args, signals))
}
