//! The inbox over plain HTTP: who gets in, what is refused, what a stream tells.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    reason = "tests fail by panicking"
)]

mod support;

use countersign_port::{
    Adapter, Card, Health, MessageRef, Presser, SendError, Target, async_trait,
    testkit::{self, Platform, Shown, closed},
    visible,
};
use serde_json::{Value, json};
use support::{Desk, TOKEN, cards::command, visitor::Visitor};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpStream,
};

/// Sends bytes and reads the whole answer: for requests that a client library would not send.
async fn raw(desk: &Desk, request: &str) -> String {
    let mut stream = TcpStream::connect(desk.at).await.unwrap();
    stream.write_all(request.as_bytes()).await.unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).await.unwrap();
    answer
}

fn status(answer: &str) -> &str {
    answer.split(' ').nth(1).unwrap()
}

/// The inbox as a platform of the conformance kit.
struct Web(Visitor);

impl Web {
    async fn standing(&self, message: &MessageRef) -> Value {
        self.0.follow().await.card(|card| card["card"]["id"] == *message.0).await
    }
}

#[async_trait]
impl Platform for Web {
    fn target(&self) -> Target {
        Target("inbox".to_owned())
    }

    async fn shown(&self, message: &MessageRef) -> Shown {
        let card: Card =
            serde_json::from_value(self.standing(message).await["card"].clone()).unwrap();
        let mut text = card.title.clone();
        for block in &card.blocks {
            let block = serde_json::to_value(block).unwrap();
            text.push_str(block["text"].as_str().unwrap_or_default());
            text.push('\n');
        }
        let buttons = card.buttons.iter().flatten().map(|button| button.label.clone()).collect();
        Shown { text, buttons, files: vec![] }
    }

    async fn press(&self, message: &MessageRef, label: &str, _: &Presser) -> Option<String> {
        Some(self.0.press_label(&self.standing(message).await, label, None).await)
    }

    async fn give_text(&self, message: &MessageRef, text: &str, _: &Presser) -> Option<String> {
        Some(self.0.press_label(&self.standing(message).await, "Other…", Some(text)).await)
    }
}

/// The inbox as the kit expects it: the kit's person has the id that the inbox gives everybody.
struct AsAna(countersign_inbox::Inbox);

#[async_trait]
impl Adapter for AsAna {
    fn name(&self) -> &'static str {
        self.0.name()
    }
    fn health(&self) -> Health {
        self.0.health()
    }
    async fn post(&self, target: &Target, card: &Card) -> Result<MessageRef, SendError> {
        self.0.post(target, card).await
    }
    async fn update(&self, message: &MessageRef, card: &Card) -> Result<(), SendError> {
        self.0.update(message, card).await
    }
    async fn run(
        &self,
        presses: std::sync::Arc<dyn countersign_port::Presses>,
        stop: countersign_port::CancellationToken,
    ) -> Result<(), countersign_port::Fatal> {
        self.0.run(std::sync::Arc::new(Renamed(presses)), stop).await
    }
}

struct Renamed(std::sync::Arc<dyn countersign_port::Presses>);

#[async_trait]
impl countersign_port::Presses for Renamed {
    async fn press(&self, mut press: countersign_port::Press) -> countersign_port::Receipt {
        assert_eq!(press.presser.id, "local", "everybody at the inbox is the local person");
        assert_eq!(press.presser.name, "the local inbox");
        press.presser.id = "4211".to_owned();
        self.0.press(press).await
    }
}

#[tokio::test]
async fn the_inbox_keeps_the_contract() {
    let desk = Desk::closed("127.0.0.1:0").await;
    let web = Web(desk.visitor().await);
    let adapter = std::sync::Arc::new(AsAna(desk.inbox.clone()));
    assert_eq!(adapter.health(), Health::Starting);
    testkit::conformance(adapter.clone(), &web).await;
    assert_eq!(adapter.health(), Health::Down("the inbox has stopped".to_owned()));
    assert!(!desk.inbox.keeps_messages());
}

#[tokio::test]
async fn another_target_or_another_cards_message_is_refused() {
    let desk = Desk::open().await;
    let card = command("one", "ls");
    assert_eq!(
        desk.inbox.post(&Target("-100/7".to_owned()), &card).await,
        Err(SendError::TargetGone(
            "the inbox has one target, `inbox`; there is no `-100/7`".to_owned()
        ))
    );
    assert_eq!(
        desk.inbox.update(&MessageRef("two".to_owned()), &card).await,
        Err(SendError::Refused("the message `two` is not of the card `one`".to_owned()))
    );
}

#[tokio::test]
async fn the_token_gives_a_strict_cookie_and_takes_itself_out_of_the_address() {
    let desk = Desk::open().await;
    let get =
        format!("GET /?token={TOKEN} HTTP/1.1\r\nhost: {}\r\nconnection: close\r\n\r\n", desk.at);
    let answer = raw(&desk, &get).await;
    assert_eq!(status(&answer), "303");
    let cookie = answer.lines().find(|line| line.starts_with("set-cookie:")).unwrap();
    for part in ["; HttpOnly", "; SameSite=Strict", "; Path=/", "; Max-Age=2592000"] {
        assert!(cookie.contains(part), "{cookie}");
    }
    assert!(answer.contains("\r\nlocation: /#key="), "{answer}");
    assert!(!answer.replace(&get, "").contains(TOKEN), "the token itself is not handed on");
}

#[tokio::test]
async fn without_the_right_token_the_door_stays_closed_and_says_where_the_address_is() {
    let desk = Desk::open().await;
    for path in ["/", "/?token=", "/?token=wrong", "/?token=A-TOKEN-OF-THE-TESTS"] {
        let request =
            format!("GET {path} HTTP/1.1\r\nhost: {}\r\nconnection: close\r\n\r\n", desk.at);
        let answer = raw(&desk, &request).await;
        assert_eq!(status(&answer), "401", "{path}");
        assert!(!answer.contains("set-cookie"), "{path}");
        assert!(answer.contains("<code class=\"in\">countersign serve</code> prints"), "{path}");
    }
}

#[tokio::test]
async fn the_cookie_alone_opens_the_empty_page_but_no_card_and_no_press() {
    let mut desk = Desk::open().await;
    desk.post(&command("one", "cat secret-plan")).await;
    let visitor = desk.visitor().await;
    // A server on another port of this host is sent the cookie, but never the key.
    let thief = reqwest::Client::new();
    let page = thief.get(&visitor.base).header("cookie", &visitor.cookie).send().await.unwrap();
    assert_eq!(page.status(), 200);
    let page = page.text().await.unwrap();
    assert!(!page.contains("secret-plan") && !page.contains(&visitor.key));
    for key in [None, Some(""), Some("wrong"), visitor.cookie.split('=').nth(1)] {
        let events = thief.get(format!("{}/inbox/events", visitor.base));
        let press = thief.post(format!("{}/inbox/press", visitor.base));
        for request in [events, press.json(&json!({ "card": "one", "token": "one.1.a" }))] {
            let mut request = request.header("cookie", &visitor.cookie);
            request = request.header("origin", &visitor.base);
            if let Some(key) = key {
                request = request.header("x-countersign-inbox", key);
            }
            let refused = request.send().await.unwrap();
            assert_eq!(refused.status(), 401);
            assert_eq!(
                refused.json::<Value>().await.unwrap(),
                json!({ "error": "This page has no access. Open the inbox's address again as `countersign serve` prints it." })
            );
        }
    }
    assert!(desk.presses.try_recv().is_err());
}

#[tokio::test]
async fn the_key_without_the_cookie_opens_nothing() {
    let desk = Desk::open().await;
    let visitor = desk.visitor().await;
    let client = reqwest::Client::new();
    let request = client.get(format!("{}/inbox/events", visitor.base));
    let refused = request.header("x-countersign-inbox", &visitor.key).send().await.unwrap();
    assert_eq!(refused.status(), 401);
}

#[tokio::test]
async fn a_press_from_another_site_is_refused() {
    let mut desk = Desk::open().await;
    desk.post(&command("one", "ls")).await;
    let visitor = desk.visitor().await;
    let body = json!({ "card": "one", "token": "one.1.a" }).to_string();
    let port = desk.at.port();
    let cases = [
        ("origin", "https://evil.example".to_owned()),
        ("origin", "null".to_owned()),
        ("origin", format!("http://localhost:{port}")),
        ("origin", "http://127.0.0.1:3000".to_owned()),
    ];
    for (name, value) in cases {
        let mut request = visitor.post().body(body.clone()).build().unwrap();
        request.headers_mut().insert(name, value.parse().unwrap());
        let refused = reqwest::Client::new().execute(request).await.unwrap();
        assert_eq!(refused.status(), 403, "{name}: {value}");
        let said: Value = refused.json().await.unwrap();
        assert!(said["error"].as_str().unwrap().contains("another site"), "{said}");
    }
    for site in ["cross-site", "same-site", "none"] {
        let refused = visitor.post().header("sec-fetch-site", site).body(body.clone());
        assert_eq!(refused.send().await.unwrap().status(), 403, "{site}");
    }
    let mut silent = visitor.post().body(body.clone()).build().unwrap();
    silent.headers_mut().remove("origin");
    assert_eq!(reqwest::Client::new().execute(silent).await.unwrap().status(), 403);
    assert!(desk.presses.try_recv().is_err(), "nothing reached the core");
    let own = visitor.post().header("sec-fetch-site", "same-origin").body(body);
    assert_eq!(own.send().await.unwrap().status(), 200);
    assert_eq!(desk.presses.recv().await.unwrap().token, "one.1.a");
}

#[tokio::test]
async fn a_host_name_that_is_not_the_inboxs_is_refused_on_every_path() {
    let desk = Desk::open().await;
    let visitor = desk.visitor().await;
    for path in ["/", &format!("/?token={TOKEN}"), "/inbox/events", "/inbox/inbox.js"] {
        let request = format!(
            "GET {path} HTTP/1.1\r\nhost: evil.example:{}\r\ncookie: {}\r\nx-countersign-inbox: {}\r\nconnection: close\r\n\r\n",
            desk.at.port(),
            visitor.cookie,
            visitor.key
        );
        let answer = raw(&desk, &request).await;
        assert_eq!(status(&answer), "403", "{path}");
        assert!(answer.contains("This host name is not the inbox's."), "{path}");
        assert!(!answer.contains("set-cookie"), "{path}");
    }
}

#[tokio::test]
async fn a_get_never_changes_anything() {
    let mut desk = Desk::open().await;
    desk.post(&command("one", "ls")).await;
    let visitor = desk.visitor().await;
    let client = reqwest::Client::new();
    for path in ["/inbox/press", "/inbox/press?card=one&token=one.1.a", "/?card=one&token=one.1.a"]
    {
        let request = client.get(format!("{}{path}", visitor.base));
        let request = request.header("cookie", &visitor.cookie).header("origin", &visitor.base);
        let answer = request.header("x-countersign-inbox", &visitor.key).send().await.unwrap();
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
        let answer = visitor.post().body(body.to_owned()).send().await.unwrap();
        let status = answer.status().as_u16();
        (status, answer.json::<Value>().await.unwrap()["error"].as_str().unwrap().to_owned())
    };
    let no_button = "This is no button of a card, so nothing was pressed. Reload the page.";
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
        "error": "countersign is not taking presses just now; nothing was recorded. Press again in a moment."
    });
    assert_eq!(visitor.press("one", "t", None).await, (503, refused));
    let desk = desk.start().await;
    assert_eq!(visitor.press("one", "t", None).await.0, 200);
    drop(visitor);
    desk.stop().await;
}

#[tokio::test]
async fn a_stream_begins_with_all_cards_and_tells_every_change_to_every_page() {
    let desk = Desk::open().await;
    desk.post(&command("old", "ls")).await;
    desk.update(&closed(&command("old", "ls"))).await;
    desk.post(&command("one", "ls")).await;
    let visitor = desk.visitor().await;
    let (mut here, mut there) = (visitor.follow().await, visitor.follow().await);
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
async fn a_press_that_was_committed_shows_on_the_board_before_it_is_told() {
    let desk = Desk::open().await;
    desk.post(&command("one", "ls")).await;
    let visitor = desk.visitor().await;
    assert_eq!(visitor.press("one", "one.1.d", None).await.1["outcome"], "applied");
    let (_, data) = visitor.follow().await.next().await.unwrap();
    assert_eq!(data["cards"][0]["card"]["tone"], "denied");
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
        "</pre><script>alert(1)</script>\u{202e}\u{200b}\u{0}\r\n\ndata: x\n\nevent: board\n{}👍🏽 @everyone",
        "é".repeat(10_000)
    );
    desk.post(&command("one", &evil)).await;
    let (name, data) = desk.visitor().await.follow().await.next().await.unwrap();
    assert_eq!(name, "board");
    assert_eq!(data["cards"][0]["card"]["blocks"][0]["text"], json!(visible(&evil)));
}

#[tokio::test]
async fn every_answer_keeps_the_page_to_itself() {
    let desk = Desk::open().await;
    let client = reqwest::Client::new();
    for path in ["/", "/inbox/inbox.js", "/inbox/inbox.css", "/inbox/events", "/inbox/nothing"] {
        let answer = client.get(format!("http://{}{path}", desk.at)).send().await.unwrap();
        let header = |name: &str| answer.headers()[name].to_str().unwrap();
        let policy = header("content-security-policy");
        for part in ["default-src 'none'; ", "script-src 'self'; ", "frame-ancestors 'none'"] {
            assert!(policy.contains(part), "{path}: {policy}");
        }
        assert!(!policy.contains("unsafe"), "{path}");
        assert_eq!(header("x-frame-options"), "DENY", "{path}");
        assert_eq!(header("x-content-type-options"), "nosniff", "{path}");
        assert_eq!(header("referrer-policy"), "no-referrer", "{path}");
        assert_eq!(header("cache-control"), "no-store", "{path}");
        assert!(answer.headers().get("access-control-allow-origin").is_none(), "{path}");
    }
}
