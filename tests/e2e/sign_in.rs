//! People with names sign in to the inbox by a link from their chat, and answer there as themselves.

use crate::{
    daemon::{APPROVER, Daemon, shell},
    discord_server::{FakeDiscord, Person},
    inbox_visitor::Visitor,
    telegram_server::{ANA, BEN, EVE, GROUP, Telegram},
};
use serde_json::{Value, json};

const TEAM: &str = r#"
[[people]]
name = "Ana"
telegram = 4211
discord = "77"
groups = ["ops"]
[[people]]
name = "Ben"
telegram = 4212
groups = ["ops"]
[[people]]
name = "Eve"
telegram = 6666
[[answer_rules]]
name = "push"
command = "git push *"
group = "ops"
approvals = 2
"#;

async fn team() -> (Telegram, FakeDiscord, Daemon) {
    let (telegram, discord) = (Telegram::start().await, FakeDiscord::start().await);
    let chats = crate::chats::both(&telegram, &discord);
    let (chats, _) = chats.split_once("[approvers]").unwrap();
    let daemon = Daemon::start(&format!("{chats}{TEAM}")).await;
    discord.until_online().await;
    (telegram, discord, daemon)
}

/// The link that the bot answers in private.
async fn link(telegram: &Telegram, who: crate::telegram_server::Person) -> String {
    telegram.sign_in_link(who).await
}

fn open(card: &Value) -> bool {
    card["card"]["tone"] == "open"
}

#[tokio::test]
async fn two_people_who_signed_in_answer_as_themselves_and_one_person_is_one_vote() {
    let (telegram, discord, daemon) = team().await;
    let ana = Visitor::sign_in(&link(&telegram, ANA).await).await.unwrap();
    let waiting = daemon.waiting(shell("git push origin main"));
    let mut board = ana.follow().await;
    let card = board.card(open).await;
    let one = "Your vote counts: 1 of 2 approvals of ops.";
    assert_eq!(ana.press_label(&card, "Approve", None).await, one);
    // Signed in by her other account, and pressing there, she is still one person.
    let told = discord.command("login", &[], &Person::new("77", "ana")).await.words().unwrap();
    let again = told.lines().next().unwrap().replace(['<', '>', '«', '»'], "");
    let again = Visitor::sign_in(&again).await.unwrap();
    let card = again.follow().await.card(open).await;
    again.press_label(&card, "Approve", None).await;
    let chat = telegram.card(GROUP).await;
    telegram.press(GROUP, chat.id, "Approve", ANA).await;
    assert_eq!(daemon.open().await[0]["needs"][0]["approved"], json!(["Ana"]));
    let eve = Visitor::sign_in(&link(&telegram, EVE).await).await.unwrap();
    let only = "Only members of ops may answer this. It has Ana, Ben.";
    assert_eq!(eve.press_label(&card, "Deny", None).await, only);
    let ben = Visitor::sign_in(&link(&telegram, BEN).await).await.unwrap();
    assert_eq!(ben.press_label(&card, "Approve", None).await, "Approved once.");
    let answer = waiting.await.unwrap();
    assert_eq!(answer["verdict"], "allow");
    assert_eq!(answer["reason"], "approved by Ana (telegram) and Ben");
    // The log says who came in, and by which account.
    let output = daemon.command(&["log", "--kind", "signed_in", "--format", "jsonl"]).output();
    let log = String::from_utf8(output.await.unwrap().stdout).unwrap();
    let came = |line: &str| serde_json::from_str::<Value>(line).unwrap()["data"]["by"].clone();
    let came: Vec<Value> = log.lines().map(came).collect();
    let by = |id: &str, name: &str| json!({"kind": "person", "platform": "inbox", "id": id, "name": name});
    let expected = [
        by("telegram:4211", "Ana"),
        by("discord:77", "Ana"),
        by("telegram:6666", "Eve"),
        by("telegram:4212", "Ben"),
    ];
    assert_eq!(came, expected);
}

#[tokio::test]
async fn what_somebody_stores_and_undoes_in_the_inbox_carries_their_name() {
    let (telegram, _discord, daemon) = team().await;
    let ana = Visitor::sign_in(&link(&telegram, ANA).await).await.unwrap();
    let id = daemon.ask(&shell("make test")).await;
    let mut board = ana.follow().await;
    let card = board.card(open).await;
    let told = ana.press_label(&card, "Always", None).await;
    assert!(told.starts_with("Approved, and always from now on"), "{told}");
    let answer = daemon.closed(&id).await["answer"].clone();
    let by = json!({"kind": "person", "platform": "inbox", "id": "telegram:4211", "name": "Ana"});
    assert_eq!(answer["by"], by);
    let closed = board.card(|card| card["card"]["tone"] == "approved").await;
    let told = ana.press_label(&closed, "Undo", None).await;
    assert!(told.starts_with("Undone"), "{told}");
    let (status, page) = ana.api(reqwest::Method::GET, "/inbox/api/history").await;
    let entry = &page["asks"][0];
    assert_eq!((status, &entry["by"], &entry["undone_by"]), (200, &by, &by), "{page}");
}

#[tokio::test]
async fn without_a_name_nobody_answers_in_the_inbox_and_nobody_gets_a_link() {
    let (telegram, discord, daemon) = team().await;
    let id = daemon.ask(&shell("make test")).await;
    let nobody = Visitor::enter(&daemon.inbox).await;
    let card = nobody.follow().await.card(open).await;
    let told = nobody.press_label(&card, "Approve", None).await;
    assert!(told.starts_with("People answer by name here"), "{told}");
    assert!(nobody.command("login").await.starts_with("People answer by name here"));
    // In a group, and as a reply to a card there, the bot asks to be written to in private.
    let private = "The link is private: send /login to me in a private chat.";
    let asked = telegram.say(GROUP, "/login", ANA);
    assert_eq!(telegram.answer_to(GROUP, asked).await, private);
    let chat = telegram.card(GROUP).await;
    let asked = telegram.reply(GROUP, chat.id, "/login", ANA);
    assert_eq!(telegram.answer_to(GROUP, asked).await, private);
    // A stranger gets none, and neither does a session.
    let told = discord.command("login", &[], &Person::new("4", "Mal")).await.words().unwrap();
    assert!(!told.contains("sign-in"), "{told}");
    let ana = Visitor::sign_in(&link(&telegram, ANA).await).await.unwrap();
    let told = ana.command("login").await;
    assert_eq!(told, "A link comes from a chat: send /login to the bot there.");
    assert_eq!(daemon.read(&id).await["state"], "open");
    assert!(!daemon.said().contains("sign-in#"), "no link is logged");
}

#[tokio::test]
async fn a_session_ends_with_its_identity_in_the_config_and_with_the_daemon() {
    let (telegram, _discord, mut daemon) = team().await;
    let ana = Visitor::sign_in(&link(&telegram, ANA).await).await.unwrap();
    let ben = Visitor::sign_in(&link(&telegram, BEN).await).await.unwrap();
    let unused = link(&telegram, ANA).await;
    let mut anas = ana.follow().await;
    assert!(anas.next().await.is_some());
    let config = std::fs::read_to_string(daemon.config()).unwrap();
    // Ana stays, but this account is not hers any more.
    let without = config.replace("telegram = 4211\n", "");
    std::fs::write(daemon.config(), &without).unwrap();
    assert!(daemon.command(&["reload"]).output().await.unwrap().status.success());
    // Her open page is let go by the reload itself, before anything happens.
    while anas.next().await.is_some() {}
    assert!(ana.try_follow().await.is_err());
    assert!(ana.proof("GET", "/inbox/me", "").await.is_err(), "there is no such sign-in");
    // Back in the config she has to ask for another link.
    std::fs::write(daemon.config(), &config).unwrap();
    assert!(daemon.command(&["reload"]).output().await.unwrap().status.success());
    assert!(Visitor::sign_in(&unused).await.is_err(), "nor does a link of before");
    assert!(ana.proof("GET", "/inbox/me", "").await.is_err());
    let mut board = ben.follow().await;
    assert!(board.next().await.is_some());
    let unused = link(&telegram, BEN).await;
    daemon.kill().await;
    daemon.run().await;
    let mut old = ben;
    daemon.inbox.split("/?").next().unwrap().clone_into(&mut old.base);
    assert!(old.try_follow().await.is_err());
    let code = unused.split_once('#').unwrap().1;
    assert!(Visitor::sign_in(&format!("{}/sign-in#{code}", old.base)).await.is_err());
}

#[tokio::test]
async fn a_person_with_a_token_a_sign_in_and_a_chat_is_one_vote() {
    let (telegram, discord) = (Telegram::start().await, FakeDiscord::start().await);
    let chats = crate::chats::both(&telegram, &discord);
    let (chats, _) = chats.split_once("[approvers]").unwrap();
    let own = "the token of Ana alone, long enough";
    let people = TEAM.replace("telegram = 4211", &format!("telegram = 4211\ntoken = \"{own}\""));
    let daemon = Daemon::start(&format!("{chats}{people}")).await;
    discord.until_online().await;
    let waiting = daemon.waiting(shell("git push origin main"));
    let card = telegram.card(GROUP).await;
    let id = daemon.open().await[0]["id"].as_str().unwrap().to_owned();
    let one = "Your vote counts: 1 of 2 approvals of ops.";
    let path = format!("/v1/asks/{id}/answer");
    let (status, voted) = daemon.post(&path, own, &json!({"decision": "approve"})).await;
    assert_eq!((status, &voted["applied"], &voted["message"]), (200, &json!(false), &json!(one)));
    let ana = Visitor::sign_in(&link(&telegram, ANA).await).await.unwrap();
    let shown = ana.follow().await.card(open).await;
    assert_eq!(ana.press_label(&shown, "Approve", None).await, one, "she votes again, signed in");
    assert_eq!(telegram.press(GROUP, card.id, "Approve", ANA).await.text, one, "and in her chat");
    assert_eq!(daemon.read(&id).await["needs"][0]["approved"], json!(["Ana"]));
    assert_eq!(telegram.press(GROUP, card.id, "Approve", BEN).await.text, "Approved once.");
    assert_eq!(waiting.await.unwrap()["verdict"], "allow");
}

#[tokio::test]
async fn a_config_that_gives_one_identity_to_two_people_starts_no_daemon_and_is_not_reloaded() {
    let (telegram, _discord, daemon) = team().await;
    let ours = std::fs::read_to_string(daemon.config()).unwrap();
    let own = "token = \"the token of two people, long enough\"";
    let with = |ana: &str, ben: &str| {
        let ours = ours.replace("telegram = 4211\n", &format!("telegram = 4211\n{ana}\n"));
        ours.replace("telegram = 4212\n", &format!("telegram = 4212\n{ben}\n"))
    };
    for (config, why) in [
        (ours.replace("telegram = 4212", "telegram = 4211"), "an identity belongs to one person"),
        (with("", "discord = \"77\""), "an identity belongs to one person"),
        (with(own, own), "token"),
        (with("hosts = [\"mill\"]", "hosts = [\"mill\"]"), "machine `mill`"),
        (ours.replace("name = \"Ben\"", "name = \"ANA\""), "must be unique"),
    ] {
        std::fs::write(daemon.config(), &config).unwrap();
        let served = daemon.command(&["serve"]).output().await.unwrap();
        let said = String::from_utf8(served.stderr).unwrap();
        assert!(!served.status.success() && said.contains(why), "{why}: {said}");
        let (status, refused) = daemon.post("/v1/reload", APPROVER, &json!({})).await;
        assert_eq!(status, 422, "{refused}");
    }
    // The earlier config is in force: Ana is one and Ben another.
    let waiting = daemon.waiting(shell("git push origin main"));
    let card = telegram.card(GROUP).await;
    telegram.press(GROUP, card.id, "Approve", ANA).await;
    assert_eq!(telegram.press(GROUP, card.id, "Approve", BEN).await.text, "Approved once.");
    assert_eq!(waiting.await.unwrap()["verdict"], "allow");
}
