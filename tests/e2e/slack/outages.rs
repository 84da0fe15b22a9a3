//! Slack's own trouble, and what people do to its channels and tokens.

use super::{ana, card, closed, config, is_clean, noted_card, round, start};
use crate::{
    daemon::{Daemon, shell},
    slack_server::{CHANNEL, FakeSlack, Fault},
};
use serde_json::json;

#[tokio::test]
async fn slacks_troubles_delay_a_card_and_never_lose_double_or_answer_it() {
    let limited = Fault::Limited { retry_after: 1 };
    for fault in [limited, Fault::Html(502), Fault::DropBefore, Fault::DropAfter, Fault::Garbage] {
        let (slack, daemon) = start().await;
        slack.fail("chat.postMessage", 1, fault);
        let waiting = daemon.waiting(shell("git push"));
        let card = card(&slack).await;
        slack.press(&card.reference, "Approve", &ana()).await;
        assert_eq!(waiting.await.unwrap()["verdict"], "allow");
        closed(&slack, &card.reference).await;
        assert_eq!(slack.messages().len(), 1, "one card, however the line broke");
    }
}

/// A daemon whose asks can be answered elsewhere too.
async fn start_with_inbox() -> (FakeSlack, Daemon) {
    let slack = FakeSlack::start().await;
    let daemon = Daemon::start(&format!("{}inbox = true\n", config(&slack))).await;
    slack.until_online().await;
    (slack, daemon)
}

#[tokio::test]
async fn a_refused_slack_token_is_said_by_name_and_the_inbox_goes_on() {
    let slack = FakeSlack::start().await;
    slack.refuse_token();
    let mut daemon = Daemon::start(&format!("{}inbox = true\n", config(&slack))).await;
    daemon.says("[slack] token").await;
    let id = daemon.ask(&shell("git push")).await;
    let (_, reply) = daemon.answer(&id, &json!({"decision": "approve"})).await;
    assert_eq!(reply["applied"], true);
}

#[tokio::test]
async fn a_slack_that_is_down_at_the_start_and_a_channel_that_comes_back_get_their_cards() {
    let slack = FakeSlack::start().await;
    slack.set_down(true);
    let daemon = Daemon::start(&config(&slack)).await;
    let waiting = daemon.waiting(shell("git push"));
    crate::core::loop_for_open(&daemon).await;
    slack.set_down(false);
    let first = card(&slack).await;
    slack.until_online().await;
    slack.press(&first.reference, "Approve", &ana()).await;
    assert_eq!(waiting.await.unwrap()["verdict"], "allow");
    closed(&slack, &first.reference).await;

    slack.archive(CHANNEL, true);
    let waiting = daemon.waiting(shell("git push origin later"));
    let refused = || slack.calls().iter().any(|it| it == "chat.postMessage is_archived");
    while !refused() {
        tokio::time::sleep(std::time::Duration::from_millis(20)).await;
    }
    slack.archive(CHANNEL, false);
    let second = card(&slack).await;
    slack.press(&second.reference, "Approve", &ana()).await;
    assert_eq!(waiting.await.unwrap()["verdict"], "allow");
}

#[tokio::test]
async fn a_lost_answer_to_a_post_is_looked_up_and_the_card_stands_once_and_counts() {
    let (slack, daemon) = start().await;
    slack.fail("chat.postMessage", 1, Fault::DropAfter);
    let waiting = daemon.waiting(shell("git push"));
    let card = card(&slack).await;
    let looked = || slack.calls().iter().any(|it| it == "conversations.history ok").then_some(());
    slack.wait("the card to be looked for", looked).await;
    slack.press(&card.reference, "Approve", &ana()).await;
    assert_eq!(waiting.await.unwrap()["verdict"], "allow");
    closed(&slack, &card.reference).await;
    let posts = slack.calls().into_iter().filter(|it| it == "chat.postMessage ok").count();
    assert_eq!((posts, slack.messages().len()), (1, 1));
    is_clean(&slack);
}

#[tokio::test]
async fn edits_that_slack_refuses_or_loses_are_made_again_until_the_card_tells_the_truth() {
    let limited = Fault::Limited { retry_after: 1 };
    for fault in [limited, Fault::Html(503), Fault::DropBefore, Fault::DropAfter, Fault::Garbage] {
        let (slack, daemon) = start().await;
        let waiting = daemon.waiting(shell("git push"));
        let card = card(&slack).await;
        slack.fail("chat.update", 3, fault);
        slack.press(&card.reference, "Approve", &ana()).await;
        assert_eq!(waiting.await.unwrap()["verdict"], "allow");
        let after = closed(&slack, &card.reference).await;
        assert!(after.text.starts_with("✅ git push · Ana, "), "{}", after.text);
        is_clean(&slack);
    }
}

#[tokio::test]
async fn a_bot_that_is_removed_from_a_channel_and_invited_again_shows_what_waits() {
    let (slack, mut daemon) = start_with_inbox().await;
    let first = daemon.ask(&shell("git push origin before")).await;
    let card = noted_card(&slack, &mut daemon).await;
    slack.invite(CHANNEL, false);
    let second = daemon.ask(&shell("git push origin later")).await;
    daemon.says("write `/invite` and the bot's name there").await;
    daemon.answer(&first, &json!({"decision": "deny"})).await;
    slack.invite(CHANNEL, true);
    let later = slack.until(|it| !it.is_over() && it.text.contains("origin later")).await;
    let after = closed(&slack, &card.reference).await;
    assert!(after.text.starts_with("⛔ git push origin before"), "{}", after.text);
    slack.press(&later.reference, "Approve", &ana()).await;
    assert_eq!(daemon.closed(&second).await["verdict"], "allow");
    is_clean(&slack);
}

#[tokio::test]
async fn a_channel_that_is_archived_while_its_card_waits_is_told_the_truth_once_it_is_back() {
    let (slack, mut daemon) = start_with_inbox().await;
    let first = daemon.ask(&shell("git push origin before")).await;
    let card = noted_card(&slack, &mut daemon).await;
    slack.archive(CHANNEL, true);
    daemon.answer(&first, &json!({"decision": "deny"})).await;
    let second = daemon.ask(&shell("git push origin later")).await;
    daemon.says("it is archived; unarchive it").await;
    slack.archive(CHANNEL, false);
    closed(&slack, &card.reference).await;
    let later = slack.until(|it| !it.is_over() && it.text.contains("origin later")).await;
    slack.press(&later.reference, "Deny", &ana()).await;
    assert_eq!(daemon.closed(&second).await["verdict"], "deny");
    is_clean(&slack);
}

#[tokio::test]
async fn a_token_that_is_revoked_mid_run_is_said_and_a_good_one_goes_on_where_it_stopped() {
    let (slack, mut daemon) = start().await;
    round(&slack, &daemon, "git push origin one").await;
    slack.refuse_token();
    let id = daemon.ask(&shell("git push origin two")).await;
    let says = "Slack brings no presses; trying again why=\"Slack refuses the bot token";
    daemon.says(says).await;
    assert!(!daemon.said().contains(slack.token()), "no log holds a token");
    let status = daemon.command(&["status"]).output().await.unwrap();
    let status = String::from_utf8(status.stdout).unwrap();
    assert!(status.contains("[slack] token"), "{status}");
    assert_eq!(daemon.read(&id).await["state"], "open");
    slack.accept_token();
    let card = slack.until(|it| !it.is_over() && it.text.contains("origin two")).await;
    slack.until_online().await;
    slack.press(&card.reference, "Approve", &ana()).await;
    assert_eq!(daemon.closed(&id).await["verdict"], "allow");
    is_clean(&slack);
}
