//! What an approval covers, and taking it back: on Telegram, on Discord and from the command line.

mod surfaces;

use crate::{
    chats::both,
    daemon::{AGENT, APPROVER, Daemon, shell},
    discord_server::{FakeDiscord, Person, Told as Seen},
    telegram_server::{ANA, EVE, GROUP, Message, Telegram},
};
use serde_json::{Value, json};
use std::path::PathBuf;

/// A daemon with both chats.
struct World {
    telegram: Telegram,
    discord: FakeDiscord,
    daemon: Daemon,
}

impl World {
    async fn start() -> Self {
        let (telegram, discord) = (Telegram::start().await, FakeDiscord::start().await);
        let daemon = Daemon::start(&both(&telegram, &discord)).await;
        discord.until_online().await;
        Self { telegram, discord, daemon }
    }

    /// Ana presses a button in Telegram; what she is told.
    async fn press(&self, message: i64, label: &str) -> String {
        self.telegram.press(GROUP, message, label, ANA).await.text
    }

    /// Nobody broke a rule of the platforms.
    fn is_clean(&self) {
        assert_eq!(self.telegram.violations(), Vec::<String>::new());
        assert_eq!(self.discord.violations(), Vec::<String>::new());
    }
}

/// Where the rules file of this daemon is, or would be.
fn rules_path(daemon: &Daemon) -> PathBuf {
    daemon.config().parent().unwrap().join("permissions.jsonc")
}

/// The rules of the grants in force.
async fn rules(daemon: &Daemon) -> Vec<String> {
    let (_, page) = daemon.get("/v1/grants", APPROVER).await;
    let rule = |grant: &Value| grant["rule"].as_str().unwrap().to_owned();
    page["grants"].as_array().unwrap().iter().map(rule).collect()
}

async fn verdict(daemon: &Daemon, command: &str) -> Value {
    daemon.call(&shell(command)).await.1["verdict"].clone()
}

/// The card of an open ask in Telegram.
async fn card(world: &World) -> Message {
    let open = |card: &Message| !card.buttons.concat().contains(&"Undo".to_owned());
    let find = || world.telegram.open_cards(GROUP).into_iter().rev().find(|card| open(card));
    world.telegram.until("an open card", find).await
}

/// The message once it has this button, or has lost it.
async fn with_button(world: &World, id: i64, label: &str, wanted: bool) -> Message {
    let shows = |card: &Message| card.buttons.concat().contains(&label.to_owned()) == wanted;
    let find = || Some(world.telegram.message(GROUP, id)).filter(shows);
    world.telegram.until("the button comes or goes", find).await
}

/// Approves `command` with this scope over the API; the ask's id.
async fn approved(daemon: &Daemon, command: &str, answer: Value) -> String {
    let id = daemon.ask(&shell(command)).await;
    let (status, reply) = daemon.answer(&id, &answer).await;
    assert_eq!((status, &reply["applied"]), (200, &json!(true)), "{reply}");
    id
}

async fn undo(daemon: &Daemon, id: &str) -> (u16, Value) {
    daemon.post(&format!("/v1/asks/{id}/undo"), APPROVER, &json!({})).await
}

#[tokio::test]
async fn ten_minutes_on_one_deletion_cover_no_other() {
    let daemon = Daemon::start("").await;
    approved(&daemon, "rm -rf build", json!({"decision": "approve", "scope": "10m"})).await;
    assert_eq!(verdict(&daemon, "rm -rf build").await, "allow");
    assert_eq!(verdict(&daemon, "rm -rf src").await, "ask");
    assert_eq!(verdict(&daemon, "rm -rf build src").await, "ask");
}

#[tokio::test]
async fn a_session_covers_the_pattern_that_its_button_names() {
    let daemon = Daemon::start("").await;
    let session = json!({"decision": "approve", "scope": "session"});
    approved(&daemon, "cargo build --release", session.clone()).await;
    assert_eq!(verdict(&daemon, "cargo build --lib").await, "allow");
    assert_eq!(verdict(&daemon, "cargo publish").await, "ask");
    approved(&daemon, "git push origin main", session).await;
    assert_eq!(verdict(&daemon, "git push origin main").await, "allow");
    assert_eq!(verdict(&daemon, "git push origin next").await, "ask");
}

#[tokio::test]
async fn a_part_of_always_that_is_left_out_is_not_stored() {
    let daemon = Daemon::start("").await;
    let command = "cargo test --lib && git add -A";
    let id = daemon.ask(&shell(command)).await;
    let answer = |rules: Value| json!({"decision": "approve", "scope": "always", "rules": rules});
    for wrong in [json!([0]), json!([3]), json!([1, 9])] {
        let (status, reply) = daemon.answer(&id, &answer(wrong)).await;
        assert!(matches!(status, 400 | 422), "{status} {reply}");
    }
    let (_, reply) = daemon.answer(&id, &answer(json!([1]))).await;
    assert_eq!(reply["message"], "Approved, and always from now on: shell: cargo test *.");
    assert_eq!(rules(&daemon).await, ["shell: cargo test *"]);
    assert!(!rules_path(&daemon).exists(), "Always writes no rules file");
    assert_eq!(verdict(&daemon, "cargo test --doc").await, "allow");
    assert_eq!(verdict(&daemon, "git add -A").await, "ask");
}

#[tokio::test]
async fn an_undo_takes_back_what_its_answer_stored_and_is_told_once() {
    let mut daemon = Daemon::start("").await;
    let always = json!({"decision": "approve", "scope": "always"});
    let first = approved(&daemon, "cargo build --release", always.clone()).await;
    let other = approved(&daemon, "cargo test --lib", always).await;
    let timed = json!({"decision": "approve", "scope": "10m"});
    let third = approved(&daemon, "rm -rf build", timed).await;
    let (status, _) = daemon.post(&format!("/v1/asks/{first}/undo"), AGENT, &json!({})).await;
    assert_eq!(status, 403, "an agent undoes nothing");
    // The file is edited by hand meanwhile, and the daemon dies.
    let (path, by_hand) = (rules_path(&daemon), "{\"*\": \"ask\"}\n// by hand\n");
    std::fs::write(&path, by_hand).unwrap();
    daemon.kill().await;
    daemon.run().await;
    let (status, reply) = undo(&daemon, &first).await;
    assert_eq!((status, &reply["applied"]), (200, &json!(true)), "{reply}");
    let sentence = "Undone: shell: cargo build * no longer holds. A call that already runs is not \
                    stopped.";
    assert_eq!(reply["message"], sentence);
    assert!(!rules(&daemon).await.contains(&"shell: cargo build *".to_owned()));
    assert_eq!(std::fs::read_to_string(&path).unwrap(), by_hand);
    assert_eq!(verdict(&daemon, "cargo build --lib").await, "ask");
    assert_eq!(verdict(&daemon, "cargo test --doc").await, "allow", "{other} still holds");
    let (_, again) = undo(&daemon, &first).await;
    assert_eq!(again["applied"], false, "{again}");
    assert!(again["message"].as_str().unwrap().starts_with("Already undone by "), "{again}");
    assert_eq!(undo(&daemon, &third).await.1["applied"], true);
    assert_eq!(verdict(&daemon, "rm -rf build").await, "ask");
    let once = approved(&daemon, "ls /srv/x", json!({"decision": "approve"})).await;
    let (status, nothing) = undo(&daemon, &once).await;
    assert_eq!(status, 422, "{nothing}");
}

#[tokio::test]
async fn a_deny_that_is_written_later_outranks_a_grant_for_always() {
    let daemon = Daemon::start("").await;
    let always = json!({"decision": "approve", "scope": "always"});
    for command in ["cargo build --release", "cargo test --lib"] {
        approved(&daemon, command, always.clone()).await;
        assert_eq!(verdict(&daemon, command).await, "allow");
    }
    let write = |text: &str| std::fs::write(rules_path(&daemon), text).unwrap();
    write(r#"{"*": "ask", "shell_exec": {"cargo test *": "deny"}}"#);
    assert_eq!(verdict(&daemon, "cargo test --doc").await, "deny");
    assert_eq!(verdict(&daemon, "cargo build --lib").await, "allow");
    write(r#"{"shell_exec": {"cargo *": "deny"}, "*": "deny"}"#);
    assert_eq!(verdict(&daemon, "cargo test --doc").await, "deny");
    assert_eq!(verdict(&daemon, "cargo build --lib").await, "deny");
    // A deny that a later line outranks: its file asks, and no grant makes more of that.
    write(r#"{"shell_exec": {"cargo test *": "deny", "*": "ask"}}"#);
    assert_eq!(verdict(&daemon, "cargo test --doc").await, "ask");
    assert_eq!(verdict(&daemon, "cargo build --lib").await, "allow");
    let id = daemon.ask(&shell("cargo test --doc")).await;
    let (_, reply) = daemon.answer(&id, &always).await;
    let said = reply["message"].as_str().unwrap();
    assert!(said.starts_with("Approved once. The rule could not be stored: "), "{said}");
    assert_eq!(verdict(&daemon, "cargo test --doc").await, "ask");
}

#[tokio::test]
async fn grants_are_exported_as_a_rules_file_that_says_the_same() {
    let daemon = Daemon::start("").await;
    let always = json!({"decision": "approve", "scope": "always"});
    for command in ["cargo build --release", "cargo test --lib"] {
        approved(&daemon, command, always.clone()).await;
    }
    approved(&daemon, "rm -rf build", json!({"decision": "approve", "scope": "10m"})).await;
    let output = daemon.command(&["grants", "export"]).output().await.unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    let wanted = "{\n  \"shell_exec\": {\n    \"cargo build *\": \"allow\",\n    \
                  \"cargo test *\": \"allow\"\n  }\n}\n";
    assert_eq!(text, wanted);
    let (_, page) = daemon.get("/v1/grants", APPROVER).await;
    for grant in page["grants"].as_array().unwrap() {
        let path = format!("{}/v1/grants/{}", daemon.url, grant["id"].as_str().unwrap());
        let revoked = daemon.http.delete(path).bearer_auth(APPROVER).send().await.unwrap();
        assert_eq!(revoked.status(), 200);
    }
    assert_eq!(verdict(&daemon, "cargo test --doc").await, "ask");
    std::fs::write(rules_path(&daemon), text).unwrap();
    assert_eq!(verdict(&daemon, "cargo test --doc").await, "allow");
}

#[tokio::test]
async fn undo_stands_on_the_settled_cards_of_both_chats_and_any_approver_may_press_it() {
    let world = World::start().await;
    let waiting = world.daemon.waiting(shell("cargo build --release"));
    let shown = card(&world).await;
    world.press(shown.id, "Always").await;
    assert_eq!(waiting.await.unwrap()["verdict"], "allow");
    with_button(&world, shown.id, "Undo", true).await;
    let posted = world.discord.until(|message| message.buttons == ["Undo"]).await;
    let told = world.telegram.press(GROUP, shown.id, "Undo", EVE).await;
    assert!(!told.text.starts_with("Undone"), "a stranger undoes nothing: {}", told.text);
    assert_eq!(verdict(&world.daemon, "cargo build --lib").await, "allow");
    let token = world.telegram.button(GROUP, shown.id, "Undo");
    let told = world
        .discord
        .press(&posted.reference, "Undo", &Person::new(&ANA.id.to_string(), "Ana"))
        .await;
    let Seen::Privately(told) = told else { panic!("{told:?}") };
    assert!(told.starts_with("Undone: shell: cargo build * no longer holds."), "{told}");
    let after = with_button(&world, shown.id, "Undo", false).await;
    assert!(after.text.contains("undone by Ana"), "{}", after.text);
    assert_eq!(verdict(&world.daemon, "cargo build --lib").await, "ask");
    let query = world.telegram.press_data(GROUP, shown.id, &token, ANA);
    let told = world.telegram.told(&query).await;
    assert!(told.text.starts_with("Already undone by Ana"), "{}", told.text);
    world.is_clean();
}

#[tokio::test]
async fn the_parts_of_always_are_chosen_on_the_card() {
    let world = World::start().await;
    let waiting = world.daemon.waiting(shell("cargo test --lib && git add -A"));
    let shown = card(&world).await;
    world.press(shown.id, "Always…").await;
    with_button(&world, shown.id, "☑ 2 git add *", true).await;
    world.press(shown.id, "☑ 2 git add *").await;
    with_button(&world, shown.id, "– 2 git add *", true).await;
    let told = world.telegram.press(GROUP, shown.id, "Store this 1 rule", EVE).await;
    assert!(!told.text.starts_with("Approved"), "{}", told.text);
    let told = world.press(shown.id, "Store this 1 rule").await;
    assert_eq!(told, "Approved, and always from now on: shell: cargo test *.");
    assert_eq!(waiting.await.unwrap()["verdict"], "allow");
    assert_eq!(rules(&world.daemon).await, ["shell: cargo test *"]);
    assert_eq!(verdict(&world.daemon, "cargo test --doc").await, "allow");
    assert_eq!(verdict(&world.daemon, "git add -A").await, "ask");
    world.is_clean();
}
