//! A topic of an ntfy server: what it is told, and what its buttons do.

use crate::{
    daemon::{Daemon, private_file, shell},
    ntfy_server::{FakeNtfy, TOPIC},
};
use axum::http::StatusCode;
use serde_json::{Value, json};

const PUBLIC: &str = "https://approve.example";

async fn daemon(ntfy: &FakeNtfy) -> Daemon {
    let mut daemon = Daemon::prepared("", &ntfy.config(), &[]);
    let config = std::fs::read_to_string(daemon.config()).unwrap();
    let public = format!("[daemon]\npublic_url = \"{PUBLIC}\"\n");
    private_file(&daemon.config(), &config.replace("[daemon]\n", &public));
    started(&mut daemon).await;
    daemon
}

/// Starts it, and finds it where it listens: its link names the proxy.
async fn started(daemon: &mut Daemon) {
    daemon.run().await;
    daemon.url = daemon.inbox_here().await;
}

/// What the phone's app sends for a button, with this text instead of its own.
async fn tap(daemon: &Daemon, action: &Value, body: &str) -> (u16, Value) {
    let base = reqwest::Url::parse(&daemon.url).unwrap();
    let path = action["url"].as_str().unwrap().strip_prefix(PUBLIC).unwrap();
    let mut request = reqwest::Client::new().post(base.join(path).unwrap());
    // As a proxy in front of the daemon hands it on.
    request = request.header("host", "approve.example");
    for (name, value) in action["headers"].as_object().unwrap() {
        request = request.header(name, value.as_str().unwrap());
    }
    let reply = request.body(body.to_owned()).send().await.unwrap();
    (reply.status().as_u16(), reply.json().await.unwrap_or_default())
}

fn body(action: &Value) -> &str {
    action["body"].as_str().unwrap()
}

#[tokio::test]
async fn a_topic_is_told_what_waits_and_denies_exactly_that_once() {
    let mut ntfy = FakeNtfy::start().await;
    let daemon = daemon(&ntfy).await;
    let id = daemon.ask(&shell("git push origin main")).await;
    let message = ntfy.next().await;
    assert_eq!(
        (&message["topic"], &message["title"]),
        (&json!(TOPIC), &json!("git push origin main"))
    );
    let labels: Vec<_> =
        message["actions"].as_array().unwrap().iter().map(|it| &it["label"]).collect();
    assert_eq!(labels, ["Deny", "Open"]);
    let deny = &message["actions"][0];
    let other = daemon.ask(&shell("git push --force")).await;
    let second = ntfy.next().await;
    let sent: Value = serde_json::from_str(body(deny)).unwrap();
    let others: Value = serde_json::from_str(body(&second["actions"][0])).unwrap();
    // Neither an approval, nor another card, nor another's proof.
    for (key, value) in [
        ("act", &json!("approve")),
        ("card", &others["card"]),
        ("proof", &others["proof"]),
        ("proof", &json!("")),
        ("extra", &json!(1)),
    ] {
        let mut changed = sent.clone();
        changed[key] = value.clone();
        assert_eq!(tap(&daemon, deny, &changed.to_string()).await.0, 403, "{key}");
    }
    assert_eq!(daemon.read(&id).await["state"], "open");
    assert_eq!(tap(&daemon, deny, body(deny)).await.0, 200);
    let denied = daemon.read(&id).await;
    assert_eq!((&denied["verdict"], &denied["state"]), (&json!("deny"), &json!("answered")));
    assert_eq!(tap(&daemon, deny, body(deny)).await.0, 403, "it is over");
    assert_eq!(daemon.read(&other).await["state"], "open");
    assert!(!daemon.said().contains(TOPIC), "the topic is as good as a password");
}

#[tokio::test]
async fn after_a_restart_an_earlier_message_denies_nothing() {
    let mut ntfy = FakeNtfy::start().await;
    let mut daemon = daemon(&ntfy).await;
    let id = daemon.ask(&shell("git push origin main")).await;
    let message = ntfy.next().await;
    daemon.kill().await;
    started(&mut daemon).await;
    let deny = &message["actions"][0];
    assert_eq!(tap(&daemon, deny, body(deny)).await.0, 403);
    assert_eq!(daemon.read(&id).await["state"], "open");
}

#[tokio::test]
async fn a_server_that_is_busy_gets_it_later_and_one_that_refuses_delays_nobody() {
    let mut ntfy = FakeNtfy::start().await;
    let mut daemon = daemon(&ntfy).await;
    ntfy.refuse_next(&[StatusCode::SERVICE_UNAVAILABLE]);
    daemon.ask(&shell("make all")).await;
    assert_eq!(ntfy.next().await["title"], "make all");
    ntfy.refuse_next(&[StatusCode::FORBIDDEN]);
    let id = daemon.ask(&shell("make clean")).await;
    daemon.says("the ntfy server refused a message").await;
    let (_, reply) = daemon.answer(&id, &json!({"decision": "deny"})).await;
    assert_eq!(reply["applied"], true);
}
