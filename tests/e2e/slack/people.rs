//! Who may answer.

use super::{ANA, ana, card, is_clean, section, start};
use crate::{
    daemon::{Daemon, shell},
    slack_server::{FakeSlack, Person, TEAM, Told},
};

#[tokio::test]
async fn in_slack_a_stranger_a_guest_and_forged_data_change_nothing() {
    let (slack, mut daemon) = start().await;
    let id = daemon.ask(&shell("git push")).await;
    let card = card(&slack).await;
    let refusal = "You may not answer this: you are not on the list of approvers.";
    let same_id_elsewhere = ana().of_team("T0000000666");
    for stranger in [Person::new("U0000006666", "Ana"), same_id_elsewhere] {
        let told = slack.press(&card.reference, "Approve", &stranger).await;
        assert_eq!(told, Told::Privately(refusal.into()), "{stranger:?}");
    }
    daemon.says("somebody who is not an approver tried to answer").await;
    let guest = Person::new("U0000006667", "Gus").guest().in_group("S0000000077");
    let told = slack.press(&card.reference, "Approve", &guest).await.words().unwrap();
    assert!(told.starts_with("Guests of this workspace cannot answer"), "{told}");
    let forged = "AAAAAAAAAAAAAAAAAAAAAA.0.a.0";
    let ben = Person::new("U0000006668", "Ben").in_group("S0000000077");
    let told = slack.press_token(&card.reference, forged, &ben).await;
    assert!(told.words().is_some(), "a forged button is answered");
    assert_eq!(daemon.read(&id).await["state"], "open");
}

#[tokio::test]
async fn a_member_of_a_named_user_group_answers_in_slack_and_a_second_press_is_too_late() {
    let (slack, daemon) = start().await;
    let id = daemon.ask(&shell("git push")).await;
    let card = card(&slack).await;
    let rik = Person::new("U0000000005", "Rik").in_group("S0000000077");
    let told = slack.press(&card.reference, "Deny", &rik).await;
    assert_eq!(told, Told::Privately("Denied.".into()));
    slack.redeliver(&rik).await;
    let again = slack.press_token(&card.reference, &card.tokens[0], &ana()).await;
    assert!(again.words().unwrap().starts_with("Already denied by Rik (slack)"));
    assert_eq!(daemon.read(&id).await["verdict"], "deny");
    is_clean(&slack);
}

#[tokio::test]
async fn two_people_of_slack_have_to_approve_where_a_rule_says_so() {
    let slack = FakeSlack::start().await;
    let people = format!(
        "{}[[people]]\nname = \"Ana\"\nslack = \"{TEAM}/{ANA}\"\ngroups = [\"ops\"]\n\
         [[people]]\nname = \"Cleo\"\nslack = \"{TEAM}/U0000000088\"\n\
         [[groups]]\nname = \"ops\"\nslack_usergroups = [\"S0000000500\"]\n\
         [[answer_rules]]\nname = \"push\"\ncommand = \"git push *\"\ngroup = \"ops\"\n\
         approvals = 2\n",
        section(&slack)
    );
    // She is in the group by Slack's own list, which counts for half a minute once it is read.
    let cleo = Person::new("U0000000088", "Cleo").in_group("S0000000500");
    slack.add_person(&cleo);
    let daemon = Daemon::start(&people).await;
    slack.until_online().await;
    let waiting = daemon.waiting(shell("git push origin main"));
    let card = slack.until(|it| it.text.contains("0 of 2 approved (ops).")).await;
    let told = slack.press(&card.reference, "Approve", &ana()).await;
    assert_eq!(told, Told::Privately("Your vote counts: 1 of 2 approvals of ops.".into()));
    slack.until(|it| it.text.contains("1 of 2 approved (ops): Ana.")).await;
    slack.press(&card.reference, "Approve", &ana()).await;
    assert_eq!(daemon.open().await.len(), 1, "she is one person");
    slack.press(&card.reference, "Approve", &cleo).await;
    assert_eq!(waiting.await.unwrap()["verdict"], "allow");
    is_clean(&slack);
}
