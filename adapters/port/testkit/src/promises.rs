//! The promises, one by one.

use crate::running::AdapterProcess;
use crate::{
    FakePlatform, Injected, PlatformFault, Received, ScriptedCore, TestCore, closed, sample_card,
    sample_edit,
};
use countersign_port::{
    Button, ButtonStyle, Card, Outcome, Posting, Receipt, RetryScope, SendError, SessionThread,
    TEXT_NOT_NOW, Tone,
};
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::mpsc;

fn told(outcome: Outcome, sentence: &str, card: Option<Card>) -> Receipt {
    Receipt { outcome, sentence: sentence.to_owned(), card }
}

/// A card of its own: nothing of an earlier promise is in its way.
fn card(nth: u32, command: &str) -> Card {
    of_its_own(nth, sample_card(command))
}

fn of_its_own(nth: u32, mut card: Card) -> Card {
    let id = format!("k3J9sQ0aZ_-b4LmX7yTn{nth:02}");
    for button in card.buttons.iter_mut().flatten().chain(&mut card.more) {
        button.token = button.token.replace(&card.id, &id);
    }
    card.id = id;
    card
}

pub(super) async fn cards_are_shown_pressed_and_closed(fake: &dyn FakePlatform) {
    let ana = fake.somebody();
    let command = "rm -rf build/* && echo \"<done> & `dusted`\" </code></pre> @everyone";
    let card = card(1, command);
    let receipts = vec![
        told(Outcome::NotAllowed, "You may not answer this.", None),
        told(Outcome::TextWanted, "What should it be instead?", None),
        told(Outcome::Noted, "Noted.", None),
        told(Outcome::Applied, "Approved once.", Some(closed(&card))),
    ];
    let mut running = AdapterProcess::start(fake, receipts).await;
    let message = running.post(&card, Posting::First).await;
    let shown = fake.shown(&message).await;
    for text in ["claude-code · shop on mill", "rm -rf build/* && echo", "</code></pre>"] {
        assert!(shown.text.contains(text), "the card shows `{text}` literally: {}", shown.text);
    }
    assert_eq!(shown.buttons, ["Approve", "Always", "Deny", "Other…"]);

    let said = fake.press(&message, "Approve", &ana).await;
    assert_eq!(said.as_deref(), Some("You may not answer this."), "a refusal is told");
    let press = running.next().await;
    let expected = Received {
        presser: ana.clone(),
        message: Some(message.clone()),
        token: format!("{}.1.a", card.id),
        text: None,
    };
    assert_eq!((press.presser.id.as_str(), &press.presser.roles), (&*ana.id, &ana.roles));
    assert_eq!(Received { presser: ana.clone(), ..press }, expected, "who pressed what, and where");
    assert_eq!(fake.shown(&message).await.buttons.len(), 4, "a refused press changes nothing");

    let _ = fake.press(&message, "Other…", &ana).await;
    assert_eq!(running.next().await.token, format!("{}.1.t", card.id));
    let _ = fake.give_text(&message, "use trash-put", &ana).await;
    is_the_text(&running.next().await, &card, "use trash-put", &ana.id);

    let said = fake.press(&message, "Always", &ana).await;
    assert_eq!(said.as_deref(), Some("Approved once."), "the presser is told what happened");
    assert_eq!(running.next().await.token, format!("{}.1.w", card.id));

    running.update(&message, &closed(&card)).await;
    // Redrawing the same card is harmless.
    running.update(&message, &closed(&card)).await;
    let shown = fake.shown(&message).await;
    assert!(shown.buttons.is_empty(), "a closed card has no buttons");
    assert!(shown.text.contains("rm -rf build/*"), "the text is kept");
    assert!(shown.text.contains("Ana, 12:03 · stored: rm build/*"), "the outcome is added");
    running.end().await;
}

pub(super) async fn what_stands_behind_more_is_shown_and_pressed(fake: &dyn FakePlatform) {
    let ana = fake.somebody();
    let card = of_its_own(9, sample_edit());
    let receipts = vec![told(Outcome::Applied, "Approved for 10 minutes.", Some(closed(&card)))];
    let (core, received) = ScriptedCore::with_card(receipts, card.clone());
    let mut running = AdapterProcess::with_core(fake, core, received).await;
    let message = running.post(&card, Posting::First).await;
    let shown = fake.shown(&message).await;
    for text in ["nginx.conf +2 −1", "+   listen 443 ssl;", "</pre> ``` <b>@everyone</b>"] {
        assert!(shown.text.contains(text), "a change shows `{text}` literally: {}", shown.text);
    }
    let said = fake.press(&message, "10 min: this change", &ana).await;
    assert_eq!(said.as_deref(), Some("Approved for 10 minutes."));
    let press = running.next().await;
    assert_eq!((press.token, press.message), (format!("{}.1.m0", card.id), Some(message.clone())));
    running.closes(&message).await;
    running.end().await;
}

pub(super) async fn a_view_of_a_card_is_shown_where_it_was_asked_for(fake: &dyn FakePlatform) {
    let ana = fake.somebody();
    let button = |code: &str, label: &str, style| Button {
        token: format!("k3J9sQ0aZ_-b4LmX7yTn2w.1.{code}"),
        label: label.to_owned(),
        style,
    };
    let review = button("r", "Review and approve…", ButtonStyle::Open);
    let card =
        Card { tone: Tone::Critical, buttons: vec![vec![review]], ..sample_card("rm -rf /") };
    let card = of_its_own(10, card);
    let yes = button("c", "Yes, delete /", ButtonStyle::Confirm);
    let view = Card { buttons: vec![vec![yes]], ..card.clone() };
    let view =
        Card { id: card.id.clone(), ..of_its_own(10, Card { id: sample_card("").id, ..view }) };
    let receipts = vec![told(Outcome::Noted, "", Some(view))];
    let (core, received) = ScriptedCore::with_card(receipts, card.clone());
    let mut running = AdapterProcess::with_core(fake, core, received).await;
    let message = running.post(&card, Posting::First).await;
    assert!(fake.shown(&message).await.text.contains("CRITICAL"), "the word comes first");
    let _ = fake.press(&message, "Review and approve…", &ana).await;
    assert_eq!(running.next().await.token, format!("{}.1.r", card.id));
    running.shows(&message, "Yes, delete /").await;
    // Every further redraw shows the card itself.
    running.update(&message, &card).await;
    running.shows(&message, "Review and approve…").await;
    running.end().await;
}

/// A text comes back with the token of its button, or bare at the card's message.
fn is_the_text(received: &Received, card: &Card, text: &str, presser: &str) {
    let token = format!("{}.1.t", card.id);
    assert!(
        received.token == token || received.token.is_empty() && received.message.is_some(),
        "the core can tell which button asked for the text: {received:?}"
    );
    assert_eq!(received.text.as_deref(), Some(text), "free text comes back as it is");
    assert_eq!(received.presser.id, presser);
}

pub(super) async fn a_long_card_is_shown_whole(fake: &dyn FakePlatform) {
    let running = AdapterProcess::start(fake, vec![]).await;
    let long = format!("echo start; {} rm -rf tail-end", "printf '%s' x; ".repeat(2_000));
    let message = running.post(&card(2, &long), Posting::First).await;
    let shown = fake.shown(&message).await;
    assert!(
        shown.text.contains(&long) || shown.files.contains(&long),
        "a long command is shown whole or attached whole"
    );
    assert!(shown.text.contains("rm -rf tail-end"), "the tail of a long command is shown");
    running.end().await;
}

/// A core whose store is slow, where somebody else was first.
struct SlowCore {
    closed: Card,
    seen: mpsc::UnboundedSender<Received>,
}

crate::presses!(SlowCore);

#[countersign_port::async_trait]
impl TestCore for SlowCore {
    async fn take(&self, received: Received) -> Receipt {
        // Longer than the 3 s that Slack and Discord wait.
        tokio::time::sleep(Duration::from_millis(3_500)).await;
        let wants_text = received.token.ends_with(".t");
        let _ = self.seen.send(received);
        if wants_text {
            return told(Outcome::TextWanted, "What should it be instead?", None);
        }
        told(Outcome::AlreadyAnswered, "Ben was first: denied.", Some(self.closed.clone()))
    }
}

pub(super) async fn a_slow_core_is_waited_for(fake: &dyn FakePlatform) {
    let ana = fake.somebody();
    let card = card(3, "ls");
    let (seen, received) = mpsc::unbounded_channel();
    let core = Arc::new(SlowCore { closed: closed(&card), seen });
    let mut running = AdapterProcess::with_core(fake, core, received).await;
    let message = running.post(&card, Posting::First).await;

    let (other, approve) =
        tokio::join!(fake.press(&message, "Other…", &ana), fake.press(&message, "Approve", &ana));
    let mut tokens = [running.next().await.token, running.next().await.token];
    tokens.sort();
    assert_eq!(tokens, ["a", "t"].map(|code| format!("{}.1.{code}", card.id)));
    let other = other.unwrap_or_default();
    let asked = other.contains("What should it be instead?") || other == TEXT_NOT_NOW;
    assert!(
        asked,
        "the presser is asked for a text, or told that it is too late for that: {other}"
    );
    assert_eq!(approve.as_deref(), Some("Ben was first: denied."), "a late receipt is told too");
    running.closes(&message).await;
    running.end().await;
}

pub(super) async fn a_text_is_taken_after_a_restart(fake: &dyn FakePlatform) {
    let ana = fake.somebody();
    let card = card(4, "ls");
    let wanted = told(Outcome::TextWanted, "What should it be instead?", None);
    let mut before = AdapterProcess::start(fake, vec![wanted]).await;
    let message = before.post(&card, Posting::First).await;
    let _ = fake.press(&message, "Other…", &ana).await;
    let _ = before.next().await;
    before.end().await;
    let applied = told(Outcome::Applied, "Answered.", None);
    let mut after = AdapterProcess::start(fake, vec![applied]).await;
    let said = fake.give_text(&message, "use trash-put", &ana).await;
    is_the_text(&after.next().await, &card, "use trash-put", &ana.id);
    assert_eq!(said.as_deref(), Some("Answered."), "the text's giver is told what happened");
    after.end().await;
}

pub(super) async fn a_card_that_is_posted_again_stands_once_or_closes_where_it_is_pressed(
    fake: &dyn FakePlatform,
) {
    let ana = fake.somebody();
    let card = card(5, "ls");
    let before = AdapterProcess::start(fake, vec![]).await;
    let first = before.post(&card, Posting::First).await;
    assert_eq!(before.post(&card, Posting::MayRepeat).await, first, "one process shows it once");
    before.end().await;
    // The process died before it could note the first message.
    let gone = told(Outcome::AlreadyAnswered, "Ben was first: denied.", Some(closed(&card)));
    let mut after = AdapterProcess::start(fake, vec![gone]).await;
    let second = after.post(&card, Posting::MayRepeat).await;
    after.update(&second, &closed(&card)).await;
    assert!(fake.shown(&second).await.buttons.is_empty());
    if first != second {
        // The first is an orphan: only a person who presses it finds out.
        let said = fake.press(&first, "Approve", &ana).await;
        assert_eq!(said.as_deref(), Some("Ben was first: denied."));
        assert_eq!(after.next().await.message, Some(first.clone()));
        after.closes(&first).await;
    }
    after.end().await;
}

pub(super) async fn a_wait_is_reported_and_then_over(fake: &dyn FakePlatform) {
    let running = AdapterProcess::start(fake, vec![]).await;
    let card = card(6, "ls");
    let wait = Duration::from_secs(1);
    match fake.inject(PlatformFault::Limited(wait)).await {
        Injected::Never => return running.end().await,
        Injected::Once => {}
    }
    let limited = running.try_post(&card, Posting::First).await;
    let Err(SendError::Retry { after, scope: RetryScope::Target | RetryScope::Account }) = limited
    else {
        panics(&format!("the platform's wait is reported as it is: {limited:?}"))
    };
    assert!(after <= wait && !after.is_zero(), "{after:?}");
    tokio::time::sleep(after).await;
    let message = running.post(&card, Posting::MayRepeat).await;
    assert_eq!(fake.shown(&message).await.buttons.len(), 4);
    running.end().await;
}

pub(super) async fn a_lost_answer_loses_no_card(fake: &dyn FakePlatform) {
    let ana = fake.somebody();
    let card = card(7, "ls");
    let applied = told(Outcome::Applied, "Approved once.", Some(closed(&card)));
    let mut running = AdapterProcess::start(fake, vec![applied]).await;
    match fake.inject(PlatformFault::AnswerLost).await {
        Injected::Never => return running.end().await,
        Injected::Once => {}
    }
    let lost = running.try_post(&card, Posting::First).await;
    assert!(matches!(lost, Err(SendError::Transient(_))), "worth another try: {lost:?}");
    let message = running.post(&card, Posting::MayRepeat).await;
    assert_eq!(fake.press(&message, "Approve", &ana).await.as_deref(), Some("Approved once."));
    assert_eq!(running.next().await.message, Some(message.clone()));
    running.closes(&message).await;
    running.end().await;
}

pub(super) async fn presses_arrive_after_a_reconnect(fake: &dyn FakePlatform) {
    let ana = fake.somebody();
    let card = card(8, "ls");
    let applied = told(Outcome::Applied, "Approved once.", Some(closed(&card)));
    let mut running = AdapterProcess::start(fake, vec![applied]).await;
    let message = running.post(&card, Posting::First).await;
    match fake.inject(PlatformFault::Disconnected).await {
        Injected::Never => return running.end().await,
        Injected::Once => {}
    }
    running.notices().await;
    running.listens().await;
    assert_eq!(fake.press(&message, "Approve", &ana).await.as_deref(), Some("Approved once."));
    assert_eq!(running.next().await.message, Some(message));
    running.end().await;
}

#[expect(clippy::panic, reason = "a test kit fails by panicking")]
fn panics(why: &str) -> ! {
    panic!("{why}")
}

/// Made once, posted and pressed in like any target, closed, and opened again.
#[expect(clippy::panic, reason = "a test kit fails by panicking")]
pub(super) async fn a_session_has_one_thread(fake: &dyn FakePlatform) {
    let Some(target) = fake.thread_target() else { return };
    let ana = fake.somebody();
    let mut card = sample_card("ls");
    let id = "k3J9sQ0aZ_-b4LmX7yTn60";
    for button in card.buttons.iter_mut().flatten().chain(&mut card.more) {
        button.token = button.token.replace(&card.id, id);
    }
    id.clone_into(&mut card.id);
    let sentence = "Approved once.".to_owned();
    let over = Some(closed(&card));
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
