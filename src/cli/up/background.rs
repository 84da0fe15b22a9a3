//! The daemon as a process of its own, where no service manager starts it.

use super::started::Started;
use crate::{cli::Context, config::Config};
use anyhow::{Context as _, Result, anyhow};
use countersign_store::private;
use std::{
    env,
    fs::OpenOptions,
    os::unix::{fs::OpenOptionsExt, process::CommandExt},
    process::{Command, Stdio},
};

/// Starts it; it outlives this command and its terminal.
pub(super) fn start(context: &Context, config: &Config) -> Result<Option<Started>> {
    let state = &config.daemon.state_dir;
    private::own_folder(state).map_err(|why| anyhow!(why))?;
    let log = state.join("daemon.log");
    let cannot = || format!("cannot write {}", log.display());
    let open = || OpenOptions::new().create(true).append(true).mode(0o600).open(&log);
    let mut command = Command::new(env::current_exe().context("this program cannot find itself")?);
    if let Some(config) = context.named() {
        command.arg("--config").arg(config);
    }
    command.arg("serve").stdin(Stdio::null());
    // SECURITY: stdout carries the inbox's link with its token, which belongs in no log.
    command.stdout(Stdio::null()).stderr(open().with_context(cannot)?);
    // A group of its own: Ctrl-C in this terminal is not for the daemon. A closed terminal sends it
    // SIGHUP, which reloads the config.
    let child = command.process_group(0).spawn().context("the daemon did not start")?;
    let what = format!(
        "in the background until the machine restarts (process {}; `kill {0}` stops it)",
        child.id()
    );
    Ok(Some(Started { what, log: log.display().to_string() }))
}
