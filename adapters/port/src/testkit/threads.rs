//! The promises of an adapter whose platform has threads.

use super::{FakePlatform, Received, closed, running::AdapterProcess, sample_card};
use crate::{Outcome, Posting, Receipt, SendError, SessionThread};

/// Made once, posted and pressed in like any target, closed, and opened again.
#[expect(clippy::panic, reason = "a test kit fails by panicking")]
pub(super) async fn a_session_has_one_thread(fake: &dyn FakePlatform) {
    let Some(target) = fake.thread_target() else { return };
    let (ana, mut card) = (fake.somebody(), sample_card("ls"));
    let id = "k3J9sQ0aZ_-b4LmX7yTn60";
    for button in card.buttons.iter_mut().flatten().chain(&mut card.more) {
        button.token = button.token.replace(&card.id, id);
    }
    id.clone_into(&mut card.id);
    let (sentence, over) = ("Approved once.".to_owned(), Some(closed(&card)));
    let applied = Receipt { outcome: Outcome::Applied, sentence, card: over };
    let mut running = AdapterProcess::start(fake, vec![applied]).await;
    let name = format!("<b>@everyone</b> & {}", "x".repeat(200));
    let id = "Thread-of-a-session-01".to_owned();
    let mut thread = SessionThread { id, name, place: None };
    let opened = running.adapter().open_thread(&target, &thread, Posting::First).await;
    let place = opened.unwrap_or_else(|error| panic!("a thread is made: {error}"));
    assert_ne!(place, target);

    let posted = running.adapter().post(&place, &card, Posting::First).await;
    let message = posted.unwrap_or_else(|error| panic!("a card is posted in it: {error}"));
    assert!(fake.shown(&message).await.text.contains("ls"));
    assert_eq!(fake.press(&message, "Approve", &ana).await.as_deref(), Some("Approved once."));
    let Received { message: pressed, .. } = running.next().await;
    assert_eq!(pressed, Some(message.clone()), "the message has one name, posted and pressed");
    running.closes(&message).await;
    running.end().await;

    // The process died before it could note where the thread is.
    let after = AdapterProcess::start(fake, vec![]).await;
    match after.adapter().open_thread(&target, &thread, Posting::MayRepeat).await {
        Ok(again) => assert_eq!(again, place, "it is found"),
        Err(SendError::Refused(_)) => {}
        Err(other) => panic!("it is found, or nothing is made: {other}"),
    }
    thread.place = Some(place.clone());
    for _ in 0..2 {
        let closed = after.adapter().close_thread(&target, &thread).await;
        assert_eq!(closed, Ok(()), "closing what is closed is harmless");
    }
    for _ in 0..2 {
        let opened = after.adapter().open_thread(&target, &thread, Posting::First).await;
        assert_eq!(opened, Ok(place.clone()), "it is opened again, however often");
    }
    fake.delete_thread(&place).await;
    let gone = after.adapter().open_thread(&target, &thread, Posting::First).await;
    assert!(matches!(gone, Err(SendError::ThreadGone(_))), "its place is gone: {gone:?}");
    let closed = after.adapter().close_thread(&target, &thread).await;
    assert_eq!(closed, Ok(()), "there is nothing to close");
    after.end().await;
}
