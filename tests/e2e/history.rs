//! What is kept of asks, as the API and the inbox's page read it.

use crate::{
    daemon::{AGENT, APPROVER, Daemon, shell},
    inbox_visitor::Visitor,
};
use reqwest::Method;
use serde_json::{Value, json};

/// A call of another agent, in another session and folder.
fn other(command: &str) -> Value {
    json!({"agent": "builder", "session": "two", "cwd": "/srv/site/src", "host": "forge",
        "tool": "Bash", "args": {"command": command}})
}

/// Asks and answers; the ask's id.
async fn closed(daemon: &Daemon, call: &Value, answer: &Value) -> String {
    let id = daemon.ask(call).await;
    let (status, reply) = daemon.answer(&id, answer).await;
    assert_eq!((status, &reply["applied"]), (200, &json!(true)), "{reply}");
    id
}

/// The ids of a list, in its order.
fn ids(page: &Value) -> Vec<&str> {
    let asks = page["asks"].as_array().unwrap_or_else(|| panic!("{page}"));
    asks.iter().map(|ask| ask["id"].as_str().unwrap()).collect()
}

/// Four asks, each closed in another way: approved for always, denied with a reason, expired,
/// cancelled.
async fn four(daemon: &Daemon) -> [String; 4] {
    let always = json!({"decision": "approve", "scope": "always"});
    let allowed = closed(daemon, &shell("cargo test --workspace"), &always).await;
    let no = json!({"decision": "deny", "reason": "Not on a Friday"});
    let denied = closed(daemon, &other("git push origin main"), &no).await;
    let mut short = other("terraform apply");
    short["expires_in_s"] = json!(1);
    let expired = daemon.ask(&short).await;
    daemon.ask_reaches(&expired, "expired").await;
    let cancelled = daemon.ask(&shell("rm -rf build")).await;
    daemon.post(&format!("/v1/asks/{cancelled}/cancel"), AGENT, &json!({})).await;
    [allowed, denied, expired, cancelled]
}

#[tokio::test]
async fn closed_asks_are_listed_latest_first_with_what_became_of_each() {
    let daemon = Daemon::start("").await;
    let [allowed, denied, expired, cancelled] = four(&daemon).await;
    daemon.ask(&shell("still open")).await;
    let (status, page) = daemon.get("/v1/history", APPROVER).await;
    assert_eq!((status, &page["scanned"], &page["next"]), (200, &json!(4), &Value::Null), "{page}");
    assert_eq!(ids(&page), [&*cancelled, &*expired, &*denied, &*allowed]);
    let mut first = page["asks"][3].clone();
    for time in ["created", "closed"] {
        let at = first[time].take();
        assert!(at.as_str().unwrap().ends_with('Z'), "{at}");
    }
    let by = json!({"kind": "person", "platform": "api", "id": "approver",
        "name": "the approver's token"});
    let wanted = json!({"id": allowed, "created": null, "closed": null, "agent": "tester",
        "session": "one", "host": "mill", "cwd": "/home/ana/shop", "tool": "shell_exec",
        "title": "cargo test --workspace", "critical": false, "verdict": "allow",
        "decision": "approve", "scope": "always", "by": by, "through": "api",
        "reason": "approved by the approver's token", "stored": ["shell: cargo test *"]});
    assert_eq!(first, wanted);
    let second = &page["asks"][2];
    assert_eq!(
        (&second["verdict"], &second["note"], &second["tool"]),
        (&json!("deny"), &json!("Not on a Friday"), &json!("Bash"))
    );
    let silent = |ask: &Value| (ask["verdict"].clone(), ask["by"]["kind"].clone());
    assert_eq!(silent(&page["asks"][1]), (json!("expired"), json!("timeout")));
    assert_eq!(silent(&page["asks"][0]), (json!("cancelled"), json!("caller")));
}

#[tokio::test]
async fn every_filter_finds_what_it_names_and_all_of_them_must_fit() {
    let daemon = Daemon::start("").await;
    let [allowed, denied, expired, cancelled] = four(&daemon).await;
    let [allowed, denied, expired, cancelled] = [&*allowed, &*denied, &*expired, &*cancelled];
    let cases: [(&str, Vec<&str>); 21] = [
        ("agent=tester", vec![cancelled, allowed]),
        ("session=two", vec![expired, denied]),
        ("folder=/home/ana", vec![cancelled, allowed]),
        ("folder=site/src", vec![expired, denied]),
        ("folder=site", vec![]),
        ("tool=bash", vec![expired, denied]),
        ("person=TOKEN", vec![denied, allowed]),
        ("person=approver", vec![denied, allowed]),
        ("person=ana", vec![]),
        ("verdict=allow", vec![allowed]),
        ("verdict=deny", vec![denied]),
        ("verdict=expired", vec![expired]),
        ("verdict=cancelled", vec![cancelled]),
        ("rule=cargo+test", vec![allowed]),
        ("text=friday", vec![denied]),
        ("text=terraform", vec![expired]),
        ("text=nowhere", vec![]),
        ("since=2100-01-01T00:00:00Z", vec![]),
        ("until=2000-01-01T00:00:00Z", vec![]),
        ("since=2000-01-01T00:00:00Z&agent=builder&verdict=deny", vec![denied]),
        ("agent=tester&verdict=deny", vec![]),
    ];
    for (query, wanted) in cases {
        let (status, page) = daemon.get(&format!("/v1/history?{query}"), APPROVER).await;
        assert_eq!((status, ids(&page)), (200, wanted), "{query}");
    }
    let (mut found, mut path) = (Vec::new(), "/v1/history?limit=3".to_owned());
    loop {
        let (_, page) = daemon.get(&path, APPROVER).await;
        found.extend(ids(&page).into_iter().map(str::to_owned));
        let Some(next) = page["next"].as_str() else { break };
        path = format!("/v1/history?limit=3&before={next}");
    }
    assert_eq!(found, [cancelled, expired, denied, allowed]);
}

#[tokio::test]
async fn a_filter_that_is_not_understood_is_refused_by_its_name() {
    let daemon = Daemon::start("").await;
    for (query, named) in [
        ("verdict=maybe", "`verdict`"),
        ("since=yesterday", "`since`"),
        ("until=", "`until`"),
        ("before=x", "`before`"),
        ("limit=0", "`limit`"),
        ("limit=many", "`limit`"),
        ("agent=", "`agent`"),
        ("colour=red", "`colour`"),
    ] {
        let (status, body) = daemon.get(&format!("/v1/history?{query}"), APPROVER).await;
        let sentence = body["error"].as_str().unwrap();
        assert!(status == 422 && sentence.contains(named), "{query}: {status} {sentence}");
    }
}

#[tokio::test]
async fn an_agent_reads_what_its_own_handle_asked_and_nothing_else() {
    let daemon = Daemon::start("").await;
    let own = closed(&daemon, &shell("git push"), &json!({"decision": "deny"})).await;
    let (_, reply) = daemon.post("/v1/calls", APPROVER, &other("git commit -m plan")).await;
    let others = reply["ask"].as_str().unwrap().to_owned();
    assert_eq!(daemon.answer(&others, &json!({"decision": "deny"})).await.0, 200);
    assert_eq!(ids(&daemon.get("/v1/history", AGENT).await.1), [&*own]);
    assert_eq!(ids(&daemon.get("/v1/history", APPROVER).await.1), [&*others, &*own]);
    assert_eq!(daemon.get(&format!("/v1/history/{own}"), AGENT).await.0, 200);
    assert_eq!(daemon.get(&format!("/v1/history/{others}"), AGENT).await.0, 404);
    assert_eq!(daemon.get("/v1/sessions", AGENT).await.0, 403);
}

#[tokio::test]
async fn one_ask_comes_in_whole_with_its_card_and_where_it_is_shown() {
    let daemon = Daemon::start("").await;
    let visitor = Visitor::enter(&daemon.inbox).await;
    let mut board = visitor.follow().await;
    let id = daemon.ask(&shell("cargo test")).await;
    let card = board.card(|card| card["card"]["tone"] == "open").await;
    visitor.press_label(&card, "Always", None).await;
    daemon.closed(&id).await;
    let short = format!("/v1/history/{}", &id[..3]);
    let record = daemon.until(&short, |record| record["deliveries"][0]["shown"] == true).await;
    let part = |name: &str| record[name].clone();
    assert_eq!(
        json!([part("id"), part("state"), part("verdict"), part("through"), part("critical")]),
        json!([id, "answered", "allow", "inbox", false])
    );
    assert_eq!(record["call"]["args"], json!({"command": "cargo test"}));
    assert_eq!(record["stored"], json!(["shell: cargo test"]));
    assert_eq!(record["closed"], record["answer"]["at"]);
    assert_eq!(record["card"]["tone"], "approved");
    assert_eq!(
        record["deliveries"],
        json!([{"adapter": "inbox", "target": "inbox", "shown": true}])
    );
    assert_eq!(daemon.get("/v1/history/zzzz", APPROVER).await.0, 404);
}

#[tokio::test]
async fn sessions_and_the_state_of_the_daemon_say_what_waits() {
    let daemon = Daemon::start("").await;
    let id = daemon.ask(&shell("git push")).await;
    closed(&daemon, &other("git push"), &json!({"decision": "deny"})).await;
    let (_, mut page) = daemon.get("/v1/sessions", APPROVER).await;
    for session in page["sessions"].as_array_mut().unwrap() {
        assert!(session["last_seen"].take().as_str().unwrap().ends_with('Z'));
    }
    let two = json!({"agent": "builder", "session": "two", "host": "forge", "cwd": "/srv/site/src",
        "open": 0, "asks": [], "last_seen": null});
    let one = json!({"agent": "tester", "session": "one", "host": "mill", "cwd": "/home/ana/shop",
        "open": 1, "asks": [id], "last_seen": null});
    assert_eq!(page, json!({"sessions": [two, one], "more": false}));
    let (_, ready) = daemon.get("/readyz", APPROVER).await;
    let oldest = daemon.read(&id).await["created"].clone();
    assert_eq!(ready["version"], env!("CARGO_PKG_VERSION"));
    assert_eq!(ready["waiting"], json!({"asks": 1, "oldest": oldest, "callers": 0}));
}

/// The routes of the page, and what each replies to one who may read.
const PAGE: [(&str, &str); 5] = [
    ("/inbox/api/history", "asks"),
    ("/inbox/api/history?verdict=allow&limit=9", "asks"),
    ("/inbox/api/grants", "grants"),
    ("/inbox/api/sessions", "sessions"),
    ("/inbox/api/status", "version"),
];

#[tokio::test]
async fn the_inboxs_page_reads_the_records_by_its_proof_and_nobody_without_one() {
    let daemon = Daemon::start("").await;
    let id = closed(&daemon, &shell("cargo test"), &json!({"decision": "deny"})).await;
    let visitor = Visitor::enter(&daemon.inbox).await;
    let one = format!("/inbox/api/history/{id}");
    for (path, holds) in PAGE.into_iter().chain([(&*one, "card")]) {
        let (status, body) = visitor.api(Method::GET, path).await;
        assert!(status == 200 && body.get(holds).is_some(), "{path}: {status} {body}");
        for token in [APPROVER, AGENT] {
            assert_eq!(daemon.get(path, token).await.0, 401, "{path}: a token is no proof");
        }
        assert_eq!(visitor.api_with(Method::GET, path, "").await.0, 401, "{path}");
        let elsewhere = visitor.proof("GET", "/inbox/api/other", "").await.unwrap();
        let refused = visitor.api_with(Method::GET, path, &elsewhere.header).await;
        assert_eq!(refused.0, 401, "{path}: the proof of another path");
    }
    let proof = visitor.proof("GET", "/inbox/api/history?limit=1", "").await.unwrap();
    let other = "/inbox/api/history?limit=200";
    assert_eq!(visitor.api_with(Method::GET, other, &proof.header).await.0, 401, "another query");
    let gone = "/inbox/api/grants/none";
    assert_eq!(visitor.api_with(Method::DELETE, gone, "").await.0, 401);
    assert_eq!(daemon.get("/inbox/api/history", "").await.0, 401, "no cookie, no proof");
}

/// Approves for always, and returns the grant.
async fn grant(daemon: &Daemon) -> String {
    let always = json!({"decision": "approve", "scope": "always"});
    closed(daemon, &shell("cargo test"), &always).await;
    let (_, page) = daemon.get("/v1/grants", APPROVER).await;
    page["grants"][0]["id"].as_str().unwrap().to_owned()
}

#[tokio::test]
async fn a_revoke_on_the_page_is_the_local_inboxs_and_is_noted_as_its_own() {
    let daemon = Daemon::start("").await;
    let id = grant(&daemon).await;
    let visitor = Visitor::enter(&daemon.inbox).await;
    let path = format!("/inbox/api/grants/{id}");
    let (status, reply) = visitor.api(Method::DELETE, &path).await;
    assert_eq!((status, &reply["revoked"]["rule"]), (200, &json!("shell: cargo test")), "{reply}");
    assert_eq!(daemon.call(&shell("cargo test")).await.1["verdict"], "ask");
    assert_eq!(visitor.api(Method::DELETE, &path).await.0, 404, "it is gone");
    let events = daemon.http.get(format!("{}/v1/events", daemon.url)).bearer_auth(AGENT);
    let mut events = events.header("last-event-id", "0").send().await.unwrap();
    let mut text = String::new();
    while !text.contains("event: revoked") || !text.ends_with("\n\n") {
        text.push_str(std::str::from_utf8(&events.chunk().await.unwrap().unwrap()).unwrap());
    }
    let revoked = text.split("event: revoked").nth(1).unwrap();
    assert!(revoked.contains(r#""by":{"kind":"person","platform":"inbox","id":"local""#), "{text}");
}

#[tokio::test]
async fn where_the_inbox_is_no_approver_its_page_reads_and_revokes_nothing() {
    let mut daemon = Daemon::start("").await;
    let id = grant(&daemon).await;
    daemon.stop().await;
    daemon.write_config("[approvers]\ntelegram = [42]\n");
    daemon.run().await;
    let visitor = Visitor::enter(&daemon.inbox).await;
    let (status, refused) = visitor.api(Method::DELETE, &format!("/inbox/api/grants/{id}")).await;
    let sentence = refused["error"].as_str().unwrap();
    assert!(
        status == 403 && sentence.starts_with("Answering from this machine is off"),
        "{refused}"
    );
    let (status, page) = visitor.api(Method::GET, "/inbox/api/grants").await;
    assert_eq!((status, &page["grants"][0]["id"]), (200, &json!(id)));
}

/// The uses of the only grant: how many calls it let run, and the last one.
async fn uses(daemon: &Daemon) -> Value {
    let (_, page) = daemon.get("/v1/grants", APPROVER).await;
    let [grant] = page["grants"].as_array().unwrap().as_slice() else { panic!("{page}") };
    json!([grant["used"], grant["last_call"], grant["last_used_at"].is_string()])
}

#[tokio::test]
async fn a_grant_says_how_often_it_was_used_when_last_and_for_what_also_after_a_restart() {
    let mut daemon = Daemon::start("").await;
    let session = json!({"decision": "approve", "scope": "session"});
    closed(&daemon, &shell("git push origin main"), &session).await;
    assert_eq!(uses(&daemon).await, json!([0, null, false]));
    let allowed = async |call: &Value| {
        let (_, reply) = daemon.call(call).await;
        assert_eq!(reply["verdict"], "allow", "{reply}");
    };
    for _ in 0..3 {
        allowed(&shell("git push origin main")).await;
    }
    allowed(&shell("ls -l")).await;
    assert_eq!(uses(&daemon).await, json!([3, "git push origin main", true]));
    allowed(&shell("git push origin main")).await;
    assert!(daemon.stop().await);
    daemon.run().await;
    assert_eq!(uses(&daemon).await, json!([4, "git push origin main", true]));
}

#[tokio::test]
async fn a_grant_for_always_counts_in_every_session_and_one_for_a_session_in_its_own() {
    let daemon = Daemon::start("").await;
    grant(&daemon).await;
    assert_eq!(uses(&daemon).await, json!([0, null, false]));
    let mut elsewhere = shell("cargo test");
    elsewhere["session"] = json!("two");
    assert_eq!(daemon.call(&elsewhere).await.1["verdict"], "allow");
    assert_eq!(uses(&daemon).await, json!([1, "cargo test", true]));
    let (_, page) = daemon.get("/v1/grants", AGENT).await;
    let seen = &page["grants"][0];
    assert!(seen["used"].is_null() && seen["last_call"].is_null(), "agents see no uses: {page}");
}
