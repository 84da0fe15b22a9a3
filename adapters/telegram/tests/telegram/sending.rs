//! Cards on their way to the chat, and what goes wrong there.

use crate::fake::{FORUM, Fault, GROUP, Telegram as Server};
use crate::room::{adapter, config, number, target, wait};
use countersign_port::{Adapter as _, Card, MessageRef, Posting, SendError, Target};
use countersign_port_testkit::{closed, sample_card};
use countersign_telegram::{TelegramConfig, check, check_target};
use std::time::{Duration, Instant};

fn long_card() -> Card {
    let text = format!("echo start; {}rm -rf tail-end", "printf '%s' x; ".repeat(700));
    sample_card(&text)
}

#[tokio::test]
async fn a_flood_limit_is_handed_to_the_core() {
    let server = Server::start().await;
    let adapter = adapter(&server);
    server.fail("sendMessage", Fault::RetryAfter(17), 1);
    let posted = adapter.post(&target(GROUP), &sample_card("ls"), Posting::First).await;
    assert_eq!(posted, Err(wait(Duration::from_secs(17))));
    let other = Target(format!("{FORUM}/7"));
    let message = adapter.post(&other, &sample_card("ls"), Posting::First).await.unwrap();
    server.fail("editMessageText", Fault::RetryAfter(3), 1);
    let updated = adapter.update(&message, &closed(&sample_card("ls"))).await;
    assert_eq!(updated, Err(wait(Duration::from_secs(3))));
    assert_eq!((server.messages(GROUP).len(), server.messages(FORUM).len()), (0, 1));
}

#[tokio::test]
async fn what_would_come_too_soon_is_not_even_sent() {
    let server = Server::start().await;
    let adapter = adapter(&server);
    let message = adapter.post(&target(GROUP), &sample_card("ls"), Posting::First).await.unwrap();
    server.fail("editMessageText", Fault::RetryAfter(17), 1);
    let edit = async || adapter.update(&message, &closed(&sample_card("ls"))).await;
    let post = async || {
        let card = Card { id: "another".to_owned(), ..sample_card("ls") };
        adapter.post(&target(GROUP), &card, Posting::First).await.map(drop)
    };
    assert_eq!(edit().await, Err(wait(Duration::from_secs(17))));
    for early in [edit().await, post().await] {
        let Err(SendError::Retry { after: left, .. }) = early else { panic!("{early:?}") };
        assert!((10..=17).contains(&left.as_secs()), "{left:?}");
    }
    assert_eq!((server.calls("sendMessage").len(), server.calls("editMessageText").len()), (1, 1));
    assert_eq!(server.violations(), Vec::<String>::new());
}

#[tokio::test]
async fn a_broken_server_or_line_is_transient_and_told_fast() {
    let server = Server::start().await;
    let adapter = adapter(&server);
    for fault in [Fault::BadGateway, Fault::DropBefore, Fault::Refuse(500, "Internal Server Error")]
    {
        server.fail("sendMessage", fault.clone(), 1);
        let begun = Instant::now();
        let posted = adapter.post(&target(GROUP), &sample_card("ls"), Posting::First).await;
        assert!(matches!(posted, Err(SendError::Transient(_))), "{fault:?}: {posted:?}");
        assert!(begun.elapsed() < Duration::from_secs(2), "{fault:?}: {:?}", begun.elapsed());
    }
    assert_eq!(server.messages(GROUP), []);
}

#[tokio::test]
async fn a_chat_out_of_reach_is_said_to_be_gone() {
    let server = Server::start().await;
    let adapter = adapter(&server);
    server.lose_chat(GROUP, 403, "Forbidden: bot was kicked from the supergroup chat");
    for (target, part) in [
        (target(GROUP), "kicked"),
        (target(-42), "chat not found"),
        (Target(format!("{FORUM}/9")), "thread not found"),
        (Target(format!("{FORUM}/8")), "TOPIC_CLOSED"),
        (Target("@team".to_owned()), "`@team` is not a Telegram chat"),
    ] {
        // What no longer exists may have been a session's topic.
        let of_forum = target.0.starts_with(&FORUM.to_string());
        match (adapter.post(&target, &sample_card("ls"), Posting::First).await, of_forum) {
            (Err(SendError::TargetGone(why)), false) | (Err(SendError::ThreadGone(why)), true) => {
                assert!(why.contains(part), "{why}");
            }
            (other, _) => panic!("{target:?}: {other:?}"),
        }
    }
}

#[tokio::test]
async fn a_group_that_became_a_supergroup_is_named() {
    let server = Server::start().await;
    let adapter = adapter(&server);
    server.migrate(GROUP, -1_009);
    let moved = adapter.post(&target(GROUP), &sample_card("ls"), Posting::First).await;
    assert_eq!(moved, Err(SendError::Moved(target(-1_009))));
    let there = adapter.post(&target(-1_009), &sample_card("ls"), Posting::First).await.unwrap();
    assert_eq!(there, MessageRef("-1009/101".to_owned()));
}

#[tokio::test]
async fn a_topic_gets_the_file_and_the_card() {
    let server = Server::start().await;
    let target = Target(format!("{FORUM}/7"));
    adapter(&server).post(&target, &long_card(), Posting::First).await.unwrap();
    let messages = server.messages(FORUM);
    assert_eq!(messages.iter().map(|m| m.topic).collect::<Vec<_>>(), [Some(7), Some(7)]);
    assert_eq!(messages[1].reply_to, Some(messages[0].id));
    assert!(messages[0].file.is_some());
}

#[tokio::test]
async fn a_repeated_post_sends_neither_file_nor_card_twice() {
    let server = Server::start().await;
    let adapter = adapter(&server);
    server.fail("sendMessage", Fault::BadGateway, 1);
    assert!(adapter.post(&target(GROUP), &long_card(), Posting::First).await.is_err());
    let first = adapter.post(&target(GROUP), &long_card(), Posting::First).await.unwrap();
    let again = adapter.post(&target(GROUP), &long_card(), Posting::First).await.unwrap();
    assert_eq!(again, first);
    assert_eq!(server.messages(GROUP).len(), 2, "one file and one card");
    assert_eq!(server.calls("sendDocument").len(), 1);
}

#[tokio::test]
async fn a_card_never_stands_without_its_file() {
    let server = Server::start().await;
    server.fail("sendDocument", Fault::RetryAfter(2), 1);
    let posted = adapter(&server).post(&target(GROUP), &long_card(), Posting::First).await;
    assert_eq!(posted, Err(wait(Duration::from_secs(2))));
    assert_eq!(server.messages(GROUP), []);
}

#[tokio::test]
async fn a_longer_text_that_comes_with_a_change_is_attached_once() {
    let server = Server::start().await;
    let adapter = adapter(&server);
    let message = adapter.post(&target(GROUP), &sample_card("ls"), Posting::First).await.unwrap();
    for revision in 2..4 {
        let next = Card { revision, ..long_card() };
        adapter.update(&message, &next).await.unwrap();
    }
    let file = server.messages(GROUP).pop().unwrap();
    assert_eq!(file.reply_to, Some(number(&message)));
    assert!(file.file.unwrap().1.ends_with("rm -rf tail-end"));
    adapter.update(&message, &closed(&Card { revision: 4, ..long_card() })).await.unwrap();
    assert_eq!(server.calls("sendDocument").len(), 1);
    assert!(server.message(GROUP, number(&message)).text.contains("Ana, 12:03 · stored"));
}

#[tokio::test]
async fn html_that_telegram_cannot_read_is_sent_without_parsing() {
    let server = Server::start().await;
    let adapter = adapter(&server);
    let fault = Fault::Refuse(400, "Bad Request: can't parse entities: Unsupported start tag");
    server.fail("sendMessage", fault.clone(), 1);
    let card = sample_card("a < b && </code>");
    let message = adapter.post(&target(GROUP), &card, Posting::First).await.unwrap();
    let shown = server.message(GROUP, number(&message));
    assert!(shown.text.contains("a < b && </code>"), "{}", shown.text);
    assert_eq!(shown.buttons.concat().len(), 4);
    server.fail("editMessageText", fault, 1);
    adapter.update(&message, &closed(&card)).await.unwrap();
    assert!(
        server.message(GROUP, number(&message)).text.contains("Ana, 12:03 · stored: rm build/*")
    );
    let sent = server.calls("sendMessage");
    assert_eq!((sent[0].get("entities"), sent[1].get("parse_mode")), (None, None));
    assert_eq!(sent[1]["entities"].as_array().unwrap().len(), 9);
}

#[tokio::test]
async fn previews_are_off_and_only_the_card_rings() {
    let server = Server::start().await;
    adapter(&server).post(&target(GROUP), &long_card(), Posting::First).await.unwrap();
    let card = &server.calls("sendMessage")[0];
    let file = &server.calls("sendDocument")[0];
    assert_eq!(card["link_preview_options"]["is_disabled"], true);
    assert_eq!(
        (card.get("disable_notification"), &file["disable_notification"]),
        (None, &true.into())
    );
}

#[tokio::test]
async fn redrawing_what_is_gone_or_the_same_is_harmless_after_a_restart() {
    let server = Server::start().await;
    let card = sample_card("ls");
    let message = adapter(&server).post(&target(GROUP), &card, Posting::First).await.unwrap();
    for _ in 0..2 {
        assert_eq!(adapter(&server).update(&message, &closed(&card)).await, Ok(()));
    }
    assert_eq!(server.message(GROUP, number(&message)).edits, 1);
    server.delete(GROUP, number(&message));
    assert_eq!(adapter(&server).update(&message, &card).await, Ok(()));
}

#[tokio::test]
async fn an_older_card_never_replaces_a_newer_one() {
    let server = Server::start().await;
    let adapter = adapter(&server);
    let card = sample_card("ls");
    let message = adapter.post(&target(GROUP), &card, Posting::First).await.unwrap();
    adapter.update(&message, &closed(&card)).await.unwrap();
    adapter.update(&message, &card).await.unwrap();
    assert_eq!(server.message(GROUP, number(&message)).buttons, Vec::<Vec<String>>::new());
    assert_eq!(server.calls("editMessageText").len(), 1);
}

#[tokio::test]
async fn hostile_text_is_shown_literally_or_made_visible() {
    let server = Server::start().await;
    let adapter = adapter(&server);
    let hostile = [
        "</code></pre><b>Approved</b> &lt;b&gt; &amp;amp;".to_owned(),
        "@everyone <a href=\"tg://user?id=4211\">x</a>".to_owned(),
        format!("{}👍🏽{}", "a".repeat(1_200), "b".repeat(9_000)),
        "👩‍👩‍👧‍👦🏽".repeat(900),
        "<".repeat(10_000),
        "&".repeat(10_000),
        "\u{202e}\u{0}\u{200b}".repeat(3_000),
        "\n".repeat(5_000),
        " ".repeat(5_000),
        String::new(),
    ];
    for (number, text) in hostile.iter().enumerate() {
        let card = Card { id: format!("card{number}"), ..sample_card(text) };
        let message = adapter.post(&target(GROUP), &card, Posting::First).await.unwrap();
        let shown = server.message(GROUP, crate::room::number(&message));
        let whole = shown.text.contains(text.as_str());
        let file = shown.reply_to.and_then(|above| server.message(GROUP, above).file);
        assert!(whole || file.is_some_and(|(_, content)| content == *text), "{text}");
        assert!(!shown.text.contains(['\u{202e}', '\u{0}', '\u{200b}']));
        assert!(shown.text.contains(" · ⏳ until "), "{}", shown.text);
        assert!(shown.text.contains(", 0 s left"), "{}", shown.text);
    }
    assert_eq!(server.violations(), Vec::<String>::new());
}

#[tokio::test]
async fn doctor_learns_names_or_what_to_mend() {
    let server = Server::start().await;
    let config = config(&server);
    assert_eq!(check(&config).await, Ok("@countersign_test_bot".to_owned()));
    assert_eq!(check_target(&config, &target(GROUP)).await, Ok("Team".to_owned()));
    let topic = |chat: i64, topic: i64| Target(format!("{chat}/{topic}"));
    assert_eq!(check_target(&config, &topic(FORUM, 7)).await, Ok("Team".to_owned()));
    for (target, part) in [
        (target(77), "press Start"),
        (topic(FORUM, 9), "thread not found"),
        (topic(GROUP, 7), "no topics"),
        (Target("x".to_owned()), "is not a Telegram chat"),
    ] {
        let why = check_target(&config, &target).await.unwrap_err().to_string();
        assert!(why.contains(part) && why.contains(&target.0), "{why}");
    }
    server.set_webhook(true);
    assert!(check(&config).await.unwrap_err().to_string().contains("deleteWebhook"));
    let wrong = TelegramConfig { token: "1:wrong".to_owned(), ..config };
    assert!(check(&wrong).await.unwrap_err().to_string().contains("`[telegram] token`"));
}
