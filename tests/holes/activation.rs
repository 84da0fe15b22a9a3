//! Row 4: a service manager holds the port, so that nobody can take it while the daemon is down.

use crate::{
    daemon::{AGENT, LONG, private_file, shell},
    inbox_visitor::Visitor,
    process::{Ended, Process},
};
use serde_json::Value;
use std::{
    net::{SocketAddr, TcpListener},
    os::{fd::OwnedFd, unix::fs::PermissionsExt, unix::net::UnixListener},
    path::Path,
    process::Stdio,
};
use tokio::{
    io::{AsyncBufReadExt, BufReader},
    process::{Child, Command},
};

/// What a service manager holds.
struct Held {
    home: tempfile::TempDir,
    tcp: TcpListener,
    unix: UnixListener,
}

impl Held {
    fn new() -> Self {
        let home = tempfile::tempdir().unwrap();
        let tcp = TcpListener::bind("127.0.0.1:0").unwrap();
        let unix = UnixListener::bind(home.path().join("countersign.sock")).unwrap();
        let held = Self { home, tcp, unix };
        held.mode(0o600);
        held.config(held.address(), &held.socket());
        held
    }

    fn address(&self) -> SocketAddr {
        self.tcp.local_addr().unwrap()
    }

    fn socket(&self) -> std::path::PathBuf {
        self.home.path().join("countersign.sock")
    }

    fn mode(&self, mode: u32) {
        let mode = std::fs::Permissions::from_mode(mode);
        std::fs::set_permissions(self.socket(), mode).unwrap();
    }

    fn config(&self, listen: SocketAddr, socket: &Path) {
        let at = self.home.path().display();
        let text = format!(
            "[daemon]\nlisten = \"{listen}\"\nsocket = \"{}\"\nstate_dir = \"{at}/state\"\n\
             agent_token = \"{AGENT}\"\n",
            socket.display()
        );
        private_file(&self.home.path().join("countersign.toml"), &text);
    }

    /// `serve` as systemd starts it: the listeners are its descriptors 3 and 4.
    fn command(&self, stderr: &str) -> Command {
        let passed = |fd: OwnedFd| Stdio::from(fd);
        let line = format!(
            "exec env LISTEN_PID=$$ LISTEN_FDS=2 \"$0\" \"$@\" 3<&0 4<&2 </dev/null 2>{stderr}"
        );
        let mut command = Command::new("sh");
        command.args(["-c", &line, env!("CARGO_BIN_EXE_countersign"), "--config"]);
        command.arg(self.home.path().join("countersign.toml")).arg("serve").kill_on_drop(true);
        command.env_clear().env("PATH", std::env::var_os("PATH").unwrap_or_default());
        command.env("HOME", self.home.path());
        command.stdin(passed(self.tcp.try_clone().unwrap().into()));
        command.stderr(passed(self.unix.try_clone().unwrap().into()));
        command
    }

    async fn start(&self) -> Child {
        self.start_at().await.0
    }

    /// The same, and the address of its inbox.
    async fn start_at(&self) -> (Child, String) {
        let mut child = self.command("/dev/null").stdout(Stdio::piped()).spawn().unwrap();
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let ready = tokio::time::timeout(LONG, lines.next_line()).await.unwrap().unwrap().unwrap();
        let inbox = ready.strip_prefix("ready ").unwrap().to_owned();
        assert!(inbox.starts_with(&format!("http://{}/", self.address())));
        (child, inbox)
    }

    /// What it says when it refuses to start.
    async fn refused(&self) -> Ended {
        let file = self.home.path().join("said");
        let mut child = self.command(&file.display().to_string()).spawn().unwrap();
        let code = tokio::time::timeout(LONG, child.wait()).await.unwrap().unwrap().code();
        let stderr = std::fs::read_to_string(file).unwrap();
        Ended { code, stdout: String::new(), stderr }
    }

    /// A call over TCP, and one over the socket.
    async fn calls(&self) -> [Value; 2] {
        let http = reqwest::Client::builder().no_proxy().build().unwrap();
        let unix = reqwest::Client::builder().no_proxy().unix_socket(self.socket());
        let tcp = http.post(format!("http://{}/v1/calls", self.address())).bearer_auth(AGENT);
        let unix = unix.build().unwrap().post("http://localhost/v1/calls");
        let (call, other) = (shell("git push"), shell("git push origin"));
        let (tcp, unix) = tokio::join!(tcp.json(&call).send(), unix.json(&other).send());
        [tcp.unwrap().json().await.unwrap(), unix.unwrap().json().await.unwrap()]
    }
}

#[tokio::test]
async fn row_4_a_port_that_is_held_stays_taken_and_who_calls_meanwhile_is_served_later() {
    let held = Held::new();
    for how in ["TERM", "KILL"] {
        let mut daemon = held.start().await;
        assert!(held.calls().await.iter().all(|reply| reply["verdict"] == "ask"));
        let pid = daemon.id().unwrap().to_string();
        std::process::Command::new("kill").args([&format!("-{how}"), &pid]).status().unwrap();
        daemon.wait().await.unwrap();
        assert!(held.socket().exists(), "the socket is not the daemon's to remove");
        let taken = TcpListener::bind(held.address()).unwrap_err();
        assert_eq!(taken.kind(), std::io::ErrorKind::AddrInUse);
        let (replies, mut daemon) = tokio::join!(held.calls(), held.start());
        assert!(replies.iter().all(|reply| reply["verdict"] == "ask"), "{replies:?}");
        daemon.kill().await.unwrap();
    }
}

#[tokio::test]
async fn row_4_an_open_page_lives_through_a_restart_only_while_its_very_socket_is_held() {
    let mut held = Held::new();
    let (mut daemon, inbox) = held.start_at().await;
    let visitor = Visitor::enter(&inbox).await;
    let seen = visitor.proof("GET", "/inbox/events", "").await.unwrap();
    for _ in 0..2 {
        daemon.kill().await.unwrap();
        let again;
        (daemon, again) = held.start_at().await;
        assert_eq!(again, inbox, "the address of the inbox stays");
        assert_eq!(visitor.follow().await.next().await.unwrap().0, "board");
        let (stolen, _) =
            visitor.api_with(reqwest::Method::GET, "/inbox/events", &seen.header).await;
        assert_eq!(stolen, 401, "what was proved to an earlier start proves nothing");
    }
    // The service manager lets go of the port, and takes it again.
    daemon.kill().await.unwrap();
    let address = held.address();
    held.tcp = TcpListener::bind("127.0.0.1:0").unwrap();
    held.tcp = TcpListener::bind(address).unwrap();
    let (mut daemon, other) = held.start_at().await;
    assert_ne!(other, inbox);
    assert!(!visitor.proof("GET", "/inbox/events", "").await.unwrap().real);
    daemon.kill().await.unwrap();
}

#[tokio::test]
async fn row_4_what_is_held_must_be_what_the_config_says_and_closed_to_others() {
    let held = Held::new();
    let (address, socket) = (held.address(), held.socket());
    held.config("127.0.0.1:7117".parse().unwrap(), &socket);
    let said = format!("listens on {address}, and [daemon] listen is 127.0.0.1:7117");
    let ended = held.refused().await;
    assert!(ended.code == Some(1) && ended.stderr.contains(&said), "{ended:?}");
    held.config(address, &held.home.path().join("other.sock"));
    let ended = held.refused().await;
    assert!(ended.code == Some(1) && ended.stderr.contains("make them the same"), "{ended:?}");
    held.config(address, &socket);
    held.mode(0o666);
    let ended = held.refused().await;
    assert!(ended.code == Some(1) && ended.stderr.contains("SocketMode=0600"), "{ended:?}");
}

#[tokio::test]
async fn row_4_variables_of_another_process_pass_nothing_on() {
    let home = tempfile::tempdir().unwrap();
    let mut command = Command::new(env!("CARGO_BIN_EXE_countersign"));
    command.args(["serve"]).env_clear().env("HOME", home.path()).kill_on_drop(true);
    command.env("LISTEN_PID", "1").env("LISTEN_FDS", "2");
    command.env("COUNTERSIGN__DAEMON__LISTEN", "not an address");
    let ended = Process::start(command).ends().await;
    assert!(ended.stderr.contains("must be an address and a port"), "{ended:?}");
}
