//! Edit and approve: a person changes what an agent wants to run, and approves that.

use crate::{
    chats::both,
    daemon::{APPROVER, Daemon, shell},
    discord_server::{FakeDiscord, Person},
    telegram_server::{ANA, EVE, GROUP, Message, Telegram},
};
use serde_json::{Value, json};

const RULES: (&str, &str) =
    ("rules.jsonc", r#"{"*": "ask", "shell": {"git push --mirror*": "deny"}}"#);

async fn start() -> (Telegram, FakeDiscord, Daemon) {
    let (telegram, discord) = (Telegram::start().await, FakeDiscord::start().await);
    let chats = both(&telegram, &discord);
    let config = format!("[policy]\nrules = \"rules.jsonc\"\n{chats}inbox = true\n");
    let daemon = Daemon::start_with(&config, &[RULES]).await;
    discord.until_online().await;
    (telegram, discord, daemon)
}

/// A call of an agent that takes changed input.
fn push() -> Value {
    let mut call = shell("git push");
    call["accepts"] = json!(["updated_input"]);
    call
}

/// The card, once the daemon knows where it stands.
async fn stands(telegram: &Telegram, daemon: &mut Daemon) -> Message {
    daemon.says("a card stands adapter=\"telegram\"").await;
    telegram.card(GROUP).await
}

/// Proposes a text as a reply to the card, and returns what the bot says to it.
async fn propose(telegram: &Telegram, card: i64, text: &str) -> String {
    let message = telegram.reply(GROUP, card, &format!("/edit {text}"), ANA);
    telegram.answer_to(GROUP, message).await
}

/// Waits until the card has this button.
async fn offers(telegram: &Telegram, card: i64, label: &str) {
    let has = || telegram.standing_button(GROUP, card, label).map(drop);
    telegram.until(label, has).await;
}

#[tokio::test]
async fn a_changed_command_is_shown_as_a_diff_and_reaches_an_agent_that_takes_it() {
    let (telegram, _discord, mut daemon) = start().await;
    let waiting = daemon.waiting(push());
    let card = stands(&telegram, &mut daemon).await;
    let stranger = telegram.reply(GROUP, card.id, "/edit ls", EVE);
    assert!(telegram.answer_to(GROUP, stranger).await.starts_with("You may not answer this"));
    let said = propose(&telegram, card.id, "git push --dry-run").await;
    assert_eq!(said, "Proposed. The card shows the change: approve it there.");
    offers(&telegram, card.id, "Approve as changed").await;
    let text = telegram.message(GROUP, card.id).text;
    for part in ["- git push\n", "+ git push --dry-run", "Changed by Ana (telegram)", "Digest "] {
        assert!(text.contains(part), "the card says `{part}`: {text}");
    }
    // What was submitted cannot be approved meanwhile, and a restart forgets nothing.
    let open = daemon.open().await;
    let id = open[0]["id"].as_str().unwrap();
    let (status, refused) = daemon.answer(id, &json!({"decision": "approve"})).await;
    assert_eq!(status, 422, "{refused}");
    daemon.kill().await;
    daemon.run().await;
    let again = daemon.waiting(push());
    drop(waiting);
    let told = telegram.press(GROUP, card.id, "Approve as changed", ANA).await;
    assert_eq!(told.text, "Approved with the change.");
    let ask = daemon.read(id).await;
    assert_eq!((&ask["verdict"], &ask["state"]), (&json!("edited"), &json!("answered")));
    assert_eq!(ask["answer"]["updated_input"], json!({"command": "git push --dry-run"}));
    assert_eq!(ask["call"]["args"], json!({"command": "git push"}), "the row keeps the original");
    assert_ne!(ask["answer"]["updated_digest"], ask["digest"]);
    assert_eq!(ask["reason"], "approved with a change by Ana (telegram)");
    again.abort();
}

#[tokio::test]
async fn an_agent_that_takes_no_changed_call_is_told_no_with_the_text_as_the_reason() {
    let (telegram, _discord, mut daemon) = start().await;
    let waiting = daemon.waiting(shell("git push"));
    let card = stands(&telegram, &mut daemon).await;
    propose(&telegram, card.id, "git push --dry-run").await;
    offers(&telegram, card.id, "Deny, with this text").await;
    telegram.press(GROUP, card.id, "Deny, with this text", ANA).await;
    let answer = waiting.await.unwrap();
    assert_eq!(answer["verdict"], "deny");
    assert_eq!(answer["answer"]["reason"], "not like this; do this instead:\ngit push --dry-run");
}

#[tokio::test]
async fn what_the_rules_deny_stays_denied_and_what_is_critical_takes_two_steps() {
    let (telegram, _discord, mut daemon) = start().await;
    let waiting = daemon.waiting(push());
    let card = stands(&telegram, &mut daemon).await;
    let said = propose(&telegram, card.id, "git push --mirror").await;
    assert!(said.starts_with("The rules deny that change: "), "{said}");
    let said = propose(&telegram, card.id, "countersign approve abcd").await;
    assert!(said.starts_with("The rules deny that change: "), "a guardrail holds: {said}");
    propose(&telegram, card.id, "sudo rm -rf --no-preserve-root /").await;
    offers(&telegram, card.id, "Review the change…").await;
    let review = telegram.button(GROUP, card.id, "Review the change…");
    telegram.press(GROUP, card.id, "Review the change…", ANA).await;
    offers(&telegram, card.id, "Yes, run the changed call").await;
    // Another change makes the buttons of this one useless.
    let yes = telegram.button(GROUP, card.id, "Yes, run the changed call");
    propose(&telegram, card.id, "git push --dry-run").await;
    offers(&telegram, card.id, "Approve as changed").await;
    for stale in [review, yes] {
        let query = telegram.press_data(GROUP, card.id, &stale, ANA);
        let told = telegram.told(&query).await;
        assert!(told.text.starts_with("That change is not proposed any more"), "{}", told.text);
    }
    telegram.press(GROUP, card.id, "Drop the change", ANA).await;
    offers(&telegram, card.id, "Approve").await;
    telegram.press(GROUP, card.id, "Approve", ANA).await;
    assert_eq!(waiting.await.unwrap()["verdict"], "allow", "and then it is as it was submitted");
}

#[tokio::test]
async fn discord_the_api_and_the_command_line_edit_too() {
    let (_telegram, discord, mut daemon) = start().await;
    let id = daemon.ask(&push()).await;
    daemon.says("a card stands adapter=\"discord\"").await;
    let ana = Person::new(&ANA.id.to_string(), "Ana");
    let told = discord.command("edit", &[("id", &id), ("text", "git fetch")], &ana).await;
    assert!(told.words().unwrap().starts_with("Proposed."));
    let card = discord.until(|it| it.buttons.contains(&"Approve as changed".to_owned())).await;
    discord.press(&card.reference, "Approve as changed", &ana).await;
    assert_eq!(daemon.read(&id).await["answer"]["updated_input"]["command"], "git fetch");

    let id = daemon.ask(&push()).await;
    let propose = json!({"decision": "edit", "edit": "git fetch --all"});
    let (_, proposed) = daemon.answer(&id, &propose).await;
    assert_eq!((&proposed["applied"], &proposed["state"]), (&json!(false), &json!("open")));
    let wrong = json!({"decision": "edit", "digest": "0".repeat(64)});
    assert_eq!(daemon.answer(&id, &wrong).await.0, 422, "another digest approves nothing");
    let approve = json!({"decision": "edit", "digest": proposed["edit"]["digest"]});
    assert_eq!(daemon.answer(&id, &approve).await.1["applied"], true);
    let (_, late) = daemon.answer(&id, &approve).await;
    assert_eq!(late["applied"], false, "a second one is told the truth: {late}");

    let id = daemon.ask(&push()).await;
    let run = async |args: &[&str]| {
        let mut command = daemon.command(args);
        command.env("COUNTERSIGN_APPROVER_TOKEN", APPROVER);
        command.stdin(std::process::Stdio::null());
        command.output().await.unwrap()
    };
    let shown = run(&["answer", &id, "--edit", "git fetch origin"]).await;
    assert_eq!(shown.status.code(), Some(2), "nobody can be asked: {shown:?}");
    let shown = String::from_utf8(shown.stderr).unwrap();
    assert!(shown.contains("+git fetch origin"), "{shown}");
    assert_eq!(daemon.read(&id).await["state"], "open");
    let done = run(&["answer", &id, "--edit", "git fetch origin", "--yes"]).await;
    assert_eq!(done.status.code(), Some(0), "{done:?}");
    assert_eq!(daemon.read(&id).await["answer"]["updated_input"]["command"], "git fetch origin");
}
