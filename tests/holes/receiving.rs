//! Row 16: a chat whose presses are not received any more, and those who rely on it.

use crate::{
    daemon::{AGENT, Daemon, shell},
    discord_server::Told,
    inbox_visitor::Visitor,
    process::run,
    telegram_server::{BEN, Fault, GROUP, Message},
    world::{World, ana},
};
use serde_json::{Value, json};
use std::time::Duration;
use tokio::time::{sleep, timeout};

const MUTED: &str = "Presses are not received here at the moment";
/// A chat counts as deaf after 5 s, and edits take their time.
const SOON: Duration = Duration::from_secs(30);

async fn ready(daemon: &Daemon) -> (u16, Value) {
    daemon.get("/readyz", AGENT).await
}

/// Waits until `/readyz` says this; nothing announces it.
async fn until_ready(daemon: &Daemon, wanted: impl Fn(u16, &Value) -> bool) -> Value {
    let looked = timeout(SOON, async {
        loop {
            let (status, body) = ready(daemon).await;
            if wanted(status, &body) {
                return body;
            }
            sleep(Duration::from_millis(100)).await;
        }
    });
    match looked.await {
        Ok(body) => body,
        Err(_) => panic!("/readyz: {:?}; {}", ready(daemon).await, daemon.said()),
    }
}

/// The gauge of an adapter.
async fn gauge(daemon: &Daemon, adapter: &str) -> String {
    let metrics = daemon.http.get(format!("{}/metrics", daemon.url)).send().await.unwrap();
    let metrics = metrics.text().await.unwrap();
    let name = format!("countersign_adapter_up{{adapter=\"{adapter}\"}} ");
    let line = metrics.lines().find_map(|line| line.strip_prefix(name.as_str()));
    line.unwrap_or_else(|| panic!("no {name} in {metrics}")).to_owned()
}

/// What the doctor says of this.
async fn doctor(daemon: &Daemon, check: &str) -> Vec<(String, String)> {
    let ended = run(daemon, &["doctor", "--json"]).await;
    let report: Value = serde_json::from_str(&ended.stdout).unwrap();
    let checks = report["checks"].as_array().unwrap().iter();
    let text = |finding: &Value, key: &str| finding[key].as_str().unwrap_or_default().to_owned();
    checks
        .filter(|finding| finding["check"] == check)
        .map(|finding| (text(finding, "state"), text(finding, "says")))
        .collect()
}

/// Waits until the card in Telegram is as wanted, whatever it takes in edits.
async fn card(world: &World, ask: &str, wanted: impl Fn(&Message) -> bool) -> Message {
    let tail = format!("ask {ask}");
    let look = || {
        let cards = world.telegram.messages(GROUP);
        cards.into_iter().find(|card| card.text.contains(&tail) && wanted(card))
    };
    let mut changes = world.telegram.changes();
    let found = timeout(SOON, async {
        loop {
            if let Some(card) = look() {
                return card;
            }
            changes.changed().await.unwrap();
        }
    });
    match found.await {
        Ok(card) => card,
        Err(_) => panic!("{:?}; {}", world.telegram.messages(GROUP), world.daemon.said()),
    }
}

fn is_muted(card: &Message) -> bool {
    card.is_over() && card.text.contains(MUTED)
}

fn is_pressable(card: &Message) -> bool {
    !card.is_over() && !card.text.contains(MUTED)
}

#[tokio::test]
async fn row_16_a_chat_that_is_not_heard_says_so_everywhere_and_comes_back_by_itself() {
    let world = World::start("").await;
    let daemon = &world.daemon;
    let early = daemon.ask(&shell("git push origin early")).await;
    card(&world, &early, is_pressable).await;
    assert_eq!(ready(daemon).await.0, 200);

    // Only the polling is refused: what is sent still arrives.
    world.telegram.fail("getUpdates", Fault::Refuse(404, "Not Found"), u32::MAX);
    world.telegram.say(GROUP, "/nothing", BEN);
    let body = until_ready(daemon, |status, _| status == 503).await;
    assert_eq!(body["adapters"]["telegram"]["state"], "down", "{body}");
    assert_eq!(body["adapters"]["discord"]["state"], "up", "{body}");
    let problem = body["problems"][0].as_str().unwrap();
    assert!(problem.starts_with("Telegram: presses are not received since "), "{problem}");
    assert!(problem.contains("`[telegram] token`"), "{problem}");
    assert_eq!(
        (gauge(daemon, "telegram").await, gauge(daemon, "discord").await),
        ("0".into(), "1".into())
    );

    let late = daemon.ask(&shell("git push origin late")).await;
    for ask in [&early, &late] {
        let muted = card(&world, ask, is_muted).await;
        for way in ["in Discord", &format!("`countersign approve {ask}`"), "`countersign doctor`"] {
            assert!(muted.text.contains(way), "{way}: {}", muted.text);
        }
    }
    let says = doctor(daemon, "telegram").await;
    assert!(
        says.iter()
            .any(|(state, says)| state == "fail" && says.contains("receives no presses since")),
        "{says:?}"
    );
    let visitor = Visitor::enter(&daemon.inbox).await;
    let (_, board) = visitor.follow().await.next().await.unwrap();
    assert!(board["notice"][0].as_str().unwrap().starts_with("Telegram: presses"), "{board}");
    let pending = run(daemon, &["pending"]).await.stdout;
    assert!(pending.starts_with("! Telegram: presses are not received since "), "{pending}");

    world.telegram.mend("getUpdates");
    until_ready(daemon, |status, body| status == 200 && body["problems"] == json!([])).await;
    for ask in [&early, &late] {
        let back = card(&world, ask, is_pressable).await;
        assert_eq!(world.press(back.id, "Approve").await, "Approved once.");
        daemon.ask_reaches(ask, "answered").await;
    }
    assert_eq!(gauge(daemon, "telegram").await, "1");
    assert!(!run(daemon, &["pending"]).await.stdout.contains('!'));
    world.is_clean();
}

#[tokio::test]
async fn row_16_one_refused_poll_costs_neither_presses_nor_buttons() {
    let world = World::start("").await;
    let ask = world.daemon.ask(&shell("git push")).await;
    let shown = card(&world, &ask, is_pressable).await;
    for (code, said) in [
        (401, "Unauthorized"),
        (404, "Not Found"),
        (409, "Conflict: terminated by other getUpdates request"),
    ] {
        world.telegram.fail("getUpdates", Fault::Refuse(code, said), 1);
        world.telegram.say(GROUP, "/nothing", BEN);
    }
    assert_eq!(world.press(shown.id, "Approve").await, "Approved once.");
    world.daemon.ask_reaches(&ask, "answered").await;
    assert_eq!(ready(&world.daemon).await.0, 200);
}

#[tokio::test]
async fn row_16_a_gateway_that_discord_closes_for_good_is_said_and_opened_again() {
    let world = World::start("").await;
    let daemon = &world.daemon;
    let ask = daemon.ask(&shell("git push")).await;
    world.discord.until(|card| !card.is_over()).await;
    world.discord.refuse_gateway(Some(4014));
    let body = until_ready(daemon, |status, _| status == 503).await;
    assert!(body["problems"][0].as_str().unwrap().contains("(4014)"), "{body}");
    let muted = world.discord.until(|card| card.is_over()).await;
    assert!(muted.text.contains(MUTED) && muted.text.contains("in Telegram"), "{}", muted.text);
    let says = doctor(daemon, "discord").await;
    assert!(
        says.iter().any(|(state, says)| state == "fail" && says.contains("(4014)")),
        "{says:?}"
    );
    world.discord.refuse_gateway(None);
    let back = timeout(SOON * 2, world.discord.until(|card| !card.is_over())).await.unwrap();
    let told = world.discord.press(&back.reference, "Approve", &ana()).await;
    assert_eq!(told, Told::Privately("Approved once.".to_owned()));
    daemon.ask_reaches(&ask, "answered").await;
    world.is_clean();
}

#[tokio::test]
async fn row_16_buttons_come_back_though_the_daemon_was_killed_while_it_was_deaf() {
    let mut world = World::start("").await;
    let ask = world.daemon.ask(&shell("git push")).await;
    card(&world, &ask, is_pressable).await;
    world.telegram.set_webhook(true);
    world.telegram.say(GROUP, "/nothing", BEN);
    card(&world, &ask, is_muted).await;
    world.daemon.kill().await;
    world.telegram.set_webhook(false);
    world.daemon.run().await;
    let back = card(&world, &ask, is_pressable).await;
    assert_eq!(world.press(back.id, "Deny").await, "Denied.");
    world.daemon.ask_reaches(&ask, "answered").await;
    world.is_clean();
}

#[tokio::test]
async fn row_16_an_ask_that_is_answered_elsewhere_closes_its_muted_card() {
    let world = World::start("").await;
    let ask = world.daemon.ask(&shell("git push")).await;
    card(&world, &ask, is_pressable).await;
    world.telegram.fail("getUpdates", Fault::Refuse(401, "Unauthorized"), u32::MAX);
    world.telegram.say(GROUP, "/nothing", BEN);
    card(&world, &ask, is_muted).await;
    world.daemon.answer(&ask, &json!({"decision": "approve"})).await;
    card(&world, &ask, |card| card.text.contains("✅ ") && !card.text.contains(MUTED)).await;
    world.telegram.mend("getUpdates");
    until_ready(&world.daemon, |status, _| status == 200).await;
    assert_eq!(world.telegram.open_cards(GROUP), [], "no button comes back to a closed ask");
    world.is_clean();
}
