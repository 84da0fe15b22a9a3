//! Runs texts in real shells where they can do no harm, and tells what they tried to execute and
//! which files they wrote.
//!
//! The jail is a new mount, pid and network namespace, chrooted to a directory that holds bash, dash,
//! zsh (where it is installed) and timeout, as nobody, with limits on processes, files, memory and
//! time. In bash and zsh PATH is empty and builtins are disabled, so every simple command ends in
//! `command_not_found_handle`, which logs its final argv. Each text runs with ordinary builtins (some
//! of which evaluate array subscripts) off and on, and where exit codes may matter to it, with a
//! handler that answers 0 and one that answers 1. dash has no such handler: its PATH holds programs
//! that log, and its builtins stay. Each text has a folder of its own, with a file `f`.

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

/// zsh runs no program of its own to look one up, and reads nothing but this.
const ZSH_PRELUDE: &str = r#"command_not_found_handler() { /log "$@" }
unsetopt global_rcs rcs
disable -- "#;
const ZSH_BUILTINS: &str = ". : '[' alias autoload bg break builtin bye cd chdir command compctl continue declare dirs disable disown echo emulate enable eval exit export false fc fg float functions getln getopts hash history integer jobs kill let limit local logout popd print printf pushd pushln pwd r read readonly rehash return sched set setopt shift source suspend test times trap true ttyctl type typeset ulimit umask unalias unfunction unhash unlimit unset unsetopt wait whence where which zcompile zmodload zstyle";
const ZSH_RUNNING_BUILTINS: &str =
    ". source eval exit trap command builtin logout suspend kill hash history fc disable bye";

/// Programs that dash finds: those of the generator, and what are words of bash alone.
const DASH_PROGRAMS: &str = "evil evil2 ls cat echo2 grep git [[ (( time select function coproc \
    source declare typeset shopt mapfile readarray pushd popd let a x x=1 i=2 a[0]=1 x+=1 10 2 - \
    noglob repeat d e b";

const DASH_LOG: &str = r#"#!/bin/dash
printf '%s\0' "$(($# + 1))" "${0##*/}" "$@" >&9
exit "$ORACLE_MODE"
"#;

const DRIVER: &str = r#"ulimit -f 2048 -t 2 -v 1048576
n=0
while IFS= read -r -d '' shells && IFS= read -r -d '' text; do
  cd /w/$n
  modes='0'
  case $text in *[\&\|\!\?]* | *if* | *while* | *until* | *set* | *trap*) modes='0 1' ;; esac
  export HOME=/home/u LC_ALL=C.UTF-8 ORACLE_MODE
  for ORACLE_MODE in $modes; do
    for prelude in all running; do
      BASH_ENV=/$prelude.sh PATH=/nonexistent \
        /bin/timeout -s KILL 0.5 /bin/bash -c "$text" </dev/null >/dev/null 2>&1 9>>/out/$n
      [ -x /bin/zsh ] && ZDOTDIR=/$prelude PATH=/nonexistent \
        /bin/timeout -s KILL 0.5 /bin/zsh -c "$text" </dev/null >/dev/null 2>&1 9>>/out/$n
    done
    [ "$shells" = sh ] && PATH=/p \
      /bin/timeout -s KILL 0.5 /bin/dash -c "$text" </dev/null >/dev/null 2>&1 9>>/out/$n
  done
  n=$((n + 1))
done </texts
"#;

/// What the file in each text's folder holds.
const BEFORE: &[u8] = b"before\n";

/// A text to run: in bash and zsh, and in a plain `sh` where the scanner vouches for it there too.
pub struct Text {
    pub text: String,
    pub sh: bool,
}

/// What came of a text, whatever the shell.
#[derive(Debug, PartialEq, Eq)]
pub struct Ran {
    /// What was executed.
    pub argvs: Vec<Vec<String>>,
    /// The files that were written.
    pub written: Vec<String>,
}

/// Returns whether zsh is installed.
pub fn has_zsh() -> bool {
    Path::new("/bin/zsh").exists()
}

/// A prepared root directory.
pub struct Jail {
    root: tempfile::TempDir,
}

impl Jail {
    /// Builds the root; an error says why bash cannot be run safely here.
    pub fn new() -> io::Result<Self> {
        let jail = Self { root: tempfile::tempdir()? };
        for directory in ["bin", "w", "proc", "dev", "out", "home/u", "p", "all", "running"] {
            fs::create_dir_all(jail.path(directory))?;
        }
        for program in ["/bin/bash", "/bin/dash", "/usr/bin/timeout"] {
            jail.install(Path::new(program))?;
        }
        if has_zsh() {
            jail.install(Path::new("/bin/zsh"))?;
            jail.install_modules()?;
        }
        symlink("dash", jail.path("bin/sh"))?;
        symlink("/proc/self/fd", jail.path("dev/fd"))?;
        symlink("/proc/self/fd/0", jail.path("dev/stdin"))?;
        symlink("/proc/self/fd/1", jail.path("dev/stdout"))?;
        fs::write(jail.path("dev/null"), "")?;
        jail.script("log", LOG)?;
        jail.script("driver.sh", DRIVER)?;
        jail.script("all.sh", &format!("{PRELUDE}{ALL_BUILTINS}\n"))?;
        jail.script("running.sh", &format!("{PRELUDE}{RUNNING_BUILTINS}\n"))?;
        jail.script("all/.zshenv", &format!("{ZSH_PRELUDE}{ZSH_BUILTINS}\n"))?;
        jail.script("running/.zshenv", &format!("{ZSH_PRELUDE}{ZSH_RUNNING_BUILTINS}\n"))?;
        for program in DASH_PROGRAMS.split_whitespace() {
            jail.script(&format!("p/{program}"), DASH_LOG)?;
        }
        for writable in ["out", "dev/null"] {
            fs::set_permissions(jail.path(writable), fs::Permissions::from_mode(0o777))?;
        }
        fs::set_permissions(jail.root.path(), fs::Permissions::from_mode(0o755))?;
        let trial = jail.run(&[Text { text: "evil 'a b' > x".to_owned(), sh: true }])?;
        let evil = vec!["evil".to_owned(), "a b".to_owned()];
        if trial != [Ran { argvs: vec![evil], written: vec!["x".to_owned()] }] {
            return Err(io::Error::other(format!("the jail does not work here: {trial:?}")));
        }
        Ok(jail)
    }

    /// What the shells tried to execute and wrote for each text.
    pub fn run(&self, texts: &[Text]) -> io::Result<Vec<Ran>> {
        for folder in ["out", "w"] {
            fs::remove_dir_all(self.path(folder))?;
            fs::create_dir(self.path(folder))?;
        }
        let open = |path: &str, mode: u32| {
            fs::set_permissions(self.path(path), fs::Permissions::from_mode(mode))
        };
        open("out", 0o777)?;
        let mut joined = String::new();
        for (n, one) in texts.iter().enumerate() {
            let folder = format!("w/{n}");
            fs::create_dir(self.path(&folder))?;
            open(&folder, 0o777)?;
            fs::write(self.path(&format!("{folder}/f")), BEFORE)?;
            open(&format!("{folder}/f"), 0o666)?;
            joined += if one.sh { "sh" } else { "bash" };
            joined += &format!("\0{}\0", one.text);
        }
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
        let ran = |n: usize| {
            let argvs = parse(&fs::read(self.path(&format!("out/{n}")))?);
            Ok(Ran { argvs, written: self.written(n)? })
        };
        (0..texts.len()).map(ran).collect()
    }

    /// The files in a text's folder that are new or changed.
    fn written(&self, n: usize) -> io::Result<Vec<String>> {
        let mut names = Vec::new();
        for entry in fs::read_dir(self.path(&format!("w/{n}")))? {
            let entry = entry?;
            let name = entry.file_name().to_string_lossy().into_owned();
            if name != "f" || fs::read(entry.path())? != BEFORE {
                names.push(name);
            }
        }
        names.sort();
        Ok(names)
    }

    /// Copies what zsh loads when it needs it.
    fn install_modules(&self) -> io::Result<()> {
        let list = "find /usr/lib/*/zsh /usr/lib/zsh -name '*.so' 2>/dev/null";
        let found = Command::new("bash").args(["-c", list]).output()?;
        for file in String::from_utf8_lossy(&found.stdout).lines() {
            let to = self.path(file.trim_start_matches('/'));
            fs::create_dir_all(to.parent().unwrap_or(&to))?;
            fs::copy(file, to)?;
        }
        Ok(())
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
