//! Free text: prompts and replies.

use crate::fake::{ANA, BEN, Fault, GROUP, Message, Telegram as Server};
use crate::room::{Room, number, receipt, target};
use countersign_port::{Adapter as _, MessageRef, Outcome, Posting, Presser, SendError};
use countersign_port_testkit::{Received, closed, sample_card};
use std::time::Duration;

/// Posts a card, presses Other… as Ana and returns the card's number and the prompt.
async fn prompted(room: &mut Room, server: &Server) -> (i64, Message) {
    let card = number(
        &room.adapter.post(&target(GROUP), &sample_card("ls"), Posting::First).await.unwrap(),
    );
    server.press(GROUP, card, "Other…", ANA).await;
    assert_eq!(room.next_press().await.text, None);
    (card, server.until("a prompt", || server.prompt(GROUP)).await)
}

async fn answer_to(server: &Server, message: i64) -> String {
    let said = || server.messages(GROUP).into_iter().find(|m| m.reply_to == Some(message));
    server.until("an answer in the chat", said).await.text
}

fn text_press(card: i64, text: &str) -> Received {
    Received {
        presser: Presser { id: "4211".into(), name: "Ana".into(), roles: vec![] },
        message: Some(MessageRef(format!("{GROUP}/{card}"))),
        token: "k3J9sQ0aZ_-b4LmX7yTn2w.1.t".into(),
        text: Some(text.into()),
    }
}

#[tokio::test]
async fn the_prompt_names_the_presser_and_opens_the_reply_box_for_them() {
    let server = Server::start().await;
    let mut room = Room::open(&server, vec![receipt(Outcome::TextWanted, "What <b>instead</b>?")]);
    let (card, prompt) = prompted(&mut room, &server).await;
    let text = "✍️ Ana: What <b>instead</b>?\n\nReply to this message with your answer.";
    assert_eq!(prompt.text, text);
    assert!(prompt.force_reply);
    assert_eq!(prompt.reply_to, Some(card));
    let sent = server.calls("sendMessage").pop().unwrap();
    assert_eq!(sent["reply_markup"]["selective"], true);
    assert!(sent["text"].as_str().unwrap().contains("<a href=\"tg://user?id=4211\">Ana</a>"));
    room.close().await;
}

#[tokio::test]
async fn a_reply_to_the_prompt_is_the_text_even_after_a_restart() {
    let server = Server::start().await;
    let mut room = Room::open(&server, vec![receipt(Outcome::TextWanted, "What instead?")]);
    let (card, prompt) = prompted(&mut room, &server).await;
    room.close().await;
    let reply = server.reply(GROUP, prompt.id, "use\ntrash-put <x>", ANA);
    let mut room = Room::open(&server, vec![receipt(Outcome::Applied, "Denied with your words.")]);
    assert_eq!(room.next_press().await, text_press(card, "use\ntrash-put <x>"));
    assert_eq!(answer_to(&server, reply).await, "Denied with your words.");
    room.close().await;
    assert_eq!(server.violations(), Vec::<String>::new());
}

#[tokio::test]
async fn nothing_but_the_presser_s_own_reply_to_the_prompt_is_an_answer() {
    let server = Server::start().await;
    let answers =
        vec![receipt(Outcome::TextWanted, "What instead?"), receipt(Outcome::Noted, "Noted.")];
    let mut room = Room::open(&server, answers);
    let (card, prompt) = prompted(&mut room, &server).await;
    // Ordinary words, words to the bot, forged prompts, other people.
    server.say(GROUP, "yes", ANA);
    server.say(GROUP, "/approve countersign_test_bot yes", ANA);
    let forged = server.say(GROUP, &prompt.text, BEN);
    server.reply(GROUP, forged, "yes countersign_test_bot", ANA);
    let foreign = server.reply(GROUP, prompt.id, "no", BEN);
    assert!(answer_to(&server, foreign).await.starts_with("Only the person who pressed"));
    let anonymous = server.reply_anonymously(GROUP, prompt.id, "yes");
    let own = server.reply(GROUP, prompt.id, "maybe", ANA);
    assert_eq!(room.next_press().await, text_press(card, "maybe"));
    assert_eq!(answer_to(&server, own).await, "Noted.");
    assert!(anonymous < own, "it came before and did not reach the core");
    room.close().await;
}

#[tokio::test]
async fn an_anonymous_admin_is_told_why_the_reply_does_not_count() {
    let server = Server::start().await;
    let mut room = Room::open(&server, vec![receipt(Outcome::TextWanted, "What instead?")]);
    let (_, prompt) = prompted(&mut room, &server).await;
    let anonymous = server.reply_anonymously(GROUP, prompt.id, "yes");
    assert!(answer_to(&server, anonymous).await.contains("cannot be attributed"));
    room.close().await;
}

#[tokio::test]
async fn in_a_group_a_list_is_for_who_asked_where_the_server_can_and_what_was_done_for_all() {
    let server = Server::start().await;
    let answers = [Outcome::Noted, Outcome::Applied, Outcome::NotAllowed, Outcome::Noted];
    let mut room = Room::open(&server, answers.map(|it| receipt(it, "Said.")).to_vec());
    let asked = async |room: &mut Room| {
        let asked = server.say(GROUP, "/deny@countersign_test_bot a7f3", ANA);
        room.next_press().await;
        answer_to(&server, asked).await;
        server.messages(GROUP).into_iter().find(|m| m.reply_to == Some(asked)).unwrap().only_for
    };
    assert_eq!(asked(&mut room).await, Some(4211));
    assert_eq!(asked(&mut room).await, None);
    assert_eq!(asked(&mut room).await, Some(4211));
    let why = "Bad Request: ephemeral messages can't be sent to the chat";
    server.fail("sendMessage", Fault::Refuse(400, why), 1);
    assert_eq!(asked(&mut room).await, None, "all see it where it cannot be for one");
    room.close().await;
    assert_eq!(server.violations(), Vec::<String>::new());
}

#[tokio::test]
async fn words_wait_for_as_long_as_telegram_wants_quiet_and_cards_wait_with_them() {
    let server = Server::start().await;
    let room = Room::open(&server, vec![receipt(Outcome::Applied, "Denied.")]);
    let card = sample_card("ls");
    let posted = room.adapter.post(&target(GROUP), &card, Posting::First).await.unwrap();
    server.fail("sendMessage", Fault::RetryAfter(40), 1);
    let reply = server.reply(GROUP, number(&posted), "no", ANA);
    let refused = || (server.calls("sendMessage").len() == 2).then_some(());
    server.until("the answer that is refused", refused).await;
    let redrawn = room.adapter.update(&posted, &closed(&card)).await;
    assert!(matches!(redrawn, Err(SendError::Retry { .. })), "{redrawn:?}");
    tokio::time::pause();
    tokio::time::advance(Duration::from_secs(41)).await;
    tokio::time::resume();
    assert_eq!(answer_to(&server, reply).await, "Denied.");
    room.adapter.update(&posted, &closed(&card)).await.unwrap();
    room.close().await;
}
