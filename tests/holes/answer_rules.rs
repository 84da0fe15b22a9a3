//! Issue 28, row 5: rules on who must answer, evaded by spelling and by effect.

use crate::daemon::{Daemon, shell};
use serde_json::{Value, json};

const EVE: &str = "eve-token-000000000000";
const ANA: &str = "ana-token-000000000000";
const BEN: &str = "ben-token-000000000000";

/// Ana and Ben are `ops`, Eve is not. What no rule fits, any of them answers alone.
const TEAM: &str = r#"
[[people]]
name = "Eve"
token = "eve-token-000000000000"
[[people]]
name = "Ana"
token = "ana-token-000000000000"
groups = ["ops"]
[[people]]
name = "Ben"
token = "ben-token-000000000000"
groups = ["ops"]
[[answer_rules]]
name = "push"
command = "git push *"
group = "ops"
approvals = 2
[[answer_rules]]
name = "production"
folder = "/srv/prod/**"
group = "ops"
approvals = 2
[[answer_rules]]
name = "files"
path = "/data/prod/**"
group = "ops"
approvals = 2
"#;

/// Everything asks, so that what is judged here is who answers.
const ASKS: &str = r#"{"*": "ask"}"#;

async fn team() -> Daemon {
    let config = format!("{TEAM}\n[policy]\nrules = \"rules.jsonc\"\n");
    Daemon::start_with(&config, &[("rules.jsonc", ASKS)]).await
}

/// Whether somebody's approval alone lets a call run; its ask is closed then.
async fn suffices(daemon: &Daemon, call: &Value, token: &str) -> bool {
    let ask = daemon.ask(call).await;
    let path = format!("/v1/asks/{ask}/answer");
    daemon.post(&path, token, &json!({"decision": "approve"})).await;
    let is_open = daemon.read(&ask).await["state"] == "open";
    daemon
        .post(
            &format!("/v1/asks/{ask}/cancel"),
            crate::daemon::AGENT,
            &json!({"reason": "aborted"}),
        )
        .await;
    !is_open
}

fn at(cwd: &str, command: &str) -> Value {
    let mut call = shell(command);
    call["cwd"] = json!(cwd);
    call
}

#[tokio::test]
async fn one_outsider_never_approves_a_push_however_it_is_written() {
    let daemon = team().await;
    for command in [
        "git push origin main",
        "g\\it pu''sh origin",
        "/usr/bin/git -C sub push",
        "git pu?h",
        "git $verb",
        "env -S 'git push origin'",
        "env --split-string='git push'",
        "X=1 git push",
        "sudo git push",
        "xargs git push < x",
        "echo push | xargs git",
        "find . -exec git push \\;",
        "sh -c 'git push'",
        "bash -c \"$(echo git push)\"",
        "bash <<E\ngit push\nE",
        "printf 'git %s' push | sh",
        "echo Z2l0IHB1c2g= | base64 -d | bash",
        "eval \"$(cat x)\"",
        "ssh host 'git push'",
        "git -c alias.p=push p",
        "git -c core.pager='git push' log",
        "git --exec-path=/tmp/x p",
        "alias p='git push'; p",
        "p() { git push \"$@\"; }; p origin",
        "python3 -c 'import os; os.system(\"git push\")'",
        "awk 'BEGIN { system(\"git push\") }'",
        "script -c 'git push' x",
        "tmux send-keys 'git push' Enter",
        "echo 'git push' > p; chmod +x p; ./p",
        "echo \"unfinished; git push",
    ] {
        assert!(!suffices(&daemon, &shell(command), EVE).await, "{command}");
        assert!(!suffices(&daemon, &shell(command), ANA).await, "{command}");
    }
    // Both of ops do, and the plain neighbours need nobody in particular.
    let ask = daemon.ask(&shell("env -S 'git push origin'")).await;
    for token in [ANA, BEN] {
        let path = format!("/v1/asks/{ask}/answer");
        daemon.post(&path, token, &json!({"decision": "approve"})).await;
    }
    daemon.ask_reaches(&ask, "answered").await;
    for command in [
        "git pull origin main",
        "git commit -m 'git push'",
        "git -c user.name=x commit -m x",
        "grep -r 'git push' src",
        "echo git push",
        "make test",
        "python3 manage.py migrate",
        "rm -r build",
        "cd sub && npm run push",
    ] {
        assert!(suffices(&daemon, &shell(command), EVE).await, "{command}");
    }
}

#[tokio::test]
async fn a_rule_on_a_folder_holds_there_however_it_is_named() {
    let daemon = team().await;
    let link = daemon.dir.path().join("link");
    let real = std::fs::canonicalize(daemon.dir.path()).unwrap().join("link");
    std::os::unix::fs::symlink("/srv/prod", &link).unwrap();
    for cwd in [
        "/srv/prod",
        "/srv/prod/x",
        "/srv//prod/x",
        "/srv/./prod",
        "/srv/test/../prod/x",
        &real.display().to_string(),
    ] {
        assert!(!suffices(&daemon, &at(cwd, "make x"), EVE).await, "{cwd}");
    }
    for command in [
        "cd /srv/prod && make x",
        "cd ../../../srv/prod; make x",
        "make -C /srv/prod x",
        "sh -c 'cd /srv/prod && make x'",
        "cd \"$folder\" && make x",
    ] {
        assert!(!suffices(&daemon, &shell(command), EVE).await, "{command}");
    }
    let mut workdir = shell("make x");
    workdir["args"]["workdir"] = json!("/srv/prod");
    assert!(!suffices(&daemon, &workdir, EVE).await);
    for cwd in ["/srv/product", "/srv/test", "/srv/prod/../test"] {
        assert!(suffices(&daemon, &at(cwd, "make x"), EVE).await, "{cwd}");
    }
}

#[tokio::test]
async fn a_rule_on_a_path_holds_for_whatever_touches_it() {
    let daemon = team().await;
    for command in [
        "cp x /data/prod/a.conf",
        "cp prod /data",
        "echo x | tee /data/prod/a.conf",
        "mv /data/prod/a.conf x",
        "sed -i s/a/b/ /data/prod/a.conf",
        "rm /data/prod/a.conf",
        "rm -r /data",
        "rm -r /data/p*",
        "rm -r \"$folder\"",
        "dd if=x of=/data/prod/a.conf",
        "tar xf x.tar -C /data/prod",
        "install x /data/prod/a.conf",
        "ln -s x /data/prod/a.conf",
        "truncate -s 0 /data/prod/a.conf",
        "rsync -a x/ /data/prod/",
        "cd /data/prod && git checkout -- a.conf",
        "cd /data && patch -p1 < /x.patch",
        "unzip x.zip -d /data/prod",
        "echo x >> /data//prod/./a.conf",
        "cat /data/prod/a.conf",
        "python3 -c 'x'",
        "echo x | sh",
    ] {
        assert!(!suffices(&daemon, &shell(command), EVE).await, "{command}");
    }
    let write = |path: &str| {
        let mut call = shell("");
        (call["tool"], call["args"]) = (json!("Write"), json!({"file_path": path, "content": "x"}));
        call
    };
    assert!(!suffices(&daemon, &write("/data/./prod//a.conf"), EVE).await);
    assert!(suffices(&daemon, &write("/data/test/a.conf"), EVE).await);
    for command in [
        "cp x /data/test/a.conf",
        "rm -r build",
        "tar xf x.tar",
        "git checkout -- a.conf",
        "echo /data/prod/a.conf",
        "make x",
    ] {
        assert!(suffices(&daemon, &shell(command), EVE).await, "{command}");
    }
}

#[tokio::test]
async fn an_earlier_rule_that_may_fit_takes_nothing_from_a_later_one() {
    let lax = "[[answer_rules]]\nname = \"dry\"\ncommand = \"git push --dry-run *\"\napprovals = 1\n\
               deny = 2\n";
    let (people, rules) = TEAM.split_once("[[answer_rules]]").unwrap();
    let config =
        format!("{people}{lax}[[answer_rules]]{rules}\n[policy]\nrules = \"rules.jsonc\"\n");
    let daemon = Daemon::start_with(&config, &[("rules.jsonc", ASKS)]).await;
    assert!(suffices(&daemon, &shell("git push --dry-run origin"), EVE).await);
    for command in [
        "git push --dry-run origin && git push origin",
        "sh -c \"git push --dry-run $x\"",
        "sudo git push --dry-run origin",
        "git $x",
    ] {
        assert!(!suffices(&daemon, &shell(command), EVE).await, "{command}");
    }
}
