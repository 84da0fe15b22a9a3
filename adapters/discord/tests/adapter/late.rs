//! Presses that are answered late, or by another program of the same bot.

use crate::discord::{FakeDiscord, Told};
use crate::support::{Running, adapter, ana, receipt, target};
use countersign_port::{
    Adapter, CancellationToken, Outcome, Posting, Receipt, TEXT_NOT_NOW, async_trait,
};
use countersign_port_testkit::{Received, TestCore, closed, sample_card};
use std::sync::Arc;
use std::time::{Duration, Instant};

fn privately(words: &str) -> Told {
    Told::Privately(words.to_owned())
}

#[tokio::test]
async fn of_two_bridges_with_one_token_one_answers_and_the_other_does_no_harm() {
    let fake = FakeDiscord::start().await;
    let noted = || vec![receipt(Outcome::Noted, "Noted.", None)];
    let mut first = Running::start(&fake, noted());
    let message = first.post(&sample_card("ls")).await;
    first.listens().await;
    let mut second = Running::start(&fake, noted());
    second.listens().await;

    assert_eq!(fake.press(&message.0, "Approve", &ana()).await, privately("Noted."));

    assert_eq!(first.next().await, second.next().await);
    first.end().await;
    second.end().await;
    assert_eq!(fake.violations(), Vec::<String>::new());
}

#[tokio::test]
async fn a_press_that_the_core_does_not_know_is_left_to_another_bridge_though_that_one_is_slow() {
    let fake = FakeDiscord::start().await;
    let mut other = Running::start(&fake, vec![]);
    other.listens().await;
    let applied = receipt(Outcome::Applied, "Approved once.", Some(closed(&sample_card("ls"))));
    let told = pressed_slowly(&fake, "Approve", applied).await;
    assert_eq!(told, (privately("Approved once."), vec![]));
    assert_eq!(other.next().await.token, sample_card("ls").buttons[0][0].token);
    other.end().await;
}

#[tokio::test]
async fn a_press_that_nobody_knows_is_answered_in_time() {
    let fake = FakeDiscord::start().await;
    let bridge = Running::start(&fake, vec![]);
    let message = bridge.post(&sample_card("ls")).await;
    bridge.listens().await;
    let began = Instant::now();
    let told = fake.press(&message.0, "Approve", &ana()).await;
    assert_eq!(told, privately("This ask is no longer pending."));
    assert!(began.elapsed() >= Duration::from_millis(2200), "{:?}", began.elapsed());
    bridge.end().await;
    assert_eq!(fake.violations(), Vec::<String>::new());
}

/// A core whose store is slow: it decides once Discord has been asked for patience.
struct Slow(FakeDiscord, Receipt);

countersign_port_testkit::presses!(Slow);

#[async_trait]
impl TestCore for Slow {
    async fn take(&self, _: Received) -> Receipt {
        self.0.until_answered().await;
        self.1.clone()
    }
}

async fn pressed_slowly(fake: &FakeDiscord, label: &str, receipt: Receipt) -> (Told, Vec<String>) {
    let shows = receipt.card.is_some();
    let online = fake.identified();
    let bridge = adapter(fake);
    let stop = CancellationToken::new();
    let message = bridge.post(&target(), &sample_card("ls"), Posting::First).await.unwrap();
    let core = Arc::new(Slow(fake.clone(), receipt));
    let running = tokio::spawn({
        let bridge = bridge.clone();
        let stop = stop.clone();
        async move { bridge.run(core, stop).await }
    });
    let mut changes = fake.changes();
    while fake.identified() == online {
        changes.changed().await.unwrap();
    }
    let told = fake.press(&message.0, label, &ana()).await;
    // The core may not know this copy of the card, so the receipt's card is shown here.
    while shows && fake.message(&message.0).unwrap().edits == 0 {
        let edited = tokio::time::timeout(Duration::from_secs(20), changes.changed()).await;
        edited.expect("the pressed message shows the receipt's card").unwrap();
    }
    assert_eq!(fake.message(&message.0).unwrap().edits, usize::from(shows));
    stop.cancel();
    running.await.unwrap();
    (told, fake.violations())
}

#[tokio::test]
async fn a_press_that_is_decided_late_does_not_fail_and_its_presser_is_told_then() {
    let applied = receipt(Outcome::Applied, "Approved once.", Some(closed(&sample_card("ls"))));
    let told = pressed_slowly(&FakeDiscord::start().await, "Approve", applied).await;
    assert_eq!(told, (privately("Approved once."), vec![]));
}

#[tokio::test]
async fn whoever_waited_too_long_for_a_window_is_told_to_press_again() {
    let wanted = receipt(Outcome::TextWanted, "What should it be instead?", None);
    let told = pressed_slowly(&FakeDiscord::start().await, "Other…", wanted).await;
    assert_eq!(told, (privately(TEXT_NOT_NOW), vec![]));
}
