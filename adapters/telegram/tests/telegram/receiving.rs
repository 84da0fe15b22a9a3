//! Presses on their way to the core, and what goes wrong there.

use crate::fake::{ANA, BEN, EVE, FORUM, Fault, GROUP, Telegram as Server, Told};
use crate::room::{Room, adapter, number, receipt, target};
use countersign_port::{
    Adapter as _, Lead, MessageRef, Outcome, Posting, Presser, Receipt, Receiving, SendError,
    Target,
};
use countersign_port_testkit::{Received, TestCore, closed, sample_card};
use countersign_telegram::{Telegram, TelegramConfig};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::{Duration, Instant};
use tokio::sync::{Semaphore, mpsc};

fn told(text: &str, alert: bool) -> Told {
    Told { text: text.to_owned(), alert }
}

async fn post(room: &Room, server: &Server) -> i64 {
    let message =
        room.adapter.post(&target(GROUP), &sample_card("ls"), Posting::First).await.unwrap();
    assert!(server.message(GROUP, number(&message)).buttons.len() == 1);
    number(&message)
}

#[tokio::test]
async fn a_press_reaches_the_core_with_who_where_and_what() {
    let server = Server::start().await;
    let mut room = Room::open(&server, vec![receipt(Outcome::Applied, "Approved once.")]);
    let card = post(&room, &server).await;
    assert_eq!(server.press(GROUP, card, "Approve", ANA).await, told("Approved once.", false));
    let expected = Received {
        presser: Presser { id: "4211".into(), name: "Ana".into(), roles: vec![] },
        message: Some(MessageRef(format!("{GROUP}/{card}"))),
        token: "k3J9sQ0aZ_-b4LmX7yTn2w.1.a".into(),
        text: None,
    };
    assert_eq!(room.next_press().await, expected);
    room.close().await;
    assert_eq!((server.unconfirmed(), server.violations()), (0, vec![]));
}

#[tokio::test]
async fn every_outcome_is_told_to_the_presser_alone() {
    let server = Server::start().await;
    let outcomes = [
        (Outcome::Noted, false),
        (Outcome::NotAllowed, true),
        (Outcome::AlreadyAnswered, true),
        (Outcome::Expired, true),
        (Outcome::Cancelled, true),
        (Outcome::Unknown, true),
        (Outcome::Fault, true),
    ];
    let receipts = outcomes.map(|(outcome, _)| receipt(outcome, &format!("{outcome:?}")));
    let room = Room::open(&server, receipts.to_vec());
    let card = post(&room, &server).await;
    for (outcome, alert) in outcomes {
        let answer = server.press(GROUP, card, "Deny", EVE).await;
        assert_eq!(answer, told(&format!("{outcome:?}"), alert));
    }
    assert_eq!(server.messages(GROUP).len(), 1, "nothing is said in the chat");
    assert_eq!(server.message(GROUP, card).edits, 0);
    room.close().await;
}

#[tokio::test]
async fn a_long_sentence_is_cut_to_what_telegram_shows() {
    let server = Server::start().await;
    let room = Room::open(&server, vec![receipt(Outcome::Applied, &"é".repeat(300))]);
    let card = post(&room, &server).await;
    assert_eq!(server.press(GROUP, card, "Approve", ANA).await, told(&"é".repeat(200), false));
    room.close().await;
}

#[tokio::test]
async fn forged_data_and_deleted_messages_still_go_to_the_core() {
    let server = Server::start().await;
    let mut room = Room::open(&server, vec![]);
    let card = post(&room, &server).await;
    let query = server.press_data(GROUP, card, "forged", EVE);
    assert_eq!(server.told(&query).await, told("This ask is no longer pending.", true));
    assert_eq!(room.next_press().await.token, "forged");
    let data = server.button(GROUP, card, "Approve");
    server.delete(GROUP, card);
    let query = server.press_data(GROUP, card, &data, ANA);
    assert_eq!(server.told(&query).await, told("This ask is no longer pending.", true));
    let press = room.next_press().await;
    assert_eq!(press.message, Some(MessageRef(format!("{GROUP}/{card}"))));
    assert_eq!(press.token, data);
    room.close().await;
}

#[tokio::test]
async fn a_press_that_cannot_be_read_is_refused_and_holds_nothing_up() {
    let server = Server::start().await;
    let mut room = Room::open(&server, vec![receipt(Outcome::Applied, "Approved once.")]);
    let card = post(&room, &server).await;
    let query = server.press_unreadable();
    let refused = told("This press could not be read, so nothing changed.", true);
    assert_eq!(server.told(&query).await, refused);
    assert_eq!(server.press(GROUP, card, "Approve", ANA).await, told("Approved once.", false));
    assert_eq!(room.next_press().await.token, "k3J9sQ0aZ_-b4LmX7yTn2w.1.a");
    room.close().await;
}

#[tokio::test]
async fn a_button_of_an_earlier_process_still_works() {
    let server = Server::start().await;
    let room = Room::open(&server, vec![]);
    let card = post(&room, &server).await;
    room.close().await;
    let query = server.press_only(GROUP, card, "Approve", ANA);
    let mut room = Room::open(&server, vec![receipt(Outcome::Applied, "Approved once.")]);
    assert_eq!(server.told(&query).await, told("Approved once.", false));
    assert_eq!(room.next_press().await.message, Some(MessageRef(format!("{GROUP}/{card}"))));
    room.close().await;
}

#[tokio::test]
async fn a_card_that_stands_twice_is_redrawn_where_it_is_pressed() {
    let server = Server::start().await;
    let card = sample_card("ls");
    let applied =
        Receipt { card: Some(closed(&card)), ..receipt(Outcome::Applied, "Approved once.") };
    let room = Room::open(&server, vec![applied]);
    server.fail("sendMessage", Fault::DropAfter, 1);
    assert!(room.adapter.post(&target(GROUP), &card, Posting::First).await.is_err());
    let known = number(&room.adapter.post(&target(GROUP), &card, Posting::First).await.unwrap());
    let twice = server.open_cards(GROUP);
    assert_eq!(twice.len(), 2, "Telegram has no way to send once");
    let lost = twice.iter().find(|m| m.id != known).unwrap().id;
    server.press(GROUP, lost, "Approve", ANA).await;
    server
        .until("the lost card closed", || {
            server.message(GROUP, lost).buttons.is_empty().then_some(())
        })
        .await;
    assert!(server.message(GROUP, lost).text.contains("Ana, 12:03 · stored: rm build/*"));
    room.close().await;
}

/// A core that answers when it is let.
struct SlowCore {
    seen: mpsc::UnboundedSender<Received>,
    let_go: Semaphore,
}

countersign_port_testkit::presses!(SlowCore);

#[countersign_port::async_trait]
impl TestCore for SlowCore {
    async fn take(&self, press: Received) -> Receipt {
        let _ = self.seen.send(press);
        self.let_go.acquire().await.unwrap().forget();
        receipt(Outcome::Applied, "Approved once.")
    }
}

#[tokio::test]
async fn a_press_is_confirmed_and_answered_only_after_the_core_has_it() {
    let server = Server::start().await;
    let (seen, presses) = mpsc::unbounded_channel();
    let core = Arc::new(SlowCore { seen, let_go: Semaphore::new(0) });
    let mut room = Room::with_core(adapter(&server), core.clone(), presses);
    let card = post(&room, &server).await;
    let query = server.press_only(GROUP, card, "Approve", ANA);
    room.next_press().await;
    assert_eq!((server.unconfirmed(), server.calls("answerCallbackQuery").len()), (1, 0));
    core.let_go.add_permits(1);
    assert_eq!(server.told(&query).await, told("Approved once.", false));
    server.until("the confirmation", || (server.unconfirmed() == 0).then_some(())).await;
    room.close().await;
}

#[tokio::test]
async fn a_press_that_the_core_never_took_comes_back() {
    let server = Server::start().await;
    let (seen, presses) = mpsc::unbounded_channel();
    let core = Arc::new(SlowCore { seen, let_go: Semaphore::new(0) });
    let mut dying = Room::with_core(adapter(&server), core, presses);
    let card = post(&dying, &server).await;
    let query = server.press_only(GROUP, card, "Approve", ANA);
    dying.next_press().await;
    dying.kill();
    let mut room = Room::open(&server, vec![receipt(Outcome::Applied, "Approved once.")]);
    assert_eq!(room.next_press().await.token, "k3J9sQ0aZ_-b4LmX7yTn2w.1.a");
    assert_eq!(server.told(&query).await, told("Approved once.", false));
    room.close().await;
}

#[tokio::test]
async fn an_outage_is_said_and_ends_by_itself_within_seconds() {
    let server = Server::start().await;
    let mut room = Room::open(&server, vec![receipt(Outcome::Applied, "Approved once.")]);
    let card = post(&room, &server).await;
    room.listens().await;
    server.fail("getUpdates", Fault::BadGateway, 2);
    server.fail("getUpdates", Fault::DropBefore, 1);
    server.fail("getUpdates", Fault::Garbled, 1);
    // The pull that is under way brings this; the next ones fail.
    let begun = Instant::now();
    server.say(GROUP, "/nothing", BEN);
    assert_eq!(room.deaf().await, "Telegram's server answers 502 Bad Gateway");
    let query = server.press_only(GROUP, card, "Approve", ANA);
    assert_eq!(server.told(&query).await, told("Approved once.", false));
    assert!(begun.elapsed() < Duration::from_secs(6), "{:?}", begun.elapsed());
    room.listens().await;
    assert_eq!(room.next_press().await.presser.id, "4211");
    room.close().await;
}

#[tokio::test]
async fn an_answer_that_fails_is_given_again() {
    let server = Server::start().await;
    let room = Room::open(&server, vec![receipt(Outcome::Applied, "Approved once.")]);
    let card = post(&room, &server).await;
    server.fail("answerCallbackQuery", Fault::BadGateway, 1);
    server.fail("answerCallbackQuery", Fault::DropBefore, 1);
    server.fail("answerCallbackQuery", Fault::RetryAfter(1), 1);
    assert_eq!(server.press(GROUP, card, "Approve", ANA).await, told("Approved once.", false));
    room.close().await;
}

#[tokio::test]
async fn a_press_too_old_to_answer_is_harmless() {
    let server = Server::start().await;
    let mut room = Room::open(&server, vec![receipt(Outcome::Applied, "Approved once.")]);
    let card = post(&room, &server).await;
    let old = "Bad Request: query is too old and response timeout expired or query ID is invalid";
    server.fail("answerCallbackQuery", Fault::Refuse(400, old), 1);
    server.press_only(GROUP, card, "Approve", ANA);
    room.next_press().await;
    server
        .until("an answer", || (server.calls("answerCallbackQuery").len() == 1).then_some(()))
        .await;
    assert_eq!(room.adapter.signals().receiving(), Receiving::Listening);
    room.close().await;
    assert_eq!(server.calls("answerCallbackQuery").len(), 1, "it is not repeated");
}

#[tokio::test]
async fn another_poller_that_goes_on_is_named_and_outlived() {
    let server = Server::start().await;
    let conflict = Fault::Refuse(409, "Conflict: terminated by other getUpdates request");
    server.fail("getUpdates", conflict, 2);
    let room = Room::hasty(&server, vec![]);
    let why = room.deaf().await;
    assert!(why.starts_with("Another program polls this") && why.contains("docs/team.md"), "{why}");
    room.listens().await;
    room.close().await;
}

#[tokio::test]
async fn two_adapters_on_one_bot_both_say_so_and_lose_no_press() {
    let server = Server::start().await;
    let answers = vec![receipt(Outcome::Applied, "Approved once."); 4];
    let one = Room::hasty(&server, answers.clone());
    let two = Room::hasty(&server, answers);
    let other = "Another program";
    let conflicted =
        |now: &Receiving| matches!(now, Receiving::Deaf { why, .. } if why.contains(other));
    one.receiving(conflicted).await;
    two.receiving(conflicted).await;
    let card = post(&one, &server).await;
    let query = server.press_only(GROUP, card, "Approve", ANA);
    assert_eq!(server.told(&query).await.text, "Approved once.");
    assert!(conflicted(&two.adapter.signals().receiving()), "a poll that goes well ends nothing");
    one.close().await;
    two.receiving(|now| *now == Receiving::Listening).await;
    two.close().await;
}

#[tokio::test]
async fn a_webhook_is_named_and_not_deleted() {
    let server = Server::start().await;
    server.set_webhook(true);
    let room = Room::open(&server, vec![]);
    let why = room.deaf().await;
    assert!(why.contains("webhook"), "{why}");
    assert_eq!(server.calls("deleteWebhook").len(), 0);
    server.set_webhook(false);
    room.listens().await;
    room.close().await;
}

#[tokio::test]
async fn a_refused_token_is_said_with_its_key_and_taken_again_when_telegram_does() {
    let server = Server::start().await;
    server.refuse_token();
    let mut room = Room::open(&server, vec![receipt(Outcome::Applied, "Approved once.")]);
    let why = room.deaf().await;
    assert!(why.contains("`[telegram] token`") && why.contains("@BotFather"), "{why}");
    let refused = room.adapter.post(&target(GROUP), &sample_card("ls"), Posting::First).await;
    assert!(matches!(refused, Err(SendError::Fatal(_))), "{refused:?}");
    server.accept_token();
    room.listens().await;
    let card = post(&room, &server).await;
    assert_eq!(server.press(GROUP, card, "Approve", ANA).await, told("Approved once.", false));
    room.next_press().await;
    room.close().await;
}

#[tokio::test]
async fn whatever_ends_the_polling_it_goes_on_when_that_is_over() {
    let server = Server::start().await;
    let room = Room::open(&server, vec![receipt(Outcome::Applied, "Approved once."); 9]);
    let card = post(&room, &server).await;
    room.listens().await;
    for (code, said, part) in [
        (401, "Unauthorized", "`[telegram] token`"),
        (404, "Not Found", "`[telegram] token`"),
        (403, "Forbidden", "Forbidden"),
        (400, "Bad Request: whatever", "whatever"),
        (420, "Flood", "Flood"),
    ] {
        server.fail("getUpdates", Fault::Refuse(code, said), u32::MAX);
        // Ends the poll that is under way.
        server.say(GROUP, "/nothing", BEN);
        let why = room.deaf().await;
        assert!(why.contains(part), "{why}");
        let query = server.press_only(GROUP, card, "Approve", ANA);
        server.mend("getUpdates");
        assert_eq!(server.told(&query).await, told("Approved once.", false), "{code}");
        room.listens().await;
    }
    room.close().await;
}

#[tokio::test]
async fn a_url_that_is_none_is_said_with_its_key() {
    let config = TelegramConfig { token: "7:x".to_owned(), api_url: "not a url".to_owned() };
    let adapter = Arc::new(Telegram::new(config));
    let (core, presses) = countersign_port_testkit::ScriptedCore::new(vec![]);
    let room = Room::with_core(adapter, core, presses);
    let why = room.deaf().await;
    assert!(why.contains("`[telegram] api_url`"), "{why}");
    room.close().await;
}

#[tokio::test]
async fn a_server_that_is_away_at_the_start_is_waited_for() {
    let server = Server::start().await;
    server.set_down(true);
    let room = Room::open(&server, vec![]);
    let why = room.deaf().await;
    assert!(why.starts_with("Telegram cannot be reached"), "{why}");
    server.set_down(false);
    room.listens().await;
    room.close().await;
}

#[tokio::test]
async fn newcomers_learn_their_numbers_but_cannot_make_the_bot_chatter() {
    let server = Server::start().await;
    let room = Room::open(&server, vec![]);
    for _ in 0..5 {
        server.say(BEN.id, "/start", BEN);
    }
    let hello = server.until("an introduction", || server.messages(BEN.id).pop()).await;
    assert!(hello.text.contains("telegram = [4212]"), "{}", hello.text);
    assert!(hello.text.contains("targets = [{ chat = 4212 }]"), "{}", hello.text);
    server.until("all fetched", || (server.unconfirmed() == 0).then_some(())).await;
    room.close().await;
    assert_eq!(server.messages(BEN.id).len(), 1);
}

#[tokio::test]
async fn a_group_learns_its_number_by_id_alone() {
    let server = Server::start().await;
    let room = Room::open(&server, vec![]);
    for text in ["/start", "/id@another_bot", "/identity", "hello countersign_test_bot /id"] {
        server.say(GROUP, text, ANA);
    }
    let asked = server.say(GROUP, "/id@Countersign_test_bot please", ANA);
    let hello = server.until("an introduction", || server.messages(GROUP).pop()).await;
    assert_eq!(hello.reply_to, Some(asked));
    assert!(hello.text.contains(&format!("targets = [{{ chat = {GROUP} }}]")), "{}", hello.text);
    room.close().await;
    assert_eq!(server.messages(GROUP).len(), 1);
}

#[tokio::test]
async fn a_press_in_a_topic_is_answered_like_any_other() {
    let server = Server::start().await;
    let mut room = Room::open(&server, vec![receipt(Outcome::TextWanted, "What instead?")]);
    let topic = Target(format!("{FORUM}/7"));
    let card =
        number(&room.adapter.post(&topic, &sample_card("ls"), Posting::First).await.unwrap());
    server.press(FORUM, card, "Other…", ANA).await;
    let prompt = server.until("a prompt", || server.prompt(FORUM)).await;
    assert_eq!((prompt.topic, prompt.reply_to), (Some(7), Some(card)));
    assert_eq!(room.next_press().await.message, Some(MessageRef(format!("{FORUM}/{card}"))));
    room.close().await;
}

struct Leading(AtomicBool);

impl Lead for Leading {
    fn holds(&self) -> bool {
        self.0.load(Relaxed)
    }
}

#[tokio::test]
async fn without_leading_nothing_is_sent_and_a_press_is_left_to_the_one_that_leads() {
    let server = Server::start().await;
    let mut room = Room::open(&server, vec![receipt(Outcome::Applied, "Approved once.")]);
    let card = post(&room, &server).await;
    let leading = Arc::new(Leading(AtomicBool::new(false)));
    room.adapter.lead(leading.clone());
    let query = server.press_only(GROUP, card, "Approve", ANA);
    let message = MessageRef(format!("{GROUP}/{card}"));
    let edited = room.adapter.update(&message, &closed(&sample_card("ls"))).await;
    assert!(matches!(edited, Err(SendError::Transient(_))), "{edited:?}");
    assert_eq!(server.unconfirmed(), 1, "it stays for the leader");
    assert!(room.presses.try_recv().is_err());
    leading.0.store(true, Relaxed);
    assert_eq!(server.told(&query).await, told("Approved once.", false));
    room.next_press().await;
    room.close().await;
    assert_eq!(server.calls("answerCallbackQuery").len(), 1);
    assert_eq!((server.unconfirmed(), server.violations()), (0, vec![]));
}
