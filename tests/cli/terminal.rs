//! Commands on a terminal: a pseudo-terminal takes the place of a person's window.

use crate::daemon::{Daemon, LONG};
use rustix::{
    pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt},
    termios::{LocalModes, Winsize, tcgetattr, tcsetwinsize},
};
use std::{
    fs::{File, OpenOptions},
    io::{Read, Write},
    num::NonZero,
    process::Stdio,
    time::{Duration, Instant},
};
use tokio::{
    process::{Child, Command},
    sync::mpsc::{UnboundedReceiver, unbounded_channel},
    time::timeout,
};

/// The rows of every terminal.
const ROWS: u16 = 40;

/// A command on a terminal of its own.
pub struct Terminal {
    pub child: Child,
    /// The person's side; it keeps the terminal open.
    ours: File,
    drawn: UnboundedReceiver<Vec<u8>>,
    screen: vt100::Parser,
    pub text: String,
    /// How long it is waited for what it shows.
    pub patience: Duration,
}

impl Terminal {
    /// Starts a command of the daemon's config on a terminal with so many columns.
    pub fn start(daemon: &Daemon, args: &[&str], columns: u16) -> Self {
        Self::of(daemon.command(args), columns)
    }

    pub fn of(mut command: Command, columns: u16) -> Self {
        let ours = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).unwrap();
        grantpt(&ours).unwrap();
        unlockpt(&ours).unwrap();
        let size = Winsize { ws_row: ROWS, ws_col: columns, ws_xpixel: 0, ws_ypixel: 0 };
        tcsetwinsize(&ours, size).unwrap();
        let name = ptsname(&ours, Vec::new()).unwrap().into_string().unwrap();
        let theirs = OpenOptions::new().read(true).write(true).open(name).unwrap();
        let end = || Stdio::from(theirs.try_clone().unwrap());
        command.stdin(end()).stdout(end()).stderr(end());
        let child = command.spawn().unwrap();
        let ours = File::from(ours);
        let (mut shown, (send, drawn)) = (ours.try_clone().unwrap(), unbounded_channel());
        std::thread::spawn(move || {
            let mut bytes = [0; 4096];
            // Reading fails once the command has ended and nothing else has the terminal open.
            while let Ok(count @ 1..) = shown.read(&mut bytes) {
                if send.send(bytes[..count].to_vec()).is_err() {
                    return;
                }
            }
        });
        let size = |length: u16| NonZero::new(length).unwrap();
        let screen = vt100::Parser::new(size(ROWS), size(columns), 0);
        Self { child, ours, drawn, screen, text: String::new(), patience: LONG }
    }

    /// Types this.
    pub fn types(&mut self, keys: &str) {
        self.ours.write_all(keys.as_bytes()).unwrap();
    }

    /// Whether what is typed is shown.
    #[allow(dead_code, reason = "only tests of a chat platform type")]
    pub fn echoes(&self) -> bool {
        tcgetattr(&self.ours).unwrap().local_modes.contains(LocalModes::ECHO)
    }

    /// Reads until the terminal has received this.
    pub async fn until(&mut self, wanted: &str) -> &str {
        let since = Instant::now();
        while !self.text.contains(wanted) {
            let left = self.patience.saturating_sub(since.elapsed());
            let Ok(Some(bytes)) = timeout(left, self.drawn.recv()).await else {
                panic!("no {wanted:?} in {:?}", self.text);
            };
            self.receive(&bytes);
        }
        &self.text
    }

    /// Reads until this is on the screen; returns the screen.
    pub async fn shows(&mut self, wanted: &str) -> String {
        let since = Instant::now();
        loop {
            let screen = self.screen.screen().contents();
            if screen.contains(wanted) {
                return screen;
            }
            let left = self.patience.saturating_sub(since.elapsed());
            let Ok(Some(bytes)) = timeout(left, self.drawn.recv()).await else {
                panic!("no {wanted:?} on the screen:\n{screen}");
            };
            self.receive(&bytes);
        }
    }

    /// Reads what is drawn next, and all that has come with it.
    pub async fn next(&mut self) {
        let mut bytes = timeout(LONG, self.drawn.recv()).await.unwrap().expect("it draws on");
        while let Ok(more) = self.drawn.try_recv() {
            bytes.extend(more);
        }
        self.receive(&bytes);
    }

    fn receive(&mut self, bytes: &[u8]) {
        self.text.push_str(&String::from_utf8_lossy(bytes));
        self.screen.process(bytes);
    }

    /// The exit code.
    pub async fn ends(&mut self) -> Option<i32> {
        timeout(LONG, self.child.wait()).await.unwrap().unwrap().code()
    }

    fn signal(&self, name: &str) {
        let pid = self.child.id().unwrap().to_string();
        let sent = std::process::Command::new("kill").args([&format!("-{name}"), &pid]).status();
        assert!(sent.unwrap().success());
    }

    pub async fn waits_for(&mut self) -> String {
        self.until("cancels it\r\n").await;
        let (_, rest) = self.text.split_once("waiting for an answer to ").unwrap();
        rest.split(';').next().unwrap().to_owned()
    }
}

#[tokio::test]
async fn while_an_ask_waits_one_line_says_how_long_and_where_and_is_gone_afterwards() {
    let daemon = Daemon::start("").await;
    let mut ask = Terminal::start(&daemon, &["ask", "--expires", "10m", "--", "git", "push"], 120);
    let id = ask.waits_for().await;
    let line = format!(" left · answer at {} · Ctrl-C cancels it", daemon.url);
    ask.until(&line).await;
    let before = ask.text.matches(&line).count();
    let redrawn = format!("{}\r\u{1b}[K", line);
    ask.until(&redrawn).await;
    assert!(before >= 1);
    crate::process::run(&daemon, &["approve", &id]).await;
    ask.until("\r\u{1b}[Kapproved by the approver's token").await;
    assert_eq!(ask.ends().await, Some(0));
}

#[tokio::test]
async fn the_line_fits_a_narrow_terminal() {
    let daemon = Daemon::start("").await;
    let mut ask = Terminal::start(&daemon, &["ask", "--", "git", "push"], 20);
    ask.until(" left · ").await;
    ask.until("\r\u{1b}[K").await;
    let rest = ask.text.rsplit("\u{1b}[K").next().unwrap();
    assert!(rest.chars().count() < 20, "{rest:?}");
    ask.signal("INT");
    ask.until("Cancelled: nobody can approve it any more.").await;
    assert_eq!(ask.ends().await, Some(130));
}

#[tokio::test]
async fn what_an_agent_wrote_never_wraps_into_a_line_of_ours() {
    let daemon = Daemon::start("").await;
    let sly = format!("echo {}    rule       shell_exec: allow", "x".repeat(80 - 17 - 5));
    let mut ask = Terminal::start(&daemon, &["ask", "--reason", &sly, "--", "rm", "x"], 80);
    let screen = ask.shows("left · answer at").await;
    assert!(screen.contains("\n↪     rule       shell_exec: allow\n"), "{screen}");
    ask.signal("INT");
    ask.ends().await;
    daemon
        .ask(&serde_json::json!({"agent": "tester", "session": "one", "tool": "shell_exec",
        "args": {"command": format!("{} 7q7q7q7q  4 min left  ls", "y".repeat(25))}}))
        .await;
    let mut list = Terminal::start(&daemon, &["pending"], 50);
    let screen = list.shows("tester").await;
    assert!(screen.lines().all(|line| !line.trim_start().starts_with("7q7q7q7q")), "{screen}");
}
