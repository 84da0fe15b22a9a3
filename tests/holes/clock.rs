//! Row 21: where silence approves, a clock that jumps forward approves nothing. Issue 28, row 15: a
//! daemon whose clock is ahead expires nobody's asks.

use crate::{
    daemon::{AGENT, Daemon, shell},
    postgres::Postgres,
    process::run,
    telegram_server::GROUP,
    world::World,
};
use serde_json::{Value, json};
use sqlx::{Connection, SqliteConnection};

/// Longer than any ask here has.
const TWO_HOURS_MS: i64 = 7_200_000;
const SILENCE_APPROVES: &str =
    "[policy]\ntimeout = \"1h\"\non_timeout = \"approve\"\napprove_on_timeout = [\"notify\"]\n";
const MOVED: &str = "its deadline is moved";

fn notify(text: &str) -> Value {
    json!({"agent": "tester", "session": "one", "tool": "notify", "args": {"text": text}})
}

/// What a clock does that jumps forward by two hours, as the open asks see it.
async fn jump(daemon: &Daemon) {
    let file = daemon.dir.path().join("state/countersign.db");
    let mut store = SqliteConnection::connect(&format!("sqlite:{}", file.display())).await.unwrap();
    let jump = "UPDATE ask SET created_at = created_at - $1, deadline_at = deadline_at - $1 \
                WHERE state = 'open'";
    sqlx::query(jump).bind(TWO_HOURS_MS).execute(&mut store).await.unwrap();
    store.close().await.unwrap();
}

async fn deadline(daemon: &Daemon, ask: &str) -> String {
    let ask = daemon.read(ask).await;
    assert_eq!(ask["state"], "open", "{ask}");
    ask["deadline"].as_str().unwrap().to_owned()
}

fn now() -> String {
    jiff::Timestamp::now().to_string()
}

#[tokio::test]
async fn row_21_a_clock_that_jumps_forward_approves_nothing_and_people_may_still_deny() {
    let mut daemon = Daemon::start(SILENCE_APPROVES).await;
    let waiting = daemon.waiting(notify("waits"));
    daemon.until("/v1/asks?state=open", |open| open["asks"][0].is_object()).await;
    let ask = daemon.ask(&notify("left alone")).await;
    jump(&daemon).await;
    // Any change wakes the reaper.
    daemon.ask(&shell("git push")).await;
    daemon.says(MOVED).await;
    let later = |ask: &Value| ask["deadline"].as_str().unwrap() >= &*now();
    daemon
        .until("/v1/asks?state=open", |open| open["asks"].as_array().unwrap().iter().all(later))
        .await;
    assert!(deadline(&daemon, &ask).await > now());
    assert!(!waiting.is_finished(), "nothing is approved");
    for open in daemon.open().await {
        let id = open["id"].as_str().unwrap();
        let (_, reply) = daemon.answer(id, &json!({"decision": "deny"})).await;
        assert_eq!(reply["applied"], true, "{reply}");
    }
    assert_eq!(waiting.await.unwrap()["verdict"], "deny");

    let ask = daemon.ask(&notify("denied at once")).await;
    jump(&daemon).await;
    let (_, reply) = daemon.answer(&ask, &json!({"decision": "deny"})).await;
    assert_eq!(reply["applied"], true, "{reply}");
    assert_eq!(daemon.ask_reaches(&ask, "answered").await["verdict"], "deny");
}

#[tokio::test]
async fn row_21_after_a_restart_people_have_the_whole_time_anew_and_the_card_says_until_when() {
    let mut world = World::start(SILENCE_APPROVES).await;
    let (ask, shown) = world.asked(&notify("hi")).await;
    let approved_at = |text: &str| text.split_once("it is approved at ").unwrap().1.to_owned();
    let before = approved_at(&shown.telegram);
    world.daemon.kill().await;
    jump(&world.daemon).await;
    let text = std::fs::read_to_string(world.daemon.config()).unwrap();
    std::fs::write(world.daemon.config(), text.replace("\"1h\"", "\"3h\"")).unwrap();
    let started = now();
    world.daemon.run().await;
    world.daemon.says(MOVED).await;
    let redrawn = || {
        let card = world.telegram.message(GROUP, shown.message);
        (approved_at(&card.text) != before).then_some(card)
    };
    let card = world.telegram.until("the redrawn card", redrawn).await;
    assert!(card.text.contains(&format!("ask {ask}")) && !card.is_over(), "{card:?}");
    let whole: jiff::Timestamp = deadline(&world.daemon, &ask).await.parse().unwrap();
    let whole = whole.duration_since(started.parse().unwrap()).as_secs();
    assert!((3 * 3_600 - 5..=3 * 3_600 + 60).contains(&whole), "{whole} s");
    let told = world.press(shown.message, "Deny").await;
    assert_eq!(told, "Denied.");
    assert_eq!(world.daemon.ask_reaches(&ask, "answered").await["verdict"], "deny");
    world.is_clean();
}

#[tokio::test]
async fn row_21_silence_that_denies_goes_by_the_clock_as_it_is() {
    let daemon = Daemon::start(SILENCE_APPROVES).await;
    let ask = daemon.ask(&shell("git push")).await;
    jump(&daemon).await;
    let (_, reply) = daemon.answer(&ask, &json!({"decision": "approve"})).await;
    assert_eq!(reply["applied"], false, "{reply}");
    let ask = daemon.get(&format!("/v1/asks/{ask}"), AGENT).await.1;
    assert_eq!((&ask["state"], &ask["verdict"]), (&json!("expired"), &json!("deny")));
}

#[tokio::test]
async fn row_15_a_daemon_whose_clock_is_ahead_goes_by_the_databases_and_says_so() {
    let Some(postgres) = Postgres::fresh().await else { return };
    let config = format!("[policy]\ntimeout = \"5m\"\n{}", postgres.config());
    let daemon = Daemon::start(&config).await;
    let ask = daemon.ask(&shell("git push one")).await;
    for ahead in [11 * 60, -11 * 60] {
        let mut wrong = Daemon::prepared("", &config, &[]);
        wrong.late_by(ahead);
        if !wrong.run_by_late_clock().await {
            return;
        }
        // An ask there wakes its reaper, and its own deadline is counted by the same clock.
        let before = jiff::Timestamp::now();
        let theirs = wrong.ask(&shell(&format!("git push {ahead}"))).await;
        let until: jiff::Timestamp = deadline(&wrong, &theirs).await.parse().unwrap();
        let left = until.duration_since(before).as_secs();
        assert!((295..=330).contains(&left), "{left} s");
        let mut short = shell(&format!("git push short {ahead}"));
        short["expires_in_s"] = json!(1);
        let short = wrong.ask(&short).await;
        assert_eq!(wrong.ask_reaches(&short, "expired").await["verdict"], "deny");
        assert_eq!(daemon.read(&ask).await["state"], "open", "nobody's time is over");
        assert_eq!(daemon.read(&theirs).await["state"], "open");
        let ms = wrong.get("/readyz", AGENT).await.1["clock_ahead_ms"].as_i64().unwrap();
        assert!((ms - ahead * 1_000).abs() < 30_000, "{ms}");
        let how = if ahead > 0 { "s ahead of" } else { "s behind" };
        for command in ["status", "doctor"] {
            let told = run(&wrong, &[command]).await.stdout;
            assert!(told.contains(how) && told.contains("NTP"), "{command}: {told}");
        }
        let metrics = wrong.http.get(format!("{}/metrics", wrong.url)).send().await.unwrap();
        let metrics = metrics.text().await.unwrap();
        assert!(!metrics.contains("countersign_clock_ahead_seconds 0\n"), "{metrics}");
        assert!(wrong.stop().await);
    }
    assert!(!run(&daemon, &["status"]).await.stdout.contains("clock"));
    let (_, reply) = daemon.answer(&ask, &json!({"decision": "approve"})).await;
    assert_eq!(reply["applied"], true, "{reply}");
    drop(daemon);
    postgres.drop().await;
}
