//! The adapter against another, stricter stand-in, when there is one: an HTTP server that speaks
//! the Bot API and, under `/_/`, plays the people (`press`, `send`, `messages`, `inject`,
//! `violations` …).

use crate::room::{Room, number, receipt, target, wait};
use countersign_port::{Adapter as _, Card, Outcome, Posting, Receipt, SendError, Target};
use countersign_port_testkit::{closed, sample_card};
use countersign_telegram::{Telegram, TelegramConfig, check, check_target};
use serde_json::{Value, json};
use std::sync::Arc;
use std::time::{Duration, Instant};

const TOKEN: &str = "123456:TEST-token_for_the_fake_server_0001";
const ANA: i64 = 4211;
const GROUP: i64 = -1_001_000_000_111;

struct StandIn {
    url: String,
    client: reqwest::Client,
}

impl StandIn {
    async fn reset() -> Self {
        let url = std::env::var("COUNTERSIGN_TEST_TELEGRAM_URL").expect(
            "COUNTERSIGN_TEST_TELEGRAM_URL names a stand-in, such as http://127.0.0.1:8081",
        );
        let client = reqwest::Client::builder().no_proxy().build().unwrap();
        let server = Self { url, client };
        server.control("reset", json!({})).await;
        server.control("user", json!({"id": ANA, "first_name": "Ana"})).await;
        let topics = json!({"7": "open"});
        let chat = json!({"id": GROUP, "type": "supergroup", "is_forum": true, "topics": topics});
        server.control("chat", chat).await;
        server
    }

    async fn control(&self, act: &str, body: Value) -> Value {
        let url = format!("{}/_/{act}", self.url);
        let said = self.client.post(url).json(&body).send().await.unwrap();
        assert!(said.status().is_success(), "{act} {body}: {}", said.text().await.unwrap());
        said.json().await.unwrap()
    }

    fn config(&self) -> TelegramConfig {
        TelegramConfig { token: TOKEN.to_owned(), api_url: self.url.clone() }
    }

    fn adapter(&self) -> Arc<Telegram> {
        Arc::new(Telegram::new(self.config()))
    }

    fn open(&self, receipts: Vec<Receipt>) -> Room {
        let (core, presses) = countersign_port_testkit::ScriptedCore::new(receipts);
        Room::with_core(self.adapter(), core, presses)
    }

    async fn message(&self, chat: i64, id: i64) -> Value {
        self.control("messages", json!({"chat_id": chat, "message_id": id})).await[0].clone()
    }

    /// Presses and returns what the presser was told, and how long that took.
    async fn press(&self, chat: i64, message: i64, label: &str) -> (Value, Duration) {
        let press = json!({"chat_id": chat, "message_id": message, "user_id": ANA, "text": label});
        let begun = Instant::now();
        let query = self.control("press", press).await["callback_query_id"].clone();
        loop {
            let seen = self.control("callback", json!({ "id": query })).await;
            if let Some(told) = seen["answers"].get(0) {
                return (told.clone(), begun.elapsed());
            }
            assert!(begun.elapsed() < Duration::from_secs(15), "the press is never answered");
        }
    }

    async fn calls(&self, method: &str, min: usize) -> Vec<Value> {
        let wanted = json!({"method": method, "min": min, "wait": 10});
        let calls = self.control("calls", wanted).await.as_array().unwrap().clone();
        assert!(calls.len() >= min, "{method}: {calls:?}");
        calls
    }
}

#[tokio::test]
#[ignore = "needs a stand-in named by COUNTERSIGN_TEST_TELEGRAM_URL"]
async fn the_same_tests_hold_against_another_stand_in() {
    let server = StandIn::reset().await;
    cards_and_presses(&server).await;
    text_after_a_restart(&server).await;
    trouble(&server).await;
    hostile_texts(&server).await;
    let violations = server.control("violations", json!({})).await;
    assert_eq!(violations, json!([]));
}

async fn cards_and_presses(server: &StandIn) {
    assert_eq!(check_target(&server.config(), &target(ANA)).await, Ok("Ana".to_owned()));
    assert!(check(&server.config()).await.unwrap().starts_with('@'));
    let mut room = server.open(vec![
        receipt(Outcome::NotAllowed, "You may not answer this."),
        receipt(Outcome::Applied, "Approved once."),
    ]);
    let topic = Target(format!("{GROUP}/7"));
    let card = sample_card("rm -rf build/* && echo \"<done>\" </code></pre> @everyone");
    let message = room.adapter.post(&topic, &card, Posting::First).await.unwrap();
    let (told, took) = server.press(GROUP, number(&message), "Approve").await;
    assert_eq!(
        (&told["text"], &told["show_alert"]),
        (&json!("You may not answer this."), &json!(true))
    );
    assert!(took < Duration::from_secs(1), "{took:?}");
    let (told, _) = server.press(GROUP, number(&message), "Always").await;
    assert_eq!((&told["text"], &told["show_alert"]), (&json!("Approved once."), &json!(false)));
    assert_eq!(room.next_press().await.message, Some(message.clone()));
    room.adapter.update(&message, &closed(&card)).await.unwrap();
    let shown = server.message(GROUP, number(&message)).await;
    assert!(shown["text"].as_str().unwrap().contains("Ana, 12:03 · stored: rm build/*"), "{shown}");
    assert_eq!((&shown["buttons"], &shown["edits"]), (&json!([]), &json!(1)));
    // A new process, the same card: nothing to edit.
    server.adapter().update(&message, &closed(&card)).await.unwrap();
    server
        .control("delete_message", json!({"chat_id": GROUP, "message_id": number(&message)}))
        .await;
    server.adapter().update(&message, &card).await.unwrap();
    room.close().await;
}

async fn text_after_a_restart(server: &StandIn) {
    let room = server.open(vec![receipt(Outcome::TextWanted, "What instead?")]);
    let card = room.adapter.post(&target(GROUP), &sample_card("ls"), Posting::First).await.unwrap();
    server.press(GROUP, number(&card), "Other…").await;
    let prompt = loop {
        let all = server.control("messages", json!({"chat_id": GROUP, "bot": true})).await;
        let found = all.as_array().unwrap().iter().rfind(|m| m["markup_kind"] == "force_reply");
        if let Some(prompt) = found {
            break prompt["message_id"].clone();
        }
    };
    room.close().await;
    let send = |text: &str, reply_to: Option<&Value>, anonymous: bool| {
        let mut send = json!({"chat_id": GROUP, "user_id": ANA, "text": text});
        if let Some(to) = reply_to {
            send["reply_to"] = to.clone();
        }
        send["as_anonymous"] = json!(anonymous);
        server.control("send", send)
    };
    send("no", None, false).await;
    send("no", Some(&prompt), true).await;
    send("use trash-put", Some(&prompt), false).await;
    let mut room = server.open(vec![receipt(Outcome::Noted, "Noted.")]);
    let press = room.next_press().await;
    assert_eq!(press.text.as_deref(), Some("use trash-put"));
    assert_eq!((press.message, press.presser.id), (Some(card), ANA.to_string()));
    let id = json!({"chat_id": ANA, "user_id": ANA, "text": "/start"});
    server.control("send", id).await;
    server.calls("sendMessage", 5).await;
    room.close().await;
}

async fn trouble(server: &StandIn) {
    let adapter = server.adapter();
    let inject = |method: &str, kind: &str, more: Value| {
        let mut rule = json!({"match": method, "kind": kind});
        rule.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        server.control("inject", rule)
    };
    let card = |id: &str| Card { id: id.to_owned(), ..sample_card("ls") };
    inject("sendMessage", "429", json!({"retry_after": 2})).await;
    let posted = adapter.post(&target(GROUP), &card("flood"), Posting::First).await;
    assert_eq!(posted, Err(wait(Duration::from_secs(2))));
    for kind in ["502", "html", "drop_before", "garbage"] {
        inject("sendMessage", kind, json!({})).await;
        let begun = Instant::now();
        let posted = adapter.post(&target(GROUP), &card(kind), Posting::First).await;
        assert!(matches!(posted, Err(SendError::Transient(_))), "{kind}: {posted:?}");
        assert!(begun.elapsed() < Duration::from_secs(2), "{kind}: {:?}", begun.elapsed());
        adapter.post(&target(GROUP), &card(kind), Posting::First).await.unwrap();
    }
    // A group that becomes a supergroup.
    server
        .control("chat", json!({"id": -77, "type": "group", "members": {"4211": "member"}}))
        .await;
    adapter.post(&target(-77), &card("before"), Posting::First).await.unwrap();
    let new = server.control("migrate", json!({"chat_id": -77})).await["new_id"].as_i64().unwrap();
    let moved = adapter.post(&target(-77), &card("after"), Posting::First).await;
    assert_eq!(moved, Err(SendError::Moved(target(new))));
    adapter.post(&target(new), &card("after"), Posting::First).await.unwrap();
    server.control("block", json!({"user_id": ANA, "blocked": true})).await;
    let blocked = adapter.post(&target(ANA), &card("blocked"), Posting::First).await;
    assert!(matches!(blocked, Err(SendError::TargetGone(_))), "{blocked:?}");
    // Pulls that fail, and a press in between.
    let conflict =
        json!({"code": 409, "description": "Conflict: terminated by other getUpdates request"});
    inject("getUpdates", "error", conflict).await;
    inject("getUpdates", "502", json!({"times": 2})).await;
    let room = server.open(vec![receipt(Outcome::Applied, "Approved once.")]);
    let posted = room.adapter.post(&target(GROUP), &card("press"), Posting::First).await.unwrap();
    let (told, took) = server.press(GROUP, number(&posted), "Deny").await;
    assert_eq!(told["text"], "Approved once.");
    assert!(took < Duration::from_secs(8), "{took:?}");
    room.listens().await;
    room.close().await;
}

async fn hostile_texts(server: &StandIn) {
    let adapter = server.adapter();
    let hostile = [
        "</code></pre><b>Approved</b> &lt;b&gt; &amp;amp;".to_owned(),
        format!("{}👍🏽{}", "a".repeat(1_200), "b".repeat(9_000)),
        "👩‍👩‍👧‍👦🏽".repeat(900),
        "<&\">".repeat(2_500),
        "\u{202e}\u{0}\u{200b}\r\t".repeat(3_000),
        "\n ".repeat(3_000),
        String::new(),
    ];
    for (index, text) in hostile.iter().enumerate() {
        let card = Card { id: format!("hostile{index}"), ..sample_card(text) };
        let message = adapter.post(&target(GROUP), &card, Posting::First).await.unwrap();
        let shown = server.message(GROUP, number(&message)).await;
        let attached = &shown["message"]["reply_to_message"]["document"];
        let whole = shown["text"].as_str().unwrap().contains(text.as_str());
        assert!(whole || attached["file_size"] == text.len(), "{text}: {shown}");
        adapter.update(&message, &closed(&card)).await.unwrap();
    }
}
