//! Tests of a press.

use crate::discord::{FakeDiscord, Fault, Person, Told};
use crate::support::{Running, adapter, ana, receipt, target};
use countersign_port::{
    Adapter, CancellationToken, Lead, Outcome, Posting, Presser, Receipt, SendError, async_trait,
};
use countersign_port_testkit::{COMMANDS, Received, TestCore, closed, sample_card};
use std::sync::Arc;
use std::time::{Duration, Instant};

fn privately(words: &str) -> Told {
    Told::Privately(words.to_owned())
}

#[tokio::test]
async fn an_applied_press_redraws_the_card_in_its_answer_and_tells_the_presser() {
    let fake = FakeDiscord::start().await;
    let card = sample_card("make release");
    let applied = receipt(Outcome::Applied, "Approved *once*.", Some(closed(&card)));
    let mut bridge = Running::start(&fake, vec![applied]);
    let message = bridge.post(&card).await;

    let told = fake.press(&message.0, "Approve", &ana().with_role("77")).await;

    assert_eq!(told, privately("Approved *once*."));
    let presser = Presser { id: "4211".into(), name: "Ana".into(), roles: vec!["77".into()] };
    assert_eq!(bridge.next().await.presser, presser);
    let shown = fake.message(&message.0).unwrap();
    assert_eq!((shown.buttons, shown.edits), (vec![], 1));
    assert!(shown.text.contains("make release") && shown.text.contains("Ana, 12:03 · stored"));
    assert_eq!(fake.violations(), Vec::<String>::new());
    bridge.end().await;
}

#[tokio::test]
async fn a_stranger_is_told_alone_and_the_card_stays() {
    let fake = FakeDiscord::start().await;
    let refused = receipt(Outcome::NotAllowed, "You may not answer this.", None);
    let bridge = Running::start(&fake, vec![refused]);
    let message = bridge.post(&sample_card("ls")).await;
    let before = fake.message(&message.0);

    let told = fake.press(&message.0, "Approve", &Person::new("666", "Mallory")).await;

    assert_eq!(told, privately("You may not answer this."));
    assert_eq!(fake.message(&message.0), before);
    bridge.end().await;
}

#[tokio::test]
async fn of_two_presses_at_once_both_are_answered_with_their_own_sentence() {
    let fake = FakeDiscord::start().await;
    let card = sample_card("ls");
    let bridge = Running::start(
        &fake,
        vec![
            receipt(Outcome::Applied, "Approved once.", Some(closed(&card))),
            receipt(Outcome::AlreadyAnswered, "Ana was first.", Some(closed(&card))),
        ],
    );
    let message = bridge.post(&card).await;
    let bo = Person::new("4212", "Bo");
    let anas = ana();
    let (first, second) =
        tokio::join!(fake.press(&message.0, "Approve", &anas), fake.press(&message.0, "Deny", &bo));
    let mut told = [first, second];
    told.sort_by_key(|told| format!("{told:?}"));
    assert_eq!(told, [privately("Ana was first."), privately("Approved once.")]);
    assert!(fake.message(&message.0).unwrap().buttons.is_empty());
    assert_eq!(fake.violations(), Vec::<String>::new());
    bridge.end().await;
}

#[tokio::test]
async fn an_old_cards_button_reaches_the_core_of_a_new_process() {
    let fake = FakeDiscord::start().await;
    let card = sample_card("ls");
    let before = Running::start(&fake, vec![]);
    let message = before.post(&card).await;
    before.end().await;

    let applied = receipt(Outcome::Applied, "Denied.", Some(closed(&card)));
    let mut bridge = Running::start(&fake, vec![applied]);
    let told = fake.press(&message.0, "Deny", &ana()).await;

    assert_eq!(told, privately("Denied."));
    let press = bridge.next().await;
    assert_eq!(
        (press.token.as_str(), press.message),
        ("k3J9sQ0aZ_-b4LmX7yTn2w.1.d", Some(message))
    );
    bridge.end().await;
}

#[tokio::test]
async fn a_text_given_after_a_restart_comes_back_with_its_token() {
    let fake = FakeDiscord::start().await;
    let card = sample_card("ls");
    let wanted = receipt(Outcome::TextWanted, "What should it be instead?", None);
    let before = Running::start(&fake, vec![wanted]);
    let message = before.post(&card).await;
    let told = fake.press(&message.0, "Other…", &ana()).await;
    assert_eq!(told, Told::Asked("What should it be instead?".to_owned()));
    before.end().await;

    let applied = receipt(Outcome::Applied, "Answered.", Some(closed(&card)));
    let mut bridge = Running::start(&fake, vec![applied]);
    let told = fake.give_text(&message.0, "use `trash`\n@everyone", &ana()).await;

    assert_eq!(told, privately("Answered."));
    let press = bridge.next().await;
    assert_eq!(press.token, "k3J9sQ0aZ_-b4LmX7yTn2w.1.t");
    assert_eq!(press.text.as_deref(), Some("use `trash`\n@everyone"));
    assert!(fake.message(&message.0).unwrap().buttons.is_empty());
    assert_eq!(fake.violations(), Vec::<String>::new());
    bridge.end().await;
}

#[tokio::test]
async fn a_text_that_is_not_taken_is_answered_with_words_as_no_window_may_follow_a_window() {
    let fake = FakeDiscord::start().await;
    let again = || receipt(Outcome::TextWanted, "Say what it should be instead.", None);
    let bridge = Running::start(&fake, vec![again(), again()]);
    let message = bridge.post(&sample_card("ls")).await;
    let _ = fake.press(&message.0, "Other…", &ana()).await;
    let told = fake.give_text(&message.0, "?", &ana()).await;
    assert_eq!(told, privately("Say what it should be instead."));
    bridge.end().await;
}

#[tokio::test]
async fn a_button_that_no_longer_stands_reaches_the_core_as_it_came() {
    let fake = FakeDiscord::start().await;
    let mut bridge = Running::start(&fake, vec![]);
    let message = bridge.post(&sample_card("ls")).await;
    let told = fake.press_token(&message.0, "forged.token", &ana()).await;
    assert_eq!(told, privately("This ask is no longer pending."));
    assert_eq!(bridge.next().await.token, "forged.token");
    bridge.end().await;
}

#[tokio::test]
async fn a_press_whose_answer_meets_trouble_is_answered_all_the_same() {
    let fake = FakeDiscord::start().await;
    let noted = || receipt(Outcome::Noted, "Noted.", None);
    let bridge = Running::start(&fake, vec![noted(), noted(), noted()]);
    let message = bridge.post(&sample_card("ls")).await;
    let troubles =
        [Fault::Html(502), Fault::DropBefore, Fault::Limited { retry_after: 0.3, global: false }];
    for fault in troubles {
        fake.fail("/callback", 1, fault);
        assert_eq!(fake.press(&message.0, "Approve", &ana()).await, privately("Noted."));
    }
    bridge.end().await;
}

#[tokio::test]
async fn an_answer_that_arrived_although_the_line_broke_is_not_given_twice() {
    let fake = FakeDiscord::start().await;
    let bridge = Running::start(&fake, vec![receipt(Outcome::Noted, "Noted.", None)]);
    let message = bridge.post(&sample_card("ls")).await;
    fake.fail("/callback", 1, Fault::DropAfter);
    assert_eq!(fake.press(&message.0, "Approve", &ana()).await, privately("Noted."));
    bridge.end().await;
}

#[tokio::test]
async fn a_card_that_cannot_be_redrawn_still_tells_its_presser() {
    let fake = FakeDiscord::start().await;
    let card = sample_card("ls");
    let applied = receipt(Outcome::Applied, "Approved once.", Some(closed(&card)));
    let bridge = Running::start(&fake, vec![applied]);
    let message = bridge.post(&card).await;
    let message_text = "Unknown Message".to_owned();
    fake.fail("/callback", 1, Fault::Refused { status: 404, code: 10008, message: message_text });
    assert_eq!(fake.press(&message.0, "Approve", &ana()).await, privately("Approved once."));
    bridge.end().await;
}

#[tokio::test]
async fn an_older_picture_never_replaces_a_newer_one() {
    let fake = FakeDiscord::start().await;
    let card = sample_card("ls");
    let late = receipt(Outcome::Noted, "Noted.", Some(card.clone()));
    let bridge = Running::start(&fake, vec![late]);
    let message = bridge.post(&card).await;
    let newer = closed(&card);
    bridge.adapter.update(&message, &newer).await.unwrap();

    let told = fake.press_token(&message.0, "k3J9sQ0aZ_-b4LmX7yTn2w.1.a", &ana()).await;
    assert_eq!(told, privately("Noted."));
    bridge.adapter.update(&message, &card).await.unwrap();

    let shown = fake.message(&message.0).unwrap();
    assert_eq!((shown.buttons, shown.edits), (vec![], 1));
    bridge.end().await;
}

/// A core that is stuck with one button and quick with all others.
struct Stuck;

countersign_port_testkit::presses!(Stuck);

#[async_trait]
impl TestCore for Stuck {
    async fn take(&self, press: Received) -> Receipt {
        if press.token == "stuck" {
            std::future::pending::<()>().await;
        }
        receipt(Outcome::Noted, "Noted.", None)
    }
}

#[tokio::test]
async fn no_press_waits_for_another() {
    let fake = FakeDiscord::start().await;
    let bridge = adapter(&fake);
    let stop = CancellationToken::new();
    let message = bridge.post(&target(), &sample_card("ls"), Posting::First).await.unwrap();
    let running = tokio::spawn({
        let bridge = bridge.clone();
        let stop = stop.clone();
        async move { bridge.run(Arc::new(Stuck), stop).await }
    });
    fake.until_online().await;
    for n in 0..20 {
        let fake = fake.clone();
        let message = message.0.clone();
        tokio::spawn(async move {
            fake.press_token(&message, "stuck", &Person::new(&n.to_string(), "Bo")).await
        });
    }
    tokio::task::yield_now().await;

    let began = Instant::now();
    assert_eq!(fake.press(&message.0, "Approve", &ana()).await, privately("Noted."));
    assert!(began.elapsed() < Duration::from_secs(1), "{:?}", began.elapsed());
    stop.cancel();
    running.await.unwrap();
}

struct Deposed;

impl Lead for Deposed {
    fn holds(&self) -> bool {
        false
    }
}

#[tokio::test]
async fn without_leading_nothing_is_sent_and_no_press_is_acknowledged() {
    let fake = FakeDiscord::start().await;
    let card = sample_card("ls");
    let applied = receipt(Outcome::Applied, "Approved once.", Some(closed(&card)));
    let mut bridge = Running::start(&fake, vec![applied]);
    let message = bridge.post(&card).await;
    fake.until_online().await;
    // Its commands are registered beside, and would be in between.
    fake.until_called(COMMANDS.len(), "POST /applications/").await;
    bridge.adapter.lead(Arc::new(Deposed));
    let before = fake.calls();
    let ana = ana();
    tokio::select! {
        told = fake.press(&message.0, "Approve", &ana) => panic!("{told:?}"),
        press = bridge.next() => assert_eq!(press.presser.id, "4211", "it counts"),
    }
    let posted = bridge.adapter.post(&target(), &card, Posting::First).await;
    assert!(matches!(posted, Err(SendError::Transient(_))), "{posted:?}");
    let edited = bridge.adapter.update(&message, &closed(&card)).await;
    assert!(matches!(edited, Err(SendError::Transient(_))), "{edited:?}");
    bridge.end().await;
    assert_eq!(fake.calls(), before);
}
