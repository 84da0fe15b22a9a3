//! Row 15: many and large asks are refused beyond a limit, and below it take memory that does not
//! grow with them, over restarts too. `COUNTERSIGN_LARGE=516` tries more.

use crate::{
    daemon::{AGENT, APPROVER, Daemon, shell},
    inbox_visitor::Visitor,
};
use countersign::{
    ask::{Ask, Body, call::Call},
    store::{Database, NewCard, Store},
};
use serde_json::{Value, json};
use std::time::{Duration, Instant};
use tokio::time::timeout;

/// A ruling on 1 MB takes a while in a program that is not optimised.
const SOON: Duration = Duration::from_secs(120);
const HIGH: &str = "[limits]\nopen_megabytes = 4000\nopen_megabytes_per_agent = 4000\n";
/// What the daemon may take, MiB, however many large asks there are; the service units allow 512.
const MEMORY: u64 = 200;

/// How many asks of 1 MB it has to bear: eight readers and a page would take 240 MB of them at the
/// least.
fn count() -> usize {
    std::env::var("COUNTERSIGN_LARGE").ok().and_then(|n| n.parse().ok()).unwrap_or(24)
}

fn large(n: usize, agent: &str) -> Value {
    json!({"agent": agent, "session": "s", "key": format!("k{n}"), "tool": "upload",
        "expires_in_s": 604_800, "args": {"text": format!("{n}:{}", "x".repeat(1_000_000))}})
}

/// The most memory that the daemon ever had, MiB.
fn peak(daemon: &Daemon) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{}/status", daemon.pid())).unwrap();
    let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap();
    peak.trim().trim_end_matches(" kB").parse::<u64>().unwrap() / 1024
}

#[tokio::test]
async fn row_15_what_is_too_much_for_one_agent_or_all_gets_429_and_the_name_of_the_limit() {
    let limits = "[limits]\nopen_asks = 9\nopen_asks_per_agent = 3\nopen_megabytes_per_agent = 1\n";
    let mut daemon = Daemon::start(limits).await;
    let call = |agent: &str, n: usize| {
        let mut call = shell("git push origin main");
        (call["agent"], call["key"]) = (json!(agent), json!(format!("k{n}")));
        call
    };
    let refused = async |daemon: &Daemon, call: Value, key: &str| {
        let request = daemon.http.post(format!("{}/v1/calls", daemon.url)).bearer_auth(AGENT);
        let reply = request.json(&call).send().await.unwrap();
        assert_eq!(reply.status(), 429);
        assert!(reply.headers()["retry-after"].to_str().unwrap().parse::<u32>().unwrap() > 0);
        let said = reply.json::<Value>().await.unwrap()["error"].to_string();
        assert!(said.contains(key) && said.contains("[limits]"), "{said}");
    };
    let mut first = String::new();
    for n in 0..3 {
        first = daemon.ask(&call("one", n)).await;
    }
    refused(&daemon, call("one", 3), "open_asks_per_agent = 3").await;
    assert_eq!(daemon.ask(&call("one", 2)).await, first, "who comes back is not one more");
    daemon.ask(&large(0, "two")).await;
    refused(&daemon, large(1, "two"), "open_megabytes_per_agent").await;
    for (agent, n) in [("two", 5), ("two", 6), ("three", 1), ("three", 2), ("three", 3)] {
        daemon.ask(&call(agent, n)).await;
    }
    refused(&daemon, call("four", 1), "open_asks = 9").await;
    // What the rules decide waits for nobody.
    let mut allowed = call("four", 2);
    allowed["args"]["command"] = json!("ls");
    allowed["tool"] = json!("read_file");
    allowed["args"] = json!({"file_path": "/home/ana/shop/README.md"});
    assert_ne!(daemon.call(&allowed).await.0, 429);
    daemon.kill().await;
    daemon.run().await;
    refused(&daemon, call("one", 9), "open_asks").await;
    daemon.answer(&first, &json!({"decision": "deny"})).await;
    // The same call would be denied from memory.
    let mut other = call("one", 9);
    other["args"]["command"] = json!("git push origin next");
    daemon.ask(&other).await;
}

#[tokio::test]
async fn row_15_what_comes_too_fast_gets_429_and_when_to_come_again_and_others_are_taken() {
    let limits = "[limits]\nasks_per_minute_per_agent = 3\nasks_per_minute_per_session = 2\n";
    let daemon = Daemon::start(limits).await;
    let send = async |agent: &str, session: &str, n: usize| {
        let mut call = shell("git push origin main");
        (call["agent"], call["session"]) = (json!(agent), json!(session));
        call["key"] = json!(format!("k{n}"));
        let request = daemon.http.post(format!("{}/v1/calls", daemon.url)).bearer_auth(AGENT);
        let reply = request.json(&call).send().await.unwrap();
        let (status, after) =
            (reply.status().as_u16(), reply.headers().get("retry-after").cloned());
        let after: u32 = after.map_or(0, |after| after.to_str().unwrap().parse().unwrap());
        let error = reply.json::<Value>().await.unwrap()["error"].to_string();
        (status, after, error)
    };
    for n in 0..2 {
        assert_eq!(send("one", "s", n).await.0, 202);
    }
    let (status, after, error) = send("one", "s", 2).await;
    assert_eq!(status, 429);
    assert!((1..=30).contains(&after), "{after}");
    assert!(error.contains("asks_per_minute_per_session = 2"), "{error}");
    assert_eq!(send("one", "s", 1).await.0, 202, "who comes back asks nothing new");
    assert_eq!(send("one", "t", 3).await.0, 202);
    let (status, after, error) = send("one", "u", 4).await;
    assert_eq!(status, 429);
    assert!((1..=20).contains(&after), "{after}");
    assert!(error.contains("asks_per_minute_per_agent = 3"), "{error}");
    assert_eq!(send("two", "s", 5).await.0, 202, "nobody pays for another");
}

/// Puts asks into the store of a daemon that is down, as an earlier one left them.
async fn leave_behind(daemon: &Daemon, count: usize) {
    let file = daemon.dir.path().join("state/countersign.db");
    let store = Store::open(&Database::Sqlite(file)).await.unwrap();
    for n in 0..count {
        let call: Call = serde_json::from_value(large(n, "earlier")).unwrap();
        let now = jiff::Timestamp::now().as_millisecond();
        let (id, digest) = (format!("old{n:05}"), call.digest());
        let opened = Ask::opened(id, digest, Body::new(call, "no rule"), now);
        let new = Ask { deadline_at: Some(now + 604_800_000), ..opened };
        let card = NewCard {
            nonce: format!("nonce-of-{n:013}"),
            adapter: "inbox".to_owned(),
            target: "inbox".to_owned(),
        };
        store.insert_ask(&new, &[card], None).await.unwrap();
    }
    store.close().await;
}

#[tokio::test]
async fn row_15_hundreds_of_large_asks_take_bounded_memory_and_a_restart_takes_no_more() {
    let mut daemon = Daemon::start(HIGH).await;
    assert!(daemon.stop().await);
    let began = Instant::now();
    leave_behind(&daemon, count()).await;
    println!("{} asks of 1 MB stored in {:?}", count(), began.elapsed());
    for round in 0..2 {
        let began = Instant::now();
        daemon.run().await;
        println!("ready after {:?}", began.elapsed());
        let mut silent = Vec::new();
        for _ in 0..8 {
            let request =
                daemon.http.get(format!("{}/v1/events", daemon.url)).bearer_auth(APPROVER);
            silent.push(request.send().await.unwrap());
        }
        assert_eq!(daemon.get("/healthz", AGENT).await.0, 200);
        let small = daemon.ask(&shell(&format!("git push origin {round}"))).await;
        let new = daemon.ask(&large(round, "tester")).await;
        let (status, page) = daemon.get("/v1/asks", APPROVER).await;
        assert_eq!((status, page["asks"].as_array().unwrap().len()), (200, 1));
        let visitor = Visitor::enter(&daemon.inbox).await;
        let mut board = visitor.follow().await;
        timeout(SOON, board.card(|card| card["card"]["ask"] == small.as_str())).await.unwrap();
        let whole = |card: &Value| {
            card["card"]["ask"] == new.as_str() && card["card"].to_string().len() > 1_000_000
        };
        let (status, _) = daemon.answer(&small, &json!({"decision": "deny"})).await;
        assert_eq!(status, 200);
        // The rest of the board is read behind it, one card after the other.
        if round == 0 {
            let seen = timeout(SOON, board.card(|card| whole(card))).await;
            assert!(seen.is_ok(), "the inbox never showed the whole card");
        }
        println!("round {round}: {:?}, {} MiB at most", began.elapsed(), peak(&daemon));
        assert!(peak(&daemon) < MEMORY, "{} MiB", peak(&daemon));
        daemon.kill().await;
    }
}

/// Reads events until `enough`; what came, as ids to go on at and kinds.
async fn read(daemon: &Daemon, from: &str, enough: usize) -> Vec<(String, String)> {
    let request = daemon.http.get(format!("{}/v1/events", daemon.url)).bearer_auth(AGENT);
    let mut reply = request.header("last-event-id", from).send().await.unwrap();
    let (mut text, mut told) = (String::new(), Vec::new());
    while told.len() < enough {
        let chunk = timeout(SOON, reply.chunk()).await.unwrap().unwrap().unwrap();
        text += &String::from_utf8_lossy(&chunk);
        while let Some((event, rest)) = text.split_once("\n\n") {
            let field = |name: &str| {
                let line = event.lines().find_map(|line| line.strip_prefix(name));
                line.unwrap_or_default().trim().to_owned()
            };
            if !field("id:").is_empty() {
                told.push((field("id:"), field("event:")));
            }
            text = rest.to_owned();
        }
    }
    told
}

#[tokio::test]
async fn row_15_a_reader_that_left_in_the_middle_goes_on_where_it_was() {
    let daemon = Daemon::start("").await;
    for n in 0..40 {
        daemon.ask(&shell(&format!("git push origin b{n}"))).await;
    }
    let all = read(&daemon, "0", 40).await;
    let some = read(&daemon, "0", 15).await;
    let more = read(&daemon, &some[14].0, 25).await;
    assert_eq!([&some[..15], &more[..]].concat(), all);
    assert!(all.iter().all(|(_, kind)| kind == "asked"), "{all:?}");
}
