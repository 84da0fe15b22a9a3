//! Connections that are lost, replaced or only look open, and daemons that die.

use super::{ana, card, closed, is_clean, noted_card, round, start};
use crate::{daemon::shell, slack_server::Told};
use std::time::{Duration, Instant};

#[tokio::test]
async fn an_old_card_in_slack_still_answers_after_the_daemon_was_killed() {
    let (slack, mut daemon) = start().await;
    let id = daemon.ask(&shell("git push")).await;
    let card = noted_card(&slack, &mut daemon).await;
    let before = slack.connected();
    daemon.kill().await;
    daemon.run().await;
    slack.until_connected(before + 1).await;
    let told = slack.press(&card.reference, "Approve", &ana()).await;
    assert_eq!(told, Told::Privately("Approved once.".into()));
    assert_eq!(daemon.read(&id).await["verdict"], "allow");
    closed(&slack, &card.reference).await;
    assert_eq!(slack.messages().len(), 1, "the card was not posted twice");
}

#[tokio::test]
async fn a_refreshed_and_a_dropped_connection_to_slack_take_presses() {
    let (slack, daemon) = start().await;
    let waiting = daemon.waiting(shell("git push origin one"));
    let first = card(&slack).await;
    slack.refresh();
    slack.press(&first.reference, "Approve", &ana()).await;
    assert_eq!(waiting.await.unwrap()["verdict"], "allow");
    slack.until_connected(2).await;
    let waiting = daemon.waiting(shell("git push origin two"));
    let second = slack.until(|it| !it.is_over() && it.text.contains("two")).await;
    slack.drop_sockets();
    slack.until_connected(3).await;
    slack.press(&second.reference, "Deny", &ana()).await;
    assert_eq!(waiting.await.unwrap()["verdict"], "deny");
    is_clean(&slack);
}

#[tokio::test]
async fn while_a_connection_is_replaced_two_are_open_and_no_press_is_lost() {
    let (slack, daemon) = start().await;
    let mut cards = Vec::new();
    for nth in 0..4 {
        let waiting = daemon.waiting(shell(&format!("git push origin b{nth}")));
        let card = slack.until(|it| !it.is_over() && it.text.contains(&format!("b{nth}"))).await;
        cards.push((waiting, card));
    }
    slack.refresh();
    slack.until_connected(2).await;
    assert_eq!(slack.open_connections(), 2, "the old one is open while the new one is");
    for (waiting, card) in cards {
        let told = slack.press(&card.reference, "Approve", &ana()).await;
        assert_eq!(told, Told::Privately("Approved once.".into()));
        assert_eq!(waiting.await.unwrap()["verdict"], "allow");
    }
    slack.until_alone().await;
    round(&slack, &daemon, "git push origin after").await;
    assert_eq!(slack.connected(), 2);
    is_clean(&slack);
}

#[tokio::test]
async fn a_connection_to_slack_that_only_looks_open_is_replaced_and_a_press_counts_again() {
    let (slack, daemon) = start().await;
    let id = daemon.ask(&shell("git push")).await;
    let card = card(&slack).await;
    slack.make_zombies();
    let lost = slack.press_deaf(&card.reference, "Approve", &ana()).await;
    assert_eq!(lost, Told::Failed, "Slack itself tells the presser");
    let since = Instant::now();
    slack.until_connected(2).await;
    assert!(since.elapsed() < Duration::from_secs(10), "{:?}", since.elapsed());
    assert_eq!(daemon.read(&id).await["state"], "open", "a press that was not heard is none");
    let told = slack.press(&card.reference, "Approve", &ana()).await;
    assert_eq!(told, Told::Privately("Approved once.".into()));
    closed(&slack, &card.reference).await;
}

#[tokio::test]
async fn a_press_while_the_daemon_is_dead_changes_nothing_and_the_next_one_counts() {
    let (slack, mut daemon) = start().await;
    let id = daemon.ask(&shell("git push")).await;
    let card = noted_card(&slack, &mut daemon).await;
    let before = slack.connected();
    daemon.kill().await;
    slack.until_offline().await;
    let lost = slack.press_deaf(&card.reference, "Approve", &ana()).await;
    assert_eq!(lost, Told::Failed, "Slack itself tells the presser");
    daemon.run().await;
    slack.until_connected(before + 1).await;
    assert_eq!(daemon.read(&id).await["state"], "open");
    let told = slack.press(&card.reference, "Deny", &ana()).await;
    assert_eq!(told, Told::Privately("Denied.".into()));
    is_clean(&slack);
}

#[tokio::test]
async fn a_card_in_slack_whose_ask_ended_while_the_daemon_was_dead_tells_so_after_the_start() {
    let (slack, mut daemon) = start().await;
    let id = daemon.ask(&shell("git push")).await;
    let card = noted_card(&slack, &mut daemon).await;
    daemon.kill().await;
    daemon.deadline_passes(&id).await;
    daemon.run().await;
    let after = closed(&slack, &card.reference).await;
    assert!(after.text.contains("Timed out after"), "{}", after.text);
    assert_eq!(slack.messages().len(), 1);
    is_clean(&slack);
}
