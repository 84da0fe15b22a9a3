//! Routes to one person's direct messages.

use super::{ANA, ana, closed, is_clean, section};
use crate::{
    daemon::{Daemon, shell},
    slack_server::{FakeSlack, Person, Posted, TEAM, Told},
};

const BEN: &str = "U0000004212";
const ANA_ALONE: &str = "D0000004211/";

/// A daemon that asks Ana alone about a push, and Ben when she cannot be reached.
async fn start() -> (FakeSlack, Daemon) {
    let slack = FakeSlack::start().await;
    slack.add_person(&ana());
    slack.add_person(&Person::new(BEN, "Ben"));
    let people = format!(
        "{}[[people]]\nname = \"Ana\"\nslack = \"{TEAM}/{ANA}\"\n\
         [[people]]\nname = \"Ben\"\nslack = \"{TEAM}/{BEN}\"\n\
         [[routes]]\nname = \"push\"\ncommand = \"git push *\"\nto = [\"person:Ana\"]\n\
         fallback = [\"person:Ben\"]\n",
        section(&slack)
    );
    let daemon = Daemon::start(&people).await;
    slack.until_online().await;
    (slack, daemon)
}

async fn open_card(slack: &FakeSlack) -> Posted {
    slack.until(|it| !it.is_over()).await
}

#[tokio::test]
async fn a_route_to_a_person_shows_the_card_in_their_direct_messages_in_slack_alone() {
    let (slack, daemon) = start().await;
    let id = daemon.ask(&shell("git push origin main")).await;
    let card = open_card(&slack).await;
    assert!(card.reference.starts_with(ANA_ALONE), "{}", card.reference);
    assert_eq!(slack.messages().len(), 1, "nobody else sees it");
    let told = slack.press(&card.reference, "Approve", &ana()).await;
    assert_eq!(told, Told::Privately("Approved once.".into()));
    assert_eq!(daemon.closed(&id).await["verdict"], "allow");
    closed(&slack, &card.reference).await;
    daemon.ask(&shell("make other")).await;
    let other = open_card(&slack).await;
    assert!(other.reference.starts_with("C"), "no route leads this one to Ana");
    is_clean(&slack);
}

#[tokio::test]
async fn who_slack_lets_nobody_write_to_is_passed_over_and_the_card_says_so() {
    let (slack, daemon) = start().await;
    let of_ana = crate::slack_server::Fault::Error("user_disabled");
    slack.fail("conversations.open", 1, of_ana);
    let id = daemon.ask(&shell("git push origin main")).await;
    let card = open_card(&slack).await;
    assert!(card.reference.starts_with("D0000004212/"), "{}", card.reference);
    assert!(card.text.contains("Shown here because Ana cannot be reached"), "{}", card.text);
    slack.press(&card.reference, "Deny", &Person::new(BEN, "Ben")).await;
    assert_eq!(daemon.closed(&id).await["verdict"], "deny");
    is_clean(&slack);
}

#[tokio::test]
async fn an_app_that_may_not_open_direct_messages_shows_the_card_to_everybody_and_says_why() {
    let (slack, mut daemon) = start().await;
    slack.drop_scope("im:write");
    let id = daemon.ask(&shell("git push origin main")).await;
    let card = open_card(&slack).await;
    assert!(card.reference.starts_with("C"), "{}", card.reference);
    daemon.says("Slack misses the scope `im:write`").await;
    slack.press(&card.reference, "Deny", &ana()).await;
    assert_eq!(daemon.closed(&id).await["verdict"], "deny");
}

#[tokio::test]
async fn who_may_answer_is_reminded_in_the_cards_thread_and_nobody_else_is_mentioned() {
    let slack = FakeSlack::start().await;
    slack.add_person(&ana());
    slack.add_person(&Person::new(BEN, "Ben"));
    let config = format!(
        "{}[[people]]\nname = \"Ana\"\nslack = \"{TEAM}/{ANA}\"\ngroups = [\"ops\"]\n\
         [[people]]\nname = \"Ben\"\nslack = \"{TEAM}/{BEN}\"\n\
         [[answer_rules]]\nname = \"push\"\ncommand = \"git push *\"\ngroup = \"ops\"\n\
         [[routes]]\nname = \"push\"\ncommand = \"git push *\"\nremind = \"1s\"\n",
        section(&slack)
    );
    let daemon = Daemon::start(&config).await;
    slack.until_online().await;
    let id = daemon.ask(&shell("git push origin main")).await;
    let card = open_card(&slack).await;
    let reminder = slack.until(|it| it.text.starts_with("⏰ ")).await;
    let ts = card.reference.split_once('/').map(|(_, ts)| ts.to_owned());
    assert_eq!((&reminder.thread, reminder.buttons.len()), (&ts, 0), "there is one card");
    assert!(reminder.text.ends_with(&format!(" left. @{ANA}")), "{}", reminder.text);
    slack.press(&card.reference, "Approve", &ana()).await;
    assert_eq!(daemon.closed(&id).await["verdict"], "allow");
    is_clean(&slack);
}
