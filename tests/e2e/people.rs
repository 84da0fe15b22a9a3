//! People with names: whatever they answer with, it is they who answered.

use crate::{
    daemon::{APPROVER, Daemon, shell},
    discord_server::{FakeDiscord, Person},
    telegram_server::{ANA, BEN, EVE, GROUP, Telegram},
};
use serde_json::{Value, json};

/// Ana has both chats, Ben a token of his own, and holders of a role are approvers.
fn config(telegram: &Telegram, discord: &FakeDiscord) -> String {
    let chats = crate::chats::both(telegram, discord);
    let (chats, _) = chats.split_once("[approvers]").unwrap();
    format!(
        "{chats}\n[[people]]\nname = \"Ana of ops\"\ntelegram = {}\ndiscord = \"77\"\n\
         [[people]]\nname = \"Ben\"\ntoken = \"the token of Ben alone\"\n\
         [[groups]]\nname = \"leads\"\ndiscord_roles = [\"500\"]\n",
        ANA.id
    )
}

/// What a command prints.
async fn printed(daemon: &Daemon, args: &[&str]) -> String {
    String::from_utf8(daemon.command(args).output().await.unwrap().stdout).unwrap()
}

async fn start() -> (Telegram, FakeDiscord, Daemon) {
    let (telegram, discord) = (Telegram::start().await, FakeDiscord::start().await);
    let daemon = Daemon::start(&config(&telegram, &discord)).await;
    discord.until_online().await;
    (telegram, discord, daemon)
}

#[tokio::test]
async fn a_person_answers_by_their_name_with_each_of_their_identities() {
    let (telegram, discord, daemon) = start().await;
    let waiting = daemon.waiting(shell("git push origin one"));
    let card = telegram.card(GROUP).await;
    assert_eq!(telegram.press(GROUP, card.id, "Approve", ANA).await.text, "Approved once.");
    assert_eq!(waiting.await.unwrap()["reason"], "approved by Ana of ops (telegram)");
    discord.until_all(|message| message.is_over()).await;

    let waiting = daemon.waiting(shell("git push origin two"));
    let posted = discord.until(|message| !message.is_over()).await;
    let ana = Person::new("77", "someone else's name");
    discord.press(&posted.reference, "Deny", &ana).await;
    assert_eq!(waiting.await.unwrap()["reason"], "denied by Ana of ops (discord)");

    let id = daemon.ask(&shell("git push origin three")).await;
    let answer = json!({"decision": "approve"});
    let (status, reply) =
        daemon.post(&format!("/v1/asks/{id}/answer"), "the token of Ben alone", &answer).await;
    assert_eq!((status, &reply["by"]["name"]), (200, &json!("Ben")), "{reply}");
    let history = printed(&daemon, &["history"]).await;
    assert!(history.contains("Ana of ops") && history.contains("Ben"), "{history}");
}

#[tokio::test]
async fn once_people_have_names_neither_the_shared_token_nor_a_stranger_answers() {
    let (telegram, discord, daemon) = start().await;
    let id = daemon.ask(&shell("git push")).await;
    let card = telegram.card(GROUP).await;
    for stranger in [BEN, EVE] {
        let told = telegram.press(GROUP, card.id, "Approve", stranger).await.text;
        assert_eq!(told, "You may not answer this: you are not on the list of approvers.");
    }
    let answer = json!({"decision": "approve"});
    let (status, reply) = daemon.post(&format!("/v1/asks/{id}/answer"), APPROVER, &answer).await;
    assert_eq!(status, 403, "{reply}");
    let says = reply["message"].as_str().or(reply["error"].as_str()).unwrap_or_default();
    assert!(says.starts_with("People answer by name here"), "{reply}");
    assert_eq!(daemon.read(&id).await["state"], "open");
    // A role of a group admits, under the name that its holder has there.
    let posted = discord.until(|message| !message.is_over()).await;
    let lead = Person::new("99", "Leo").with_role("500");
    discord.press(&posted.reference, "Approve", &lead).await;
    assert_eq!(daemon.closed(&id).await["answer"]["by"]["name"], "Leo");
}

#[tokio::test]
async fn doctor_names_everybody_and_says_what_the_old_lists_mean() {
    let (_telegram, _discord, daemon) = start().await;
    let report = printed(&daemon, &["doctor", "--json"]).await;
    let report: Value = serde_json::from_str(&report).unwrap();
    let checks = report["checks"].as_array().unwrap();
    let approvers = checks.iter().filter(|check| check["check"] == "approvers");
    let says: Vec<_> = approvers.map(|check| check["says"].as_str().unwrap()).collect();
    let wanted = [
        "Ana of ops answers on discord, on telegram",
        "Ben answers with a token of their own",
        "without a name: everyone with a role of the group leads on discord",
    ];
    assert_eq!(says, wanted);
    let local = Daemon::start("").await;
    let report = printed(&local, &["doctor"]).await;
    let wanted = "anyone who has the inbox's address or the approver's token; any one of them \
                  answers alone";
    assert!(report.contains(wanted), "{report}");
}
