//! Row 12: one event is one line of the log, whatever was written into it.

use crate::{
    daemon::{AGENT, Daemon, LONG, shell},
    telegram_server::{ANA, EVE, GROUP, Person},
    world::World,
};
use serde_json::{Value, json};
use std::process::Stdio;
use tokio::{
    io::{AsyncBufReadExt, BufReader},
    time::timeout,
};

/// What a forger would like to see in the log.
const FORGED: &str = "ls\n2026-11-21T00:00:00.000000Z  INFO ask answered ask_id=forged state=\"answered\"\
    \r\u{1b}[2K\u{202e}\u{2028}x";

fn is_one_event(line: &str) -> bool {
    let plain = !line.contains(['\u{1b}', '\u{202e}', '\u{2028}', '\r']);
    plain && line.starts_with("20") && line.get(10..11) == Some("T")
}

/// The lines of the log, behind what greets the operator; the first events may come before that.
fn events(said: &str) -> impl Iterator<Item = &str> {
    said.lines().skip_while(|line| !line.starts_with("  answering ")).skip(1)
}

#[tokio::test]
async fn row_12_no_call_and_no_presser_forges_a_line_of_the_log() {
    let mut world = World::start("").await;
    let ask = world.daemon.ask(&shell(FORGED)).await;
    let shown = world.shown(&ask).await;
    let eve = Person { name: "Eve\n2026-11-21T00:00:00Z  INFO forged\u{202e}", ..EVE };
    world.telegram.press(GROUP, shown.message, "Approve", eve).await;
    let ana = Person { name: "Ana\nApproved by nobody\u{202e}\u{1b}[2K", ..ANA };
    assert_eq!(
        world.telegram.press(GROUP, shown.message, "Approve", ana).await.text,
        "Approved once."
    );
    let answered = world.daemon.closed(&ask).await;
    let by = "Ana ⏎ Approved by nobody\\u{202e}\\u{1b}[2K";
    assert_eq!(answered["answer"]["by"]["name"], by);
    assert_eq!(answered["reason"], format!("approved by {by} (telegram)"));
    world.daemon.says("ask answered ask_id=").await;
    let said = world.daemon.said();
    assert!(said.contains("somebody who is no approver tried to answer"), "{said}");
    for line in events(&said) {
        assert!(is_one_event(line), "{line:?} in {said}");
    }
    let forged = ["2026-11-21T00:00:00Z", "2026-11-21T00:00:00.000000Z"];
    assert!(!said.lines().any(|line| forged.iter().any(|time| line.starts_with(time))), "{said}");
}

#[tokio::test]
async fn row_12_names_in_the_paths_of_sessions_forge_no_line_either() {
    let mut daemon = Daemon::start("").await;
    let name = "s%0A2026-11-21T00:00:00Z%20%20INFO%20forged%1B%5B2K";
    let body = json!({"agent": "a", "mode": "default"});
    for act in ["mode", "abort", "end"] {
        let (status, refused) =
            daemon.post(&format!("/v1/sessions/{name}/{act}"), AGENT, &body).await;
        assert_eq!(status, 400, "{act}: {refused}");
    }
    daemon.ask(&shell("git push")).await;
    daemon.says("asking a person").await;
    for line in events(&daemon.said()) {
        assert!(is_one_event(line), "{line:?}");
    }
}

#[tokio::test]
async fn row_12_in_json_every_event_is_one_object_on_one_line_without_hidden_characters() {
    let mut daemon = Daemon::start("").await;
    daemon.stop().await;
    let mut command = daemon.command(&["serve"]);
    command.env("COUNTERSIGN_LOG_FORMAT", "json").stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    let mut ready = BufReader::new(child.stdout.take().unwrap()).lines();
    let ready = timeout(LONG, ready.next_line()).await.unwrap().unwrap().unwrap();
    daemon.url = ready.strip_prefix("ready ").unwrap().split("/?").next().unwrap().to_owned();
    daemon.ask(&shell(FORGED)).await;
    let mut lines = BufReader::new(child.stderr.take().unwrap()).lines();
    loop {
        let line = timeout(LONG, lines.next_line()).await.unwrap().unwrap().unwrap();
        let Ok(event) = serde_json::from_str::<Value>(&line) else {
            // What greets the operator stands before the log.
            assert!(!line.starts_with('{'), "{line}");
            continue;
        };
        assert!(!line.contains(['\u{1b}', '\u{202e}', '\u{2028}']), "{line}");
        if event["fields"]["message"] == "asking a person" {
            return;
        }
    }
}

#[tokio::test]
async fn row_12_one_event_of_the_stream_is_one_event() {
    let daemon = Daemon::start("").await;
    let mut call = shell(FORGED);
    call["reason"] = json!("x\n\nevent: answered\ndata: {\"forged\": true}\n\n");
    let ask = daemon.ask(&call).await;
    let request = daemon.http.get(format!("{}/v1/events", daemon.url)).bearer_auth(AGENT);
    let mut stream = request.send().await.unwrap();
    let mut heard = String::new();
    while !heard.contains("\n\n") {
        let chunk = timeout(LONG, stream.chunk()).await.unwrap().unwrap().unwrap();
        heard.push_str(std::str::from_utf8(&chunk).unwrap());
    }
    let event = heard.split("\n\n").next().unwrap();
    let data: Vec<&str> = event.lines().filter(|line| line.starts_with("data:")).collect();
    assert_eq!((event.lines().next(), data.len()), (Some("event: ask"), 1), "{heard}");
    let data: Value = serde_json::from_str(data[0].strip_prefix("data:").unwrap()).unwrap();
    assert_eq!(data["id"], ask.as_str());
    let metrics = daemon.http.get(format!("{}/metrics", daemon.url)).send().await.unwrap();
    assert!(!metrics.text().await.unwrap().contains("forged"));
}
