//! Row 11: links are followed whatever host a call names; what cannot be followed asks. Folders of
//! the system are no workspace.

use crate::{
    daemon::Daemon,
    guardrail::{at_home, shell, verdict},
};
use serde_json::{Value, json};
use std::{fs, os::unix::fs::symlink};

fn read(cwd: &str, host: &str) -> Value {
    json!({"agent": "t", "session": "s", "host": host, "cwd": cwd, "tool": "Read",
        "args": {"file_path": "link.txt"}})
}

#[tokio::test]
async fn row_11_a_forged_host_does_not_switch_links_off() {
    let rules = r#"{"read_file": {"*": "allow", "*.env": "deny"}}"#;
    let daemon = Daemon::start_with("", &[("permissions.jsonc", rules)]).await;
    let shop = daemon.dir.path().join("shop");
    fs::create_dir(&shop).unwrap();
    fs::write(shop.join("prod.env"), "").unwrap();
    symlink("prod.env", shop.join("link.txt")).unwrap();
    for host in ["elsewhere", "mill", "localhost", "x"] {
        let call = read(&shop.display().to_string(), host);
        assert_eq!(daemon.call(&call).await.1["verdict"], "deny", "{host}");
    }
}

#[tokio::test]
async fn row_11_links_that_lead_in_circles_ask() {
    let rules = r#"{"*": "allow"}"#;
    let daemon = Daemon::start_with("", &[("permissions.jsonc", rules)]).await;
    let shop = daemon.dir.path().join("shop");
    fs::create_dir(&shop).unwrap();
    symlink("other.txt", shop.join("link.txt")).unwrap();
    symlink("link.txt", shop.join("other.txt")).unwrap();
    let call = read(&shop.display().to_string(), "x");
    assert_eq!(daemon.call(&call).await.1["verdict"], "ask");
}

#[tokio::test]
async fn row_2_links_in_the_words_of_a_shell_are_followed() {
    let daemon = at_home("").await;
    let shop = daemon.dir.path().join("shop");
    symlink("../.config/countersign", shop.join("innocent")).unwrap();
    symlink("../.config/countersign/approver.token", shop.join("notes.txt")).unwrap();
    symlink("../.config", shop.join("settings")).unwrap();
    symlink("settings", shop.join("twice")).unwrap();
    symlink("../.config/other", shop.join("other")).unwrap();
    for command in [
        "cat innocent/approver.token",
        "cat notes.txt",
        "cat n*.txt",
        "cat *",
        "cat ./s*/c*/*",
        "cat twice/countersign/approver.token",
        "cat other/../countersign/approver.token",
        "cat < notes.txt",
        "cp x innocent/permissions.jsonc",
        "cp -r settings /mnt/x",
        "head --lines=3 -- notes.txt",
        "foo --file=notes.txt",
        "cd settings && cat countersign/approver.token",
        "bash -c 'cat notes.txt'",
    ] {
        assert_eq!(shell(&daemon, command).await, "deny", "{command}");
    }
    let grep = json!({"pattern": "x", "path": "settings"});
    assert_eq!(verdict(&daemon, "shop", "Grep", grep).await, "deny");
    assert_eq!(verdict(&daemon, "shop/innocent", "LS", json!({})).await, "deny");
    assert_eq!(shell(&daemon, "cat other/settings").await, "allow");
}

#[tokio::test]
async fn row_11_folders_of_the_system_are_no_workspace() {
    let rules = r#"{"write_file": {"*": "allow"}}"#;
    let daemon = Daemon::start_with("", &[("permissions.jsonc", rules)]).await;
    for cwd in ["/", "//", "/.", "/root/..", "/usr/local", "/usr/local/", "/usr/local/bin", "/opt"]
    {
        for path in ["/usr/local/bin/git", "usr/local/bin/git", "bin/git", "git"] {
            let call = json!({"agent": "t", "session": "s", "cwd": cwd, "tool": "Write",
                "args": {"file_path": path, "content": "x"}});
            assert_eq!(daemon.call(&call).await.1["verdict"], "ask", "{cwd} {path}");
        }
    }
}
