//! `countersign run -- CMD`: runs a command once it is allowed, and reports when what a person
//! approved started and how it ended.

use super::{
    Context, Exit,
    asking::{self, CardShown},
    caller::{self, Caller},
    context::APPROVER_TOKEN,
    say,
    signals::Signals,
    wait,
};
use anyhow::{Context as _, Result, anyhow, bail};
use countersign_client::{Client, Ending};
use countersign_gate::ask::Decision;
use rustix::{
    process::{Pid, Signal, getpgrp, kill_process},
    termios::tcgetpgrp,
};
use std::{
    env,
    fs::{self, File},
    io::{self, ErrorKind},
    os::unix::{
        fs::MetadataExt,
        process::{CommandExt, ExitStatusExt},
    },
    path::{Path, PathBuf},
    pin::pin,
    process::{self, ExitStatus},
    time::Duration,
};
use tokio::{process::Child, time::timeout};

#[derive(Debug, clap::Args)]
#[command(after_help = "\
The card shows the command exactly as it will run. Once allowed it runs with the input, output and
exit code of this process. What a person approved is reported back: the card says when it was
started and with which exit code it ended. Otherwise it does not run: 3 denied, 5 nobody answered
in time; 1 if its folder was moved or its program's file was changed meanwhile.
A shell's own words need a shell: countersign run -- bash -c 'make && make install'")]
pub(super) struct RunArgs {
    #[command(flatten)]
    caller: Caller,
    /// The command, after --
    #[arg(last = true, required = true, value_name = "CMD")]
    command: Vec<String>,
}

pub(super) fn run(context: &Context, args: RunArgs) -> Result<Exit> {
    let RunArgs { caller, command } = args;
    let file = ProgramFile::of(&command)?;
    let call = caller.call("shell_exec", caller::shell(&command)?)?;
    let client = context.client()?;
    wait(async {
        // To the end: a signal behind the answer must not be lost before the command starts.
        let mut signals = Signals::that_interrupt()?;
        let card = CardShown::NotOnTerminals;
        let waited = asking::wait(&client, &call, card, &mut signals, |id| {
            say::aside(&format!("waiting for an answer to {id}; Ctrl-C cancels it"));
        });
        let Some(decided) = waited.await? else { return Ok(Exit::Interrupted) };
        say::aside(&asking::sentence(&decided));
        // FAIL-CLOSED: only an approval runs the command.
        match decided.decision {
            Decision::Approve => {
                file.check(&command)?;
                match (&decided.ask, &decided.ending) {
                    (Some(id), Ending::Answered(_)) => {
                        run_reported(&client, id, &command, &mut signals).await
                    }
                    _ => Err(become_it(&command)),
                }
            }
            Decision::Answer => Err(anyhow!("a question was answered; nothing was approved")),
            Decision::Edit => Err(anyhow!("the command was changed; it is not run")),
            Decision::Deny => Ok(asking::exit(&decided)),
        }
    })
}

/// Replaces this process with the command; returns only if that fails.
fn become_it(words: &[String]) -> anyhow::Error {
    let Some((program, arguments)) = words.split_first() else { return anyhow!("no command") };
    // `exec` and not a child: signals, the terminal and the exit code are then the command's own.
    not_started(program, &command(program, arguments).exec())
}

/// The folder and the file of a command.
#[derive(Debug)]
pub(super) struct ProgramFile {
    folder: PathBuf,
    /// `None` if there is none.
    file: Option<FileState>,
}

/// A file, as far as its metadata tells.
#[derive(Debug, PartialEq, Eq)]
struct FileState {
    path: PathBuf,
    device: u64,
    inode: u64,
    size: u64,
    /// The times of the last change of its content and of its metadata; nobody can set the latter.
    times: [(i64, i64); 2],
}

impl ProgramFile {
    /// Looks for the file, as starting the command does.
    ///
    /// # Errors
    /// If the current folder is gone.
    pub(super) fn of(words: &[String]) -> Result<Self> {
        let folder = env::current_dir().context("the current folder is not there")?;
        Ok(Self { folder, file: words.first().and_then(|program| found(program)) })
    }

    /// Checks that both are still the same.
    ///
    /// # Errors
    /// A sentence that names what was changed.
    // SECURITY: people approved what the words meant when they were asked. Between this check and
    // the start there is a gap of some milliseconds, and what the program reads is not looked at.
    pub(super) fn check(&self, words: &[String]) -> Result<()> {
        let folder = env::current_dir().ok();
        if folder.as_ref() != Some(&self.folder) {
            let folder = self.folder.display();
            bail!("{folder} was moved or deleted while people were asked; nothing is run");
        }
        let now = words.first().and_then(|program| found(program));
        if now != self.file {
            let file = self.file.as_ref().or(now.as_ref()).map(|file| file.path.display());
            let file = file.map(|path| path.to_string()).unwrap_or_default();
            bail!("{file} was changed while people were asked; nothing is run");
        }
        Ok(())
    }
}

/// The file that a program's name stands for.
fn found(program: &str) -> Option<FileState> {
    if program.contains('/') {
        return state(Path::new(program));
    }
    let folders = env::var_os("PATH")?;
    env::split_paths(&folders).find_map(|folder| state(&folder.join(program)))
}

fn state(path: &Path) -> Option<FileState> {
    let told = fs::metadata(path).ok()?;
    let runs = told.is_file() && told.mode() & 0o111 != 0;
    runs.then(|| FileState {
        path: path.to_owned(),
        device: told.dev(),
        inode: told.ino(),
        size: told.len(),
        times: [(told.mtime(), told.mtime_nsec()), (told.ctime(), told.ctime_nsec())],
    })
}

/// How long the daemon may take to note a report, which nobody shall wait for.
const REPORT: Duration = Duration::from_secs(3);

/// Runs the command of this approved ask; ends this process with its exit code.
async fn run_reported(
    client: &Client,
    id: &str,
    words: &[String],
    signals: &mut Signals,
) -> Result<Exit> {
    let (program, arguments) = words.split_first().ok_or_else(|| anyhow!("no command"))?;
    let mut starting = pin!(timeout(REPORT, report_start(client, id)));
    let (token, stopped) = tokio::select! {
        biased;
        _ = signals.next() => (starting.await.unwrap_or(None), true),
        token = &mut starting => (token.unwrap_or(None), false),
    };
    let ended = async |code: i32| {
        if let Some(token) = &token {
            // Its exit code is what the command came to, whether the card says so or not.
            let _ = timeout(REPORT, client.report_execution(token, Some(code))).await;
        }
    };
    if stopped {
        say::aside("Interrupted: it was approved, and nothing is run here.");
        ended(Exit::Interrupted as i32).await;
        return Ok(Exit::Interrupted);
    }
    // They end no wait, but would end this process and leave its command behind.
    let mut others = Signals::of([Signal::QUIT, Signal::USR1, Signal::USR2])?;
    let mut command = tokio::process::Command::from(command(program, arguments));
    let mut child = match command.spawn() {
        Ok(child) => child,
        Err(error) => {
            ended(if error.kind() == ErrorKind::NotFound { 127 } else { 126 }).await;
            return Err(not_started(program, &error));
        }
    };
    let code = code(await_end(&mut child, signals, &mut others).await?);
    ended(code).await;
    process::exit(code)
}

/// Reports that it starts. The approval is this process's own, so it may run without.
async fn report_start(client: &Client, id: &str) -> Option<String> {
    let reported = async {
        let token = client.execution_token(id).await?.token;
        client.report_execution(&token, None).await.map(|_| token)
    };
    match reported.await {
        Ok(token) => Some(token),
        Err(error) => {
            say::aside(&format!("The card could not be updated: {error}"));
            None
        }
    }
}

/// Waits for the end of the command, and hands on the signals that only we get.
async fn await_end(
    child: &mut Child,
    signals: &mut Signals,
    others: &mut Signals,
) -> Result<ExitStatus> {
    let pid = child.id().and_then(|id| Pid::from_raw(i32::try_from(id).ok()?));
    let hand_on = |signal| {
        // The terminal sends these to the command too. A second one means something else to many.
        let by_terminal = matches!(signal, Signal::INT | Signal::QUIT) && has_terminal();
        if let Some(pid) = pid.filter(|_| !by_terminal) {
            let _ = kill_process(pid, signal);
        }
    };
    loop {
        tokio::select! {
            ended = child.wait() => return Ok(ended?),
            signal = signals.next() => hand_on(signal),
            signal = others.next() => hand_on(signal),
        }
    }
}

/// Whether the keys of a terminal reach this process and what it starts.
fn has_terminal() -> bool {
    let group = File::open("/dev/tty").ok().and_then(|terminal| tcgetpgrp(terminal).ok());
    group == Some(getpgrp())
}

/// The exit code as a shell gives it.
fn code(status: ExitStatus) -> i32 {
    status.code().or_else(|| status.signal().map(|signal| 128 + signal)).unwrap_or(1)
}

/// The command, without our tokens.
pub(super) fn command(program: &str, arguments: &[String]) -> std::process::Command {
    let mut command = std::process::Command::new(program);
    command.args(arguments);
    // SECURITY: what asks, or runs, must not be able to answer for a person.
    command.env_remove(APPROVER_TOKEN).env_remove(format!("{}_FILE", APPROVER_TOKEN));
    command
}

/// Why it could not be started.
pub(super) fn not_started(program: &str, error: &io::Error) -> anyhow::Error {
    match error.kind() {
        io::ErrorKind::NotFound => anyhow!("{program}: no such program"),
        _ => anyhow!("{program}: {error}"),
    }
}
