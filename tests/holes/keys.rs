//! Row 7: a known tool with unknown or competing arguments is allowed by no rule and no grant.

use crate::daemon::Daemon;
use serde_json::{Value, json};

fn call(tool: &str, args: &Value) -> Value {
    json!({"agent": "tester", "session": "one", "cwd": "/srv/app", "tool": tool, "args": args})
}

fn odd() -> Vec<(&'static str, Value, &'static str)> {
    vec![
        ("exec_command", json!({"command": "ls -l", "cmd": "rm -rf ~"}), "cmd, command"),
        ("Bash", json!({"command": "ls -l", "script": "rm -rf ~"}), "command, script"),
        ("Bash", json!({"command": "ls -l", "input": "rm -rf ~"}), "input"),
        ("Bash", json!({"command": "ls -l", "commands": ["rm -rf ~"]}), "commands"),
        ("Bash", json!({"command": "ls -l", "env": {"LD_PRELOAD": "./x.so"}}), "env"),
        ("exec_command", json!({"cmd": "ls -l", "shell": "/tmp/sh"}), "shell"),
        ("exec_command", json!({"cmd": "ls -l", "workdir": "/etc"}), "workdir"),
        ("run_shell_command", json!({"command": "ls -l", "directory": "../x"}), "directory"),
        ("Write", json!({"file_path": "a", "path": "b", "content": ""}), "file_path, path"),
        ("Read", json!({"file_path": "a", "paths": ["/etc/passwd"]}), "file_path, paths"),
        ("write_file", json!({"command": "ls", "file_path": "a", "content": ""}), "command"),
        ("Grep", json!({"pattern": "x", "pre": "./evil"}), "pre"),
    ]
}

#[tokio::test]
async fn row_7_no_rule_allows_unknown_or_competing_arguments_and_the_reason_names_them() {
    for rules in [
        r#"{"*": "allow"}"#,
        r#"{"*": "ask", "shell_exec": {"*": "allow", "ls *": "allow", "ls -l": "allow"}, "write_file": "allow",
            "read_file": {"@reads": "allow"}, "grep": "allow"}"#,
    ] {
        let daemon = Daemon::start_with("", &[("permissions.jsonc", rules)]).await;
        for (tool, args, named) in odd() {
            let (code, said) = daemon.call(&call(tool, &args)).await;
            assert_eq!((code, &said["verdict"]), (202, &json!("ask")), "{tool} {args}: {said}");
            let ask = daemon.read(said["ask"].as_str().unwrap()).await;
            let whole = ask.to_string();
            assert!(whole.contains(named), "{tool} {args}: {named}: {whole}");
            assert!(ask["always"].as_array().is_none_or(Vec::is_empty), "{whole}");
        }
    }
}

#[tokio::test]
async fn row_7_no_grant_covers_them_either_and_plain_calls_stay_covered() {
    let daemon = Daemon::start("").await;
    let asked = daemon.ask(&call("Bash", &json!({"command": "cargo build --release"}))).await;
    daemon.answer(&asked, &json!({"decision": "approve", "scope": "session"})).await;
    let plain = json!({"command": "cargo build --release", "description": "build", "timeout": 5});
    assert_eq!(daemon.call(&call("Bash", &plain)).await.1["verdict"], "allow");
    for more in ["cmd", "script", "input", "env", "shell", "stdin", "never_heard_of"] {
        let mut args = plain.clone();
        args[more] = json!("rm -rf ~");
        assert_eq!(daemon.call(&call("Bash", &args)).await.1["verdict"], "ask", "{more}");
    }
}
