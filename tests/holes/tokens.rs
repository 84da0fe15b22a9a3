//! Row 5: the agents' token that is the approver's too.

use crate::{
    daemon::private_file,
    process::{Ended, Process},
};
use std::path::Path;
use tokio::process::Command;

/// A command of a home of its own, with this config and these variables.
async fn run(home: &Path, config: &str, env: &[(&str, &str)], args: &[&str]) -> Ended {
    let file = home.join("countersign.toml");
    private_file(&file, config);
    let mut command = Command::new(env!("CARGO_BIN_EXE_countersign"));
    command.arg("--config").arg(&file).args(args).kill_on_drop(true);
    command.env_clear().env("HOME", home).envs(env.iter().copied());
    Process::start(command).ends().await
}

/// `serve` and `doctor` both refuse, and name both keys, where they stand, and the way out.
async fn refused(config: &str, env: &[(&str, &str)], named: [&str; 4]) {
    let home = tempfile::tempdir().unwrap();
    for command in ["serve", "doctor"] {
        let ended = run(home.path(), config, env, &[command]).await;
        let said = format!("{}{}", ended.stdout, ended.stderr);
        assert_eq!(ended.code, Some(1), "{command}: {said}");
        for words in named.into_iter().chain(["a token of its own", "openssl rand -hex 32"]) {
            assert!(said.contains(words), "{command} says `{words}`: {said}");
        }
        assert!(!said.contains("the-same-token"), "no token is shown: {said}");
        assert!(!said.contains("ready "), "it did not start: {said}");
    }
}

const BOTH: [&str; 4] = [
    "[daemon] `approver_token` is the same token as [daemon] `agent_token`",
    "countersign.toml:2:",
    "countersign.toml:3:",
    "whoever has it could answer their own asks",
];

#[tokio::test]
async fn row_5_one_token_for_agents_and_approvers_is_refused_however_it_is_written() {
    let same = "the-same-token";
    refused(&daemon(same, same), &[], BOTH).await;
    refused(&daemon(same, " the-same-token "), &[], BOTH).await;
    refused(&daemon(same, &hashed(same)), &[], BOTH).await;
    refused(&daemon(&hashed(same).to_uppercase().replace("SHA", "sha"), same), &[], BOTH).await;
}

#[tokio::test]
async fn row_5_the_environment_and_files_of_secrets_are_compared_like_the_config() {
    let files = tempfile::tempdir().unwrap();
    let file = files.path().join("token");
    private_file(&file, "the-same-token\n");
    let file = file.to_str().unwrap();
    let (agent, approver) =
        ("COUNTERSIGN__DAEMON__AGENT_TOKEN", "COUNTERSIGN__DAEMON__APPROVER_TOKEN");
    let (agent_file, approver_file) = (&*format!("{agent}_FILE"), &*format!("{approver}_FILE"));
    let same = "the-same-token";
    let sentence = BOTH[0];
    refused("", &[(agent, same), (approver, same)], [sentence, agent, approver, BOTH[3]]).await;
    let files = [(agent_file, file), (approver_file, file)];
    refused("", &files, [sentence, agent_file, approver_file, BOTH[3]]).await;
    let config = daemon(same, "another-token");
    let over = [(approver_file, file)];
    refused(&config, &over, [sentence, "countersign.toml:2:", approver_file, BOTH[3]]).await;
}

#[tokio::test]
async fn row_5_a_clients_or_a_bots_token_is_never_the_approvers() {
    let client =
        format!("{}[client]\ntoken = \"the-same-token\"\n", daemon("agents", "the-same-token"));
    let named = [
        "[client] `token` is the same token as [daemon] `approver_token`",
        "countersign.toml:3:",
        "countersign.toml:5:",
        BOTH[3],
    ];
    refused(&client, &[], named).await;
    let bot =
        format!("{}[telegram]\ntoken = \"the-same-token\"\n", daemon("the-same-token", "own"));
    let named = [
        "[telegram] `token` is the same token as [daemon] `agent_token`",
        "countersign.toml:2:",
        "countersign.toml:5:",
        "whoever is given the one has the other too",
    ];
    refused(&bot, &[], named).await;
}

#[tokio::test]
async fn row_5_the_agents_token_may_stand_under_daemon_and_client() {
    let home = tempfile::tempdir().unwrap();
    let config = format!("{}[client]\ntoken = \"agents\"\n", daemon("agents", "own"));
    let doctor = run(home.path(), &config, &[], &["doctor"]).await;
    assert!(!doctor.stdout.contains("same token"), "{doctor:?}");
}

fn daemon(agent: &str, approver: &str) -> String {
    format!("[daemon]\nagent_token = \"{agent}\"\napprover_token = \"{approver}\"\n")
}

fn hashed(token: &str) -> String {
    use sha2::{Digest, Sha256};
    let hash = Sha256::digest(token.as_bytes());
    format!("sha256:{}", hash.iter().map(|byte| format!("{byte:02x}")).collect::<String>())
}
