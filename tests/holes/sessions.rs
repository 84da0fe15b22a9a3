//! Row 13: another caller that says a victim's agent and session.

use crate::{
    daemon::{AGENT, APPROVER, Daemon, shell},
    process::{Process, run},
};
use serde_json::{Value, json};
use std::os::unix::fs::PermissionsExt;

const MINE: &str = "the-secret-of-this-session";
const OTHER: &str = "another-secret-of-the-same-length";

/// A call in the session that everybody here speaks of.
fn call(command: &str, secret: Option<&str>) -> Value {
    let mut call = shell(command);
    if let Some(secret) = secret {
        call["session_secret"] = json!(secret);
    }
    call
}

/// The same call over the socket.
async fn over_the_socket(daemon: &Daemon, call: &Value) -> Value {
    let socket = daemon.dir.path().join("countersign.sock");
    let client = reqwest::Client::builder().no_proxy().unix_socket(socket).build().unwrap();
    let reply = client.post("http://localhost/v1/calls").json(call).send().await.unwrap();
    reply.json().await.unwrap()
}

async fn grants(daemon: &Daemon, token: &str) -> Vec<Value> {
    daemon.get("/v1/grants", token).await.1["grants"].as_array().unwrap().clone()
}

/// Every caller that is not the session's own is asked about what was granted to it.
async fn nobody_else_has_it(daemon: &Daemon, command: &str) {
    let mut posing = call(command, None);
    posing["owner"] = json!("tcp:agent");
    posing["meta"] = json!({"session_secret": MINE});
    for other in [call(command, None), call(command, Some(OTHER)), posing] {
        let (_, body) = daemon.call(&other).await;
        assert_eq!(body["verdict"], "ask", "{other}");
    }
    for secret in [None, Some(MINE), Some(OTHER)] {
        let body = over_the_socket(daemon, &call(command, secret)).await;
        assert_eq!(body["verdict"], "ask", "over the socket, {secret:?}");
    }
    assert_eq!(
        daemon.post("/v1/calls", APPROVER, &call(command, Some(MINE))).await.1["verdict"],
        "ask"
    );
    assert_eq!(daemon.call(&call(command, Some(MINE))).await.1["verdict"], "allow", "its own");
}

#[tokio::test]
async fn row_13_what_is_granted_to_a_session_covers_only_who_opened_it() {
    for scope in ["session", "10m"] {
        let mut daemon = Daemon::start("").await;
        let id = daemon.ask(&call("git push origin main", Some(MINE))).await;
        let waits = daemon.ask(&call("git push origin next", Some(OTHER))).await;
        let approve = json!({"decision": "approve", "scope": scope});
        assert_eq!(daemon.answer(&id, &approve).await.1["applied"], true);
        nobody_else_has_it(&daemon, "git push origin main").await;
        assert_eq!(daemon.read(&waits).await["state"], "open", "another one's ask stays open");
        daemon.stop().await;
        daemon.run().await;
        nobody_else_has_it(&daemon, "git push origin main").await;

        // What a poser is granted is the poser's.
        let id = daemon.ask(&call("cargo publish", Some(OTHER))).await;
        assert_eq!(daemon.answer(&id, &approve).await.1["applied"], true);
        let (_, body) = daemon.call(&call("cargo publish", Some(MINE))).await;
        assert_eq!(body["verdict"], "ask");
    }
}

#[tokio::test]
async fn row_13_agents_list_only_what_may_cover_them_and_no_secret_is_shown() {
    let daemon = Daemon::start("").await;
    let approve = |scope: &str| json!({"decision": "approve", "scope": scope});
    let id = daemon.ask(&call("git push origin main", Some(MINE))).await;
    daemon.answer(&id, &approve("session")).await;
    assert_eq!(grants(&daemon, AGENT).await.len(), 1, "its own handle's");
    let all = grants(&daemon, APPROVER).await;
    assert_eq!((all.len(), &all[0]["scope"]), (1, &json!("session")));
    let printed = run(&daemon, &["grants"]).await;
    assert!(
        printed.stdout.contains("shell: git push origin main"),
        "the operator sees it: {printed:?}"
    );

    let open = daemon.ask(&call("cargo publish", None)).await;
    daemon.answer(&open, &approve("session")).await;
    assert_eq!(grants(&daemon, AGENT).await.len(), 2, "its own, without a secret");
    let always = daemon.ask(&call("git tag v1", Some(MINE))).await;
    daemon.answer(&always, &approve("always")).await;
    let scopes: Vec<_> = grants(&daemon, AGENT).await.iter().map(|g| g["scope"].clone()).collect();
    assert_eq!(scopes, ["session", "session", "always"]);

    let hash = "tcp:agent";
    for text in [daemon.read(&id).await.to_string(), json!(all).to_string(), daemon.said()] {
        assert!(!text.contains(MINE) && !text.contains(hash), "{text}");
    }
}

#[tokio::test]
async fn row_13_a_secret_that_is_none_is_refused() {
    let daemon = Daemon::start("").await;
    for (secret, count) in [(String::new(), 0), ("short".into(), 5), ("x".repeat(201), 201)] {
        let (status, body) = daemon.call(&call("ls", Some(&secret))).await;
        let said = format!(
            "`session_secret` has {count} characters; it is a random text of 16 to 200, the same for \
             every call of a session"
        );
        assert_eq!((status, &body["error"]), (400, &json!(said)));
    }
    let mut wrong = shell("ls");
    for value in [json!(7), json!(["the-secret-of-this-session"]), json!({})] {
        wrong["session_secret"] = value;
        assert_eq!(daemon.call(&wrong).await.0, 400, "{wrong}");
    }
}

/// The first scope beyond once that the ask offers.
async fn remembered(daemon: &Daemon, ask: &Value) -> Option<&'static str> {
    let id = ask["ask"].as_str()?;
    for scope in ["session", "exact", "always", "10m"] {
        let answer = json!({"decision": "approve", "scope": scope});
        if daemon.answer(id, &answer).await.0 == 200 {
            return Some(scope);
        }
    }
    None
}

#[tokio::test]
async fn row_13_in_profiles_whose_grants_last_a_session_they_are_its_owners_too() {
    let mut tried = Vec::new();
    for profile in ["wcore", "ohmypi", "connectonion", "molf"] {
        let daemon = Daemon::start(&format!("[policy]\nprofile = \"{profile}\"\n")).await;
        let mut own = call("make lint", Some(MINE));
        (own["tool"], own["tier"]) = (json!("bash"), json!("exec"));
        if profile == "wcore" {
            (own["tool"], own["category"]) = (json!("Bash"), json!("exec"));
        }
        let (_, body) = daemon.call(&own).await;
        let scope = remembered(&daemon, &body).await;
        let grants = grants(&daemon, APPROVER).await;
        if grants.is_empty() || grants.iter().any(|grant| grant["scope"] == "always") {
            continue;
        }
        assert_eq!(daemon.call(&own).await.1["verdict"], "allow", "{profile} {scope:?}");
        own["session_secret"] = json!(OTHER);
        assert_eq!(daemon.call(&own).await.1["verdict"], "ask", "{profile} {scope:?}");
        tried.push(profile);
    }
    assert!(tried.len() >= 2, "{tried:?}");
}

#[tokio::test]
async fn row_13_our_own_clients_share_their_sessions_grants_and_other_users_do_not() {
    let daemon = Daemon::start("").await;
    let ask = ["ask", "--session", "work", "--", "git", "push", "origin", "main"];
    let mut first = Process::start(daemon.command(&ask));
    let id = first.waits_for().await;
    assert_eq!(run(&daemon, &["approve", &id, "--scope", "session"]).await.code, Some(0));
    assert_eq!(first.ends().await.code, Some(0));
    assert_eq!(run(&daemon, &ask).await.code, Some(0), "another process of the same user");
    let key = daemon.dir.path().join(".local/state/countersign/client.key");
    assert_eq!(std::fs::metadata(key).unwrap().permissions().mode() & 0o777, 0o600);

    let home = tempfile::tempdir().unwrap();
    let mut elsewhere = daemon.command(&[
        "ask",
        "--no-wait",
        "--session",
        "work",
        "--",
        "git",
        "push",
        "origin",
        "main",
    ]);
    elsewhere.env("HOME", home.path());
    assert_eq!(Process::start(elsewhere).ends().await.code, Some(8), "another user's key");
    let mut keyless = call("git push origin main", None);
    (keyless["agent"], keyless["session"]) = (json!("cli"), json!("work"));
    assert_eq!(over_the_socket(&daemon, &keyless).await["verdict"], "ask");
    assert_eq!(daemon.call(&keyless).await.1["verdict"], "ask");
}
