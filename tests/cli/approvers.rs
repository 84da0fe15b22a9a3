//! `countersign approvers explain`, without a daemon.

use crate::process::{Ended, Process};
use std::path::Path;
use tokio::process::Command;

const CONFIG: &str = r#"
[telegram]
token = "7000:no-bot"
targets = [{ chat = 1 }]
[discord]
token = "no-bot"
targets = [{ channel = "5" }]
[[people]]
name = "Ana"
telegram = 1
groups = ["ops"]
hosts = ["mill"]
[[people]]
name = "Ben"
discord = "22"
groups = ["ops"]
[[people]]
name = "Cid"
telegram = 3
[[answer_rules]]
name = "deploys"
command = ["terraform *"]
group = "ops"
exclude = "requester"
[[routes]]
name = "deploys"
command = ["terraform *"]
to = ["person:Ben"]
fallback = ["person:Ana"]
"#;

async fn explain(home: &Path, args: &[&str]) -> Ended {
    let config = home.join("countersign.toml");
    std::fs::write(&config, CONFIG).unwrap();
    let mut command = Command::new(env!("CARGO_BIN_EXE_countersign"));
    command.arg("--config").arg(config).args(["approvers", "explain"]).args(args);
    // A project: in the home folder itself nothing is allowed without a rule.
    let shop = home.join("shop");
    std::fs::create_dir_all(&shop).unwrap();
    command.env_clear().env("HOME", home).current_dir(shop);
    Process::start(command).ends().await
}

#[tokio::test]
async fn who_could_answer_a_call_is_told_with_the_reason_for_each_who_could_not() {
    let home = tempfile::tempdir().unwrap();
    let told = explain(home.path(), &["--host", "mill", "--", "terraform", "apply"]).await;
    let lines = "deploys: 1 approval of ops; 1 denial denies; not the one who asks (Ana).\n\
                 ✗ Ana (telegram): This is your own agent's request, so somebody else has to \
                 answer it.\n\
                 ✓ Ben (discord)\n\
                 ✗ Cid (telegram): Only members of ops may answer this.\n\
                 deploys: shown at Ben (discord); where one fails, at Ana (telegram).\n";
    assert_eq!(told.short(), (Some(0), lines), "{told:?}");
    let told = explain(home.path(), &["--", "make", "all"]).await;
    let lines = "No answer rule applies: the first answer counts.\n\
                 ✓ Ana (telegram)\n✓ Ben (discord)\n✓ Cid (telegram)\n\
                 No route fits: every target shows it.\n";
    assert_eq!(told.short(), (Some(0), lines), "{told:?}");
}

#[tokio::test]
async fn a_call_that_rules_decide_asks_nobody_and_nothing_to_explain_is_a_mistake() {
    let home = tempfile::tempdir().unwrap();
    let told = explain(home.path(), &["--", "echo", "hello"]).await;
    assert!(told.stdout.starts_with("Nobody is asked: your rules allow this ("), "{told:?}");
    let told = explain(home.path(), &[]).await;
    assert_eq!(told.code, Some(2), "{told:?}");
    assert!(told.stderr.contains("nothing to explain"), "{told:?}");
}
