//! Sending where Discord refuses, is away, or has lost something.

use crate::discord::{CHANNEL, FakeDiscord, Fault};
use crate::support::{adapter, target, wait};
use countersign_port::{Adapter, Card, MessageRef, Posting, SendError, Target};
use countersign_port_testkit::{closed, sample_card};
use std::time::{Duration, Instant};

fn numbered(n: usize) -> Card {
    Card { id: format!("card-{n}"), ..sample_card("ls") }
}

#[tokio::test]
async fn a_limit_is_passed_on_with_the_servers_time_and_kept() {
    let fake = FakeDiscord::start().await;
    let adapter = adapter(&fake);
    fake.fail("POST /channels", 1, Fault::Limited { retry_after: 0.4, global: false });
    let card = sample_card("ls");
    let refused = adapter.post(&target(), &card, Posting::First).await;
    assert_eq!(refused, Err(wait(Duration::from_millis(400))));

    let early = adapter.post(&target(), &card, Posting::First).await;
    let Err(SendError::Retry { after, .. }) = early else { panic!("{early:?}") };
    assert!(after <= Duration::from_millis(400), "{after:?}");
    assert_eq!(fake.calls().len(), 1, "what would be refused is not even sent");
    tokio::time::sleep(Duration::from_millis(450)).await;
    assert!(adapter.post(&target(), &card, Posting::First).await.is_ok());
}

#[tokio::test]
async fn a_burst_stops_before_discords_limit() {
    let fake = FakeDiscord::start().await;
    let adapter = adapter(&fake);
    let mut posted = 0;
    for n in 0..8 {
        match adapter.post(&target(), &numbered(n), Posting::First).await {
            Ok(_) => posted += 1,
            Err(SendError::Retry { after: wait, .. }) => assert!(wait <= Duration::from_secs(5)),
            Err(other) => panic!("{other}"),
        }
    }
    assert_eq!((posted, fake.violations()), (5, vec![]));
    fake.add_channel("600000000000000002", "other", false);
    let other = Target("600000000000000002".to_owned());
    assert!(
        adapter.post(&other, &numbered(9), Posting::First).await.is_ok(),
        "another channel is not held up"
    );
}

#[tokio::test]
async fn a_global_limit_holds_for_every_channel() {
    let fake = FakeDiscord::start().await;
    let adapter = adapter(&fake);
    fake.add_channel("600000000000000002", "other", false);
    fake.fail("POST /channels", 1, Fault::Limited { retry_after: 30.0, global: true });
    assert!(adapter.post(&target(), &numbered(1), Posting::First).await.is_err());
    let other =
        adapter.post(&Target("600000000000000002".to_owned()), &numbered(2), Posting::First).await;
    assert!(
        matches!(other, Err(SendError::Retry { after: wait, .. }) if wait > Duration::from_secs(29))
    );
}

#[tokio::test]
async fn trouble_on_the_line_is_said_at_once_and_a_repeated_post_makes_one_message() {
    let fake = FakeDiscord::start().await;
    let adapter = adapter(&fake);
    let card = sample_card("ls");
    for fault in [Fault::Html(502), Fault::DropBefore, Fault::Garbage, Fault::DropAfter] {
        fake.fail("POST /channels", 1, fault);
        let began = Instant::now();
        let error = adapter.post(&target(), &card, Posting::First).await.unwrap_err();
        assert!(matches!(error, SendError::Transient(_)), "{error:?}");
        assert!(began.elapsed() < Duration::from_secs(1));
    }
    let message = adapter.post(&target(), &card, Posting::First).await.unwrap();
    let posted: Vec<String> = fake.messages().into_iter().map(|it| it.reference).collect();
    assert_eq!(posted, [message.0]);
}

#[tokio::test]
async fn a_channel_that_cannot_be_reached_is_gone_with_a_sentence() {
    let fake = FakeDiscord::start().await;
    let adapter = adapter(&fake);
    for (code, words) in
        [(50001, "cannot see it"), (50013, "may not write"), (10003, "does not exist")]
    {
        fake.take_channel(CHANNEL, code);
        let error = adapter.post(&target(), &sample_card("ls"), Posting::First).await.unwrap_err();
        // What no longer exists may have been a session's thread.
        let why = match (&error, code) {
            (SendError::ThreadGone(why), 10003) | (SendError::TargetGone(why), 50001 | 50013) => {
                why
            }
            _ => panic!("{error:?}"),
        };
        assert!(why.contains(words), "{error:?}");
    }
    for wrong in ["", "#general", "600000000000000001/7", "../../users/@me"] {
        let error = adapter
            .post(&Target(wrong.to_owned()), &sample_card("ls"), Posting::First)
            .await
            .unwrap_err();
        assert!(matches!(&error, SendError::TargetGone(why) if why.contains("Copy Channel ID")));
    }
}

#[tokio::test]
async fn after_a_refused_token_nothing_is_sent_with_it_for_a_while() {
    let fake = FakeDiscord::start().await;
    let adapter = adapter(&fake);
    fake.refuse_token();
    for _ in 0..3 {
        let error = adapter.post(&target(), &sample_card("ls"), Posting::First).await.unwrap_err();
        assert!(matches!(&error, SendError::Fatal(why) if why.contains("`[discord] token`")));
    }
    assert_eq!(fake.calls(), [format!("POST /channels/{CHANNEL}/messages 401")]);
}

#[tokio::test]
async fn a_card_that_is_refused_is_refused_for_good() {
    let fake = FakeDiscord::start().await;
    let mut card = sample_card("ls");
    card.buttons.push(card.buttons[0].clone());
    let error = adapter(&fake).post(&target(), &card, Posting::First).await.unwrap_err();
    assert!(matches!(&error, SendError::Refused(why) if why.contains("duplicated")), "{error:?}");
}

#[tokio::test]
async fn a_deleted_message_is_as_good_as_redrawn() {
    let fake = FakeDiscord::start().await;
    let adapter = adapter(&fake);
    let card = sample_card("ls");
    let message = adapter.post(&target(), &card, Posting::First).await.unwrap();
    fake.delete(&message.0);
    assert_eq!(adapter.update(&message, &closed(&card)).await, Ok(()));
    let nonsense = adapter.update(&MessageRef("nonsense".to_owned()), &card).await;
    assert!(matches!(nonsense, Err(SendError::Refused(_))));
}

#[tokio::test]
async fn a_card_in_an_archived_thread_is_redrawn_and_a_locked_one_is_gone() {
    let fake = FakeDiscord::start().await;
    let adapter = adapter(&fake);
    let card = sample_card("ls");
    fake.add_channel("600000000000000009", "asks", true);
    let thread = Target("600000000000000009".to_owned());
    let message = adapter.post(&thread, &card, Posting::First).await.unwrap();
    fake.archive("600000000000000009", false);
    assert_eq!(adapter.update(&message, &closed(&card)).await, Ok(()));
    assert!(fake.message(&message.0).unwrap().buttons.is_empty());
    fake.archive("600000000000000009", true);
    let error = adapter.post(&thread, &numbered(2), Posting::First).await.unwrap_err();
    assert!(matches!(&error, SendError::ThreadGone(why) if why.contains("archived and locked")));
}

#[tokio::test]
async fn the_file_of_a_long_command_stands_through_edits_without_being_sent_again() {
    let fake = FakeDiscord::start().await;
    let long = format!("start {} end", "x".repeat(10_000));
    let first = adapter(&fake);
    let card = sample_card(&long);
    let message = first.post(&target(), &card, Posting::First).await.unwrap();
    let before = fake.message(&message.0).unwrap();
    assert_eq!(before.files, [("a7f3-command.txt".to_owned(), long.clone())]);
    assert!(before.text.contains("start x") && before.text.contains("x end"));

    let second = adapter(&fake);
    second.update(&message, &closed(&card)).await.unwrap();
    let after = fake.message(&message.0).unwrap();
    assert_eq!(after.files, before.files);
    let uploads = fake.uploads();
    assert_eq!(uploads, 1, "the file is attached already");
}
