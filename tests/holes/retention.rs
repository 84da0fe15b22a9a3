//! Row 21: denied calls let the store grow no further than `[store] keep`. Issue 28, row 16: rows
//! of the log that reach no destination are kept longer, and not lost in silence.

use crate::{
    daemon::{AGENT, Daemon, LONG, shell},
    process::run,
};
use futures::future::join_all;
use serde_json::json;
use sqlx::{Connection, Row, SqliteConnection};
use std::time::{Duration, Instant};
use tokio::time::timeout;

/// More than are forgotten in one transaction.
const CALLS: usize = 1_200;
/// Longer than anything is kept, in seconds.
const MONTHS: i64 = 60 * 86_400;

async fn store(daemon: &Daemon) -> SqliteConnection {
    let file = daemon.dir.path().join("state/countersign.db");
    SqliteConnection::connect(&format!("sqlite:{}", file.display())).await.unwrap()
}

async fn number(store: &mut SqliteConnection, sql: &'static str) -> i64 {
    sqlx::query(sql).fetch_one(store).await.unwrap().get(0)
}

/// Hands in calls that the guardrail denies.
async fn denied(daemon: &Daemon) {
    let call = &shell("countersign approve k8xd8s4n");
    for _ in 0..CALLS / 50 {
        for (status, ruled) in join_all((0..50).map(|_| daemon.call(call))).await {
            assert_eq!((status, &ruled["verdict"]), (200, &json!("deny")), "{ruled}");
        }
    }
}

/// A daemon whose clock can be set.
async fn started() -> Option<Daemon> {
    let mut daemon = Daemon::prepared("", "", &[]);
    daemon.run_by_late_clock().await.then_some(daemon)
}

/// The daemon starts anew when all that it knows is months old; then it forgets it.
async fn months_later(daemon: &mut Daemon, times: i64) {
    assert!(daemon.stop().await);
    daemon.late_by(times * MONTHS);
    daemon.run_by_late_clock().await;
    let (mut file, since) = (store(daemon).await, Instant::now());
    while number(&mut file, "SELECT count(*) FROM event WHERE kind = 'ruled'").await > 0 {
        assert!(since.elapsed() < LONG, "denied calls are kept");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

async fn counted(daemon: &Daemon) -> String {
    let metrics = daemon.http.get(format!("{}/metrics", daemon.url)).send().await.unwrap();
    let metrics = metrics.text().await.unwrap();
    let ruled = |line: &&str| line.starts_with("countersign_events_total{kind=\"ruled\"}");
    metrics.lines().find(ruled).unwrap().to_owned()
}

#[tokio::test]
async fn row_21_denied_calls_are_forgotten_and_their_room_is_used_again() {
    let Some(mut daemon) = started().await else { return };
    denied(&daemon).await;
    let pages = "SELECT page_count FROM pragma_page_count()";
    let grown = number(&mut store(&daemon).await, pages).await;
    months_later(&mut daemon, 1).await;
    assert!(counted(&daemon).await.ends_with(&format!(" {CALLS}")), "no counter falls");
    denied(&daemon).await;
    let again = number(&mut store(&daemon).await, pages).await;
    assert!(again <= grown + grown / 4, "{grown} pages, then {again}");
    months_later(&mut daemon, 2).await;
    assert!(counted(&daemon).await.ends_with(&format!(" {}", 2 * CALLS)));
    let proven = run(&daemon, &["log", "verify"]).await;
    assert_eq!(proven.code, Some(0), "{proven:?}");
}

#[tokio::test]
async fn row_21_a_reader_of_events_that_are_forgotten_is_told_so_once_and_goes_on() {
    let Some(mut daemon) = started().await else { return };
    denied(&daemon).await;
    months_later(&mut daemon, 1).await;
    let ask = daemon.ask(&shell("git push")).await;
    let request = daemon.http.get(format!("{}/v1/events", daemon.url)).bearer_auth(AGENT);
    let mut stream = request.header("last-event-id", "7").send().await.unwrap();
    let mut heard = String::new();
    while heard.matches("\n\n").count() < 3 {
        let chunk = timeout(LONG, stream.chunk()).await.unwrap().unwrap().unwrap();
        heard.push_str(std::str::from_utf8(&chunk).unwrap());
    }
    let kinds: Vec<_> = heard.lines().filter_map(|line| line.strip_prefix("event: ")).collect();
    assert_eq!(kinds, ["forgotten", "ask", "asked"], "{heard}");
    assert_eq!(heard.matches(&format!("\"id\":\"{ask}\"")).count(), 2, "{heard}");
    let (_, newest) = heard.trim_end().rsplit_once("\nid: ").unwrap();
    let asked = format!("event: asked\ndata: {{\"id\":{newest},");
    assert!(heard.contains(&asked), "it goes on from there: {heard}");
}

#[tokio::test]
async fn row_16_rows_that_a_destination_does_not_take_are_told_everywhere_and_kept_within_a_bound()
{
    let config = "[log]\nwebhook = \"http://127.0.0.1:1/rows\"\n\
                  webhook_secret = \"a-secret-of-the-webhook\"\n";
    let mut daemon = Daemon::prepared("", config, &[]);
    if !daemon.run_by_late_clock().await {
        return;
    }
    daemon.says("the log is sent there later").await;
    daemon.late_by(600);
    all_say(&daemon, "rows of the log wait since", "countersign_log_undelivered").await;
    // After two months they are deleted, and that stays to be seen.
    assert!(daemon.stop().await);
    daemon.late_by(MONTHS);
    assert!(daemon.run_by_late_clock().await);
    all_say(&daemon, "rows of the log were deleted before it took them", "countersign_log_lost")
        .await;
    let told = run(&daemon, &["log", "--kind", "forgot", "--json"]).await;
    assert!(told.stdout.contains("\"undelivered\":"), "{told:?}");
}

/// Every surface says this of the webhook.
async fn all_say(daemon: &Daemon, says: &str, metric: &str) {
    let is = |problem: &serde_json::Value| {
        problem["problem"].as_str().is_some_and(|problem| problem.contains(says))
    };
    let all = |ready: &serde_json::Value| ready["log"].as_array().cloned().unwrap_or_default();
    daemon.until("/readyz", |ready| all(ready).iter().any(is)).await;
    for command in ["status", "doctor"] {
        let told = run(daemon, &[command]).await;
        assert_eq!(told.code, Some(1), "{command}: {told:?}");
        assert!(told.stdout.contains(says), "{command}: {told:?}");
    }
    let metrics = daemon.http.get(format!("{}/metrics", daemon.url)).send().await.unwrap();
    let metrics = metrics.text().await.unwrap();
    let begin = format!("{metric}{{destination=\"webhook 127.0.0.1");
    let line = metrics.lines().find(|line| line.starts_with(&begin)).unwrap();
    assert!(!line.ends_with(" 0"), "{line}");
}
