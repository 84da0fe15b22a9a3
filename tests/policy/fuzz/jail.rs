//! Runs texts in real bash where they can do no harm, and tells what it tried to execute.
//!
//! The jail is a new mount, pid and network namespace, chrooted to a directory that holds bash, sh
//! and timeout, as nobody, with limits on processes, files, memory and time. PATH is empty and
//! builtins are disabled, so every simple command ends in `command_not_found_handle`, which logs
//! its final argv. Each text runs with ordinary builtins (some of which evaluate array subscripts)
//! off and on, and where exit codes may matter to it, with a handler that answers 0 and one that
//! answers 1.

use std::collections::BTreeSet;
use std::fs;
use std::io;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// The home directory inside.
pub const HOME: &str = "/home/u";

const PRELUDE: &str = r#"command_not_found_handle() { /log "$@"; }
shopt -u extdebug
unset BASH_ENV ENV
enable -n "#;
const ALL_BUILTINS: &str = ". : '[' alias bind bg break builtin caller cd command compgen complete compopt continue declare dirs disown echo eval exec exit export false fc fg getopts hash help history jobs kill let local logout mapfile popd printf pushd pwd read readarray readonly return set shift shopt source suspend test times trap true type typeset ulimit umask unalias unset wait enable";
const RUNNING_BUILTINS: &str = ". source eval exec trap command builtin bind complete compgen exit logout suspend kill hash caller history fc enable";

const LOG: &str = r#"#!/bin/sh
printf '%s\0' "$#" "$@" >&9
exit "$ORACLE_MODE"
"#;

const DRIVER: &str = r#"ulimit -f 2048 -t 2 -v 1048576
cd /w
n=0
while IFS= read -r -d '' text; do
  modes='0'
  case $text in *[\&\|\!\?]* | *if* | *while* | *until* | *set* | *trap*) modes='0 1' ;; esac
  for prelude in /all.sh /running.sh; do
    for mode in $modes; do
      BASH_ENV=$prelude ORACLE_MODE=$mode PATH=/nonexistent HOME=/home/u LC_ALL=C.UTF-8 \
        /bin/timeout -s KILL 0.5 /bin/bash -c "$text" </dev/null >/dev/null 2>&1 9>>/out/$n
    done
  done
  n=$((n + 1))
done </texts
"#;

/// A prepared root directory.
pub struct Jail {
    root: tempfile::TempDir,
}

impl Jail {
    /// Builds the root; an error says why bash cannot be run safely here.
    pub fn new() -> io::Result<Self> {
        let jail = Self { root: tempfile::tempdir()? };
        for directory in ["bin", "w", "proc", "dev", "out", "home/u"] {
            fs::create_dir_all(jail.path(directory))?;
        }
        for program in ["/bin/bash", "/bin/sh", "/usr/bin/timeout"] {
            jail.install(Path::new(program))?;
        }
        symlink("/proc/self/fd", jail.path("dev/fd"))?;
        fs::write(jail.path("dev/null"), "")?;
        jail.script("log", LOG)?;
        jail.script("driver.sh", DRIVER)?;
        jail.script("all.sh", &format!("{PRELUDE}{ALL_BUILTINS}\n"))?;
        jail.script("running.sh", &format!("{PRELUDE}{RUNNING_BUILTINS}\n"))?;
        for writable in ["w", "out", "dev/null"] {
            fs::set_permissions(jail.path(writable), fs::Permissions::from_mode(0o777))?;
        }
        fs::set_permissions(jail.root.path(), fs::Permissions::from_mode(0o755))?;
        let trial = jail.run(&["evil 'a b'".to_owned()])?;
        if trial != [vec![vec!["evil".to_owned(), "a b".to_owned()]]] {
            return Err(io::Error::other(format!("the jail does not work here: {trial:?}")));
        }
        Ok(jail)
    }

    /// What bash tried to execute for each text.
    pub fn run(&self, texts: &[String]) -> io::Result<Vec<Vec<Vec<String>>>> {
        fs::remove_dir_all(self.path("out"))?;
        fs::create_dir(self.path("out"))?;
        fs::set_permissions(self.path("out"), fs::Permissions::from_mode(0o777))?;
        let joined: String = texts.iter().flat_map(|text| [text, "\0"]).collect();
        fs::write(self.path("texts"), joined)?;
        let mount = format!("--mount-proc={}", self.path("proc").display());
        let status = Command::new("unshare")
            .args(["--mount", "--pid", "--net", "--ipc", "--fork", "--kill-child", &mount])
            .args(["chroot", "--userspec=65534:65534"])
            .arg(self.root.path())
            .args(["/bin/bash", "--norc", "/driver.sh"])
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .status()?;
        if !status.success() {
            return Err(io::Error::other(format!("unshare or chroot: {status}")));
        }
        (0..texts.len()).map(|n| Ok(parse(&fs::read(self.path(&format!("out/{n}")))?))).collect()
    }

    fn path(&self, inside: &str) -> PathBuf {
        self.root.path().join(inside)
    }

    fn script(&self, name: &str, text: &str) -> io::Result<()> {
        fs::write(self.path(name), text)?;
        fs::set_permissions(self.path(name), fs::Permissions::from_mode(0o755))
    }

    /// Copies a program and the libraries it loads.
    fn install(&self, program: &Path) -> io::Result<()> {
        let name = program.file_name().unwrap_or_default();
        fs::copy(program, self.path("bin").join(name))?;
        let list = Command::new("ldd").arg(program).output()?;
        let list = String::from_utf8_lossy(&list.stdout).into_owned();
        for library in list.split_whitespace().filter(|word| word.starts_with('/')) {
            let to = self.path(library.trim_start_matches('/'));
            if let Some(parent) = to.parent() {
                fs::create_dir_all(parent)?;
            }
            fs::copy(library, to)?;
        }
        Ok(())
    }
}

/// `count\0word\0…` records.
fn parse(log: &[u8]) -> Vec<Vec<String>> {
    let mut fields = log.split(|&b| b == 0).map(|f| String::from_utf8_lossy(f).into_owned());
    let mut found = BTreeSet::new();
    while let Some(count) = fields.next().and_then(|f| f.parse::<usize>().ok()) {
        found.insert(fields.by_ref().take(count).collect::<Vec<_>>());
    }
    found.into_iter().collect()
}
