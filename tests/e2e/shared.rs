//! Several daemons on one PostgreSQL store: agents ask at any, people answer at any, one leads.

mod callers;
mod digests;
#[cfg(feature = "discord")]
mod discord;
mod pause;
mod tokens;

use crate::{
    core::loop_for_open,
    daemon::{AGENT, APPROVER, Daemon, LONG, shell},
    inbox_visitor::Visitor,
    postgres::Postgres,
    telegram_server::{ANA, GROUP, Message, TOKEN, Telegram},
};
use serde_json::{Value, json};
use std::{
    process::Stdio,
    time::{Duration, Instant},
};
use tokio::{task::JoinHandle, time::timeout};

/// A bot and daemons that share a store.
pub struct Team {
    pub telegram: Telegram,
    pub postgres: Postgres,
    config: String,
}

impl Team {
    async fn new() -> Option<Self> {
        Some(Self::on(Postgres::fresh().await?).await)
    }

    /// A team whose store is here.
    pub async fn on(postgres: Postgres) -> Self {
        let telegram = Telegram::start().await;
        let config = format!(
            "[telegram]\ntoken = \"{TOKEN}\"\napi_url = \"{}\"\ntargets = [{{ chat = {GROUP} }}]\n\
             [approvers]\ntelegram = [{}]\ninbox = true\n{}",
            telegram.url(),
            ANA.id,
            postgres.config()
        );
        Self { telegram, postgres, config }
    }

    pub async fn daemon(&self) -> Daemon {
        Daemon::start(&self.config).await
    }

    /// Two daemons; the first one leads.
    pub async fn two(&self) -> (Daemon, Daemon) {
        let first = self.daemon().await;
        leads(&first).await;
        let second = self.daemon().await;
        assert_eq!(telegram_at(&second).await["state"], "standby");
        (first, second)
    }

    pub async fn card(&self) -> Message {
        self.telegram.until("an open card", || self.telegram.open_cards(GROUP).pop()).await
    }

    pub async fn card_closes(&self, id: i64) -> Message {
        let message = || self.telegram.message(GROUP, id);
        let done = || Some(message()).filter(|message| message.is_over());
        self.telegram.until("a closed card", done).await
    }
}

/// What the agent gets that waits at a daemon other than the one that answered: it is woken, long
/// before its request ends by itself.
async fn woken(waiting: JoinHandle<Value>) -> Value {
    let told = timeout(Duration::from_secs(5), waiting).await;
    told.expect("the waiter at the other daemon is woken").unwrap()
}

/// What a daemon says of a chat.
async fn state_in(daemon: &Daemon, chat: &str) -> Value {
    daemon.get("/readyz", AGENT).await.1["adapters"][chat].clone()
}

async fn telegram_at(daemon: &Daemon) -> Value {
    state_in(daemon, "telegram").await
}

/// Waits until a daemon leads; how long that took.
pub async fn leads(daemon: &Daemon) -> Duration {
    leads_in(daemon, "telegram").await
}

async fn leads_in(daemon: &Daemon, chat: &str) -> Duration {
    let since = Instant::now();
    while state_in(daemon, chat).await["state"] != "up" {
        assert!(since.elapsed() < LONG + Duration::from_secs(5), "{}", daemon.said());
        tokio::time::sleep(Duration::from_millis(50)).await; // there is no event across processes
    }
    since.elapsed()
}

#[tokio::test]
async fn an_answer_given_at_one_daemon_reaches_the_agent_that_waits_at_another() {
    let Some(team) = Team::new().await else { return };
    let (first, second) = team.two().await;
    let waiting = second.waiting(shell("git push origin main"));
    let shown = team.card().await;
    let id = loop_for_open(&first).await;
    let (_, reply) = first.answer(&id, &json!({"decision": "approve"})).await;
    assert_eq!(reply["applied"], true);
    assert_eq!(woken(waiting).await["verdict"], "allow");
    team.card_closes(shown.id).await;

    let waiting = second.waiting(shell("git push origin two"));
    let card = team.card().await;
    assert_eq!(team.telegram.press(GROUP, card.id, "Deny", ANA).await.text, "Denied.");
    assert_eq!(woken(waiting).await["reason"], "denied by Ana (telegram)");
    team.card_closes(card.id).await;
    let cards = team.postgres.number("SELECT count(*) FROM card WHERE adapter = 'telegram'").await;
    assert_eq!((team.telegram.calls("sendMessage").len(), cards), (2, 2), "nobody posted twice");
    drop((first, second));
    team.postgres.drop().await;
}

#[tokio::test]
async fn every_daemon_has_its_own_inbox_and_every_inbox_shows_every_ask() {
    let Some(team) = Team::new().await else { return };
    let (first, second) = team.two().await;
    second.ask(&shell("git push origin main")).await;
    for daemon in [&first, &second] {
        let mut feed = Visitor::enter(&daemon.inbox).await.follow().await;
        let card = feed.card(|card| card.to_string().contains("git push origin main")).await;
        assert_eq!(card["card"]["tone"], "open", "{card}");
    }
    drop((first, second));
    team.postgres.drop().await;
}

#[tokio::test]
async fn what_is_granted_at_one_daemon_holds_at_all_of_them_at_once() {
    let Some(team) = Team::new().await else { return };
    let (first, second) = team.two().await;
    let id = first.ask(&shell("git push origin main")).await;
    let always = json!({"decision": "approve", "scope": "always"});
    assert_eq!(first.answer(&id, &always).await.1["applied"], true);
    for daemon in [&first, &second] {
        let (status, ruled) = daemon.call(&shell("git push origin main")).await;
        assert_eq!((status, &ruled["verdict"]), (200, &json!("allow")), "{ruled}");
    }
    let grants = second.get("/v1/grants", APPROVER).await.1;
    let grant = grants["grants"][0]["id"].as_str().unwrap().to_owned();
    let url = format!("{}/v1/grants/{grant}", second.url);
    let revoked = second.http.delete(url).bearer_auth(APPROVER).send().await.unwrap();
    assert_eq!(revoked.status(), 200);
    assert_eq!(first.call(&shell("git push origin main")).await.1["verdict"], "ask");
    drop((first, second));
    team.postgres.drop().await;
}

#[tokio::test]
async fn another_daemon_takes_over_within_20_s_when_the_leader_is_killed() {
    let Some(team) = Team::new().await else { return };
    let (mut first, second) = team.two().await;
    let waiting = second.waiting(shell("git push origin main"));
    let card = team.card().await;
    first.says("a card stands adapter=\"telegram\"").await;
    first.kill().await;
    let took = leads(&second).await;
    assert!(took <= Duration::from_secs(20), "{took:?}");
    assert_eq!(telegram_at(&second).await["leader"]["epoch"], 2);
    assert_eq!(team.telegram.press(GROUP, card.id, "Approve", ANA).await.text, "Approved once.");
    assert_eq!(woken(waiting).await["verdict"], "allow");
    team.card_closes(card.id).await;
    assert_eq!(team.telegram.calls("sendMessage").len(), 1, "the card was not posted again");
    drop((first, second));
    team.postgres.drop().await;
}

#[tokio::test]
async fn a_leader_that_is_stopped_hands_over_at_once() {
    let Some(team) = Team::new().await else { return };
    let (mut first, second) = team.two().await;
    assert!(first.stop().await);
    let took = leads(&second).await;
    assert!(took <= Duration::from_secs(5), "{took:?}");
    drop((first, second));
    team.postgres.drop().await;
}

#[tokio::test]
async fn a_leader_that_was_frozen_past_its_lease_does_nothing_when_it_thaws() {
    let Some(team) = Team::new().await else { return };
    let (mut first, second) = team.two().await;
    first.signal("STOP");
    leads(&second).await;
    let id = second.ask(&shell("git push origin main")).await;
    let card = team.card().await;
    let sent = team.telegram.calls("sendMessage").len();
    first.signal("CONT");
    first.says("not leading any more").await;
    assert_eq!(telegram_at(&first).await["state"], "standby");
    assert_eq!(team.telegram.press(GROUP, card.id, "Approve", ANA).await.text, "Approved once.");
    assert_eq!(first.closed(&id).await["verdict"], "allow");
    team.card_closes(card.id).await;
    assert_eq!(team.telegram.calls("sendMessage").len(), sent, "nothing was sent twice");
    drop((first, second));
    team.postgres.drop().await;
}

#[tokio::test]
async fn an_ask_waits_on_while_the_server_ends_every_connection() {
    let Some(team) = Team::new().await else { return };
    let (first, second) = team.two().await;
    let mut call = shell("git push origin main");
    call["key"] = json!("kept");
    let waiting = second.waiting(call.clone());
    let card = team.card().await;
    let id = loop_for_open(&first).await;
    team.postgres.end_connections().await;
    leads(&first).await;
    assert_eq!(team.telegram.press(GROUP, card.id, "Approve", ANA).await.text, "Approved once.");
    let mut told = woken(waiting).await;
    // A caller whose own statement was ended is told so, and comes back as every client does.
    if told["verdict"].is_null() {
        told = woken(second.waiting(call)).await;
    }
    assert_eq!((&told["verdict"], &told["ask"]), (&json!("allow"), &json!(id)));
    assert_eq!(first.read(&id).await["state"], "answered");
    drop((first, second));
    team.postgres.drop().await;
}

#[tokio::test]
async fn a_script_that_names_several_daemons_goes_on_at_the_next_when_one_dies() {
    let Some(team) = Team::new().await else { return };
    let (mut first, second) = team.two().await;
    let text =
        format!("[client]\nurl = [\"{}\", \"{}\"]\ntoken = \"{AGENT}\"\n", first.url, second.url);
    let config = first.dir.path().join("client.toml");
    std::fs::write(&config, text).unwrap();
    let config = config.display().to_string();
    let mut ask = tokio::process::Command::new(env!("CARGO_BIN_EXE_countersign"));
    ask.args(["--config", &config, "ask", "--", "git", "push"]).env("HOME", first.dir.path());
    let waiting = ask.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let id = loop_for_open(&second).await;
    first.kill().await;
    let (_, reply) = second.answer(&id, &json!({"decision": "approve"})).await;
    assert_eq!(reply["applied"], true);
    let ended = timeout(LONG, waiting.wait_with_output()).await.unwrap().unwrap();
    assert_eq!(ended.status.code(), Some(0), "{}", String::from_utf8_lossy(&ended.stderr));
    drop((first, second));
    team.postgres.drop().await;
}

#[tokio::test]
async fn doctor_says_who_leads() {
    let Some(team) = Team::new().await else { return };
    let (first, second) = team.two().await;
    let holder = first.get("/readyz", AGENT).await.1["daemon"].as_str().unwrap().to_owned();
    let doctor = second.command(&["doctor"]).output().await.unwrap();
    let said = String::from_utf8(doctor.stdout).unwrap();
    assert!(said.contains(&format!("{holder} leads telegram")), "{said}");
    drop((first, second));
    team.postgres.drop().await;
}
