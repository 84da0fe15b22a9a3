//! `countersign doctor`: reports what is set up and what is not, with the command that fixes it.

mod agents;
mod local;

pub(super) use agents::{installed, start_of, unseen};

use super::{
    Context, Exit, connect,
    say::{self, Colour, paint},
};
use crate::{
    config::{Config, Server},
    platforms::guided,
};
use anyhow::{Context as _, Result};
use countersign_agents::{HookAgent, HookMode};
use countersign_client::ClientError;
use countersign_port::visible;
use serde::Serialize;
use serde_json::json;
use std::{fs, os::unix::fs::PermissionsExt, path::PathBuf};

#[derive(Debug, clap::Args)]
#[command(after_help = "\
Exit code 1 when any line says fail.")]
pub(super) struct DoctorArgs {
    /// Print it as JSON
    #[arg(long)]
    json: bool,
    /// Fix what is safe to fix (file modes, missing hooks of a connected agent), and say what was
    /// done
    #[arg(long)]
    pub(super) fix: bool,
    /// Try the hook of this agent with a recorded call, and see it arrive; nothing of it runs
    #[arg(long, value_name = "AGENT", value_parser = connect::agent_parser())]
    live: Option<&'static dyn HookAgent>,
}

pub(super) async fn run(context: &Context, args: &DoctorArgs) -> Result<Exit> {
    let mut findings = examine(context, args.live).await;
    let repairs = findings.iter().filter_map(|finding| finding.repair.as_ref());
    let fixed = if args.fix { apply(repairs) } else { Vec::new() };
    if !fixed.is_empty() {
        findings = examine(context, args.live).await;
    }
    let failed = findings.iter().any(|finding| finding.state == CheckState::Fail);
    if args.json {
        say::json(&json!({ "ok": !failed, "checks": findings, "fixed": fixed }))?;
    } else {
        let lines: Vec<_> = fixed.into_iter().chain(findings.iter().map(show)).collect();
        say::out(&lines.join("\n"))?;
    }
    Ok(if failed { Exit::Fault } else { Exit::Good })
}

/// Says so where no chat is set up.
fn phone(config: &Config) -> Option<DoctorCheck> {
    let none = config.chats.is_empty() && config.left_out.is_empty();
    let fix = guided().next().map(|name| format!("countersign connect {name}"))?;
    none.then(|| warn("phone", "no phone is connected, so only this machine answers", fix))
}

async fn examine(context: &Context, live: Option<&dyn HookAgent>) -> Vec<DoctorCheck> {
    let config = match Config::load(context.flag.as_deref()) {
        Ok(config) => config,
        Err(error) => {
            let each = error.to_string();
            // Without a config nothing else can be checked.
            return each.lines().map(|line| fail("config", line, "edit it")).collect();
        }
    };
    let mut findings = local::config(context, &config);
    // A machine with only agents has no store or approvers of its own to check.
    let serves = config.serves_here();
    findings.extend(serves.then(|| local::store(&config)));
    findings.extend(local::daemon(&config).await);
    findings.extend(local::provider(&config).await.filter(|_| serves));
    findings.extend(config_in_force(context, &config).await);
    findings.extend(serves.then(|| local::approvers(&config)).into_iter().flatten());
    findings.extend(local::chats(&config).await);
    findings.extend(phone(&config).filter(|_| serves));
    findings.extend(agents::all(context).await);
    if let Some(agent) = live {
        findings.push(agents::try_hook(context, agent).await);
    }
    findings
}

/// Says so where the file was changed after the daemon read it, and how to put it in force.
// Only for a daemon of this machine: another one has a file of its own.
async fn config_in_force(context: &Context, config: &Config) -> Option<DoctorCheck> {
    let is_local = config.client.url.iter().all(|server| matches!(server, Server::Unix(_)));
    let there = config.version.as_ref().filter(|_| is_local)?;
    let ready = context.client().ok()?.ready().await.ok()?;
    ready.config.filter(|runs_with| runs_with != there)?;
    let is_refused = match context.approver() {
        Ok(client) => matches!(client.pending().await, Err(ClientError::Refused(_))),
        Err(_) => false,
    };
    // A reload needs the token, and the daemon's tokens change at a start only.
    let fix = if is_refused {
        "restart `countersign serve`: it does not know this config's approver token"
    } else {
        "countersign reload"
    };
    Some(warn("config", "the daemon runs with an earlier version of this file", fix))
}

/// The result of one check.
#[derive(Debug, Clone, Serialize)]
struct DoctorCheck {
    check: String,
    state: CheckState,
    says: String,
    /// The command or edit that fixes it.
    #[serde(skip_serializing_if = "Option::is_none")]
    fix: Option<String>,
    /// The same as something that `--fix` does.
    #[serde(skip)]
    repair: Option<Repair>,
}

impl DoctorCheck {
    /// The same result, which `--fix` can fix.
    fn repaired_by(self, repair: Repair) -> Self {
        Self { repair: Some(repair), ..self }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
enum CheckState {
    Ok,
    Warn,
    Fail,
}

fn ok(check: &str, says: impl Into<String>) -> DoctorCheck {
    let state = CheckState::Ok;
    DoctorCheck { check: check.into(), state, says: says.into(), fix: None, repair: None }
}

fn warn(check: &str, says: impl Into<String>, fix: impl Into<String>) -> DoctorCheck {
    DoctorCheck { state: CheckState::Warn, fix: Some(fix.into()), ..ok(check, says) }
}

fn fail(check: &str, says: impl Into<String>, fix: impl Into<String>) -> DoctorCheck {
    DoctorCheck { state: CheckState::Fail, fix: Some(fix.into()), ..ok(check, says) }
}

/// The result as a line, with its fix on a second one.
fn show(finding: &DoctorCheck) -> String {
    let (word, colour) = match finding.state {
        CheckState::Ok => ("ok  ", Colour::Green),
        CheckState::Warn => ("warn", Colour::Yellow),
        CheckState::Fail => ("fail", Colour::Red),
    };
    let line = format!("{} {:<12} {}", paint(colour, word), finding.check, visible(&finding.says));
    match &finding.fix {
        Some(fix) => format!("{line}\n{:18}fix: {fix}", ""),
        None => line,
    }
}

/// A fix that the program can make itself.
#[derive(Debug, Clone)]
enum Repair {
    /// Takes the rights of other users from a file or folder.
    Close(PathBuf),
    /// Puts all hooks of an agent that is connected into its settings.
    Reconnect(&'static dyn HookAgent, String, HookMode),
}

/// Makes every fix; returns a sentence for each.
fn apply<'a>(repairs: impl Iterator<Item = &'a Repair>) -> Vec<String> {
    let done = repairs.map(|repair| match repair.apply() {
        Ok(done) => format!("Fixed: {done}."),
        Err(error) => format!("Not fixed: {error:#}."),
    });
    done.map(|sentence| say::literal(&sentence)).collect()
}

impl Repair {
    fn apply(&self) -> Result<String> {
        match self {
            Self::Close(path) => {
                let name = path.display();
                let close = || {
                    let mut rights = fs::metadata(path)?.permissions();
                    // The owner's own rights stay as they are: nothing widens.
                    rights.set_mode(rights.mode() & !0o077);
                    fs::set_permissions(path, rights)
                };
                close().with_context(|| format!("cannot change the mode of {name}"))?;
                Ok(format!("{name} is private now"))
            }
            Self::Reconnect(agent, command, mode) => {
                connect::reconnect(*agent, command, *mode)?;
                Ok(format!("{} has all of its hooks", agent.title().name))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_says_how_it_is_and_what_fixes_it() {
        assert_eq!(show(&ok("store", "can be written")), "ok   store        can be written");
        assert_eq!(
            show(&fail("files", "/c may be read by others", "chmod 600 /c")),
            "fail files        /c may be read by others\n                  fix: chmod 600 /c"
        );
    }
}
