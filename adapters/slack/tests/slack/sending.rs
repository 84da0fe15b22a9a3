//! Cards as they reach a channel.

use crate::slack::{CHANNEL, FakeSlack, Fault};
use crate::support::{Running, adapter, target};
use countersign_port::{Adapter, Card, Posting, RetryScope, SendError, Target};
use countersign_port_testkit::{closed, sample_card};
use std::time::Duration;

#[tokio::test]
async fn hostile_text_pings_nobody_links_nowhere_and_stays_as_it_is() {
    let fake = FakeSlack::start().await;
    let hostile = "<!channel> <@U1> <https://evil.example|docs> *b* _i_ `c` :tada: @here & &amp;";
    let card = Card { title: hostile.to_owned(), ..sample_card(hostile) };
    let message = adapter(&fake).post(&target(), &card, Posting::First).await.unwrap();
    let posted = fake.message(&message.0).unwrap();
    assert_eq!(posted.text.matches(hostile).count(), 2, "{}", posted.text);
    assert!(!posted.fallback.contains('<'), "{}", posted.fallback);
    adapter(&fake).update(&message, &closed(&card)).await.unwrap();
    assert_eq!(fake.violations(), Vec::<String>::new());
}

#[tokio::test]
async fn a_card_that_may_have_arrived_is_looked_for_and_its_file_is_not_forgotten() {
    let fake = FakeSlack::start().await;
    let long = "echo x; ".repeat(2_000);
    let card = sample_card(&long);
    fake.fail("files.completeUploadExternal", 1, Fault::DropBefore);
    let half = adapter(&fake).post(&target(), &card, Posting::First).await;
    assert!(matches!(half, Err(SendError::Transient(_))), "{half:?}");
    // Another process goes on.
    let message = adapter(&fake).post(&target(), &card, Posting::MayRepeat).await.unwrap();
    let again = adapter(&fake).post(&target(), &card, Posting::MayRepeat).await.unwrap();
    assert_eq!((fake.messages().len(), &again), (1, &message), "one message for one card");
    let files = fake.message(&message.0).unwrap().files;
    assert_eq!(files, [("a7f3-command.txt".to_owned(), long)]);
    assert_eq!(fake.violations(), Vec::<String>::new());
}

#[tokio::test]
async fn a_channel_that_is_gone_says_how_to_fix_it_and_tells_when_it_is_back() {
    let fake = FakeSlack::start().await;
    let running = Running::start(&fake, vec![]).await;
    let mut access = running.adapter.signals().follow_access();
    let card = sample_card("ls");
    let here = target();
    let post = || running.adapter.post(&here, &card, Posting::First);
    fake.archive(CHANNEL, true);
    assert!(matches!(post().await, Err(SendError::TargetGone(why)) if why.contains("archived")));
    fake.archive(CHANNEL, false);
    access.changed().await.unwrap();
    fake.invite(CHANNEL, false);
    assert!(matches!(post().await, Err(SendError::TargetGone(why)) if why.contains("/invite")));
    fake.invite(CHANNEL, true);
    access.changed().await.unwrap();
    let message = post().await.unwrap();
    fake.delete(&message.0);
    assert_eq!(running.adapter.update(&message, &card).await, Ok(()), "gone is gone");
    let other = running.adapter.post(&Target("#general".to_owned()), &card, Posting::First).await;
    assert!(matches!(other, Err(SendError::TargetGone(why)) if why.contains("[slack] targets")));
    running.end().await;
}

#[tokio::test]
async fn a_limit_is_met_before_it_is_hit_and_a_refusal_is_kept_to() {
    let fake = FakeSlack::start().await;
    let adapter = adapter(&fake);
    let mut posted = 0;
    let waited = loop {
        let card = Card { id: format!("k3J9sQ0aZ_-b4LmX7yT{posted:03}"), ..sample_card("ls") };
        match adapter.post(&target(), &card, Posting::First).await {
            Ok(_) => posted += 1,
            Err(error) => break error,
        }
    };
    assert!(matches!(waited, SendError::Retry { scope: RetryScope::Target, .. }), "{waited:?}");
    assert!(posted >= 4, "{posted} at once");
    let refused = fake.calls().iter().filter(|it| it.contains("ratelimited")).count();
    assert_eq!(refused, 0, "the wait is our own");
    tokio::time::sleep(Duration::from_millis(1_100)).await;
    fake.fail("chat.postMessage", 1, Fault::Limited { retry_after: 2 });
    let card = sample_card("ls");
    for _ in 0..2 {
        let limited = adapter.post(&target(), &card, Posting::First).await;
        assert!(matches!(limited, Err(SendError::Retry { .. })), "{limited:?}");
    }
    let calls = fake.calls().iter().filter(|it| it.starts_with("chat.postMessage")).count();
    assert_eq!(calls, posted, "nothing more was sent");
}
