//! A config that changes while the daemon runs.

use crate::{
    daemon::{AGENT, Daemon, shell},
    telegram_server::{ANA, BEN, GROUP, Message, Person, TOKEN, Telegram},
};
use serde_json::{Value, json};

/// A config with these approvers, and local answering.
fn config(telegram: &Telegram, targets: &[i64], approvers: &[Person]) -> String {
    let ids: Vec<i64> = approvers.iter().map(|person| person.id).collect();
    let chats: Vec<String> = targets.iter().map(|chat| format!("{{ chat = {chat} }}")).collect();
    format!(
        "[telegram]\ntoken = \"{TOKEN}\"\napi_url = \"{}\"\ntargets = [{}]\n\
         [approvers]\ninbox = true\ntelegram = {ids:?}\n",
        telegram.url(),
        chats.join(", "),
    )
}

/// Runs `countersign reload`; whether it went well, and all it printed.
async fn reload(daemon: &Daemon) -> (bool, String) {
    let ended = daemon.command(&["reload"]).output().await.unwrap();
    let printed = [ended.stdout, ended.stderr].concat();
    (ended.status.success(), String::from_utf8(printed).unwrap())
}

fn reloaded() -> (bool, String) {
    (true, "The daemon runs with this config now.\n".to_owned())
}

async fn approve_all(daemon: &Daemon) {
    for ask in daemon.open().await {
        daemon.answer(ask["id"].as_str().unwrap(), &json!({"decision": "approve"})).await;
    }
}

#[tokio::test]
async fn no_ask_is_lost_that_is_open_or_being_opened_while_configs_are_reloaded() {
    let telegram = Telegram::start().await;
    telegram.say(ANA.id, "/start", ANA);
    let (one, both) =
        (config(&telegram, &[GROUP], &[ANA]), config(&telegram, &[GROUP, ANA.id], &[ANA, BEN]));
    let daemon = Daemon::start(&one).await;
    let call = |n: usize| {
        let mut call = shell(&format!("git push origin branch-{n}"));
        call["session"] = json!(format!("session {n}"));
        call
    };
    let mut waiting: Vec<_> = (0..20).map(|n| daemon.waiting(call(n))).collect();
    for round in 0..6 {
        daemon.write_config(if round % 2 == 0 { &both } else { &one });
        let (more, again) = (20 + round * 5, reload(&daemon));
        waiting.extend((more..more + 5).map(|n| daemon.waiting(call(n))));
        assert_eq!(again.await, reloaded());
    }
    daemon.write_config(&both);
    assert_eq!(reload(&daemon).await, reloaded());
    // The latest ones may still be on their way.
    daemon
        .until("/v1/asks?state=open", |page| {
            page["asks"].as_array().unwrap().len() == waiting.len()
        })
        .await;
    approve_all(&daemon).await;
    for answer in waiting {
        assert_eq!(answer.await.unwrap()["verdict"], "allow");
    }
    assert_eq!(daemon.open().await, Vec::<Value>::new());
    // Presses arrive from the chat that was there, gone and back.
    let last = daemon.waiting(call(100));
    let new = |card: &Message| card.text.contains("branch-100");
    let card = || telegram.open_cards(ANA.id).into_iter().find(new);
    let card = telegram.until("a card in Ana's chat", card).await;
    assert_eq!(telegram.press(ANA.id, card.id, "Approve", ANA).await.text, "Approved once.");
    assert_eq!(last.await.unwrap()["verdict"], "allow");
}

#[tokio::test]
async fn a_broken_config_is_refused_with_its_mistake_and_the_earlier_one_stays_in_force() {
    let telegram = Telegram::start().await;
    let mut daemon = Daemon::start(&config(&telegram, &[GROUP], &[ANA])).await;
    let waiting = daemon.waiting(shell("git push"));
    let broken = config(&telegram, &[GROUP], &[]).replace("targets", "target");
    daemon.write_config(&broken);
    let (status, body) = daemon.post("/v1/reload", crate::daemon::APPROVER, &Value::Null).await;
    assert_eq!(status, 422, "{body}");
    assert!(body["error"].as_str().unwrap().contains("`target`"), "{body}");
    daemon.signal("HUP");
    daemon.says("the config was not reloaded; the earlier one stays in force").await;
    let card = telegram.until("an open card", || telegram.open_cards(GROUP).pop()).await;
    assert_eq!(telegram.press(GROUP, card.id, "Approve", ANA).await.text, "Approved once.");
    assert_eq!(waiting.await.unwrap()["verdict"], "allow");
}

#[tokio::test]
async fn an_approver_counts_from_the_reload_on_that_names_them_and_no_longer_than_that() {
    let telegram = Telegram::start().await;
    let mut daemon = Daemon::start(&config(&telegram, &[GROUP], &[ANA])).await;
    let waiting = daemon.waiting(shell("git push"));
    let card = telegram.until("an open card", || telegram.open_cards(GROUP).pop()).await;
    let stranger = "You may not answer this: you are not on the list of approvers.";
    assert_eq!(telegram.press(GROUP, card.id, "Approve", BEN).await.text, stranger);
    daemon.write_config(&config(&telegram, &[GROUP], &[BEN]));
    daemon.signal("HUP");
    daemon.says("the config was reloaded").await;
    assert_eq!(telegram.press(GROUP, card.id, "Approve", ANA).await.text, stranger);
    assert_eq!(telegram.press(GROUP, card.id, "Approve", BEN).await.text, "Approved once.");
    assert_eq!(waiting.await.unwrap()["reason"], "approved by Ben (telegram)");
}

#[tokio::test]
async fn a_chat_that_a_reload_brings_shows_the_asks_that_wait_and_one_that_it_ends_stays_quiet() {
    let telegram = Telegram::start().await;
    let daemon = Daemon::start("").await;
    let id = daemon.ask(&shell("git push")).await;
    daemon.write_config(&config(&telegram, &[GROUP], &[ANA]));
    assert_eq!(reload(&daemon).await, reloaded());
    let card = telegram.until("an open card", || telegram.open_cards(GROUP).pop()).await;
    assert_eq!(telegram.press(GROUP, card.id, "Approve", ANA).await.text, "Approved once.");
    assert_eq!(daemon.closed(&id).await["verdict"], "allow");
    daemon.write_config("");
    assert_eq!(reload(&daemon).await, reloaded());
    let ready = daemon.get("/readyz", AGENT).await.1;
    let adapters: Vec<&String> = ready["adapters"].as_object().unwrap().keys().collect();
    assert_eq!(adapters, ["inbox"]);
}

#[tokio::test]
async fn a_copy_of_the_config_that_was_made_since_the_start_is_protected_from_the_reload_on() {
    let daemon = Daemon::start("").await;
    let copy = format!("{}.1.bak", daemon.config().display());
    let read = shell(&format!("cat {copy}"));
    std::fs::copy(daemon.config(), &copy).unwrap();
    assert_eq!(reload(&daemon).await, reloaded());
    let (_, body) = daemon.call(&read).await;
    assert_eq!(body["verdict"], "deny", "{body}");
}

/// Their own tokens are read with the people: who is removed reads nothing more, also where they read
/// already, and who is new needs no restart.
#[tokio::test]
async fn a_person_of_the_config_comes_and_goes_with_their_token() {
    const ANAS: &str = "cs_ana_0123456789abcdef0123456789abcdef";
    const BENS: &str = "cs_ben_0123456789abcdef0123456789abcdef";
    let person =
        |name: &str, token: &str| format!("[[people]]\nname = \"{name}\"\ntoken = \"{token}\"\n");
    let daemon = Daemon::start(&person("Ana", ANAS)).await;
    let events = daemon.http.get(format!("{}/v1/events", daemon.url)).bearer_auth(ANAS);
    let events = events.send().await.unwrap();
    assert_eq!(daemon.get("/v1/asks", ANAS).await.0, 200);
    assert_eq!(daemon.get("/v1/asks", BENS).await.0, 401);
    daemon.write_config(&person("Ben", BENS));
    assert_eq!(reload(&daemon).await, reloaded());
    assert_eq!(daemon.get("/v1/asks", ANAS).await.0, 401);
    assert_eq!(daemon.get("/v1/asks", BENS).await.0, 200);
    daemon.ask(&shell("git push")).await;
    let told = events.text().await.unwrap();
    assert!(!told.contains("git push"), "her stream ends instead: {told}");
}

#[tokio::test]
async fn what_takes_effect_at_the_next_start_only_is_named_and_an_agent_does_not_reload() {
    let daemon = Daemon::start("").await;
    let file = std::fs::read_to_string(daemon.config()).unwrap();
    std::fs::write(daemon.config(), file.replace("127.0.0.1:0", "127.0.0.1:1")).unwrap();
    let before = daemon.get("/readyz", AGENT).await.1["config"].clone();
    let (good, printed) = reload(&daemon).await;
    assert_eq!(
        (good, printed.as_str()),
        (true, "The daemon runs with this config now. Restart the daemon for: daemon.listen.\n")
    );
    let after = daemon.get("/readyz", AGENT).await.1["config"].clone();
    assert!(before.is_string() && after.is_string() && before != after, "{before} {after}");
    assert_eq!(daemon.post("/v1/reload", AGENT, &Value::Null).await.0, 403);
}
