//! nono's approval webhook, as its 0.66.0 sends and reads it.

use crate::{
    daemon::{AGENT, APPROVER, Daemon},
    process::run,
};
use serde_json::{Value, json};
use std::time::Duration;
use tokio::task::JoinHandle;

fn network() -> Value {
    json!({"backend": "phone", "request": {"capability_type": "network", "request_id": "net-001",
        "host": "api.github.com", "port": 443, "protocol": "tcp",
        "resolved_ips": ["140.82.121.6"], "reason": "fetch the release", "child_pid": 42,
        "session_id": "sess-001"}})
}

fn command(args: &[&str]) -> Value {
    json!({"backend": "phone", "request": {"capability_type": "command",
        "request_id": "tool-sandbox-approve-git-1", "command": "git", "args": args,
        "caller": "session", "intercept_rule": "git push", "reason": null, "child_pid": 42,
        "session_id": "sess-001"}})
}

/// A request of nono that waits: its token is the password of the webhook's address.
fn asks(daemon: &Daemon, query: &str, body: Value) -> JoinHandle<(u16, Value)> {
    let url = format!("{}/v1/nono{query}", daemon.url);
    let request = daemon.http.post(url).basic_auth("nono", Some(AGENT)).json(&body);
    tokio::spawn(async move {
        let reply = request.send().await.unwrap();
        (reply.status().as_u16(), reply.json().await.unwrap())
    })
}

async fn open(daemon: &Daemon) -> Value {
    let page = daemon.until("/v1/asks?state=open&card=true", |page| page["asks"] != json!([]));
    page.await["asks"][0].clone()
}

#[tokio::test]
async fn what_nono_would_allow_is_the_first_line_and_a_persons_yes_alone_grants_it() {
    let daemon = Daemon::start("").await;
    for (answer, decision) in [
        (vec!["approve"], json!({"decision": "granted"})),
        (
            vec!["deny", "--reason", "use the mirror"],
            json!({"decision": "denied",
                "reason": "denied by the approver's token: use the mirror"}),
        ),
    ] {
        let waits = asks(&daemon, "", network());
        let ask = open(&daemon).await;
        assert_eq!(ask["card"]["title"], "nono_network: connect to api.github.com:443 (tcp)");
        let call = &ask["call"];
        assert_eq!(
            (&call["agent"], &call["session"], &call["reason"], &call["waits_s"]),
            (&json!("nono"), &json!("sess-001"), &json!("fetch the release"), &json!(55))
        );
        let words: Vec<&str> =
            [&answer[..1], &[ask["id"].as_str().unwrap()], &answer[1..]].concat();
        assert_eq!(run(&daemon, &words).await.code, Some(0));
        assert_eq!(waits.await.unwrap(), (200, decision));
    }
}

#[tokio::test]
async fn rules_decide_on_what_nono_asks_as_on_any_call() {
    let rules = r#"{"shell_exec": {"git push": "allow", "git push --force": "deny"},
        "nono_network": "allow"}"#;
    let config = "[policy]\nrules = \"rules.jsonc\"\n";
    let daemon = Daemon::start_with(config, &[("rules.jsonc", rules)]).await;
    let granted = (200, json!({"decision": "granted"}));
    assert_eq!(asks(&daemon, "", command(&["git", "push"])).await.unwrap(), granted);
    assert_eq!(asks(&daemon, "", network()).await.unwrap(), granted);
    let (status, denied) = asks(&daemon, "", command(&["git", "push", "--force"])).await.unwrap();
    assert_eq!((status, &denied["decision"]), (200, &json!("denied")), "{denied}");
}

#[tokio::test]
async fn nobody_there_a_pause_and_whatever_is_not_understood_deny() {
    let daemon = Daemon::start("[policy]\non_timeout = \"wait\"\n").await;
    let (_, late) = asks(&daemon, "?wait=2", network()).await.unwrap();
    assert_eq!(late["decision"], "denied", "{late}");
    assert!(late["reason"].as_str().unwrap().starts_with("Timed out after 2 s"), "{late}");
    assert_eq!(run(&daemon, &["pause"]).await.code, Some(0));
    let (_, paused) = asks(&daemon, "?wait=2", network()).await.unwrap();
    assert_eq!(paused["decision"], "denied", "{paused}");
    assert_eq!(daemon.open().await, Vec::<Value>::new(), "nothing is left to press");
    assert_eq!(run(&daemon, &["resume"]).await.code, Some(0));
    let mut more = network();
    more["request"]["also"] = json!("everything");
    for unread in [more, json!({}), json!([]), command(&[]), command(&["sh", "-c", "git push"])] {
        let (status, denied) = asks(&daemon, "", unread).await.unwrap();
        assert_eq!((status, &denied["decision"]), (200, &json!("denied")), "{denied}");
    }
    assert_eq!(daemon.open().await, Vec::<Value>::new());
}

#[tokio::test]
async fn a_nono_that_goes_away_takes_its_ask_with_it() {
    let daemon = Daemon::start("").await;
    let waits = asks(&daemon, "", network());
    let id = open(&daemon).await["id"].as_str().unwrap().to_owned();
    waits.abort();
    daemon.ask_reaches(&id, "cancelled").await;
}

#[tokio::test]
async fn the_password_of_an_address_is_a_token_on_this_route_alone() {
    let daemon = Daemon::start("").await;
    let status = async |path: &str, password: &str| {
        let url = format!("{}{path}", daemon.url);
        let request = daemon.http.post(url).basic_auth("nono", Some(password)).json(&json!({}));
        request.timeout(Duration::from_secs(30)).send().await.unwrap().status().as_u16()
    };
    assert_eq!(status("/v1/nono", AGENT).await, 200);
    assert_eq!(status("/v1/nono", "wrong").await, 401);
    assert_eq!(status("/v1/nono", "").await, 401);
    assert_eq!(status("/v1/calls", AGENT).await, 401);
    assert_eq!(status("/v1/pause", APPROVER).await, 401);
}
