//! molf's own Telegram bot, its list of people and its terminal, row by row as recorded: what a
//! person can do there can be done on our cards, and where the bot kept silent, ours says what
//! happened.

use crate::{
    daemon::{APPROVER, Daemon, LONG},
    telegram_server::{ANA, EVE, GROUP, Message, Person, TOKEN, Telegram},
};
use serde_json::{Value, json};

fn rows(file: &str) -> Vec<Value> {
    let path = format!("{}/tests/vectors/002-molf/{file}", env!("CARGO_MANIFEST_DIR"));
    let text = std::fs::read_to_string(path).unwrap();
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

fn number(row: &Value) -> u32 {
    row["id"].as_str().unwrap().rsplit('/').next().unwrap().parse().unwrap()
}

fn config(telegram: &Telegram, approvers: &str) -> String {
    format!(
        "[policy]\nprofile = \"molf\"\n\
         [telegram]\ntoken = \"{TOKEN}\"\napi_url = \"{}\"\ntargets = [{{ chat = {GROUP} }}]\n\
         [approvers]\ntelegram = {approvers}\ninbox = true\n",
        telegram.url(),
    )
}

fn shell(command: &str) -> Value {
    json!({"agent": "molf", "session": "s1", "tool": "shell_exec", "args": {"command": command}})
}

/// A call that waits, its ask's id and its card.
async fn waiting(telegram: &Telegram, daemon: &Daemon, command: &str) -> (String, Message) {
    let ask = daemon.ask(&shell(command)).await;
    let card = telegram
        .until("its card", || {
            telegram.open_cards(GROUP).into_iter().find(|card| card.text.contains(command))
        })
        .await;
    (ask, card)
}

async fn retired(telegram: &Telegram, card: &Message) -> Message {
    let end = || Some(telegram.message(GROUP, card.id)).filter(Message::is_over);
    telegram.until("the card's end", end).await
}

/// The approval id of the ask, as molf's clients know it.
async fn approval(daemon: &Daemon) -> Value {
    let url = format!("{}/v1/molf/events", daemon.url);
    let mut stream = daemon.http.get(url).bearer_auth(APPROVER).send().await.unwrap();
    let mut text = String::new();
    while !text.contains("\n\n") {
        let chunk = tokio::time::timeout(LONG, stream.chunk()).await.unwrap();
        text += &String::from_utf8_lossy(&chunk.unwrap().unwrap());
    }
    let data = text.lines().find_map(|line| line.strip_prefix("data: ")).unwrap();
    serde_json::from_str::<Value>(data).unwrap()["approvalId"].clone()
}

#[tokio::test]
async fn the_bots_rows() {
    let telegram = Telegram::start().await;
    let daemon = Daemon::start(&config(&telegram, "[4211]")).await;
    for row in rows("telegram.jsonl") {
        let command = format!("make row{}", number(&row));
        match number(&row) {
            1 => {
                let (_, card) = waiting(&telegram, &daemon, "make first").await;
                let labels = |row: &Value| row[0].as_str().unwrap().to_owned();
                let buttons: Vec<String> =
                    row["buttons"][0].as_array().unwrap().iter().map(labels).collect();
                let same = |(shown, label): (&String, &String)| shown.starts_with(&**label);
                let shown = &card.buttons[0];
                assert_eq!(shown.len(), buttons.len(), "{shown:?}");
                assert!(shown.iter().zip(&buttons).all(same), "the same in the same order");
                assert!(card.text.contains("shell_exec"), "{}", card.text);
            }
            // want: never hide the tail of a command
            2 => {
                let tail = "&& make the-very-end";
                let (_, card) =
                    waiting(&telegram, &daemon, &format!("echo {} {tail}", "x".repeat(900))).await;
                assert!(card.text.contains(tail), "{}", card.text);
            }
            4 => {
                let (ask, card) = waiting(&telegram, &daemon, &command).await;
                telegram.press(GROUP, card.id, "Always", ANA).await;
                assert_eq!(daemon.closed(&ask).await["answer"]["scope"], "always");
                assert!(retired(&telegram, &card).await.text.contains(&command), "still says what");
            }
            // One tap denies; a second is not needed.
            5 | 6 => {
                let (ask, card) = waiting(&telegram, &daemon, &command).await;
                telegram.press(GROUP, card.id, "Deny", ANA).await;
                assert_eq!(daemon.closed(&ask).await["answer"]["decision"], "deny");
                assert!(retired(&telegram, &card).await.text.contains("denied by Ana"));
            }
            // Words for the model come by `tool.deny`.
            8 => {
                let (ask, card) = waiting(&telegram, &daemon, &command).await;
                daemon.answer(&ask, &json!({"decision": "deny", "reason": row["reply"]})).await;
                let read = daemon.closed(&ask).await;
                assert_eq!(read["message"], "Tool \"shell_exec\" rejected by user: bad approach");
                assert!(retired(&telegram, &card).await.text.contains("bad approach"));
            }
            // What people write answers nothing, however often they do, and no clock denies.
            9 | 10 | 19 => {
                let (ask, card) = waiting(&telegram, &daemon, &command).await;
                telegram.say(GROUP, "bad approach", ANA);
                telegram.reply(GROUP, card.id, "bad approach", EVE);
                let open = daemon.read(&ask).await;
                assert_eq!((&open["state"], open.get("deadline_at")), (&json!("open"), None));
            }
            // want: tell the presser that it is no longer pending
            12 | 13 => {
                let (ask, card) = waiting(&telegram, &daemon, &command).await;
                let data = row["press"].as_str().unwrap();
                let query = telegram.press_data(GROUP, card.id, data, ANA);
                let told = telegram.told(&query).await;
                assert!(!told.text.is_empty(), "{row}");
                assert_eq!(daemon.read(&ask).await["state"], "open");
            }
            15 => {
                let mut keyed = shell(&command);
                keyed["key"] = json!("twice");
                assert_eq!(daemon.ask(&keyed).await, daemon.ask(&keyed).await);
                let cards = || {
                    let cards = telegram.messages(GROUP).into_iter();
                    cards.filter(|card| card.text.contains(&command)).count()
                };
                telegram.until("its card", || (cards() > 0).then_some(())).await;
                assert_eq!(cards(), 1);
            }
            18 => {
                let (ask, card) = waiting(&telegram, &daemon, &command).await;
                let body = json!({"reason": "aborted"});
                daemon.post(&format!("/v1/asks/{ask}/cancel"), crate::daemon::AGENT, &body).await;
                assert!(retired(&telegram, &card).await.text.contains("cancelled"));
            }
            20 => {
                let (_, card) = waiting(&telegram, &daemon, &command).await;
                let limit = usize::try_from(row["limit"].as_u64().unwrap()).unwrap();
                for label in card.buttons.iter().flatten() {
                    assert!(telegram.button(GROUP, card.id, label).len() <= limit, "{label}");
                }
            }
            // want: say that it was already answered
            21 => {
                let (ask, card) = waiting(&telegram, &daemon, &command).await;
                let data = telegram.button(GROUP, card.id, "Approve");
                daemon.answer(&ask, &json!({"decision": "deny"})).await;
                let query = telegram.press_data(GROUP, card.id, &data, ANA);
                let told = telegram.told(&query).await;
                assert!(told.text.contains("denied"), "{told:?}");
                retired(&telegram, &card).await;
            }
            _ => panic!("nothing runs the row {row}"),
        }
        let body = json!({"agent": "molf"});
        daemon.post("/v1/sessions/s1/abort", crate::daemon::AGENT, &body).await;
    }
    assert_eq!(telegram.violations(), Vec::<String>::new());
}

#[tokio::test]
async fn who_may_answer() {
    for row in rows("telegram_access.jsonl") {
        let telegram = Telegram::start().await;
        let Some(allow) = row["allow"].as_array() else {
            // Not silence: a person who may not answer is told so. Ids only, because names change hands.
            assert!([8, 9].contains(&number(&row)), "nothing runs the row {row}");
            continue;
        };
        let ids: Vec<&str> = allow
            .iter()
            .map(|id| id.as_str().unwrap())
            .filter(|id| !id.trim().is_empty())
            .collect();
        let numeric = ids.iter().all(|id| id.parse::<i64>().is_ok());
        let mut daemon = Daemon::start(&config(&telegram, "[]")).await;
        daemon.write_config(&config(&telegram, &json!(ids).to_string()));
        daemon.stop().await;
        if !numeric {
            let output = daemon.command(&["serve"]).output().await.unwrap();
            let said = String::from_utf8_lossy(&output.stderr).into_owned();
            assert!(!output.status.success() && said.contains("numeric ids"), "{row}: {said}");
            continue;
        }
        daemon.run().await;
        let (ask, card) = waiting(&telegram, &daemon, "make access").await;
        let user = Person { id: row["user"].as_i64().unwrap(), name: "Somebody" };
        let told = telegram.press(GROUP, card.id, "Approve", user).await;
        let state = &daemon.read(&ask).await["state"];
        let allowed = row["allowed"] == true;
        assert_eq!(*state == "answered", allowed, "{row}: {told:?}");
        assert!(!told.text.is_empty(), "{row}");
    }
}

#[tokio::test]
async fn what_the_terminals_keys_do() {
    let daemon = Daemon::start("[policy]\nprofile = \"molf\"\n").await;
    for row in rows("tui.jsonl") {
        let first = daemon.ask(&shell(&format!("make key{}", number(&row)))).await;
        let id = approval(&daemon).await;
        let (act, more) = match row["action"].as_str() {
            Some("approve") => ("tool.approve", json!({})),
            Some("always") => ("tool.approve", json!({"always": true})),
            Some("feedback prompt, then deny") => ("tool.deny", json!({"feedback": "no"})),
            Some("deny (empty text = no feedback)") => ("tool.deny", json!({"feedback": ""})),
            _ => {
                assert_eq!(row["case"], "queue shows the first of N as [1/N]", "{row}");
                let second = daemon.ask(&shell("make another")).await;
                let open: Vec<Value> =
                    daemon.open().await.into_iter().map(|ask| ask["id"].clone()).collect();
                assert_eq!(open, [first, second]);
                continue;
            }
        };
        let mut body = json!({"sessionId": "s1", "approvalId": id});
        body.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        let (_, applied) = daemon.post(&format!("/v1/molf/{act}"), APPROVER, &body).await;
        assert_eq!(applied, json!({"applied": true}), "{row}");
        let ask = daemon.closed(&first).await;
        let denied = format!("{}", row["action"]).contains("deny");
        assert_eq!(ask["answer"]["decision"], if denied { "deny" } else { "approve" }, "{row}");
        if body["feedback"] == "" {
            assert_eq!(ask["message"], "Tool \"shell_exec\" rejected by user", "{row}");
        }
    }
}
