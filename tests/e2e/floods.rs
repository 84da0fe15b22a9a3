//! More requests than a chat takes messages, on every platform: what shares a message is answered
//! once and never unseen, whatever happens meanwhile.

pub mod chat;

use crate::{
    daemon::{Daemon, shell},
    telegram_server::Telegram,
};
use chat::{GroupChat, OpenMessage, PostFault};
use futures::{StreamExt as _, stream};
use serde_json::json;
use std::{collections::BTreeSet, ops::RangeInclusive};

/// A daemon in this chat.
async fn start(chat: &GroupChat) -> Daemon {
    let daemon = Daemon::start(&chat.config()).await;
    online(chat).await;
    daemon
}

async fn online(chat: &GroupChat) {
    match chat {
        GroupChat::Telegram(_) => {}
        GroupChat::Discord(chat) => chat.until_online().await,
        GroupChat::Slack(chat) => chat.until_online().await,
    }
}

/// Asks for all these builds as one agent, at once; the asks.
async fn ask_for(daemon: &Daemon, builds: RangeInclusive<u32>) -> Vec<String> {
    let ask = |n: u32| async move {
        let mut call = shell(&format!("git push origin build-{n}"));
        call["expires_in_s"] = json!(120);
        daemon.ask(&call).await
    };
    stream::iter(builds).map(ask).buffered(20).collect().await
}

/// The message that several requests share.
fn shared(chat: &GroupChat) -> Option<OpenMessage> {
    let is_shared =
        |it: &OpenMessage| it.buttons.iter().any(|(label, _)| label.starts_with("Deny all "));
    chat.open().into_iter().find(is_shared)
}

/// Every ask was approved, and no other.
async fn all_are_approved(daemon: &Daemon, asks: &[String]) {
    for id in asks {
        assert_eq!(daemon.ask_reaches(id, "answered").await["verdict"], "allow", "{id}");
    }
    let answered: BTreeSet<_> = daemon.all_in("answered").await.iter().map(id_of).collect();
    assert_eq!(answered, asks.iter().cloned().collect());
    assert_eq!(daemon.open().await, Vec::<serde_json::Value>::new());
}

fn id_of(ask: &serde_json::Value) -> String {
    ask["id"].as_str().unwrap().to_owned()
}

async fn are_open(daemon: &Daemon, asks: &[String]) {
    for id in asks {
        assert_eq!(daemon.read(id).await["state"], "open", "{id}");
    }
}

/// 200 requests of one agent and one of another.
async fn flood(chat: GroupChat) {
    let daemon = start(&chat).await;
    let mut asks = ask_for(&daemon, 1..=100).await;
    let mut other = shell("git push origin other");
    (other["agent"], other["session"]) = (json!("quiet"), json!("two"));
    let (rest, other) = tokio::join!(ask_for(&daemon, 101..=200), daemon.ask(&other));
    asks.extend(rest);
    chat.until_shown(1..=200).await;
    let own = || chat.open().into_iter().find(|it| it.text.contains("origin other"));
    let own = chat.until("the other agent's card", own).await;
    assert!(own.builds().is_empty() && own.approval().is_some(), "a card of its own: {own:?}");
    let shown: Vec<u32> = chat.open().iter().flat_map(OpenMessage::builds).collect();
    assert_eq!(shown.len(), 200, "each is on one message only");
    assert!(chat.open().len() <= 10, "{:#?}", chat.open());

    chat.approve_all().await;
    asks.push(other);
    all_are_approved(&daemon, &asks).await;
    chat.is_clean();
}

#[tokio::test]
async fn two_hundred_requests_into_telegram_are_answerable_within_15_s_and_none_is_lost_or_doubled()
{
    flood(GroupChat::telegram().await).await;
}

#[tokio::test]
async fn two_hundred_requests_into_discord_are_answerable_within_15_s_and_none_is_lost_or_doubled()
{
    flood(GroupChat::discord().await).await;
}

#[tokio::test]
async fn two_hundred_requests_into_slack_are_answerable_within_15_s_and_none_is_lost_or_doubled() {
    flood(GroupChat::slack().await).await;
}

/// The daemon dies when the platform has the message with more requests and the daemon does not
/// know it.
async fn killed_while_a_message_takes_more(chat: GroupChat) {
    let mut daemon = start(&chat).await;
    let mut asks = ask_for(&daemon, 1..=30).await;
    chat.until_shown(1..=30).await;
    let before = chat.until("a shared message", || shared(&chat)).await;
    let (_, approve) = before.button("Approve these ");
    chat.lose_an_edit();
    let late = ask_for(&daemon, 31..=40).await;
    chat.until_shown(31..=40).await;
    daemon.kill().await;
    daemon.run().await;
    online(&chat).await;
    // The press of somebody who still has the message before them as it was.
    let told = chat.press(&before.place, approve).await;
    assert_eq!(told, format!("Approved {} requests.", before.builds().len()));
    are_open(&daemon, &late).await;
    chat.until_shown(31..=40).await;
    let shown: Vec<u32> = chat.open().iter().flat_map(OpenMessage::builds).collect();
    assert_eq!(shown.len(), shown.iter().collect::<BTreeSet<_>>().len(), "none stands twice");
    chat.approve_all().await;
    asks.extend(late);
    all_are_approved(&daemon, &asks).await;
}

#[tokio::test]
async fn a_daemon_killed_while_a_message_in_telegram_takes_more_requests_approves_none_unseen() {
    killed_while_a_message_takes_more(GroupChat::telegram().await).await;
}

#[tokio::test]
async fn a_daemon_killed_while_a_message_in_discord_takes_more_requests_approves_none_unseen() {
    killed_while_a_message_takes_more(GroupChat::discord().await).await;
}

#[tokio::test]
async fn a_daemon_killed_while_a_message_in_slack_takes_more_requests_approves_none_unseen() {
    killed_while_a_message_takes_more(GroupChat::slack().await).await;
}

/// The daemon dies when the platform has a new shared message and the daemon does not know it.
async fn killed_while_a_message_is_posted(chat: GroupChat) {
    let mut daemon = start(&chat).await;
    chat.trouble_posts(&[PostFault::Quiet, PostFault::AnswerLost]);
    let mut asks = ask_for(&daemon, 1..=20).await;
    chat.until_shown(1..=20).await;
    let orphan = chat.until("a shared message", || shared(&chat)).await;
    daemon.kill().await;
    daemon.run().await;
    online(&chat).await;
    let told = chat.press(&orphan.place, orphan.approval().unwrap()).await;
    assert!(told.starts_with("Approved "), "{told}");
    let again = chat.press(&orphan.place, orphan.approval().unwrap()).await;
    assert_eq!(again, "These requests are answered already.");
    let late = ask_for(&daemon, 21..=30).await;
    chat.until_shown(21..=30).await;
    are_open(&daemon, &late).await;
    chat.approve_all().await;
    asks.extend(late);
    all_are_approved(&daemon, &asks).await;
}

#[tokio::test]
async fn a_daemon_killed_while_it_posts_a_shared_message_in_telegram_answers_each_request_once() {
    killed_while_a_message_is_posted(GroupChat::telegram().await).await;
}

#[tokio::test]
async fn a_daemon_killed_while_it_posts_a_shared_message_in_discord_answers_each_request_once() {
    killed_while_a_message_is_posted(GroupChat::discord().await).await;
}

#[tokio::test]
async fn a_daemon_killed_while_it_posts_a_shared_message_in_slack_answers_each_request_once() {
    killed_while_a_message_is_posted(GroupChat::slack().await).await;
}

/// The platform reports a press on a shared message twice, with other requests in between.
async fn a_press_comes_twice(chat: GroupChat) {
    let daemon = start(&chat).await;
    let mut asks = ask_for(&daemon, 1..=20).await;
    chat.until_shown(1..=20).await;
    let shown = chat.until("a shared message", || shared(&chat)).await;
    let told = chat.press(&shown.place, shown.approval().unwrap()).await;
    assert_eq!(told, format!("Approved {} requests.", shown.builds().len()));
    let late = ask_for(&daemon, 21..=30).await;
    chat.until_shown(21..=30).await;
    chat.redeliver().await;
    are_open(&daemon, &late).await;
    chat.approve_all().await;
    asks.extend(late);
    all_are_approved(&daemon, &asks).await;
}

#[tokio::test]
async fn a_press_on_a_shared_message_that_telegram_reports_twice_counts_once() {
    a_press_comes_twice(GroupChat::telegram().await).await;
}

#[tokio::test]
async fn a_press_on_a_shared_message_that_discord_reports_twice_counts_once() {
    a_press_comes_twice(GroupChat::discord().await).await;
}

#[tokio::test]
async fn a_press_on_a_shared_message_that_slack_reports_twice_counts_once() {
    a_press_comes_twice(GroupChat::slack().await).await;
}

async fn every_button_of_a_page_answers(chat: GroupChat) {
    let daemon = start(&chat).await;
    let ask = |n: u32| {
        let daemon = &daemon;
        async move {
            let both = format!("git push origin build-{n} && git push origin tag-{n}");
            daemon.ask(&shell(&both)).await
        }
    };
    let asks: Vec<String> = stream::iter(1..=12).map(ask).buffered(20).collect().await;
    let message = chat.until("a message that several share", || shared(&chat)).await;
    let at = || chat.open().into_iter().find(|it| it.place == message.place);
    let with = |label: &'static str| {
        move |it: OpenMessage| it.buttons.iter().any(|(it, _)| it.starts_with(label)).then_some(it)
    };
    let shows = async |label: &'static str| chat.until(label, || at().and_then(with(label))).await;
    chat.press(&message.place, message.button("Review").1).await;
    let page = shows("Next ›").await;
    chat.press(&message.place, page.button("Always…").1).await;
    let choice = shows("Store these 2 rules").await;
    chat.press(&message.place, choice.button("Back").1).await;
    let page = shows("Next ›").await;
    if let Some((_, more)) = page.buttons.iter().find(|(label, _)| label == "More…") {
        chat.press(&message.place, more).await;
        let menu = shows("Deny with reason…").await;
        chat.press(&message.place, menu.button("‹ Back").1).await;
        shows("Next ›").await;
    }
    are_open(&daemon, &asks).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn every_button_of_a_page_in_telegram_answers() {
    // Without the limits of a group, which would refuse the edits of a person so quick.
    every_button_of_a_page_answers(GroupChat::Telegram(Telegram::start().await)).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn every_button_of_a_page_in_discord_answers() {
    every_button_of_a_page_answers(GroupChat::discord().await).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn every_button_of_a_page_in_slack_answers() {
    every_button_of_a_page_answers(GroupChat::slack().await).await;
}
