//! ConnectOnion's agents over their own wire, with cards in Telegram and Discord.

use crate::{
    connectonion_peer::{Ran, Wire, batch, call, wanted},
    daemon::{AGENT, APPROVER, Daemon},
    discord_server::{CHANNEL, FakeDiscord, Person, Posted},
    telegram_server::{ANA, GROUP, Message, TOKEN, Telegram},
};
use serde_json::{Value, json};

const QUERY: &str = "agent=shop-bot&session=seven&cwd=/home/ana/shop";

fn with_telegram(telegram: &Telegram) -> String {
    format!(
        "[policy]\nprofile = \"connectonion\"\n[telegram]\ntoken = \"{TOKEN}\"\napi_url = \"{}\"\n\
         targets = [{{ chat = {GROUP} }}]\n[approvers]\ntelegram = [{}]\ninbox = true\n",
        telegram.url(),
        ANA.id
    )
}

async fn telegram() -> (Telegram, Daemon, Wire) {
    let telegram = Telegram::start().await;
    let daemon = Daemon::start(&with_telegram(&telegram)).await;
    let wire = Wire::connect(&daemon, AGENT, QUERY).await;
    (telegram, daemon, wire)
}

async fn discord() -> (FakeDiscord, Daemon, Wire) {
    let discord = FakeDiscord::start().await;
    let daemon = Daemon::start(&format!(
        "[policy]\nprofile = \"connectonion\"\n[discord]\ntoken = \"{}\"\napi_url = \"{}\"\n\
         targets = [{{ channel = \"{CHANNEL}\" }}]\n[approvers]\ndiscord = [\"{}\"]\n",
        discord.token(),
        discord.url(),
        ana().id
    ))
    .await;
    discord.until_online().await;
    let wire = Wire::connect(&daemon, AGENT, QUERY).await;
    (discord, daemon, wire)
}

fn ana() -> Person {
    Person::new("4211", "Ana")
}

async fn card(telegram: &Telegram) -> Message {
    telegram.until("an open card", || telegram.open_cards(GROUP).pop()).await
}

async fn closed(telegram: &Telegram, id: i64) -> Message {
    let done = || Some(telegram.message(GROUP, id)).filter(|message| message.buttons.is_empty());
    telegram.until("a closed card", done).await
}

async fn posted(discord: &FakeDiscord, words: &str) -> Posted {
    discord.until(|message| !message.buttons.is_empty() && message.text.contains(words)).await
}

fn install() -> Vec<Value> {
    vec![
        call("c1", "bash", json!({ "command": "npm install", "description": "Install packages" })),
        call("c2", "write", json!({ "file_path": "config.json", "content": "{}" })),
        call("c3", "bash", json!({ "command": "npm run deploy" })),
    ]
}

fn ids(ids: &[&str]) -> Vec<String> {
    ids.iter().map(|id| (*id).to_owned()).collect()
}

#[tokio::test]
async fn a_batch_shows_what_waits_and_session_and_skip_go_on_with_it() {
    let (telegram, _daemon, mut wire) = telegram().await;
    let running = tokio::spawn(async move { batch(&mut wire, &install()).await });

    let first = card(&telegram).await;
    for part in [
        "npm install",
        "Install packages",
        "shop-bot",
        "/home/ana/shop",
        "2 more wait behind this one",
        "write: config.json",
        "bash: npm run deploy",
        "This session stores: bash: every call, until the session ends",
    ] {
        assert!(first.text.contains(part), "the card says `{part}`: {}", first.text);
    }
    let rows =
        [vec!["Approve", "Deny and stop"], vec!["This session"], vec!["Skip", "Deny and explain"]];
    assert_eq!(first.buttons, rows);
    telegram.press(GROUP, first.id, "This session", ANA).await;
    closed(&telegram, first.id).await;

    let second = card(&telegram).await;
    assert!(second.text.contains("config.json"), "{}", second.text);
    assert!(second.text.contains("1 more waits behind this one"), "{}", second.text);
    telegram.press(GROUP, second.id, "Skip", ANA).await;

    let (asked, feedback) = (ids(&["c1", "c2"]), vec![String::new()]);
    let wanted = Ran { ran: ids(&["c1", "c3"]), asked, feedback, goes_on: true };
    assert_eq!(running.await.unwrap(), wanted);
    assert!(closed(&telegram, second.id).await.text.contains("Denied by Ana (telegram)"));
    assert_eq!(telegram.violations(), Vec::<String>::new());
}

#[tokio::test]
async fn deny_and_stop_ends_the_batch_and_explain_asks_for_plain_words() {
    let (discord, daemon, mut wire) = discord().await;
    let running = tokio::spawn(async move { (batch(&mut wire, &install()).await, wire) });
    let first = posted(&discord, "npm install").await;
    assert!(first.text.contains("2 more wait behind this one"), "{}", first.text);
    assert_eq!(
        first.buttons,
        ["Approve", "Deny and stop", "This session", "Skip", "Deny and explain"]
    );
    discord.press(&first.reference, "Deny and stop", &ana()).await;
    let (ran, mut wire) = running.await.unwrap();
    assert_eq!((ran.ran, ran.asked, ran.goes_on), (vec![], ids(&["c1"]), false));
    assert_eq!(daemon.open().await, Vec::<Value>::new(), "nobody is asked about the rest");

    wire.send(&wanted(&call("c4", "bash", json!({ "command": "npm ci" })), &[])).await;
    let second = posted(&discord, "npm ci").await;
    discord.press(&second.reference, "Deny and explain", &ana()).await;
    let answer = wire.next().await;
    let said = (&answer["approved"], &answer["mode"], &answer["by"]);
    assert_eq!(said, (&json!(false), &json!("reject_explain"), &json!("Ana (discord)")));
    let message = answer["message"].as_str().unwrap();
    assert!(message.starts_with("User wants explanation for tool 'bash'."), "{message}");
    assert_eq!(discord.violations(), Vec::<String>::new());
}

#[tokio::test]
async fn a_question_with_several_choices_comes_back_as_a_list() {
    let (telegram, _daemon, mut wire) = telegram().await;
    wire.send(&json!({
        "type": "ask_user", "id": "q1", "question": "Which cities?",
        "options": ["Sydney", "Tokyo", "Lima"], "multi_select": true,
    }))
    .await;
    let shown = card(&telegram).await;
    assert!(shown.text.contains("Which cities?"), "{}", shown.text);
    for city in ["Sydney", "Lima"] {
        telegram.press(GROUP, shown.id, city, ANA).await;
    }
    telegram.press(GROUP, shown.id, "Submit", ANA).await;
    let answer = wire.next().await;
    assert_eq!(
        (&answer["type"], &answer["answer"]),
        (&json!("ASK_USER_RESPONSE"), &json!(["Sydney", "Lima"]))
    );
}

#[tokio::test]
async fn a_question_in_discord_takes_one_choice_and_declining_is_not_consent() {
    let (discord, _daemon, mut wire) = discord().await;
    let question = |id: &str| {
        json!({ "type": "ask_user", "id": id, "question": "Which city?",
                "options": ["Sydney", "Tokyo"], "multi_select": false })
    };
    wire.send(&question("q1")).await;
    let shown = posted(&discord, "Which city?").await;
    discord.press(&shown.reference, "Tokyo", &ana()).await;
    assert_eq!(wire.next().await["answer"], "Tokyo");
    discord
        .until(|message| message.reference == shown.reference && message.buttons.is_empty())
        .await;

    wire.send(&question("q2")).await;
    let shown = posted(&discord, "Which city?").await;
    discord.press(&shown.reference, "Decline", &ana()).await;
    let answer = wire.next().await["answer"].as_str().unwrap().to_owned();
    assert!(answer.starts_with("NOT ANSWERED") && answer.contains("not approval"), "{answer}");
}

#[tokio::test]
async fn policy_answers_at_once_where_nobody_needs_to_be_asked() {
    let (telegram, daemon, mut wire) = telegram().await;
    wire.send(&wanted(&call("a", "bash", json!({ "command": "pwd && ls -F" })), &[])).await;
    assert_eq!(wire.next().await["approved"], true);
    wire.send(&wanted(&call("b", "write", json!({ "path": ".co/host.yaml" })), &[])).await;
    let answer = wire.next().await;
    let feedback = answer["feedback"].as_str().unwrap();
    assert_eq!((&answer["approved"], &answer["mode"]), (&json!(false), &json!("reject_soft")));
    assert!(
        feedback.starts_with("countersign's policy, not a person: host.yaml decides"),
        "{feedback}"
    );
    assert_eq!(daemon.open().await, Vec::<Value>::new());
    assert_eq!(telegram.messages(GROUP), vec![]);
}

#[tokio::test]
async fn a_session_approval_covers_the_tool_until_it_is_revoked_and_never_what_is_critical() {
    let (telegram, daemon, mut wire) = telegram().await;
    let bash =
        |id: &str, command: &str| wanted(&call(id, "bash", json!({ "command": command })), &[]);
    wire.send(&bash("a", "npm install")).await;
    let shown = card(&telegram).await;
    telegram.press(GROUP, shown.id, "This session", ANA).await;
    assert_eq!(wire.next().await["scope"], "session");
    wire.send(&bash("b", "npm run build")).await;
    assert_eq!(wire.next().await["approved"], true, "the grant covers it without a card");

    wire.send(&bash("c", "rm -rf ~")).await;
    let critical = card(&telegram).await;
    assert_eq!(
        critical.buttons,
        [vec!["Approve", "Deny and stop"], vec!["Skip", "Deny and explain"]]
    );
    telegram.press(GROUP, critical.id, "Deny and stop", ANA).await;
    assert_eq!(wire.next().await["mode"], "reject_hard");

    let grants = daemon.get("/v1/grants", APPROVER).await.1;
    let id = grants["grants"][0]["id"].to_string().replace('"', "");
    let url = format!("{}/v1/grants/{id}", daemon.url);
    let revoked = daemon.http.delete(url).bearer_auth(APPROVER).send().await.unwrap();
    assert!(revoked.status().is_success());
    wire.send(&bash("d", "npm run build")).await;
    card(&telegram).await;
}

#[tokio::test]
async fn frames_that_are_none_get_an_error_and_grant_nothing() {
    let (telegram, daemon, mut wire) = telegram().await;
    for (frame, names) in [
        ("nonsense", "no JSON"),
        ("[]", "a JSON object"),
        (r#"{"tool":"bash"}"#, "`type`"),
        (r#"{"type":"approval_needed","arguments":{}}"#, "`tool`"),
        (r#"{"type":"approval_needed","tool":"bash","arguments":"ls"}"#, "`arguments`"),
        (
            r#"{"type":"approval_needed","tool":"bash","arguments":{},"batch_remaining":3}"#,
            "`batch_remaining`",
        ),
        (r#"{"type":"ask_user","options":["a"]}"#, "`text`"),
        (
            r#"{"type":"ask_user","question":"?","options":["a"],"multi_select":"yes"}"#,
            "`multi_select`",
        ),
        (
            r#"{"type":"ask_user","question":"Log in","fields":[{"name":"p","label":"Password","type":"password"}]}"#,
            "password",
        ),
    ] {
        wire.send_text(frame).await;
        let error = wire.next().await;
        assert_eq!(
            (&error["type"], &error["approved"]),
            (&json!("ERROR"), &json!(false)),
            "{frame}"
        );
        let message = error["message"].as_str().unwrap();
        assert!(message.contains(names), "{frame}: {message}");
    }
    assert_eq!(daemon.open().await, Vec::<Value>::new());

    // What an agent tells and does is none of this; and its handle answers nothing.
    wire.send(&json!({ "type": "thinking" })).await;
    wire.send(&wanted(&call("a", "deploy", json!({})), &[])).await;
    let shown = card(&telegram).await;
    wire.send(&json!({ "type": "APPROVAL_RESPONSE", "approved": true })).await;
    wire.send(&wanted(&call("b", "deploy", json!({})), &[])).await;
    let error = wire.next().await;
    assert_eq!(error["message"], "a still waits for its answer; one request at a time");
    assert_eq!(daemon.open().await.len(), 1);
    telegram.press(GROUP, shown.id, "Approve", ANA).await;
    assert_eq!(wire.next().await["approved"], true);
}

#[tokio::test]
async fn the_same_call_comes_back_to_its_ask_after_a_lost_line_and_after_a_killed_daemon() {
    let (telegram, mut daemon, mut wire) = telegram().await;
    let frame = wanted(&call("c1", "bash", json!({ "command": "npm publish" })), &[]);
    wire.send(&frame).await;
    let shown = card(&telegram).await;
    wire.drop_line();
    let mut wire = Wire::connect(&daemon, AGENT, QUERY).await;
    wire.send(&frame).await;
    daemon.says("a card stands adapter=\"telegram\"").await;
    daemon.kill().await;
    wire.drop_line();
    daemon.run().await;

    let mut wire = Wire::connect(&daemon, AGENT, QUERY).await;
    wire.send(&frame).await;
    assert_eq!(telegram.press(GROUP, shown.id, "Approve", ANA).await.text, "Approved once.");
    assert_eq!(wire.next().await["approved"], true);
    assert_eq!(telegram.messages(GROUP).len(), 1, "nobody was asked twice");

    // Another call under the same id is another call.
    wire.send(&wanted(&call("c1", "bash", json!({ "command": "rm -rf x" })), &[])).await;
    assert_eq!(wire.next().await["type"], "ERROR");
}

#[tokio::test]
async fn an_agent_that_leaves_takes_its_ask_back() {
    let (telegram, daemon, mut wire) = telegram().await;
    wire.send(&wanted(&call("c1", "deploy", json!({})), &[])).await;
    let shown = card(&telegram).await;
    let id = daemon.open().await[0]["id"].as_str().unwrap().to_owned();
    wire.drop_line();
    assert_eq!(daemon.ask_reaches(&id, "cancelled").await["verdict"], "deny");
    closed(&telegram, shown.id).await;
}

#[tokio::test]
async fn a_client_of_connectonions_answers_what_it_is_shown_and_only_with_real_answers() {
    let (telegram, daemon, mut agent) = telegram().await;
    let mut client = Wire::connect(&daemon, APPROVER, "agent=shop-bot").await;
    client.send(&json!({ "type": "APPROVAL_RESPONSE", "approved": true })).await;
    assert_eq!(client.next().await["message"], "unknown or stale approval response");

    // A truthy text is no yes: the mailbox takes it for a hard rejection.
    agent
        .send(&wanted(&call("c1", "bash", json!({ "command": "npm install" })), &install()[1..]))
        .await;
    let shown = client.next().await;
    let said = (&shown["type"], &shown["tool"], &shown["batch_remaining"][0]["tool"]);
    assert_eq!(said, (&json!("approval_needed"), &json!("bash"), &json!("write")));
    client.send(&json!({ "type": "APPROVAL_RESPONSE", "approved": "true" })).await;
    let answer = agent.next().await;
    assert_eq!((&answer["approved"], &answer["mode"]), (&json!(false), &json!("reject_hard")));
    assert_eq!(client.next().await["type"], "approval_resolved");

    // An answer to the one before does not hit the next.
    agent.send(&wanted(&call("c2", "deploy", json!({})), &[])).await;
    assert_eq!(client.next().await["tool"], "deploy");
    client
        .send(&json!({ "type": "APPROVAL_RESPONSE", "approved": true, "tool_call_id": "c1" }))
        .await;
    assert_eq!(client.next().await["message"], "unknown or stale approval response");
    client.send(&json!({ "approved": true, "scope": "session" })).await;
    let answer = agent.next().await;
    assert_eq!((&answer["approved"], &answer["scope"]), (&json!(true), &json!("session")));
    assert_eq!(client.next().await["type"], "approval_resolved");

    // Pressed in Telegram first: the client is told, and comes too late.
    agent.send(&wanted(&call("c3", "pay", json!({})), &[])).await;
    assert_eq!(client.next().await["tool"], "pay");
    let in_chat = card(&telegram).await;
    telegram.press(GROUP, in_chat.id, "Approve", ANA).await;
    assert_eq!(agent.next().await["by"], "Ana (telegram)");
    assert_eq!(client.next().await["type"], "approval_resolved");
    client.send(&json!({ "type": "APPROVAL_RESPONSE", "approved": false })).await;
    assert_eq!(client.next().await["message"], "unknown or stale approval response");

    agent
        .send(
            &json!({ "type": "ask_user", "id": "q", "question": "Which?", "options": ["a", "b"] }),
        )
        .await;
    assert_eq!(client.next().await["options"], json!(["a", "b"]));
    client.send(&json!({ "type": "ASK_USER_RESPONSE", "answer": "b" })).await;
    assert_eq!(agent.next().await["answer"], "b");
}

#[tokio::test]
async fn only_an_approver_changes_the_profile_and_full_access_ends() {
    let (telegram, daemon, mut agent) = telegram().await;
    agent.send(&json!({ "type": "mode_change", "mode": ":danger-full-access", "turns": 5 })).await;
    let tool = |id: &str| wanted(&call(id, "my_tool", json!({})), &[]);
    agent.send(&tool("a")).await;
    let shown = card(&telegram).await;
    telegram.press(GROUP, shown.id, "Approve", ANA).await;
    agent.next().await;

    let mut client = Wire::connect(&daemon, APPROVER, "agent=shop-bot&session=seven").await;
    client.send(&json!({ "type": "mode_change", "mode": "wild" })).await;
    assert_eq!(client.next().await["message"], "`wild` is no mode of this profile");
    client.send(&json!({ "type": "mode_change", "mode": ":danger-full-access", "turns": 2 })).await;
    let changed = client.next().await;
    let said = (&changed["type"], &changed["mode"]);
    assert_eq!(said, (&json!("mode_changed"), &json!(":danger-full-access 0/2")));
    for id in ["b", "c"] {
        agent.send(&tool(id)).await;
        assert_eq!(agent.next().await["approved"], true);
    }
    agent.send(&tool("d")).await;
    card(&telegram).await;
    assert_eq!(daemon.open().await.len(), 1, "two turns were granted, and two are spent");
}
