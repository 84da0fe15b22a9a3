//! The doctor's look at Telegram, against a fake of its API.

use crate::{
    daemon::Daemon,
    process::run,
    telegram_server::{GROUP, Telegram},
};
use serde_json::{Value, json};

async fn findings(telegram: &Telegram, chat: i64) -> Vec<Value> {
    let config = format!(
        "[telegram]\ntoken = \"{}\"\napi_url = \"{}\"\ntargets = [{{ chat = {chat} }}]\n\
         [approvers]\ntelegram = [5]",
        telegram.token(),
        telegram.url()
    );
    let daemon = Daemon::start(&config).await;
    let ended = run(&daemon, &["doctor", "--json"]).await;
    assert!(!ended.stdout.contains(telegram.token()), "no token in a report");
    let report: Value = serde_json::from_str(&ended.stdout).unwrap();
    let checks = report["checks"].as_array().unwrap();
    // Not what the daemon says of its own receiving, which may only just have begun.
    let says = |finding: &Value| finding["says"].as_str().unwrap().starts_with("the daemon ");
    let of_telegram = checks.iter().filter(|finding| finding["check"] == "telegram");
    of_telegram.filter(|finding| !says(finding)).cloned().collect()
}

#[tokio::test]
async fn the_doctor_names_the_bot_and_where_cards_go() {
    let telegram = Telegram::start().await;
    let states: Vec<_> =
        findings(&telegram, GROUP).await.iter().map(|finding| finding["state"].clone()).collect();
    assert_eq!(states, [json!("ok"), json!("ok")]);
}

#[tokio::test]
async fn the_doctor_finds_a_token_that_is_refused_and_a_chat_that_is_gone() {
    let telegram = Telegram::start().await;
    telegram.lose_chat(GROUP, 403, "Forbidden: bot was kicked from the supergroup chat");
    let gone = findings(&telegram, GROUP).await;
    assert_eq!(gone[1]["state"], "fail", "{gone:?}");
    assert_eq!(gone[1]["fix"], "edit [telegram] targets");
    telegram.refuse_token();
    let refused = findings(&telegram, GROUP).await;
    assert_eq!((refused.len(), &refused[0]["state"]), (1, &json!("fail")), "{refused:?}");
    let fix = "set [telegram] token, or run `countersign connect telegram`";
    assert_eq!(refused[0]["fix"], fix);
}

#[tokio::test]
async fn the_doctor_does_not_blame_the_token_where_the_platform_cannot_be_reached() {
    let telegram = Telegram::start().await;
    telegram.set_down(true);
    let away = findings(&telegram, GROUP).await;
    assert_eq!((away.len(), &away[0]["state"]), (1, &json!("fail")), "{away:?}");
    assert!(!away[0].to_string().contains("token"), "{away:?}");
}
