//! What counts as a press, what does not, and what the presser is told.

use crate::support::{Desk, cards::command};
use serde_json::{Value, json};

#[tokio::test]
async fn a_get_never_changes_anything() {
    let mut desk = Desk::open().await;
    desk.post(&command("one", "ls")).await;
    let visitor = desk.visitor().await;
    let client = reqwest::Client::new();
    for path in ["/inbox/press", "/inbox/press?card=one&token=one.1.a", "/?card=one&token=one.1.a"]
    {
        let proof = visitor.proof("GET", path.split('?').next().unwrap(), "").await.unwrap();
        let request = client.get(format!("{}{path}", visitor.base));
        let request = request.header("cookie", &visitor.cookie).header("origin", &visitor.base);
        let answer = request.header("x-countersign-inbox", proof.header).send().await.unwrap();
        assert!(answer.status().is_client_error(), "{path}: {}", answer.status());
    }
    assert!(desk.presses.try_recv().is_err(), "nothing was pressed");
    let card = visitor.follow().await.card(|_| true).await;
    assert_eq!((&card["card"]["revision"], &card["card"]["tone"]), (&json!(1), &json!("open")));
}

#[tokio::test]
async fn a_malformed_press_gets_a_sentence_and_reaches_nobody() {
    let mut desk = Desk::open().await;
    let visitor = desk.visitor().await;
    let send = async |body: &str| {
        let answer = visitor.post(body).await.unwrap().send().await.unwrap();
        let status = answer.status().as_u16();
        (status, answer.json::<Value>().await.unwrap()["error"].as_str().unwrap().to_owned())
    };
    let no_button = "This is not a button of a card, so nothing was pressed. Reload the page.";
    let long = "x".repeat(41);
    for (card, token) in [("one", ""), ("", "t"), ("one", &*long), ("../one", "t"), ("one", "a b")]
    {
        let body = json!({ "card": card, "token": token }).to_string();
        assert_eq!(send(&body).await, (422, no_button.to_owned()), "{card} {token}");
    }
    let blank = json!({ "card": "one", "token": "t", "text": " \n" }).to_string();
    let sentence = "The answer is empty, so nothing was sent. Write something first.";
    assert_eq!(send(&blank).await, (422, sentence.to_owned()));
    for body in [
        "",
        "{",
        "[]",
        "{}",
        r#"{"card":"one","token":"t","approve":true}"#,
        r#"{"card":1,"token":"t"}"#,
    ] {
        let (status, error) = send(body).await;
        assert!((400..500).contains(&status), "{body}: {status}");
        assert!(
            error.starts_with("This is not a press, so nothing was pressed: "),
            "{body}: {error}"
        );
    }
    let huge = json!({ "card": "one", "token": "t", "text": "x".repeat(70_000) }).to_string();
    let sentence = "The answer is too long (64 kB at most), so nothing was sent. Shorten it.";
    assert_eq!(send(&huge).await, (413, sentence.to_owned()));
    assert!(desk.presses.try_recv().is_err(), "nothing reached the core");
}

#[tokio::test]
async fn a_forged_token_reaches_the_core_which_refuses_it() {
    let mut desk = Desk::open().await;
    let visitor = desk.visitor().await;
    let (status, answer) = visitor.press("one", "forged", None).await;
    let told = json!({ "outcome": "unknown", "sentence": "This ask is no longer pending." });
    assert_eq!((status, answer), (200, told));
    assert_eq!(desk.presses.recv().await.unwrap().token, "forged");
}

#[tokio::test]
async fn before_the_adapter_runs_and_after_it_stopped_a_press_is_refused_with_a_sentence() {
    let desk = Desk::closed("127.0.0.1:0").await;
    let visitor = desk.visitor().await;
    let refused = json!({
        "error": "countersign is not taking presses just now; nothing was recorded. \
                  Press again in a moment."
    });
    assert_eq!(visitor.press("one", "t", None).await, (503, refused));
    let desk = desk.start().await;
    assert_eq!(visitor.press("one", "t", None).await.0, 200);
    drop(visitor);
    desk.stop().await;
}

#[tokio::test]
async fn a_press_that_was_committed_shows_on_the_board_before_it_is_told() {
    let desk = Desk::open().await;
    desk.post(&command("one", "ls")).await;
    let visitor = desk.visitor().await;
    assert_eq!(visitor.press("one", "one.1.d", None).await.1["outcome"], "applied");
    let (_, data) = visitor.follow().await.next().await.unwrap();
    assert_eq!(data["cards"][0]["card"]["tone"], "denied");
}
