//! `countersign` without a command, and `up`: from nothing to a daemon with an agent.

use crate::{
    process::{Ended, Process},
    setup::at_home,
};
use std::{
    collections::BTreeMap,
    fs,
    os::unix::fs::PermissionsExt,
    path::{Path, PathBuf},
    process::Command as Plain,
};

/// A machine with Claude Code, and with this program in the place of systemd's.
struct Machine {
    home: tempfile::TempDir,
}

impl Machine {
    fn new(systemctl: &str) -> Self {
        let home = tempfile::tempdir().unwrap();
        let program = home.path().join("bin/systemctl");
        fs::create_dir_all(home.path().join("bin")).unwrap();
        fs::create_dir_all(home.path().join(".claude")).unwrap();
        fs::write(
            &program,
            format!("#!/bin/sh\necho \"$@\" >> \"$HOME/systemctl.log\"\n{systemctl}\n"),
        )
        .unwrap();
        fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
        Self { home }
    }

    fn file(&self, name: &str) -> PathBuf {
        self.home.path().join(name)
    }

    async fn run(&self, args: &[&str]) -> Ended {
        self.run_at("127.0.0.1:0", args).await
    }

    async fn run_at(&self, address: &str, args: &[&str]) -> Ended {
        let mut command = at_home(self.home.path(), args);
        command.env("PATH", format!("{}:/usr/bin:/bin", self.file("bin").display()));
        command.env("COUNTERSIGN__DAEMON__LISTEN", address);
        Process::start(command).ends().await
    }

    /// Every file that an installation makes or changes, but the daemon's own.
    fn files(&self) -> BTreeMap<PathBuf, Vec<u8>> {
        let mut found = BTreeMap::new();
        for folder in [".config", ".claude"] {
            all(&self.file(folder), &mut found);
        }
        found
    }
}

fn all(folder: &Path, found: &mut BTreeMap<PathBuf, Vec<u8>>) {
    for entry in fs::read_dir(folder).into_iter().flatten() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            all(&path, found)
        } else {
            drop(found.insert(path.clone(), fs::read(&path).unwrap()))
        }
    }
}

/// A daemon that outlives the command that started it.
struct Background(String);

impl Drop for Background {
    fn drop(&mut self) {
        Plain::new("kill").arg(&self.0).status().unwrap();
    }
}

const NO_SERVICES: &str = "exit 1";
const SERVICES: &str = "\
case \"$*\" in
  *cat*) exit 1 ;;
  *enable*) eval \"exec $(sed -n 's/^ExecStart=//p' \"$HOME/.config/systemd/user/countersign.service\")\" \
    >/dev/null 2>&1 & echo $! > \"$HOME/pid\" ;;
esac";

#[tokio::test]
async fn without_a_command_it_says_what_is_next_and_makes_nothing() {
    let machine = Machine::new(NO_SERVICES);
    let before = machine.files();
    let ended = machine.run(&[]).await;
    assert_eq!(ended.code, Some(0), "{ended:?}");
    let config = machine.file(".config/countersign/countersign.toml");
    let state = format!("\nconfig    none yet; it will be {}\n", config.display());
    assert!(ended.stdout.contains(&state), "{ended:?}");
    assert!(ended.stdout.contains("\nNext:\n  countersign up  "), "{ended:?}");
    assert_eq!(machine.files(), before);
}

#[tokio::test]
async fn up_does_nothing_where_nobody_can_agree() {
    let machine = Machine::new(SERVICES);
    let before = machine.files();
    let ended = machine.run(&["up"]).await;
    assert_eq!(ended.code, Some(2));
    assert!(ended.stderr.contains("no terminal to confirm the steps on"), "{ended:?}");
    assert_eq!(machine.files(), before);
    assert!(!machine.file("systemctl.log").exists());
}

#[tokio::test]
async fn up_sets_everything_up_and_the_second_time_it_changes_nothing() {
    let machine = Machine::new(NO_SERVICES);
    let ended = machine.run(&["up", "--yes"]).await;
    assert_eq!(ended.code, Some(1));
    let why = "there is no service manager for this user here";
    assert!(ended.stderr.contains(why), "nothing is started unasked: {ended:?}");

    let ended = machine.run(&["up", "--yes", "--background"]).await;
    assert_eq!(ended.code, Some(0), "{ended:?}");
    let pid = ended.stdout.split("`kill ").nth(1).and_then(|rest| rest.split('`').next());
    let _daemon = Background(pid.unwrap().to_owned());
    assert!(!ended.stdout.contains("token="), "a script's log gets no link: {ended:?}");
    let settings = fs::read_to_string(machine.file(".claude/settings.json")).unwrap();
    assert!(settings.contains("hook claude-code"), "{settings}");
    let log = fs::read_to_string(machine.file(".local/state/countersign/daemon.log")).unwrap();
    assert!(!log.contains("token="), "{log}");

    let state = machine.run(&[]).await.stdout;
    for line in
        ["\ndaemon    runs; nothing waits\n", "\nagents    Claude Code\n", "\nphone     none\n"]
    {
        assert!(state.contains(line), "{state}");
    }
    let before = machine.files();
    let again = machine.run(&["up", "--yes", "--background"]).await;
    assert_eq!(again.code, Some(0), "{again:?}");
    assert!(again.stdout.contains("daemon    runs already\n"), "{again:?}");
    assert_eq!(machine.files(), before);
}

#[tokio::test]
async fn up_runs_the_daemon_as_a_service_of_this_user() {
    let machine = Machine::new(SERVICES);
    let ended = machine.run(&["up", "--yes", "--no-agents"]).await;
    assert_eq!(ended.code, Some(0), "{ended:?}");
    let pid = fs::read_to_string(machine.file("pid")).unwrap();
    let _daemon = Background(pid.trim().to_owned());
    assert!(ended.stdout.contains("daemon    runs as a service of this user\n"), "{ended:?}");
    let log = fs::read_to_string(machine.file("systemctl.log")).unwrap();
    let wanted = "--user show-environment\n--user cat countersign.service\n--user daemon-reload\n\
                  --user enable --now countersign.service\n";
    assert_eq!(log, wanted);
    assert!(!machine.file(".claude/settings.json").exists());
}

#[tokio::test]
async fn up_lets_systemd_hold_the_port_and_the_socket_of_the_config() {
    let machine = Machine::new(SERVICES);
    let free = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let ended = machine.run_at(&free.to_string(), &["up", "--yes", "--no-agents"]).await;
    assert_eq!(ended.code, Some(0), "{ended:?}");
    let pid = fs::read_to_string(machine.file("pid")).unwrap();
    let _daemon = Background(pid.trim().to_owned());
    let unit = fs::read_to_string(machine.file(".config/systemd/user/countersign.socket")).unwrap();
    let listens: Vec<_> = unit.lines().filter(|it| it.starts_with("ListenStream=")).collect();
    assert_eq!(listens[0], format!("ListenStream={free}"));
    assert!(listens[1].ends_with("/countersign.sock") && listens.len() == 2, "{listens:?}");
    assert!(!listens[1].contains("%t"), "{listens:?}");
    let log = fs::read_to_string(machine.file("systemctl.log")).unwrap();
    let enabled = "--user enable --now countersign.socket countersign.service\n";
    assert!(log.ends_with(enabled), "{log}");
}

#[tokio::test]
async fn up_leaves_a_service_that_is_there_as_it_is() {
    let machine = Machine::new(SERVICES);
    let unit = machine.file(".config/systemd/user/countersign.service");
    fs::create_dir_all(unit.parent().unwrap()).unwrap();
    let own = format!("# mine\n[Service]\nExecStart={} serve\n", env!("CARGO_BIN_EXE_countersign"));
    fs::write(&unit, &own).unwrap();
    let ended = machine.run(&["up", "--yes", "--no-agents"]).await;
    assert_eq!(ended.code, Some(0), "{ended:?}");
    let pid = fs::read_to_string(machine.file("pid")).unwrap();
    let _daemon = Background(pid.trim().to_owned());
    assert_eq!(fs::read_to_string(&unit).unwrap(), own);
}
