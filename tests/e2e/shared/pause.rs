//! The kill switch where several daemons share a store: one switch for all of them.

use super::{Team, leads, woken};
use crate::{
    daemon::{AGENT, APPROVER, Daemon, shell},
    telegram_server::{ANA, GROUP},
};
use serde_json::{Value, json};

async fn verdict(daemon: &Daemon, command: &str) -> Value {
    daemon.call(&shell(command)).await.1["verdict"].clone()
}

async fn switch(daemon: &Daemon, way: &str, body: &Value) {
    let (status, reply) = daemon.post(&format!("/v1/{way}"), APPROVER, body).await;
    assert_eq!((status, &reply["switched"]), (200, &json!(true)), "{reply}");
}

#[tokio::test]
async fn a_pause_at_one_daemon_holds_at_all_of_them_at_once_and_any_ends_it() {
    let Some(team) = Team::new().await else { return };
    let (first, second) = team.two().await;
    let waiting = first.waiting(shell("git push origin main"));
    let card = team.card().await;
    let approve = team.telegram.button(GROUP, card.id, "Approve");
    let open = first.open().await;
    let id = open[0]["id"].as_str().unwrap();
    assert_eq!(verdict(&first, "ls").await, "allow");

    switch(&second, "pause", &json!({"mode": "deny"})).await;
    for daemon in [&first, &second] {
        assert_eq!(verdict(daemon, "ls").await, "deny");
        assert_eq!(daemon.get("/readyz", AGENT).await.1["paused"]["mode"], "deny");
        let (status, refused) = daemon.answer(id, &json!({"decision": "approve"})).await;
        assert_eq!(status, 422, "{refused}");
    }
    let query = team.telegram.press_data(GROUP, card.id, &approve, ANA);
    let told = team.telegram.told(&query).await;
    assert!(told.text.contains("only a denial counts until somebody resumes"), "{}", told.text);
    let paused = || {
        let labels = team.telegram.message(GROUP, card.id).buttons.concat();
        (labels == ["Deny", "More…"]).then_some(())
    };
    team.telegram.until("the card without a button that approves", paused).await;

    switch(&first, "resume", &Value::Null).await;
    assert_eq!(verdict(&second, "ls").await, "allow");
    let again = || team.telegram.standing_button(GROUP, card.id, "Approve");
    team.telegram.until("the button that approves", again).await;
    let told = team.telegram.press(GROUP, card.id, "Approve", ANA).await;
    assert_eq!(told.text, "Approved once.");
    assert_eq!(woken(waiting).await["verdict"], "allow");
    drop((first, second));
    team.postgres.drop().await;
}

#[tokio::test]
async fn a_pause_outlives_the_daemon_that_leads_and_what_was_held_is_allowed_at_its_end() {
    let Some(team) = Team::new().await else { return };
    let (mut first, second) = team.two().await;
    switch(&first, "pause", &json!({})).await;
    let held = second.ask(&shell("ls -l")).await;
    team.card().await;
    first.kill().await;
    team.postgres.end_leases().await;
    leads(&second).await;
    let (status, refused) = second.answer(&held, &json!({"decision": "approve"})).await;
    assert_eq!(status, 422, "{refused}");
    assert_eq!(second.read(&held).await["state"], "open");
    switch(&second, "resume", &Value::Null).await;
    let ask = second.ask_reaches(&held, "answered").await;
    assert_eq!(
        (&ask["verdict"], &ask["answer"]["by"]["kind"]),
        (&json!("allow"), &json!("policy"))
    );
    drop((first, second));
    team.postgres.drop().await;
}
