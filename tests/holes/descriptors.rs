//! Issue 28, row 3: the name of a descriptor is the file that is bound to it.

use crate::{daemon::Daemon, guardrail::shell};
use serde_json::json;
use std::{fs, path::Path, process::Command};

/// What bash leaves in a folder with a `Makefile` and a `prod.env`.
fn written(text: &str) -> Vec<(String, String)> {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("Makefile"), "before\n").unwrap();
    fs::write(folder.path().join("prod.env"), "before\n").unwrap();
    let mut bash = Command::new("bash");
    bash.args(["-c", text]).current_dir(folder.path()).stdin(std::process::Stdio::null());
    bash.output().unwrap();
    let mut changed = Vec::new();
    for entry in fs::read_dir(folder.path()).unwrap() {
        let entry = entry.unwrap();
        let (name, now) = (entry.file_name(), fs::read_to_string(entry.path()).unwrap());
        if now != "before\n" {
            changed.push((name.to_string_lossy().into_owned(), now));
        }
    }
    changed.sort();
    changed
}

/// Texts that write `FILE` through a descriptor.
const WRITING: &[&str] = &[
    "echo x < FILE >> /dev/stdin",
    "echo x < FILE > //dev/stdin",
    "echo x < FILE > /dev/./stdin",
    "echo x < FILE > /dev/fd/0",
    "echo x < FILE > /proc/self/fd/0",
    "echo x < FILE > /proc/thread-self/fd/0",
    "echo x 3< FILE > /dev/fd/3",
    "echo x 1< FILE > /dev/stdout",
    "echo x < FILE 1<&0 > /dev/stdout",
    "{ echo x >> /dev/stdin; } < FILE",
    "while true; do echo x >> /dev/stdin; break; done < FILE",
    "f() { echo x >> /dev/stdin; }; f < FILE",
    "bash -c 'echo x >> /dev/stdin' < FILE",
    "(cd /dev; echo x >> stdin) < FILE",
    "(cd /proc/self/fd; echo x >> 0) < FILE",
    "echo x < FILE > /dev/std*n",
    "d=/dev/stdin; echo x < FILE > $d",
    "tee /dev/stdin < FILE <<< x",
    "echo x <> FILE",
];

#[tokio::test]
async fn row_3_no_wildcard_covers_a_file_that_is_written_by_the_name_of_a_descriptor() {
    let rules = r#"{"*": "allow", "write_file": {"*.env": "deny"}}"#;
    let all = Daemon::start_with("", &[("permissions.jsonc", rules)]).await;
    let builtin = Daemon::start("").await;
    fs::create_dir_all(all.dir.path().join("shop")).unwrap();
    fs::create_dir_all(builtin.dir.path().join("shop")).unwrap();
    for text in WRITING {
        let text = text.replace("FILE", "Makefile");
        assert_eq!(shell(&all, &text).await, "ask", "{text}");
        assert_eq!(shell(&builtin, &text).await, "ask", "{text}");
        let text = text.replace("Makefile", "prod.env");
        assert_eq!(shell(&all, &text).await, "deny", "{text}");
    }
}

#[test]
fn row_3_bash_writes_the_bound_file() {
    if !Path::new("/proc/self/fd").exists() {
        return println!("skipped: there is no /proc here");
    }
    // The last two open or write nothing of it by themselves.
    let silent = ["tee /dev/stdin", "echo x <> "];
    for text in WRITING.iter().filter(|text| !silent.iter().any(|begin| text.starts_with(begin))) {
        let changed = written(&text.replace("FILE", "Makefile"));
        assert_eq!(changed.len(), 1, "{text}: {changed:?}");
        assert_eq!(changed[0].0, "Makefile", "{text}");
    }
}

/// What people and agents do every day.
const HARMLESS: &[&str] = &[
    "echo x > /dev/stderr",
    "echo x > /dev/stdout",
    "echo x >&2",
    "ls > /dev/null 2>&1; cat < Makefile",
    "cat < Makefile 2>/dev/null",
    "wc -l < Makefile",
    "while read -r line; do echo \"$line\" > /dev/stderr; done < Makefile",
    "sort < Makefile > /dev/stdout",
    "ls 2>&1 | cat > /dev/stderr",
    "echo x | cat /dev/stdin",
    "cat /dev/stdin < /dev/null",
];

#[tokio::test]
async fn row_3_the_tools_own_output_stays_silent_and_stores_nothing() {
    let daemon = Daemon::start("").await;
    let shop = daemon.dir.path().join("shop");
    fs::create_dir_all(&shop).unwrap();
    for text in HARMLESS {
        let call = json!({"agent": "t", "session": "s", "cwd": shop, "tool": "Bash",
            "args": {"command": text}});
        let (_, said) = daemon.call(&call).await;
        assert_eq!(said["verdict"], "allow", "{text}: {said}");
        assert_eq!(written(text), [], "{text}");
    }
}

#[tokio::test]
async fn row_3_a_rule_for_a_program_covers_the_tools_own_output_and_no_other_descriptor() {
    let rules = r#"{"*": "ask", "shell_exec": {"tee *": "allow", "cp *": "allow"}}"#;
    let daemon = Daemon::start_with("", &[("permissions.jsonc", rules)]).await;
    fs::create_dir_all(daemon.dir.path().join("shop")).unwrap();
    for text in ["tee /dev/stderr", "tee /dev/null notes", "cp notes /dev/stdout"] {
        assert_eq!(shell(&daemon, text).await, "allow", "{text}");
    }
    for text in ["tee /dev/stdin", "tee /dev/fd/3", "cp notes /proc/self/fd/0", "tee /dev/tty"] {
        assert_eq!(shell(&daemon, text).await, "ask", "{text}");
    }
}

#[tokio::test]
async fn row_3_a_redirect_whose_file_is_only_known_when_it_runs_asks() {
    let daemon = Daemon::start("").await;
    fs::create_dir_all(daemon.dir.path().join("shop")).unwrap();
    for text in ["cat < *.txt", "cat < \"$f\"", "cat < n?tes", "echo x > n?tes", "echo x > \"$f\""]
    {
        assert_eq!(shell(&daemon, text).await, "ask", "{text}");
    }
    for text in ["cat < notes", "cat < ./src/notes"] {
        assert_eq!(shell(&daemon, text).await, "allow", "{text}");
    }
}
