//! The kill switch, from the chats, the command line and the API.

use crate::{
    chats::both,
    daemon::{AGENT, APPROVER, Daemon, shell},
    discord_server::{FakeDiscord, Person, Told},
    telegram_server::{ANA, EVE, GROUP, Telegram},
};
use serde_json::{Value, json};

/// Everything is allowed, unless something is paused.
const RULES: &str = "[policy]\nrules = \"rules.jsonc\"\n";
const ALL: (&str, &str) = ("rules.jsonc", r#"{"*": "allow", "shell": {"git push*": "ask"}}"#);

async fn start() -> (Telegram, FakeDiscord, Daemon) {
    let (telegram, discord) = (Telegram::start().await, FakeDiscord::start().await);
    let chats = both(&telegram, &discord);
    let daemon = Daemon::start_with(&format!("{RULES}{chats}inbox = true\n"), &[ALL]).await;
    discord.until_online().await;
    (telegram, discord, daemon)
}

async fn say(telegram: &Telegram, text: &str) -> String {
    let message = telegram.say(GROUP, text, ANA);
    telegram.answer_to(GROUP, message).await
}

async fn verdict(daemon: &Daemon, command: &str) -> Value {
    daemon.call(&shell(command)).await.1["verdict"].clone()
}

#[tokio::test]
async fn a_pause_from_a_chat_holds_what_rules_allow_and_stops_deadlines_until_it_is_resumed() {
    let (telegram, _discord, mut daemon) = start().await;
    assert_eq!(verdict(&daemon, "ls").await, "allow");
    let push = daemon.ask(&shell("git push")).await;
    daemon.says("a card stands adapter=\"telegram\"").await;
    let stranger = telegram.say(GROUP, "/pause", EVE);
    assert!(telegram.answer_to(GROUP, stranger).await.starts_with("You may not answer this"));
    assert_eq!(verdict(&daemon, "ls").await, "allow", "a stranger pauses nothing");
    let card = telegram.card(GROUP).await;
    let approve = telegram.button(GROUP, card.id, "Approve");
    let paused = say(&telegram, "/pause").await;
    assert!(paused.starts_with("Paused: every call waits"), "{paused}");
    assert!(say(&telegram, "/pause").await.ends_with("already."));

    let held = daemon.ask(&shell("ls -l")).await;
    assert!(daemon.read(&held).await["why"].as_str().unwrap().starts_with("Paused by Ana"));
    telegram
        .until("the card says so", || {
            let cards = telegram.open_cards(GROUP);
            let said = cards.iter().filter(|card| card.text.contains("Deadline paused")).count();
            (said == 2).then_some(())
        })
        .await;
    for card in telegram.open_cards(GROUP) {
        assert_eq!(card.buttons.concat(), ["Deny", "More…"], "no button approves in a pause");
    }
    let told = telegram.told(&telegram.press_data(GROUP, card.id, &approve, ANA)).await;
    assert!(told.text.contains("only a denial counts until somebody resumes"), "{}", told.text);
    let (status, refused) = daemon.answer(&push, &json!({"decision": "approve"})).await;
    assert_eq!(status, 422, "{refused}");
    let ready = daemon.get("/readyz", AGENT).await.1;
    assert_eq!(
        (&ready["paused"]["mode"], &ready["paused"]["by"]["name"]),
        (&json!("hold"), &json!("Ana"))
    );
    assert!(say(&telegram, "/status").await.contains("/resume ends it"));

    // It outlives a daemon that is killed, and its deadlines stand still meanwhile.
    daemon.kill().await;
    daemon.run().await;
    let again = daemon.ask(&shell("pwd")).await;
    assert_eq!(daemon.read(&push).await.get("deadline"), None, "it stands still");
    assert!(say(&telegram, "/resume").await.starts_with("Resumed after "));
    for id in [&held, &again] {
        let ask = daemon.ask_reaches(id, "answered").await;
        assert_eq!(
            (&ask["verdict"], &ask["answer"]["by"]["kind"]),
            (&json!("allow"), &json!("policy"))
        );
    }
    assert!(daemon.read(&push).await["deadline"].is_string(), "it runs again");
    daemon.deadline_passes(&push).await;
    assert_eq!(daemon.ask_reaches(&push, "expired").await["verdict"], "deny");
    assert_eq!(verdict(&daemon, "ls").await, "allow");
    assert_eq!(telegram.violations(), Vec::<String>::new());
}

#[tokio::test]
async fn a_pause_that_denies_tells_every_agent_so_and_a_reconnecting_one_keeps_its_ask() {
    let (_telegram, discord, daemon) = start().await;
    let mut push = shell("git push");
    push["key"] = json!("k1");
    let open = daemon.ask(&push).await;
    let ana = Person::new(&ANA.id.to_string(), "Ana");
    let told = discord.command("pause", &[("how", "deny")], &ana).await;
    assert_eq!(
        told,
        Told::Privately("Paused: every call is denied until somebody resumes.".to_owned())
    );
    let (status, denied) = daemon.call(&shell("ls")).await;
    assert_eq!((status, &denied["verdict"]), (200, &json!("deny")));
    let reason = denied["reason"].as_str().unwrap();
    assert!(reason.starts_with("Paused by Ana (discord) since "), "{reason}");
    assert_eq!(daemon.ask(&push).await, open, "the same call is the same ask");
    let (status, denial) = daemon.answer(&open, &json!({"decision": "deny"})).await;
    assert_eq!((status, &denial["applied"]), (200, &json!(true)), "a denial counts");
    let told = discord.command("resume", &[], &ana).await.words().unwrap();
    assert!(told.starts_with("Resumed after "), "{told}");
    assert_eq!(verdict(&daemon, "ls").await, "allow");
}

#[tokio::test]
async fn only_approvers_switch_it_and_the_command_line_does_too() {
    let daemon = Daemon::start_with(&format!("{RULES}[approvers]\ninbox = true\n"), &[ALL]).await;
    for path in ["/v1/pause", "/v1/resume"] {
        assert_eq!(daemon.post(path, AGENT, &json!({})).await.0, 403, "{path}");
    }
    assert_eq!(verdict(&daemon, "ls").await, "allow");
    let run = async |args: &[&str]| {
        let mut command = daemon.command(args);
        command.env("COUNTERSIGN_APPROVER_TOKEN", APPROVER);
        let output = command.output().await.unwrap();
        (output.status.code(), String::from_utf8(output.stdout).unwrap())
    };
    let (code, said) = run(&["pause", "--deny"]).await;
    assert_eq!(
        (code, said.as_str()),
        (Some(0), "Paused: every call is denied until somebody resumes.\n")
    );
    assert_eq!(verdict(&daemon, "ls").await, "deny");
    assert!(run(&["pending"]).await.1.starts_with("! Everything is paused by "));
    assert!(run(&["doctor"]).await.1.contains("everything is paused since"));
    let visitor = crate::inbox_visitor::Visitor::enter(&daemon.inbox).await;
    assert!(visitor.command("resume").await.starts_with("Resumed after "));
    assert!(visitor.command("pause").await.starts_with("Paused: every call waits"));
    assert_eq!(visitor.command("approve").await.split(' ').next(), Some("Which"));
    assert_eq!(visitor.command("rm").await, "There is no such command.");
    let unknown = daemon.post("/v1/pause", APPROVER, &json!({"mode": "maybe"})).await;
    assert_eq!(unknown.0, 400, "{unknown:?}");
    assert_eq!(run(&["resume"]).await.0, Some(0));
    assert_eq!(verdict(&daemon, "ls").await, "allow");
    assert_eq!(daemon.post("/v1/resume", APPROVER, &Value::Null).await.1["switched"], false);
}

#[tokio::test]
async fn no_call_that_comes_back_after_the_pause_was_told_is_allowed() {
    let daemon = Daemon::start_with(&format!("{RULES}[approvers]\ninbox = true\n"), &[ALL]).await;
    for _ in 0..5 {
        let calls = (0..20).map(|n| {
            let request = daemon.http.post(format!("{}/v1/calls", daemon.url));
            let request = request.bearer_auth(AGENT).json(&shell(&format!("ls {n}")));
            async move { request.send().await.unwrap().json::<Value>().await.unwrap() }
        });
        let before = futures::future::join_all(calls);
        let pausing = async {
            let paused = daemon.post("/v1/pause", APPROVER, &json!({"mode": "deny"})).await;
            assert_eq!(paused.0, 200);
            let after = (0..20).map(|n| verdict_of(&daemon, n));
            futures::future::join_all(after).await
        };
        let (_, after) = tokio::join!(before, pausing);
        assert!(after.iter().all(|verdict| verdict == "deny"), "{after:?}");
        assert_eq!(daemon.post("/v1/resume", APPROVER, &Value::Null).await.0, 200);
    }
}

async fn verdict_of(daemon: &Daemon, n: usize) -> Value {
    verdict(daemon, &format!("pwd {n}")).await
}
