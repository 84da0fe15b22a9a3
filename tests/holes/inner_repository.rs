//! Issue 28, row 10: a repository inside the project's runs the programs that its settings name.

use crate::{
    daemon::Daemon,
    guardrail::{at_home, verdict},
};
use serde_json::json;
use std::{fs, path::Path, process::Command};

fn git(at: &Path, words: &[&str]) {
    fs::create_dir_all(at).unwrap();
    let mut git = Command::new("git");
    git.args(["-c", "user.name=a", "-c", "user.email=a@b"]).args(words).current_dir(at);
    git.env("GIT_CONFIG_GLOBAL", "/dev/null").env("GIT_CONFIG_NOSYSTEM", "1");
    let done = git.output().unwrap();
    assert!(done.status.success(), "{words:?}: {done:?}");
}

async fn said(daemon: &Daemon, folder: &str, text: &str) -> String {
    verdict(daemon, folder, "Bash", json!({ "command": text })).await
}

/// A project with a bare repository as plain files, whose settings name a program.
async fn project() -> Daemon {
    let daemon = Daemon::start("").await;
    let shop = daemon.dir.path().join("shop");
    git(&shop, &["init", "-q"]);
    fs::create_dir_all(shop.join("src")).unwrap();
    fs::write(shop.join("src/a.rs"), "").unwrap();
    git(&shop, &["add", "."]);
    git(&shop, &["commit", "-qm", "x"]);
    git(&shop, &["worktree", "add", "-q", ".trees/one"]);
    let inner = shop.join("vendor/x");
    git(&inner, &["init", "-q", "--bare"]);
    git(&inner, &["config", "core.bare", "false"]);
    git(&inner, &["config", "core.worktree", "."]);
    git(&inner, &["config", "core.fsmonitor", "touch HIDDEN #"]);
    git(&shop.join("vendor/y"), &["init", "-q"]);
    daemon
}

#[tokio::test]
async fn row_10_git_in_a_repository_inside_the_projects_asks() {
    let daemon = project().await;
    for folder in ["shop/vendor/x", "shop/vendor/x/refs", "shop/vendor/y"] {
        for text in [
            "git status",
            "git diff",
            "ls; git log -3",
            "timeout 5 git status",
            "bash -c 'git status'",
            "/usr/bin/git status",
        ] {
            assert_eq!(said(&daemon, folder, text).await, "ask", "{folder}: {text}");
        }
        assert_eq!(said(&daemon, folder, "ls").await, "allow", "{folder}");
    }
    for text in [
        "cd vendor/x && git status",
        "git -C vendor/x status",
        "git --git-dir=vendor/x status",
        "GIT_DIR=vendor/x git status",
    ] {
        assert_eq!(said(&daemon, "shop", text).await, "ask", "{text}");
    }
}

#[tokio::test]
async fn row_10_git_in_the_project_its_folders_and_its_worktrees_stays_silent() {
    let daemon = project().await;
    git(&daemon.dir.path().join("other"), &["init", "-q"]);
    for folder in
        ["shop", "shop/src", "shop/vendor", "shop/.trees/one", "shop/.trees/one/src", "other"]
    {
        for text in ["git status", "git log --oneline -3 | head", "timeout 5 git diff"] {
            assert_eq!(said(&daemon, folder, text).await, "allow", "{folder}: {text}");
        }
    }
}

#[tokio::test]
async fn row_10_plan_mode_does_not_count_it_as_reading() {
    let daemon = at_home("").await;
    let shop = daemon.dir.path().join("shop");
    git(&shop, &["init", "-q"]);
    git(&shop.join("vendor/x"), &["init", "-q", "--bare"]);
    for (folder, verdict) in [("shop", "allow"), ("shop/vendor/x", "ask")] {
        let call = json!({"agent": "t", "session": "s", "tool": "Bash", "agent_mode": "plan",
            "cwd": daemon.dir.path().join(folder), "args": {"command": "git status"}});
        assert_eq!(daemon.call(&call).await.1["verdict"], verdict, "{folder}");
    }
}

#[tokio::test]
async fn row_10_git_runs_the_program_that_the_inner_repository_names() {
    let daemon = project().await;
    let inner = daemon.dir.path().join("shop/vendor/x");
    let _ = Command::new("git").arg("status").current_dir(&inner).output().unwrap();
    assert!(inner.join("HIDDEN").exists(), "the danger is real with this git");
}
