//! The program itself: idle, and with many open asks.

use super::{desk::ask, line};
use countersign::store::{Database, LogSealer, Seen, Shown, Store};
use futures::{StreamExt, stream};
use std::{
    io::{BufRead, BufReader},
    path::Path,
    process::{Child, Command, Stdio},
    time::{Duration, Instant},
};

/// How many asks are open.
const OPEN: usize = 100_000;
/// How long an idle daemon is watched.
const WATCH: Duration = Duration::from_secs(10);

pub async fn weight(folder: &Path) {
    let file = folder.join("state/countersign.db");
    let (mut daemon, began) = start(folder);
    let started = began.elapsed();
    tokio::time::sleep(Duration::from_secs(2)).await;
    let idle = resident(&daemon);
    let before = wakeups(&daemon);
    tokio::time::sleep(WATCH).await;
    let woke = (wakeups(&daemon) - before) as f64 / WATCH.as_secs_f64();
    line("start on an empty store, until ready", format!("{started:.0?}"), "");
    line("idle: resident memory", format!("{:.1} MiB", idle as f64 / 1024.0), "≤ 30 MiB");
    line("idle: wake-ups a second, all threads", format!("{woke:.1}"), "");
    stop(&mut daemon);

    let database = Database::Sqlite(file);
    let store = Store::open(&database).await.unwrap();
    // What a daemon that stops leaves behind is sealed.
    let log = LogSealer::open(store.clone(), &folder.join("state")).unwrap();
    log.check_known().await.unwrap();
    fill(&store).await;
    log.seal().await.unwrap();
    let began = Instant::now();
    let overdue = store.overdue(1, None).await.unwrap().len();
    store.next_deadline().await.unwrap();
    line("the reaper's round over 100,000 open asks", format!("{:.1?}", began.elapsed()), "");
    assert_eq!(overdue, 0);
    store.close().await;
    // The daemon that holds the store keeps every other one out.
    drop((store, log));

    let (mut daemon, began) = start(folder);
    line("start with 100,000 open asks, until ready", format!("{:.1?}", began.elapsed()), "≤ 5 s");
    // The inbox is rebuilt at every start, with the newest at last: wait until no card is behind.
    let url = format!("sqlite:{}?mode=ro", folder.join("state/countersign.db").display());
    let read = sqlx::SqlitePool::connect(&url).await.unwrap();
    loop {
        let left: i64 = sqlx::query_scalar("SELECT count(*) FROM card WHERE shown < wanted")
            .fetch_one(&read)
            .await
            .unwrap();
        if left == 0 || began.elapsed() > Duration::from_secs(120) {
            line(
                "… until all of them are in the inbox",
                format!("{:.1?}", began.elapsed()),
                "≤ 5 s",
            );
            line("… cards left out by then", left.to_string(), "0");
            break;
        }
        tokio::time::sleep(Duration::from_millis(200)).await;
    }
    let full = resident(&daemon);
    let each = (full.saturating_sub(idle)) as f64 / OPEN as f64;
    line("resident memory for each open ask, over idle", format!("{each:.2} KiB"), "≤ 2 KiB");
    stop(&mut daemon);
}

/// Opens the asks as the gate does, each with its card in the inbox.
async fn fill(store: &Store) {
    let now = jiff::Timestamp::now().as_millisecond();
    let insert = |n| async move {
        let at = now + i64::try_from(n).unwrap();
        let (new, card) = ask(n, at, Some(now + 86_400_000));
        store.insert_ask(&new, std::slice::from_ref(&card), None).await.unwrap();
        // It stood when the last process ended.
        let nonce = card.nonce.clone();
        let (ask, message) = (new.id, card.nonce);
        Shown { nonce, ask, message, version: 1, muted: false, seen: Seen::Yes, drawn: None }
    };
    // The newest was not noted any more: it follows when all others stand.
    let shown = stream::iter(0..OPEN - 1).map(insert).buffer_unordered(256).chunks(100);
    let fence = store.take_lease("bench", "bench", WATCH).await.unwrap().unwrap();
    let noted = shown.map(|shown| async { store.cards_shown(&{ shown }, &fence).await.unwrap() });
    assert!(noted.buffer_unordered(64).all(|noted| async move { noted }).await);
    insert(OPEN - 1).await;
}

fn start(folder: &Path) -> (Child, Instant) {
    let at = folder.display();
    let config = folder.join("countersign.toml");
    let text = format!(
        "[daemon]\nsocket = \"{at}/c.sock\"\nlisten = \"127.0.0.1:0\"\nstate_dir = \"{at}/state\"\n\
         agent_token = \"agent-token-of-the-bench\"\napprover_token = \"approver-token-of-the-bench\"\n\
         [store]\nurl = \"sqlite:{at}/state/countersign.db\"\n"
    );
    std::fs::write(&config, text).unwrap();
    std::fs::set_permissions(&config, std::os::unix::fs::PermissionsExt::from_mode(0o600)).unwrap();
    let mut command = Command::new(env!("CARGO_BIN_EXE_countersign"));
    command.arg("--config").arg(&config).arg("serve").env("COUNTERSIGN_LOG", "error");
    let began = Instant::now();
    let mut daemon = command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
    let mut ready = String::new();
    BufReader::new(daemon.stdout.take().unwrap()).read_line(&mut ready).unwrap();
    assert!(ready.starts_with("ready "), "{ready}");
    (daemon, began)
}

fn stop(daemon: &mut Child) {
    daemon.kill().unwrap();
    daemon.wait().unwrap();
}

/// Resident memory, KiB.
fn resident(daemon: &Child) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{}/status", daemon.id())).unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).unwrap();
    line.trim().trim_end_matches(" kB").parse().unwrap()
}

/// How often all its threads were woken so far.
fn wakeups(daemon: &Child) -> u64 {
    let tasks = std::fs::read_dir(format!("/proc/{}/task", daemon.id())).unwrap();
    let of = |task: std::fs::DirEntry| {
        let status = std::fs::read_to_string(task.path().join("status")).unwrap_or_default();
        let line = status.lines().find_map(|l| l.strip_prefix("voluntary_ctxt_switches:"));
        line.and_then(|count| count.trim().parse::<u64>().ok()).unwrap_or(0)
    };
    tasks.map(|task| of(task.unwrap())).sum()
}
