//! Row 5: the agents' token that is the approver's too. Row 4: tokens on lines at whose end
//! somebody else may answer.

use crate::{
    daemon::{AGENT, APPROVER, Daemon, private_file, shell},
    impostor::{Heard, Impostor},
    process::{self, Ended, Process},
};
use axum::{
    Json,
    response::{IntoResponse, Response},
};
use serde_json::json;
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
    "an agent that has it could answer its own asks",
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
        "what is given the one has the other too",
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
    format!("sha256:{}", hex::encode(Sha256::digest(token.as_bytes())))
}

/// A yes to everything, from somebody who has read the source.
fn yes(heard: &Heard) -> Response {
    if heard.target.starts_with("/v1/nonce") {
        return Json(json!({"nonce": "AAAAAAAAAAAAAAAAAAAAAA.1.AAAAAAAAAAAAAAAAAAAAAAAA"}))
            .into_response();
    }
    let mut reply = Json(json!({"verdict": "allow", "reason": "sure", "applied": true, "asks": [],
        "grants": [], "state": "answered", "answer": {"decision": "approve", "at": "T",
        "by": {"kind": "timeout"}}}))
    .into_response();
    let proof = "A".repeat(43).parse().unwrap();
    reply.headers_mut().insert("x-countersign-proof", proof);
    reply
}

/// A daemon that agents of this machine reach over http, as in the separate-user form.
async fn over_http() -> (Daemon, u16) {
    let mut daemon = Daemon::start("").await;
    let port: u16 = daemon.url.rsplit(':').next().unwrap().parse().unwrap();
    daemon.stop().await;
    let config = std::fs::read_to_string(daemon.config()).unwrap();
    let client = format!("[client]\nurl = \"http://127.0.0.1:{port}\"\ntoken = \"{AGENT}\"\n");
    let config = config.replace("127.0.0.1:0", &format!("127.0.0.1:{port}"));
    private_file(&daemon.config(), &format!("{config}{client}"));
    daemon.run().await;
    (daemon, port)
}

#[tokio::test]
async fn row_4_over_http_commands_work_as_over_the_socket() {
    let (daemon, _) = over_http().await;
    let mut ask = process::start(&daemon, &["ask", "--", "git", "push"]);
    let id = ask.waits_for().await;
    let pending = process::run(&daemon, &["pending"]).await;
    assert!(pending.stdout.contains(&id), "{pending:?}");
    let approved = process::run(&daemon, &["approve", &id]).await;
    assert_eq!(approved.short(), (Some(0), "Approved once.\n"), "{approved:?}");
    assert_eq!(ask.ends().await.code, Some(0));
    let mut wrong = daemon.command(&["ask", "--", "git", "push"]);
    wrong.env("COUNTERSIGN__CLIENT__TOKEN", "wrong");
    let wrong = Process::start(wrong).ends().await;
    assert_eq!(wrong.code, Some(4), "{wrong:?}");
}

const COMMANDS: [&[&str]; 5] = [
    &["ask", "--", "git", "push"],
    &["run", "--", "touch", "it-ran"],
    &["pending"],
    &["approve", "abcd1234"],
    &["grants", "revoke", "abcd1234"],
];

/// Runs the commands against the impostor: none believes it, and none sends it a token.
async fn nobody_is_fooled(daemon: &Daemon, commands: &[&[&str]], impostor: Impostor) -> Vec<Heard> {
    for args in commands {
        let mut command = daemon.command(args);
        command.current_dir(daemon.dir.path());
        let ended = Process::start(command).ends().await;
        assert!(![Some(0), None].contains(&ended.code), "{args:?}: {ended:?}");
        assert!(ended.stderr.contains("another program in the daemon's place"), "{ended:?}");
    }
    assert!(!daemon.dir.path().join("it-ran").exists());
    let heard = impostor.leave().await;
    assert!(heard.len() >= commands.len(), "{heard:?}");
    for one in &heard {
        assert!(!one.text().contains(AGENT) && !one.text().contains(APPROVER), "{one:?}");
    }
    heard
}

#[tokio::test]
async fn row_4_who_took_the_port_is_neither_believed_nor_sent_a_token() {
    let (mut daemon, port) = over_http().await;
    let id = daemon.ask(&shell("git push")).await;
    daemon.kill().await;
    let impostor = Impostor::on_port(port, yes).await;
    let heard = nobody_is_fooled(&daemon, &COMMANDS, impostor).await;
    daemon.run().await;
    let mut shown = 0;
    for one in heard.iter().filter_map(|one| one.header("authorization")) {
        shown += 1;
        for path in [format!("/v1/asks/{id}/answer"), "/v1/calls".to_owned()] {
            let again = daemon.http.post(format!("{}{path}", daemon.url));
            let again = again.header("authorization", one).json(&json!({"decision": "approve"}));
            assert_eq!(again.send().await.unwrap().status(), 401, "{one}");
        }
    }
    assert!(shown > 0, "tokens were shown: {heard:?}");
    assert_eq!(daemon.read(&id).await["state"], "open");
}

#[tokio::test]
async fn row_4_who_took_the_socket_is_not_sent_the_approvers_token() {
    let mut daemon = Daemon::start("").await;
    daemon.kill().await;
    let socket = daemon.dir.path().join("countersign.sock");
    let impostor = Impostor::on_socket(&socket, yes).await;
    nobody_is_fooled(&daemon, &COMMANDS[3..], impostor).await;
}

#[tokio::test]
async fn row_4_a_shown_token_is_good_for_one_request() {
    let (daemon, _) = over_http().await;
    let id = daemon.ask(&shell("git push")).await;
    let stale = format!("Countersign {}:{}", "n".repeat(40), "A".repeat(40));
    for shown in [&*stale, "Countersign ", "Countersign :", "Countersign a:b", "countersign a:b"] {
        for path in ["/v1/asks", &format!("/v1/asks/{id}")] {
            let request = daemon.http.get(format!("{}{path}", daemon.url));
            let answer = request.header("authorization", shown).send().await.unwrap();
            assert_eq!(answer.status(), 401, "{shown}");
        }
    }
}
