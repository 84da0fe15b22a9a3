//! The real opencode: its own answer and a person's, in every order. Its terminal answers by the same
//! request to its server as these tests.

use crate::{
    agents_real::{Real, Run, asked, prompt},
    daemon::{APPROVER, Daemon},
    process::run,
};
use serde_json::{Value, json};
use std::{fs, time::Duration};

/// Answers in opencode itself; whether that was the first answer.
async fn terminal(daemon: &Daemon, started: &Run, reply: &str) -> bool {
    let url = started.url.as_deref().unwrap();
    let pending: Vec<Value> =
        daemon.http.get(format!("{url}/permission")).send().await.unwrap().json().await.unwrap();
    let Some(id) = pending.first().and_then(|one| one["id"].as_str()) else { return false };
    let body = json!({"reply": reply, "message": "not now"});
    let request = daemon.http.post(format!("{url}/permission/{id}/reply")).json(&body);
    request.send().await.unwrap().status().is_success()
}

/// The end of the card's story.
async fn card(daemon: &Daemon, ask: &str) -> String {
    let (_, ask) = daemon.get(&format!("/v1/asks/{ask}?card=true"), APPROVER).await;
    ask["card"]["blocks"][0]["text"].as_str().unwrap_or_default().to_owned()
}

#[tokio::test]
async fn the_first_answer_to_a_real_opencode_counts_and_the_other_side_closes() {
    let daemon = Daemon::start("").await;
    let Some(mut started) = Real::Opencode.start(&daemon).await else { return };
    let file = started.work.join("made-by-agent.txt");
    let url = started.url.clone().unwrap();
    // The phone first.
    let ask = asked(&daemon, Real::Opencode).await;
    assert_eq!(run(&daemon, &["approve", &ask]).await.code, Some(0));
    started.model.is_told_next().await;
    assert!(file.exists());
    assert!(!terminal(&daemon, &started, "reject").await, "its dialog is gone");
    assert_eq!(daemon.read(&ask).await["answer"]["overtaken"], Value::Null);
    // The terminal first.
    for (reply, ran) in [("once", true), ("reject", false)] {
        let _ = fs::remove_file(&file);
        prompt(&daemon, &url).await;
        let ask = asked(&daemon, Real::Opencode).await;
        assert!(terminal(&daemon, &started, reply).await);
        daemon.ask_reaches(&ask, "cancelled").await;
        assert!(card(&daemon, &ask).await.ends_with(": it was answered elsewhere"));
        let (_, late) = daemon.answer(&ask, &json!({"decision": "approve"})).await;
        assert_eq!(late["applied"], false, "{late}");
        started.model.is_told_next().await;
        assert_eq!(file.exists(), ran, "{reply}");
    }
}

#[tokio::test]
async fn of_two_answers_at_once_one_counts_at_a_real_opencode_and_the_card_says_which() {
    let daemon = Daemon::start("").await;
    let Some(mut started) = Real::Opencode.start(&daemon).await else { return };
    let file = started.work.join("made-by-agent.txt");
    let url = started.url.clone().unwrap();
    let mut outcomes = Vec::new();
    for round in 0..16 {
        let (decision, reply) = [("approve", "reject"), ("deny", "once")][round % 2];
        let ask = asked(&daemon, Real::Opencode).await;
        let answer = json!({ "decision": decision });
        let press = async {
            tokio::time::sleep(Duration::from_millis(20)).await;
            daemon.answer(&ask, &answer).await
        };
        let key = async {
            tokio::time::sleep(Duration::from_millis(u64::try_from(round).unwrap() * 5)).await;
            terminal(&daemon, &started, reply).await
        };
        let ((_, pressed), by_terminal) = tokio::join!(press, key);
        started.model.is_told_next().await;
        let by_phone = !by_terminal;
        assert_eq!(file.exists(), (decision == "approve") == by_phone, "{decision} {by_phone}");
        let path = format!("/v1/asks/{ask}");
        let read = daemon.until(&path, |ask| {
            let counts = ask["state"] == "answered" && ask["answer"]["overtaken"].is_null();
            ask["state"] != "open" && counts == by_phone
        });
        let read = read.await;
        assert_eq!(pressed["applied"] == true, read["state"] == "answered", "{read}");
        let card = card(&daemon, &ask).await;
        match (by_phone, pressed["applied"] == true) {
            (true, _) => assert!(!card.contains("answered"), "{card}"),
            (false, true) => assert!(card.ends_with("it was answered there"), "{card}"),
            (false, false) => assert!(card.ends_with("it was answered elsewhere"), "{card}"),
        }
        outcomes.push((by_phone, pressed["applied"] == true));
        let _ = fs::remove_file(&file);
        prompt(&daemon, &url).await;
    }
    eprintln!("by the phone, and its answer was applied: {outcomes:?}");
}
