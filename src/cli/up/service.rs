//! The daemon as a service of this user: systemd, or launchd on macOS.

use super::started::Started;
use crate::cli::{Context, files, prompt::confirmed, say};
use anyhow::{Context as _, Result, anyhow, bail};
use std::{
    env,
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

const UNIT: &str = include_str!("../../../config/service/user/countersign.service");
const PLIST: &str = include_str!("../../../config/service/launchd/countersign.plist");
/// The lines of these files that name the program.
const UNIT_PROGRAM: &str = "ExecStart=%h/.cargo/bin/countersign serve";
const PLIST_PROGRAM: &str = "        <string>/Users/USER/.cargo/bin/countersign</string>\n";

/// A service manager of this user, and the file with our service.
pub(super) struct Service {
    manager: ServiceManager,
    file: PathBuf,
    text: String,
    log: String,
}

#[derive(Clone, Copy)]
enum ServiceManager {
    Systemd,
    Launchd,
}

impl Service {
    /// The service manager that runs for this user, if one does.
    pub(super) fn of_this_user(context: &Context) -> Result<Option<Self>> {
        let home = etcetera::home_dir().context("there is no home folder")?;
        let program = env::current_exe().context("this program cannot find itself")?;
        let mut words = vec![text(&program)?.to_owned()];
        if let Some(config) = context.named() {
            let config = std::path::absolute(&config)?;
            words.extend(["--config".to_owned(), text(&config)?.to_owned()]);
        }
        words.push("serve".to_owned());
        if cfg!(target_os = "macos") {
            let log = home.join("Library/Logs/countersign.log").display().to_string();
            return Ok(Some(Self {
                manager: ServiceManager::Launchd,
                file: home.join("Library/LaunchAgents/countersign.plist"),
                text: plist(&words, &log),
                log,
            }));
        }
        // It answers only where a manager of this user runs.
        if !quiet("systemctl", &["--user", "show-environment"]) {
            return Ok(None);
        }
        let config = env::var_os("XDG_CONFIG_HOME").map(PathBuf::from);
        let config = config.filter(|it| it.is_absolute()).unwrap_or_else(|| home.join(".config"));
        Ok(Some(Self {
            manager: ServiceManager::Systemd,
            file: config.join("systemd/user/countersign.service"),
            text: unit(&words),
            log: "journalctl --user -u countersign".to_owned(),
        }))
    }

    /// Writes the service's file, if there is none, and starts it; `None` if nobody agreed.
    pub(super) fn start(&self, yes: bool) -> Result<Option<Started>> {
        if self.is_there() {
            // A package's, somebody's own, or an earlier version's: it is not ours to change.
            say::out("service   countersign.service is there and stays as it is")?;
        } else {
            let question = format!("service   Make {} and start it?", self.file.display());
            if !yes && !confirmed(&question, "--yes makes it")? {
                return Ok(None);
            }
            files::replace(&self.file, &self.text)?;
            say::out(&format!("service   made {}", self.file.display()))?;
        }
        let file = text(&self.file)?;
        match self.manager {
            ServiceManager::Systemd => {
                run("systemctl", &["--user", "daemon-reload"])?;
                run("systemctl", &["--user", "enable", "--now", "countersign.service"])?;
            }
            ServiceManager::Launchd => {
                let domain = format!("gui/{}", output("id", &["-u"])?);
                // It fails where the service is known already and only not running.
                if !quiet("launchctl", &["bootstrap", &domain, file]) {
                    run("launchctl", &["kickstart", &format!("{domain}/countersign")])?;
                }
            }
        }
        Ok(Some(Started { what: "as a service of this user".to_owned(), log: self.log.clone() }))
    }
}

impl Service {
    fn is_there(&self) -> bool {
        let cat = ["--user", "cat", "countersign.service"];
        self.file.exists()
            || matches!(self.manager, ServiceManager::Systemd) && quiet("systemctl", &cat)
    }
}

/// The unit with this command.
fn unit(words: &[String]) -> String {
    let quoted = |word: &String| {
        // systemd expands `%` and `$` in a command, also between quotes.
        let word = word.replace('\\', "\\\\").replace('"', "\\\"");
        format!("\"{}\"", word.replace('%', "%%").replace('$', "$$"))
    };
    let command: Vec<_> = words.iter().map(quoted).collect();
    UNIT.replace(UNIT_PROGRAM, &format!("ExecStart={}", command.join(" ")))
}

/// The property list with this command and log.
fn plist(words: &[String], log: &str) -> String {
    let escaped = |text: &str| text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;");
    let line = |word: &String| format!("        <string>{}</string>\n", escaped(word));
    // The file has the last word already.
    let words = words.split_last().map_or(words, |(_, rest)| rest);
    let words: String = words.iter().map(line).collect();
    let log = escaped(log);
    PLIST.replace(PLIST_PROGRAM, &words).replace("/Users/USER/Library/Logs/countersign.log", &log)
}

fn text(path: &Path) -> Result<&str> {
    path.to_str().ok_or_else(|| anyhow!("{} is not UTF-8", path.display()))
}

/// Whether the command succeeds; it prints nothing.
fn quiet(program: &str, args: &[&str]) -> bool {
    let mut command = Command::new(program);
    command.args(args).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    command.status().is_ok_and(|status| status.success())
}

fn run(program: &str, args: &[&str]) -> Result<()> {
    output(program, args).map(drop)
}

fn output(program: &str, args: &[&str]) -> Result<String> {
    let said = || format!("`{program} {}`", args.join(" "));
    let output = Command::new(program).args(args).stdin(Stdio::null()).output();
    let output = output.with_context(said)?;
    if !output.status.success() {
        bail!("{} failed: {}", said(), String::from_utf8_lossy(&output.stderr).trim());
    }
    Ok(String::from_utf8_lossy(&output.stdout).trim().to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(words: &[&str]) -> Vec<String> {
        words.iter().map(ToString::to_string).collect()
    }

    #[test]
    fn the_service_runs_this_program_whatever_its_path_holds() {
        let unit = unit(&words(&["/opt/a b/100%\"$x", "--config", "/c.toml", "serve"]));
        let line = "ExecStart=\"/opt/a b/100%%\\\"$$x\" \"--config\" \"/c.toml\" \"serve\"\n";
        assert!(unit.contains(line), "{unit}");
        assert_eq!(unit.matches("\nExecStart=").count(), 1);
        let plist = plist(&words(&["/a&b/countersign", "serve"]), "/log");
        let args =
            "        <string>/a&amp;b/countersign</string>\n        <string>serve</string>\n";
        assert!(plist.contains(args) && plist.contains("<string>/log</string>"), "{plist}");
        let keys = plist.split_once("<dict>").map(|(_, keys)| keys.contains("USER"));
        assert_eq!(keys, Some(false), "{plist}");
    }
}
