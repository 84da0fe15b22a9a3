//! Pairing codes on their way to the core, and what people are told of a chat.

use crate::fake::{ANA, FORUM, GROUP, Telegram as Server};
use crate::room::{Room, receipt};
use countersign_port::{Outcome, PairingPlace, Platform as _, Presser, Setting, Settings, Target};
use countersign_port_testkit::Received;
use countersign_telegram::TelegramPlatform;

fn account(server: &Server) -> Settings {
    Settings::from([
        ("token", Setting::Secret(server.token().to_owned())),
        ("api_url", Setting::Text(server.url().to_owned())),
    ])
}

#[tokio::test]
async fn a_code_reaches_the_core_with_who_sent_it_and_where() {
    let server = Server::start().await;
    let receipts = [receipt(Outcome::Noted, "Arrived."), receipt(Outcome::Noted, "Here too.")];
    let mut room = Room::open(&server, receipts.to_vec());
    let ana = || Presser { id: "4211".into(), name: "Ana".into(), roles: vec![] };
    let sent = |token: String| Received { presser: ana(), message: None, token, text: None };
    let said = server.say(ANA.id, "/start pair-7xY", ANA);
    assert_eq!(server.answer_to(ANA.id, said).await, "Arrived.");
    let there = format!("pair-7xY at {} (a private chat)", ANA.id);
    assert_eq!(room.next_press().await, sent(there));
    let said = server.say(GROUP, "/start@countersign_test_bot pair-7xY", ANA);
    assert_eq!(server.answer_to(GROUP, said).await, "Here too.");
    let there = format!("pair-7xY at {GROUP} (the group “Team”)");
    assert_eq!(room.next_press().await, sent(there));
    room.close().await;
}

#[tokio::test]
async fn a_code_that_somebody_sends_as_the_group_is_refused() {
    let server = Server::start().await;
    let room = Room::open(&server, vec![receipt(Outcome::Noted, "never said")]);
    let first = server.say(GROUP, "hello", ANA);
    let said = server.reply_anonymously(GROUP, first, "/start@countersign_test_bot pair-7xY");
    let answer = server.answer_to(GROUP, said).await;
    assert!(answer.starts_with("This cannot be attributed to a person"), "{answer}");
    room.close().await;
}

#[tokio::test]
async fn the_guide_says_what_the_bot_sees_in_a_group_and_where_cards_go_in_a_forum() {
    let server = Server::start().await;
    let guide = TelegramPlatform.guide().unwrap();
    let notes = async |target: String| guide.notes(&account(&server), &Target(target)).await;
    assert_eq!(notes("4211".to_owned()).await, [""; 0]);
    let group = notes(GROUP.to_string()).await;
    assert_eq!(group.len(), 1);
    assert!(group[0].starts_with("Privacy mode is on: "), "{group:?}");
    let forum = notes(FORUM.to_string()).await;
    assert_eq!(forum.len(), 2);
    assert!(forum[1].starts_with("The group has topics, and cards go to General."), "{forum:?}");
    assert_eq!(notes(format!("{FORUM}/7")).await.len(), 1);
}

#[tokio::test]
async fn the_link_opens_the_bot_with_the_code() {
    let server = Server::start().await;
    let guide = TelegramPlatform.guide().unwrap();
    let link = async |place| {
        let invitation = guide.invitation(&account(&server), "pair-7xY", place).await;
        invitation.unwrap().link
    };
    let private = "https://t.me/countersign_test_bot?start=pair-7xY";
    assert_eq!(link(PairingPlace::Private).await, private);
    let group = "https://t.me/countersign_test_bot?startgroup=pair-7xY";
    assert_eq!(link(PairingPlace::Group).await, group);
}
