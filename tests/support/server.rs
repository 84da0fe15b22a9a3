//! A PostgreSQL server for one test, which can be stopped, crashed and frozen.
#![allow(
    dead_code,
    clippy::unwrap_used,
    clippy::print_stderr,
    reason = "tests fail by panicking, and each uses only a part"
)]

use std::{
    os::unix::fs::{MetadataExt, chown},
    path::PathBuf,
    process::{Command, Stdio},
};
use tempfile::TempDir;

/// A server with an empty database in its own folder; it is deleted when this is dropped.
pub struct Server {
    folder: TempDir,
    programs: PathBuf,
    as_postgres: bool,
    port: u16,
}

/// The way in which a server stops.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stop {
    /// Ends every connection, writes everything and exits.
    Fast,
    /// Exits at once like a crash, and recovers at the next start.
    Immediate,
}

impl Server {
    /// Creates and starts a server; prints a note and returns `None` if that is impossible.
    pub async fn start() -> Option<Self> {
        let server = Self::make().map_err(|why| eprintln!("not tried: {why}")).ok()?;
        // `-N`: without fsync, as the data directory is discarded anyway.
        let made = server.tell("initdb", &["-U", "postgres", "-A", "trust", "-E", "UTF8", "-N"]);
        assert!(status(made).await, "PostgreSQL's initdb failed");
        let config = server.data().join("postgresql.conf");
        let text = std::fs::read_to_string(&config).unwrap();
        let port = server.port;
        let here = "listen_addresses = '127.0.0.1'\nunix_socket_directories = ''";
        std::fs::write(&config, format!("{text}\n{here}\nport = {port}\n")).unwrap();
        server.start_again().await;
        Some(server)
    }

    fn make() -> Result<Self, &'static str> {
        let programs = programs().ok_or("there are no programs of a PostgreSQL server here")?;
        let folder = TempDir::new().unwrap();
        // PostgreSQL refuses to run as root.
        let as_postgres = folder.path().metadata().unwrap().uid() == 0;
        if as_postgres {
            let user = postgres_user();
            let (user, group) = user.ok_or("we are root, and there is no user postgres")?;
            chown(folder.path(), Some(user), Some(group)).unwrap();
        }
        Ok(Self { folder, programs, as_postgres, port: free_port() })
    }

    /// The URL of its empty database.
    pub fn url(&self) -> String {
        format!("postgres://postgres@127.0.0.1:{}/postgres", self.port)
    }

    /// Stops it, and waits until it has exited.
    pub async fn stop(&self, how: Stop) {
        let how = if how == Stop::Fast { "fast" } else { "immediate" };
        self.pg_ctl(&["stop", "-m", how]).await;
    }

    /// Starts it again, and waits until it serves.
    pub async fn start_again(&self) {
        self.pg_ctl(&["start"]).await;
    }

    /// Freezes all its processes, or lets them continue.
    pub fn freeze(&self, frozen: bool) {
        let signal = if frozen { "-STOP" } else { "-CONT" };
        let file = std::fs::read_to_string(self.data().join("postmaster.pid")).unwrap();
        let first = file.lines().next().unwrap().to_owned();
        // The parent forks all others, so it is frozen first.
        signals(signal, &[&first]);
        let others = Command::new("pgrep").args(["-P", &first]).output().unwrap();
        let others = String::from_utf8(others.stdout).unwrap();
        // One of them may have exited in the meantime.
        signals(signal, &others.split_whitespace().collect::<Vec<_>>());
    }

    async fn pg_ctl(&self, args: &[&str]) {
        let log = self.folder.path().join("log");
        let name = log.display().to_string();
        let args = [args, &["-w", "-s", "-l", &name]].concat();
        let log = || std::fs::read_to_string(&log).unwrap_or_default();
        assert!(status(self.tell("pg_ctl", &args)).await, "{args:?}: {}", log());
    }

    /// A command of one of its programs.
    fn tell(&self, program: &str, args: &[&str]) -> Command {
        let program = self.programs.join(program);
        let mut command =
            if self.as_postgres { Command::new("runuser") } else { Command::new(&program) };
        if self.as_postgres {
            command.args(["-u", "postgres", "--"]).arg(program);
        }
        command.arg("-D").arg(self.data()).args(args).current_dir(self.folder.path());
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        command
    }

    fn data(&self) -> PathBuf {
        self.folder.path().join("data")
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        if self.data().join("postmaster.pid").exists() {
            self.freeze(false);
            let _ = self.tell("pg_ctl", &["stop", "-m", "immediate", "-w"]).status();
        }
    }
}

/// The folder of the newest PostgreSQL's programs.
fn programs() -> Option<PathBuf> {
    let told = Command::new("pg_config").arg("--bindir").output().ok();
    let told = told.map(|told| String::from_utf8_lossy(&told.stdout).trim().into());
    let mut found: Vec<PathBuf> = std::fs::read_dir("/usr/lib/postgresql")
        .map(|versions| versions.flatten().map(|version| version.path().join("bin")).collect())
        .unwrap_or_default();
    found.sort();
    let server = |place: &PathBuf| ["initdb", "pg_ctl"].iter().all(|it| place.join(it).exists());
    told.into_iter().chain(found.into_iter().rev()).find(server)
}

/// Below the range of ephemeral ports, so that no other program takes it while the server is
/// stopped.
fn free_port() -> u16 {
    let mut ports = std::iter::repeat_with(|| 20_000 + rand::random::<u16>() % 10_000);
    ports.find(|port| std::net::TcpListener::bind(("127.0.0.1", *port)).is_ok()).unwrap()
}

/// User and group of PostgreSQL on this machine.
fn postgres_user() -> Option<(u32, u32)> {
    let users = std::fs::read_to_string("/etc/passwd").ok()?;
    let mut fields = users.lines().find_map(|line| line.strip_prefix("postgres:"))?.split(':');
    let (user, group) = (fields.nth(1)?, fields.next()?);
    Some((user.parse().ok()?, group.parse().ok()?))
}

fn signals(signal: &str, processes: &[&str]) {
    if !processes.is_empty() {
        let _ = Command::new("kill").arg(signal).args(processes).stderr(Stdio::null()).status();
    }
}

/// Runs a program; returns whether it exited successfully.
async fn status(command: Command) -> bool {
    tokio::process::Command::from(command).status().await.unwrap().success()
}
