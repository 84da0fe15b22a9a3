//! Slack, from the agent's call to the press and back.

mod answering;
mod connection;
mod hostile;
mod outages;
mod people;
mod questions;
mod routes;
mod words;

use crate::{
    daemon::{Daemon, shell},
    slack_server::{CHANNEL, FakeSlack, Person, Posted, TEAM, Told},
};
use serde_json::Value;

const ANA: &str = "U0000004211";

pub fn ana() -> Person {
    Person::new(ANA, "Ana")
}

/// The section; `[approvers]` comes last, so that more can be said of them.
fn section(slack: &FakeSlack) -> String {
    format!(
        "[slack]\ntoken = \"{}\"\napp_token = \"{}\"\napi_url = \"{}\"\n\
         targets = [{{ channel = \"{CHANNEL}\" }}]\n",
        slack.token(),
        slack.app_token(),
        slack.url()
    )
}

/// A daemon's config, in which Ana is the approver.
pub fn config(slack: &FakeSlack) -> String {
    format!(
        "{}[approvers]\nslack = [\"{TEAM}/{ANA}\"]\nslack_usergroups = [\"S0000000077\"]\n",
        section(slack)
    )
}

async fn start() -> (FakeSlack, Daemon) {
    let slack = FakeSlack::start().await;
    let daemon = Daemon::start(&config(&slack)).await;
    slack.until_online().await;
    (slack, daemon)
}

/// The card that can be pressed, once it is posted.
async fn card(slack: &FakeSlack) -> Posted {
    slack.until(|message| !message.is_over()).await
}

/// The same once the daemon has noted where it is, so that replies in its thread are known.
async fn noted_card(slack: &FakeSlack, daemon: &mut Daemon) -> Posted {
    let card = card(slack).await;
    let ask = daemon.open().await[0]["id"].as_str().unwrap().to_owned();
    daemon.says(&format!("a card stands adapter=\"slack\" ask_id={ask}")).await;
    card
}

/// The message once it has lost its buttons.
async fn closed(slack: &FakeSlack, reference: &str) -> Posted {
    slack.until(|message| message.reference == reference && message.is_over()).await
}

/// Ana presses this, and is told these words.
async fn pressed(slack: &FakeSlack, card: &Posted, label: &str, words: &str) {
    let told = slack.press(&card.reference, label, &ana()).await;
    assert_eq!(told, Told::Privately(words.to_owned()));
}

/// A whole round: an ask, a press on Approve, the answer, and the closed card.
async fn round(slack: &FakeSlack, daemon: &Daemon, command: &str) -> Value {
    let waiting = daemon.waiting(shell(command));
    let card = slack.until(|it| !it.is_over() && it.text.contains(command)).await;
    slack.press(&card.reference, "Approve", &ana()).await;
    let answer = waiting.await.unwrap();
    assert_eq!(answer["verdict"], "allow", "{answer}");
    closed(slack, &card.reference).await;
    answer
}

/// Nobody broke a rule of Slack's.
fn is_clean(slack: &FakeSlack) {
    assert_eq!(slack.violations(), Vec::<String>::new());
}
