//! The administrators of a Telegram group as approvers.

use crate::{
    daemon::{Daemon, shell},
    telegram_server::{ANA, BEN, EVE, Fault, GROUP, Person, TOKEN, Telegram},
};

const RULE: &str = r#"
[[people]]
name = "Ana"
telegram = 4211
[[people]]
name = "Ben"
telegram = 4212
[[people]]
name = "Eve"
telegram = 6666
[[groups]]
name = "ops"
telegram_admins = -1001000000001
[[answer_rules]]
name = "push"
command = "git push *"
group = "ops"
approvals = 2
"#;

async fn start(telegram: &Telegram, more: &str) -> Daemon {
    let config = format!(
        "[telegram]\ntoken = \"{TOKEN}\"\napi_url = \"{}\"\n\
         targets = [{{ chat = {GROUP} }}]\n{more}",
        telegram.url()
    );
    Daemon::start(&config).await
}

async fn told(telegram: &Telegram, card: i64, person: Person) -> String {
    telegram.press(GROUP, card, "Approve", person).await.text
}

#[tokio::test]
async fn administrators_of_a_group_are_a_group_of_approvers_as_long_as_they_are_that() {
    let telegram = Telegram::start().await;
    telegram.make_admin(GROUP, ANA, false);
    telegram.make_admin(GROUP, BEN, false);
    let daemon = start(&telegram, RULE).await;
    let id = daemon.ask(&shell("git push origin main")).await;
    let card = telegram.card(GROUP).await.id;
    let refused = told(&telegram, card, EVE).await;
    assert!(refused.contains("everyone with its role"), "{refused}");
    let counts = told(&telegram, card, BEN).await;
    assert_eq!(counts, "Your vote counts: 1 of 2 approvals of ops.");
    // Ben is no administrator any more when Ana completes the quorum.
    telegram.remove_admin(GROUP, BEN);
    let read = || (telegram.unconfirmed() == 0).then_some(());
    telegram.until("the update is read", read).await;
    let alone = told(&telegram, card, ANA).await;
    assert_eq!(alone, "Your vote counts: 1 of 2 approvals of ops.");
    assert_eq!(daemon.read(&id).await["state"], "open");
    // Eve becomes one.
    telegram.make_admin(GROUP, EVE, false);
    telegram.until("the update is read", read).await;
    told(&telegram, card, EVE).await;
    assert_eq!(daemon.closed(&id).await["answer"]["decision"], "approve");
    assert_eq!(telegram.violations(), Vec::<String>::new());
}

#[tokio::test]
async fn who_is_anonymous_in_a_group_does_not_answer_as_its_administrator() {
    let telegram = Telegram::start().await;
    telegram.make_admin(GROUP, ANA, true);
    telegram.make_admin(GROUP, BEN, false);
    let admins = format!("[approvers]\ntelegram_admins = [{GROUP}]\n");
    let daemon = start(&telegram, &admins).await;
    let id = daemon.ask(&shell("git push origin main")).await;
    let card = telegram.card(GROUP).await.id;
    let refused = told(&telegram, card, ANA).await;
    assert_eq!(refused, "You may not answer this: you are not on the list of approvers.");
    assert_eq!(told(&telegram, card, BEN).await, "Approved once.");
    assert_eq!(daemon.closed(&id).await["answer"]["decision"], "approve");
}

#[tokio::test]
async fn nobody_gains_or_loses_anything_while_telegram_does_not_say_who_its_administrators_are() {
    let telegram = Telegram::start().await;
    telegram.make_admin(GROUP, ANA, false);
    telegram.make_admin(GROUP, BEN, false);
    let daemon = start(&telegram, RULE).await;
    let id = daemon.ask(&shell("git push origin main")).await;
    let card = telegram.card(GROUP).await.id;
    told(&telegram, card, BEN).await;
    // What is known is told to have changed, and then Telegram does not say how.
    telegram.fail("getChatAdministrators", Fault::BadGateway, 1_000);
    telegram.make_admin(GROUP, EVE, false);
    telegram.until("the update", || (telegram.unconfirmed() == 0).then_some(())).await;
    for person in [ANA, EVE] {
        let refused = told(&telegram, card, person).await;
        assert!(refused.contains("everyone with its role"), "{refused}");
    }
    assert_eq!(daemon.read(&id).await["state"], "open");
    telegram.mend("getChatAdministrators");
    // Ben's vote is still there.
    told(&telegram, card, ANA).await;
    assert_eq!(daemon.closed(&id).await["answer"]["decision"], "approve");
}

#[tokio::test]
async fn without_the_key_no_administrator_is_asked_for() {
    let telegram = Telegram::start().await;
    telegram.make_admin(GROUP, BEN, false);
    let daemon = start(&telegram, "[approvers]\ntelegram = [4211]\n").await;
    daemon.ask(&shell("git push origin main")).await;
    let card = telegram.card(GROUP).await.id;
    let refused = told(&telegram, card, BEN).await;
    assert_eq!(refused, "You may not answer this: you are not on the list of approvers.");
    assert_eq!(told(&telegram, card, ANA).await, "Approved once.");
    assert!(telegram.calls("getChatAdministrators").is_empty());
    assert_eq!(telegram.violations(), Vec::<String>::new());
}
