//! Runs texts in the bash of this machine, with programs that only say what they were given.

use crate::house::House;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::{fs, path::Path, process::Command};

/// Programs that go through folders.
const WALKERS: &[&str] =
    &["cp -r", "rsync", "mv", "rm -rf", "grep -r", "tar", "diff -r", "zip", "scp -r", "rg", "find"];

/// Every program is a function: nothing is opened, changed or sent. Where redirects lead is told by
/// the file that is open.
const REPORT: &str = r#"
shopt -s expand_aliases; set +H
report() {
    local own
    printf '%s\0' "$PWD" "$@" '' >&9
    for own in ~/.config/countersign/* ~/.local/state/countersign/*; do
        [[ /dev/stdin -ef $own ]] && printf '%s\0' "$PWD" cat "$own" '' >&9
    done
    return 0
}
for p in @PROGRAMS; do
    eval "$p() { report $p \"\$@\"; }"; export -f "$p"
done
export -f report
"#;

/// The programs that only report. The last is ours.
const PROGRAMS: &str = "cat head tail wc cp rsync install mv rm chmod ln scp grep tar diff zip \
    sqlite3 tee rg find ls stat git foo python3 less sed source countersign";

/// Programs of this machine that run others.
const WRAPPERS: &str =
    "bash sh env timeout nice nohup setsid stdbuf xargs script gawk awk perl make time";

/// Puts the programs where wrappers find them: as files, since only bash knows functions.
pub fn furnish(folder: &Path) {
    let stub = folder.join("stub");
    let report = REPORT.split("report() {").nth(1).unwrap().split("return 0").next().unwrap();
    let report = report.replace("local own", "set -- \"${0##*/}\" \"$@\"");
    fs::write(&stub, format!("#!/bin/bash\n{report}")).unwrap();
    fs::set_permissions(&stub, fs::Permissions::from_mode(0o755)).unwrap();
    for name in PROGRAMS.split_whitespace() {
        symlink(&stub, folder.join(name)).unwrap();
    }
    for name in WRAPPERS.split_whitespace() {
        let found = ["/bin", "/usr/bin"].iter().map(|dir| Path::new(dir).join(name));
        if let Some(program) = found.into_iter().find(|program| program.exists()) {
            symlink(program, folder.join(name)).unwrap();
        }
    }
}

/// What each text opens of ours in its folder, as far as bash goes on with it.
pub fn opened(house: &House, batch: &[(String, String)]) -> Vec<Option<String>> {
    let out = house.root().join("out");
    let mut script = REPORT.replace("@PROGRAMS", PROGRAMS);
    for (cwd, text) in batch {
        let quoted = |text: &str| format!("'{}'", text.replace('\'', "'\\''"));
        script += &format!(
            "printf '\\1\\0' >&9\n(cd {} && eval {}) < /dev/null\n",
            quoted(cwd),
            quoted(text)
        );
    }
    let file = house.root().join("script");
    fs::write(&file, format!("exec 9>{}\n{script}", out.display())).unwrap();
    let done = Command::new("/bin/bash")
        .args(["--norc", "--noprofile"])
        .arg(&file)
        .env_clear()
        .env("HOME", house.root())
        .env("PATH", house.root().join("only_bash"))
        .env("X", house.root())
        .env("Y", house.root().join(".config"))
        .env("C", ".config")
        .env("N", "innocent.txt")
        .env("D", "countersign")
        .output()
        .unwrap();
    assert!(out.exists(), "{done:?}");
    let told = String::from_utf8_lossy(&fs::read(&out).unwrap()).into_owned();
    let all: Vec<_> = told.split("\u{1}\0").skip(1).map(|told| judged(house, told)).collect();
    assert_eq!(all.len(), batch.len());
    all
}

fn judged(house: &House, told: &str) -> Option<String> {
    let mut words = told.split('\0').peekable();
    while words.peek().is_some() {
        let run: Vec<&str> = words.by_ref().take_while(|word| !word.is_empty()).collect();
        let [cwd, argv @ ..] = run.as_slice() else { continue };
        if let ["countersign", "approve", ..] = argv {
            return Some("an ask".to_owned());
        }
        let walks = WALKERS.iter().any(|walker| argv.join(" ").starts_with(walker));
        for word in argv.iter().skip(1) {
            let value = word.split_once('=').map_or(*word, |(_, value)| value);
            if let Some(what) = house.ours(cwd, value) {
                return Some(what);
            }
            if walks && house.is_above(cwd, value) {
                return Some(format!("{value} and all below it"));
            }
        }
    }
    None
}
