//! What open pages hear.

use crate::support::{Desk, cards::command};
use countersign_port::visible;
use countersign_port_testkit::closed;
use serde_json::json;

#[tokio::test]
async fn a_stream_begins_with_all_cards_and_tells_every_change_to_every_page() {
    let desk = Desk::open().await;
    desk.post(&command("old", "ls")).await;
    desk.update(&closed(&command("old", "ls"))).await;
    desk.post(&command("one", "ls")).await;
    let visitor = desk.visitor().await;
    let mut here = visitor.follow().await;
    let mut there = visitor.follow().await;
    for feed in [&mut here, &mut there] {
        let (name, data) = feed.next().await.unwrap();
        assert_eq!(name, "board");
        assert!(data["now"].as_i64().unwrap() > 1_700_000_000_000);
        let ids: Vec<_> =
            data["cards"].as_array().unwrap().iter().map(|c| &c["card"]["id"]).collect();
        assert_eq!(ids, ["old", "one"]);
        assert!(data["cards"][0]["closed"].is_i64() && data["cards"][1]["closed"].is_null());
    }
    desk.post(&command("two", "pwd")).await;
    let one = here.card(|card| card["card"]["id"] == "one").await;
    assert_eq!(visitor.press_label(&one, "Approve", None).await, "Approved once.");
    for feed in [&mut here, &mut there] {
        let card = feed.card(|card| card["card"]["id"] == "one" && card["closed"].is_i64()).await;
        assert_eq!(card["card"]["tone"], "approved");
        assert_eq!(card["card"]["buttons"], json!([]));
        assert!(feed.cards.iter().any(|card| card["card"]["id"] == "two"));
    }
}

#[tokio::test]
async fn streams_end_when_the_daemon_stops_and_the_same_page_comes_back_after_a_restart() {
    let desk = Desk::open().await;
    let visitor = desk.visitor().await;
    let mut feed = visitor.follow().await;
    assert_eq!(feed.next().await.unwrap().0, "board");
    let at = desk.at.to_string();
    desk.stop().await;
    assert_eq!(feed.next().await, None);
    let desk = Desk::closed(&at).await.start().await;
    desk.post(&command("one", "ls")).await;
    let (name, data) = visitor.follow().await.next().await.unwrap();
    assert_eq!((name.as_str(), &data["cards"][0]["card"]["id"]), ("board", &json!("one")));
}

#[tokio::test]
async fn hostile_text_arrives_whole_and_literally() {
    let desk = Desk::open().await;
    let evil = format!(
        "</pre><script>alert(1)</script>\u{202e}\u{200b}\u{0}\r\n\ndata: x\n\nevent: board\n{}👍🏽 \
         @everyone",
        "é".repeat(10_000)
    );
    desk.post(&command("one", &evil)).await;
    let (name, data) = desk.visitor().await.follow().await.next().await.unwrap();
    assert_eq!(name, "board");
    assert_eq!(data["cards"][0]["card"]["blocks"][0]["text"], json!(visible(&evil)));
}

#[tokio::test]
async fn what_people_have_to_know_of_the_bridge_stands_on_every_page_until_it_is_over() {
    use countersign_port::Adapter;
    let desk = Desk::open().await;
    let visitor = desk.visitor().await;
    let mut early = visitor.follow().await;
    assert_eq!(early.next().await.unwrap().1["notice"], json!([]));
    let told = ["Telegram: \u{202e}presses are not received".to_owned()];
    let shown = json!(["Telegram: \\u{202e}presses are not received"]);
    desk.inbox.notice(&told);
    desk.inbox.notice(&told);
    assert_eq!(early.next().await.unwrap(), ("notice".to_owned(), json!({ "notice": shown })));
    assert_eq!(visitor.follow().await.next().await.unwrap().1["notice"], shown);
    desk.inbox.notice(&[]);
    assert_eq!(early.next().await.unwrap(), ("notice".to_owned(), json!({ "notice": [] })));
}
