//! molf, from its server's call to the press and back: the procedures and events of its clients, a
//! rules file per worker, the cards.

use crate::{
    chats,
    daemon::{AGENT, APPROVER, Daemon, LONG},
    discord_server::{FakeDiscord, Person, Posted},
    telegram_server::{ANA, GROUP, Message, Telegram},
};
use serde_json::{Value, json};
use std::fs;

const SESSION: &str = "3f2a9c1e-0000-4000-8000-0123456789ab";

fn config(telegram: &Telegram, discord: &FakeDiscord) -> String {
    format!("[policy]\nprofile = \"molf\"\n{}inbox = true\n", chats::both(telegram, discord))
}

async fn start() -> (Telegram, FakeDiscord, Daemon) {
    let (telegram, discord) = (Telegram::start().await, FakeDiscord::start().await);
    let daemon = Daemon::start(&config(&telegram, &discord)).await;
    discord.until_online().await;
    (telegram, discord, daemon)
}

/// A daemon without chats: the approver's token answers.
async fn alone() -> Daemon {
    Daemon::start("[policy]\nprofile = \"molf\"\n").await
}

fn shell(session: &str, command: &str) -> Value {
    json!({"agent": "molf", "session": session, "worker": "w1", "tool": "shell_exec",
        "args": {"command": command}})
}

fn rules(daemon: &Daemon, worker: &str) -> String {
    let file = daemon.dir.path().join("workers").join(worker).join("permissions.jsonc");
    fs::read_to_string(file).unwrap()
}

fn write_rules(daemon: &Daemon, worker: &str, text: &str) {
    let folder = daemon.dir.path().join("workers").join(worker);
    fs::create_dir_all(&folder).unwrap();
    crate::daemon::private_file(&folder.join("permissions.jsonc"), text);
}

async fn telegram_card(telegram: &Telegram) -> Message {
    telegram.until("an open card", || telegram.open_cards(GROUP).pop()).await
}

async fn discord_card(discord: &FakeDiscord) -> Posted {
    discord.until(|message| !message.is_over()).await
}

/// A client of molf: what it hears, and what it says.
struct Client {
    stream: reqwest::Response,
    heard: String,
}

impl Client {
    async fn connect(daemon: &Daemon) -> Self {
        let url = format!("{}/v1/molf/events", daemon.url);
        let stream = daemon.http.get(url).bearer_auth(AGENT).send().await.unwrap();
        assert_eq!(stream.headers()["content-type"], "text/event-stream");
        Self { stream, heard: String::new() }
    }

    /// The next event.
    async fn hears(&mut self) -> Value {
        let next = async {
            loop {
                if let Some((event, rest)) = self.heard.split_once("\n\n") {
                    let data = event.lines().find_map(|line| line.strip_prefix("data: "));
                    let data = data.map(|data| serde_json::from_str(data).unwrap());
                    self.heard = rest.to_owned();
                    if let Some(data) = data {
                        return data;
                    }
                    continue;
                }
                let chunk = self.stream.chunk().await.unwrap().unwrap();
                self.heard += &String::from_utf8_lossy(&chunk);
            }
        };
        tokio::time::timeout(LONG, next).await.expect("an event in time")
    }
}

fn id_of(event: &Value) -> Value {
    assert_eq!(event["type"], "tool_approval_required", "{event}");
    event["approvalId"].clone()
}

async fn approve(daemon: &Daemon, session: &str, id: &Value, always: bool) -> (u16, Value) {
    let body = json!({"sessionId": session, "approvalId": id, "always": always});
    daemon.post("/v1/molf/tool.approve", APPROVER, &body).await
}

#[tokio::test]
async fn a_call_is_approved_in_telegram_and_always_stores_every_piece_of_a_pipeline() {
    let (telegram, _discord, daemon) = start().await;
    let waiting = daemon.waiting(shell(SESSION, "cat a.log | grep -c error | tee count.txt"));
    let card = telegram_card(&telegram).await;
    assert_eq!(card.buttons[0], ["Approve", "Always…", "Deny"]);
    for part in ["cat a.log | grep -c error | tee count.txt", "cat *", "grep *", "tee *"] {
        assert!(card.text.contains(part), "the card says `{part}`: {}", card.text);
    }
    telegram.press(GROUP, card.id, "Always…", ANA).await;
    let store = "Store these 3 rules".to_owned();
    let choice = || telegram.open_cards(GROUP).into_iter().find(|it| it.id == card.id);
    telegram
        .until("the choice", || choice().filter(|it| it.buttons.concat().contains(&store)))
        .await;
    let told = telegram.press(GROUP, card.id, &store, ANA).await;
    assert!(told.text.starts_with("Approved, and always from now on"), "{told:?}");
    assert_eq!(waiting.await.unwrap()["verdict"], "allow");
    let file = rules(&daemon, "w1");
    assert!(file.starts_with("// Tool approval permissions for this worker."), "{file}");
    for rule in ["\"cat *\": \"allow\"", "\"grep *\": \"allow\"", "\"tee *\": \"allow\""] {
        assert!(file.contains(rule), "{rule}: {file}");
    }
    // Another session of the worker benefits, another worker does not.
    assert_eq!(daemon.call(&shell("other", "grep -n x y")).await.1["verdict"], "allow");
    let mut elsewhere = shell("other", "grep -n x y");
    elsewhere["worker"] = json!("w2");
    assert_eq!(daemon.call(&elsewhere).await.1["verdict"], "ask");
    assert_eq!(telegram.violations(), Vec::<String>::new());
}

#[tokio::test]
async fn a_call_is_denied_in_discord_in_molfs_own_words() {
    let (_telegram, discord, daemon) = start().await;
    let waiting = daemon.waiting(shell(SESSION, "python script.py"));
    let card = discord_card(&discord).await;
    assert_eq!(card.buttons, ["Approve", "Always: python script.py", "Deny"]);
    discord.press(&card.reference, "Deny", &Person::new("4211", "Ana")).await;
    let answer = waiting.await.unwrap();
    assert_eq!(answer["verdict"], "deny");
    assert_eq!(answer["message"], "Tool \"shell_exec\" rejected by user");
    assert_eq!(discord.violations(), Vec::<String>::new());
}

#[tokio::test]
async fn a_client_of_molf_hears_of_an_approval_and_answers_it() {
    let (telegram, _discord, daemon) = start().await;
    let mut client = Client::connect(&daemon).await;
    let waiting = daemon.waiting(shell(SESSION, "python script.py"));
    let event = client.hears().await;
    let id = id_of(&event);
    let (session, number) = id.as_str().unwrap().rsplit_once(':').unwrap();
    assert_eq!((session, number.len()), (SESSION, 8));
    assert_eq!(
        event,
        json!({"type": "tool_approval_required", "approvalId": id, "toolName": "shell_exec",
            "arguments": "{\"command\":\"python script.py\"}", "sessionId": SESSION,
            "always": ["shell: python script.py"]})
    );
    let card = telegram_card(&telegram).await;
    let body = json!({"sessionId": SESSION, "approvalId": id, "feedback": "use the tests"});
    assert_eq!(daemon.post("/v1/molf/tool.deny", AGENT, &body).await.0, 403, "no agent answers");
    let (_, elsewhere) = approve(&daemon, "another", &id, false).await;
    assert_eq!(elsewhere, json!({"applied": false}), "an id answers in its own session only");
    let (status, applied) = daemon.post("/v1/molf/tool.deny", APPROVER, &body).await;
    assert_eq!((status, applied), (200, json!({"applied": true})));
    let answer = waiting.await.unwrap();
    assert_eq!(answer["message"], "Tool \"shell_exec\" rejected by user: use the tests");
    assert_eq!(
        client.hears().await,
        json!({"type": "tool_approval_resolved", "approvalId": id, "outcome": "denied",
            "sessionId": SESSION})
    );
    let (_, late) = approve(&daemon, SESSION, &id, true).await;
    assert_eq!(late, json!({"applied": false}));
    telegram
        .until("the card's end", || telegram.message(GROUP, card.id).is_over().then_some(()))
        .await;
}

#[tokio::test]
async fn a_reconnecting_client_gets_open_approvals_again_and_the_chat_no_second_card() {
    let (telegram, _discord, daemon) = start().await;
    let ask = daemon.ask(&shell(SESSION, "python script.py")).await;
    telegram_card(&telegram).await;
    let first = id_of(&Client::connect(&daemon).await.hears().await);
    let mut again = Client::connect(&daemon).await;
    assert_eq!(id_of(&again.hears().await), first);
    // A server that hands the same call in again gets the same ask.
    let mut keyed = shell(SESSION, "make");
    keyed["key"] = json!("call-1");
    let one = daemon.ask(&keyed).await;
    assert_eq!(daemon.ask(&keyed).await, one);
    id_of(&again.hears().await);
    telegram.until("both cards", || (telegram.open_cards(GROUP).len() == 2).then_some(())).await;
    daemon.answer(&ask, &json!({"decision": "approve"})).await;
    assert_eq!(again.hears().await["outcome"], "approved");
    assert_eq!(telegram.messages(GROUP).len(), 2);
}

#[tokio::test]
async fn always_cascades_in_its_session_and_leaves_the_agents_veto() {
    let daemon = alone().await;
    let mut client = Client::connect(&daemon).await;
    let curl = |session: &str, host: &str| shell(session, &format!("curl https://{host}"));
    let first = daemon.ask(&curl(SESSION, "a.example")).await;
    let id = id_of(&client.hears().await);
    let same = daemon.ask(&curl(SESSION, "b.example")).await;
    let elsewhere = daemon.ask(&curl("another", "c.example")).await;
    assert_eq!(approve(&daemon, SESSION, &id, true).await.1, json!({"applied": true}));
    for ask in [&first, &same] {
        assert_eq!(daemon.ask_reaches(ask, "answered").await["answer"]["decision"], "approve");
    }
    assert_eq!(daemon.read(&elsewhere).await["state"], "open", "its open prompt stays");
    assert_eq!(daemon.call(&curl("another", "d.example")).await.1["verdict"], "allow");

    let mut subagent = curl(SESSION, "e.example");
    subagent["meta"] = json!({"agent_rules": {"*": "deny", "grep": "allow"}});
    let (_, vetoed) = daemon.call(&subagent).await;
    assert_eq!(vetoed["verdict"], "deny");
    assert_eq!(
        vetoed["message"],
        "Tool \"shell_exec\" denied by policy for pattern: curl https://e.example\nRelevant rules: \
         [{\"permission\":\"*\",\"pattern\":\"*\",\"action\":\"deny\"}]"
    );
    subagent["meta"] = json!({"agent_rules": {"*": "dney"}});
    let (status, refused) = daemon.call(&subagent).await;
    assert_eq!(status, 400, "{refused}");
    assert!(refused["error"].as_str().unwrap().contains("meta.agent_rules"), "{refused}");
}

#[tokio::test]
async fn a_handwritten_deny_is_never_overwritten_and_a_dead_rule_is_told() {
    let (telegram, _discord, daemon) = start().await;
    let text =
        "{\n  // mine\n  \"shell_exec\": { \"git push *\": \"deny\" },\n  \"*\": \"ask\"\n}\n";
    write_rules(&daemon, "w1", text);
    let waiting = daemon.waiting(shell(SESSION, "git fetch origin"));
    let card = telegram_card(&telegram).await;
    let told = telegram.press(GROUP, card.id, "Always", ANA).await;
    assert!(told.text.contains("the stored rule does not win"), "{told:?}");
    assert_eq!(waiting.await.unwrap()["verdict"], "allow");
    // In this session it holds, as molf's runtime layer does; in the next it asks again.
    assert_eq!(daemon.call(&shell(SESSION, "git fetch all")).await.1["verdict"], "allow");
    assert_eq!(daemon.call(&shell("next", "git fetch all")).await.1["verdict"], "ask");
    let file = rules(&daemon, "w1");
    assert!(file.contains("// mine") && file.contains("\"git push *\": \"deny\""), "{file}");
    assert!(file.contains("\"git fetch *\": \"allow\""), "{file}");
    let (_, denied) = daemon.call(&shell(SESSION, "git push origin")).await;
    assert_eq!(denied["verdict"], "ask", "the catch-all behind it asks, as with molf");
}

#[tokio::test]
async fn an_abort_cancels_and_a_worker_that_is_gone_takes_its_approvals_along() {
    let daemon = alone().await;
    let mut client = Client::connect(&daemon).await;
    let aborted = daemon.ask(&shell(SESSION, "make one")).await;
    let id = id_of(&client.hears().await);
    let agent = json!({"agent": "molf"});
    daemon.post(&format!("/v1/sessions/{SESSION}/abort"), AGENT, &agent).await;
    assert_eq!(client.hears().await["outcome"], "cancelled");
    assert_eq!(approve(&daemon, SESSION, &id, false).await.1, json!({"applied": false}));
    daemon.ask_reaches(&aborted, "cancelled").await;

    let gone = daemon.ask(&shell(SESSION, "make two")).await;
    id_of(&client.hears().await);
    let mut other = shell("other", "make three");
    other["worker"] = json!("w2");
    let stays = daemon.ask(&other).await;
    id_of(&client.hears().await);
    let body = json!({"agent": "molf", "workerId": "w1"});
    let (_, cancelled) = daemon.post("/v1/molf/worker.disconnected", AGENT, &body).await;
    assert_eq!(cancelled, json!({"cancelled": 1}));
    assert_eq!(client.hears().await["outcome"], "denied");
    let ask = daemon.ask_reaches(&gone, "cancelled").await;
    assert_eq!(ask["answer"]["reason"], "its worker disconnected");
    assert_eq!(daemon.read(&stays).await["state"], "open");
}

#[tokio::test]
async fn a_worker_names_one_folder_and_its_broken_file_allows_nothing() {
    let daemon = alone().await;
    for worker in ["../w1", ".", "a/b"] {
        let mut call = shell(SESSION, "ls");
        call["worker"] = json!(worker);
        let (status, refused) = daemon.call(&call).await;
        assert!(status >= 400 && refused["error"].is_string(), "{worker}: {status} {refused}");
    }
    write_rules(&daemon, "w1", "{ \"*\": \"allow\", ");
    let (status, refused) = daemon.call(&shell(SESSION, "ls")).await;
    assert!(status >= 400 && refused["verdict"].is_null(), "{status} {refused}");
    write_rules(&daemon, "w1", "{ \"shell_exec\": { \"ls\": \"allow\" } }");
    assert_eq!(daemon.call(&shell(SESSION, "ls")).await.1["verdict"], "allow");
}

#[tokio::test]
async fn denied_reads_are_told_in_molfs_words_from_the_seeded_file() {
    let daemon = alone().await;
    let mut read = json!({"agent": "molf", "session": SESSION, "worker": "w1", "tool": "read_file",
        "args": {"path": ".env"}});
    let (_, denied) = daemon.call(&read).await;
    let words = "Tool \"read_file\" denied by policy for pattern: .env\nRelevant rules: ";
    assert!(denied["message"].as_str().unwrap().starts_with(words), "{denied}");
    read["args"] = json!({"path": "src/main.ts"});
    assert_eq!(daemon.call(&read).await.1["verdict"], "allow");
    assert!(rules(&daemon, "w1").contains("\"*.env.example\": \"allow\""));
}

#[tokio::test]
async fn molfs_routes_are_closed_to_other_profiles() {
    let daemon = Daemon::start("").await;
    let body = json!({"sessionId": "s", "approvalId": "s:00000000"});
    assert_eq!(daemon.post("/v1/molf/tool.approve", APPROVER, &body).await.0, 404);
    assert_eq!(daemon.get("/v1/molf/events", AGENT).await.0, 404);
}
