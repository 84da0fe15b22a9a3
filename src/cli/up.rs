//! `countersign up`: sets everything up in one guided command, which can be repeated.

use super::{
    Context, Misused, connect, files, init,
    next::{ConfigState, Installed, ready},
    open,
    prompt::confirmed,
    say,
};
use crate::config::Config;
use anyhow::{Context as _, Result, anyhow, bail};
use countersign_store::private;
use std::{
    env,
    fs::OpenOptions,
    io::{self, IsTerminal},
    os::unix::{fs::OpenOptionsExt, process::CommandExt},
    path::{Path, PathBuf},
    process::{Command, Stdio},
    time::Duration,
};
use tokio::time::{Instant, sleep};

/// How long a daemon may take until it takes asks.
const START: Duration = Duration::from_secs(20);
/// Between two looks at it.
const LOOK: Duration = Duration::from_millis(100);

#[derive(Debug, clap::Args)]
#[command(after_help = "\
The steps: a config with fresh tokens, the daemon as a service of this user, the agents that are
found here, your phone, the inbox. Each is skipped where it is done already, and asks before it
changes a file of another program. Nothing that is there is replaced. With --yes it asks nothing,
connects every agent that it finds, opens no browser and pairs no phone.")]
pub(super) struct UpArgs {
    /// Ask nothing
    #[arg(short, long)]
    yes: bool,
    /// Start the daemon in the background where there is no service manager
    #[arg(long)]
    background: bool,
    /// Change no agent's settings
    #[arg(long)]
    no_agents: bool,
}

pub(super) async fn run(context: &Context, args: &UpArgs) -> Result<()> {
    if !args.yes && !io::stdin().is_terminal() {
        let why = "no terminal to confirm the steps on; --yes confirms them all";
        return Err(Misused(why.into()).into());
    }
    let config = config(context)?;
    daemon(context, &config, args).await?;
    let installed = Installed::look(context).await?;
    if !args.no_agents {
        agents(context, &installed, args.yes).await?;
    }
    phone(context, &installed, args.yes).await?;
    if args.yes {
        return say::out("\nDone. `countersign open` opens the inbox.");
    }
    say::out("")?;
    open::inbox(context).await?;
    say::out("Done. Run `countersign up` again at any time; it repeats nothing.")
}

/// The config of this user; one with fresh tokens where there is none.
fn config(context: &Context) -> Result<Config> {
    let file = Config::file(context.flag.as_deref())?;
    if !file.exists() {
        let made = init::write(&file, false)?;
        say::out(&format!(
            "config    made {} and {}",
            made.config.display(),
            made.token.display()
        ))?;
        return context.config();
    }
    let config = context.config()?;
    say::out(&format!("config    {}", file.display()))?;
    Ok(config)
}

/// Starts the daemon where none runs.
async fn daemon(context: &Context, config: &Config, args: &UpArgs) -> Result<()> {
    if ready(config).await.is_some() {
        return say::out("daemon    runs already");
    }
    if !config.serves_here() {
        let servers: Vec<_> = config.client.url.iter().map(ToString::to_string).collect();
        bail!("this machine has agents only, and no daemon answers at {}", servers.join(", "));
    }
    let how = match Service::of_this_user(context)? {
        Some(service) => service.start(config, args.yes)?,
        None if args.background => start_in_background(context, config)?,
        None => bail!(
            "there is no service manager for this user here. Run `countersign serve` in a terminal \
             of its own and then `countersign up` again, or let `countersign up --background` \
             start it until the next restart of the machine"
        ),
    };
    let Some(how) = how else {
        bail!("the daemon was not started; `countersign serve` runs it in a terminal")
    };
    let since = Instant::now();
    while ready(config).await.is_none() {
        if since.elapsed() > START {
            return Err(anyhow!("look at {}", how.log)).context("the daemon did not start");
        }
        sleep(LOOK).await;
    }
    say::out(&format!("daemon    runs {}", how.what))
}

/// Connects the agents that are here.
async fn agents(context: &Context, installed: &Installed, yes: bool) -> Result<()> {
    for agent in &installed.connected {
        say::out(&format!("agent     {} is connected", agent.title().name))?;
    }
    for agent in &installed.found {
        say::out(&format!("agent     {}:", agent.title().name))?;
        // One agent whose settings cannot be read does not keep the others away.
        if let Err(error) = connect::agent(context, *agent, yes).await {
            say::problem(&error);
        }
    }
    if installed.connected.is_empty() && installed.found.is_empty() {
        say::out(
            "agent     none is found here; `countersign connect --help` names those it knows",
        )?;
    }
    Ok(())
}

/// Offers a phone where none is connected.
async fn phone(context: &Context, installed: &Installed, yes: bool) -> Result<()> {
    if let ConfigState::Good(_) = &installed.config
        && let Some(chat) = installed.phone_to_offer()
    {
        let command = format!("countersign connect {chat}");
        if yes
            || !confirmed(
                "phone     Be asked on your phone too? You need a bot's token.",
                "--yes skips it",
            )?
        {
            return say::out(&format!("phone     none; `{command}` connects one at any time"));
        }
        return connect::phone(context, chat).await;
    }
    let chats = installed.chats();
    if chats.is_empty() { Ok(()) } else { say::out(&format!("phone     {}", chats.join(", "))) }
}

const UNIT: &str = include_str!("../../config/service/user/countersign.service");
const SOCKET_UNIT: &str = include_str!("../../config/service/user/countersign.socket");
const PLIST: &str = include_str!("../../config/service/launchd/countersign.plist");
/// The lines of these files that name the program, its address and its socket.
const UNIT_PROGRAM: &str = "ExecStart=%h/.cargo/bin/countersign serve";
const SOCKET_ADDRESS: &str = "ListenStream=127.0.0.1:7117\n";
const SOCKET_PATH: &str = "ListenStream=%t/countersign/countersign.sock\n";
const PLIST_PROGRAM: &str = "        <string>/Users/USER/.cargo/bin/countersign</string>\n";

/// A service manager of this user, and the file with our service.
struct Service {
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
    fn of_this_user(context: &Context) -> Result<Option<Self>> {
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

    /// Writes the service's files, if there are none, and starts it; `None` if nobody agreed.
    fn start(&self, config: &Config, yes: bool) -> Result<Option<Started>> {
        // The socket comes first: systemd opens none for a service that runs already.
        let mut units = vec!["countersign.service"];
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
            if let Some(unit) = self.socket_unit(config)? {
                // With it open pages and sign-ins outlast a restart.
                let file = self.file.with_extension("socket");
                files::replace(&file, &unit)?;
                say::out(&format!("service   made {}", file.display()))?;
                units.insert(0, "countersign.socket");
            }
        }
        let file = text(&self.file)?;
        match self.manager {
            ServiceManager::Systemd => {
                run_program("systemctl", &["--user", "daemon-reload"])?;
                let enable = [&["--user", "enable", "--now"], &units[..]].concat();
                run_program("systemctl", &enable)?;
            }
            ServiceManager::Launchd => {
                let domain = format!("gui/{}", output("id", &["-u"])?);
                // It fails where the service is known already and only not running.
                if !quiet("launchctl", &["bootstrap", &domain, file]) {
                    run_program("launchctl", &["kickstart", &format!("{domain}/countersign")])?;
                }
            }
        }
        Ok(Some(Started { what: "as a service of this user".to_owned(), log: self.log.clone() }))
    }
}

impl Service {
    /// The unit by which systemd holds the daemon's port and socket; `None` where it cannot: launchd
    /// does not, and a free port is another one at each start.
    fn socket_unit(&self, config: &Config) -> Result<Option<String>> {
        let daemon = &config.daemon;
        let holds = matches!(self.manager, ServiceManager::Systemd) && daemon.listen.port() != 0;
        let file = self.file.with_extension("socket");
        if !holds || file.exists() || quiet("systemctl", &["--user", "cat", "countersign.socket"]) {
            return Ok(None);
        }
        Ok(Some(socket_unit(&daemon.listen.to_string(), text(&daemon.socket)?)))
    }

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

/// The socket unit with this address and path.
fn socket_unit(address: &str, path: &str) -> String {
    let unit = SOCKET_UNIT.replace(SOCKET_ADDRESS, &format!("ListenStream={address}\n"));
    // systemd expands `%` there.
    unit.replace(SOCKET_PATH, &format!("ListenStream={}\n", path.replace('%', "%%")))
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

fn run_program(program: &str, args: &[&str]) -> Result<()> {
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

/// Starts it; it outlives this command and its terminal.
fn start_in_background(context: &Context, config: &Config) -> Result<Option<Started>> {
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

/// A daemon that was started.
struct Started {
    /// As what it runs.
    what: String,
    /// Where its log is.
    log: String,
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
        let socket = socket_unit("127.0.0.1:7200", "/run/100%/c.sock");
        let lines: Vec<_> = socket.lines().filter(|it| it.starts_with("Listen")).collect();
        assert_eq!(lines, ["ListenStream=127.0.0.1:7200", "ListenStream=/run/100%%/c.sock"]);
        let plist = plist(&words(&["/a&b/countersign", "serve"]), "/log");
        let args =
            "        <string>/a&amp;b/countersign</string>\n        <string>serve</string>\n";
        assert!(plist.contains(args) && plist.contains("<string>/log</string>"), "{plist}");
        let keys = plist.split_once("<dict>").map(|(_, keys)| keys.contains("USER"));
        assert_eq!(keys, Some(false), "{plist}");
    }
}
