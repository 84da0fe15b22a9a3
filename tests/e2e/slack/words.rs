//! What people write: replies in threads, the slash command, and mentions.

use super::{ana, card, closed, is_clean, noted_card, start};
use crate::{
    daemon::shell,
    slack_server::{CHANNEL, Person, Told},
};

#[tokio::test]
async fn a_reply_in_the_thread_of_a_card_in_slack_denies_it_with_those_words() {
    let (slack, mut daemon) = start().await;
    let waiting = daemon.waiting(shell("git push"));
    let card = noted_card(&slack, &mut daemon).await;
    let words = "not on a Friday, use <staging> & wait";
    let told = slack.reply(&card.reference, words, &ana()).await;
    assert_eq!(told, Told::Privately("Denied; the agent reads your words.".into()));
    let answer = waiting.await.unwrap();
    assert_eq!(answer["verdict"], "deny");
    assert!(answer["reason"].as_str().unwrap().contains(words), "{answer}");
    closed(&slack, &card.reference).await;
}

#[tokio::test]
async fn the_slash_command_lists_answers_and_pauses_and_strangers_learn_nothing() {
    let (slack, daemon) = start().await;
    let waiting = daemon.waiting(shell("git push origin main"));
    let card = card(&slack).await;
    let ask = daemon.open().await[0]["id"].as_str().unwrap().to_owned();
    let said = slack.command("pending", &ana()).await.words().unwrap();
    assert!(said.contains("git push origin main"), "{said}");
    let eve = Person::new("U0000006666", "Eve");
    let stranger = slack.command("pending", &eve).await;
    assert!(!stranger.words().unwrap_or_default().contains("git push"), "nothing of the ask");
    let paused = slack.command("pause", &ana()).await.words().unwrap();
    assert!(paused.to_lowercase().contains("paused"), "{paused}");
    slack.press_token(&card.reference, &card.tokens[0], &ana()).await;
    assert_eq!(daemon.open().await.len(), 1, "while paused nothing is approved");
    slack.command("resume", &ana()).await;
    let said = slack.command(&format!("deny {ask} not now"), &ana()).await;
    assert!(said.words().is_some());
    let answer = waiting.await.unwrap();
    assert_eq!(answer["verdict"], "deny");
    closed(&slack, &card.reference).await;
    is_clean(&slack);
}

#[tokio::test]
async fn a_reply_to_a_card_counts_after_the_daemon_was_killed() {
    let (slack, mut daemon) = start().await;
    let id = daemon.ask(&shell("git push")).await;
    let card = noted_card(&slack, &mut daemon).await;
    let before = slack.connected();
    daemon.kill().await;
    daemon.run().await;
    slack.until_connected(before + 1).await;
    let told = slack.reply(&card.reference, "use staging", &ana()).await;
    assert_eq!(told, Told::Privately("Denied; the agent reads your words.".into()));
    assert_eq!(daemon.closed(&id).await["answer"]["reason"], "use staging");
    is_clean(&slack);
}

#[tokio::test]
async fn a_mention_takes_commands_where_slack_takes_no_slash_command() {
    let (slack, daemon) = start().await;
    let id = daemon.ask(&shell("git push origin main")).await;
    card(&slack).await;
    let told = slack.say(CHANNEL, "@countersign what?", &ana()).await.words().unwrap();
    assert!(told.contains(": /countersign pending lists open requests"), "{told}");
    let told = slack.say(CHANNEL, "@countersign pending", &ana()).await.words().unwrap();
    assert!(told.contains("git push origin main"), "{told}");
    let told = slack.say(CHANNEL, &format!("@countersign deny {id} no *way*"), &ana()).await;
    assert_eq!(told, Told::Privately("Denied; the agent reads your words.".into()));
    assert_eq!(daemon.closed(&id).await["answer"]["reason"], "no *way*");
    is_clean(&slack);
}

#[tokio::test]
async fn a_critical_ask_takes_a_second_command_that_slack_takes_as_it_is_told() {
    let (slack, daemon) = start().await;
    let id = daemon.ask(&shell("sudo rm -rf --no-preserve-root /")).await;
    card(&slack).await;
    let told = slack.command(&format!("approve {id}"), &ana()).await.words().unwrap();
    let again = format!("approve {id} yes");
    assert!(told.ends_with(&format!("send /countersign {again}")), "{told}");
    assert_eq!(daemon.read(&id).await["state"], "open");
    let told = slack.command(&again, &ana()).await;
    assert_eq!(told, Told::Privately("Approved once.".into()));
    is_clean(&slack);
}

#[tokio::test]
async fn words_in_a_thread_of_slack_never_approve() {
    let (slack, mut daemon) = start().await;
    let id = daemon.ask(&shell("git push")).await;
    let card = noted_card(&slack, &mut daemon).await;
    slack.reply(&card.reference, "@countersign approve, but only if the tests pass", &ana()).await;
    let answer = daemon.closed(&id).await;
    let reason = &answer["answer"]["reason"];
    assert_eq!(
        (&answer["verdict"], reason),
        (&"deny".into(), &"approve, but only if the tests pass".into())
    );
    is_clean(&slack);
}
