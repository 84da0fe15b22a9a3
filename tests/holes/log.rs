//! Row 12: one event is one line of the log, whatever was written into it. Issue 28, row 14: the
//! log signs no other past.

use crate::{
    daemon::{AGENT, Daemon, LONG, shell},
    postgres::Postgres,
    process::run,
    telegram_server::{ANA, EVE, GROUP, Person},
    world::World,
};
use futures::future::join_all;
use serde_json::{Value, json};
use sha2::{Digest, Sha256};
use sqlx::{AnyConnection, AssertSqlSafe, Connection, Row};
use std::process::Stdio;
use tokio::{
    io::{AsyncBufReadExt, BufReader},
    time::timeout,
};

/// What a forger would like to see in the log.
const FORGED: &str = "ls\n2026-11-21T00:00:00.000000Z  INFO ask answered ask_id=forged state=\"answered\"\
    \r\u{1b}[2K\u{202e}\u{2028}x";

fn is_one_event(line: &str) -> bool {
    let plain = !line.contains(['\u{1b}', '\u{202e}', '\u{2028}', '\r']);
    plain && line.starts_with("20") && line.get(10..11) == Some("T")
}

/// The lines of the log, behind what greets the operator; the first events may come before that.
fn events(said: &str) -> impl Iterator<Item = &str> {
    said.lines().skip_while(|line| !line.starts_with("  answering ")).skip(1)
}

#[tokio::test]
async fn row_12_no_call_and_no_presser_forges_a_line_of_the_log() {
    let mut world = World::start("").await;
    let ask = world.daemon.ask(&shell(FORGED)).await;
    let shown = world.shown(&ask).await;
    let eve = Person { name: "Eve\n2026-11-21T00:00:00Z  INFO forged\u{202e}", ..EVE };
    world.telegram.press(GROUP, shown.message, "Approve", eve).await;
    let ana = Person { name: "Ana\nApproved by nobody\u{202e}\u{1b}[2K", ..ANA };
    assert_eq!(
        world.telegram.press(GROUP, shown.message, "Approve", ana).await.text,
        "Approved once."
    );
    let answered = world.daemon.closed(&ask).await;
    let by = "Ana ⏎ Approved by nobody\\u{202e}\\u{1b}[2K";
    assert_eq!(answered["answer"]["by"]["name"], by);
    assert_eq!(answered["reason"], format!("approved by {by} (telegram)"));
    world.daemon.says("ask answered ask_id=").await;
    let said = world.daemon.said();
    assert!(said.contains("somebody who is not an approver tried to answer"), "{said}");
    for line in events(&said) {
        assert!(is_one_event(line), "{line:?} in {said}");
    }
    let forged = ["2026-11-21T00:00:00Z", "2026-11-21T00:00:00.000000Z"];
    assert!(!said.lines().any(|line| forged.iter().any(|time| line.starts_with(time))), "{said}");
}

#[tokio::test]
async fn row_12_names_in_the_paths_of_sessions_forge_no_line_either() {
    let mut daemon = Daemon::start("").await;
    let name = "s%0A2026-11-21T00:00:00Z%20%20INFO%20forged%1B%5B2K";
    let body = json!({"agent": "a", "mode": "default"});
    for act in ["mode", "abort", "end"] {
        let (status, refused) =
            daemon.post(&format!("/v1/sessions/{name}/{act}"), AGENT, &body).await;
        assert_eq!(status, 400, "{act}: {refused}");
    }
    daemon.ask(&shell("git push")).await;
    daemon.says("asking a person").await;
    for line in events(&daemon.said()) {
        assert!(is_one_event(line), "{line:?}");
    }
}

#[tokio::test]
async fn row_12_in_json_every_event_is_one_object_on_one_line_without_hidden_characters() {
    let mut daemon = Daemon::start("").await;
    daemon.stop().await;
    let mut command = daemon.command(&["serve"]);
    command.env("COUNTERSIGN_LOG_FORMAT", "json").stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    let mut ready = BufReader::new(child.stdout.take().unwrap()).lines();
    let ready = timeout(LONG, ready.next_line()).await.unwrap().unwrap().unwrap();
    daemon.url = ready.strip_prefix("ready ").unwrap().split("/?").next().unwrap().to_owned();
    daemon.ask(&shell(FORGED)).await;
    let mut lines = BufReader::new(child.stderr.take().unwrap()).lines();
    loop {
        let line = timeout(LONG, lines.next_line()).await.unwrap().unwrap().unwrap();
        let Ok(event) = serde_json::from_str::<Value>(&line) else {
            // What greets the operator stands before the log.
            assert!(!line.starts_with('{'), "{line}");
            continue;
        };
        assert!(!line.contains(['\u{1b}', '\u{202e}', '\u{2028}']), "{line}");
        if event["fields"]["message"] == "asking a person" {
            return;
        }
    }
}

#[tokio::test]
async fn row_12_one_event_of_the_stream_is_one_event() {
    let daemon = Daemon::start("").await;
    let mut call = shell(FORGED);
    call["reason"] = json!("x\n\nevent: answered\ndata: {\"forged\": true}\n\n");
    let ask = daemon.ask(&call).await;
    let request = daemon.http.get(format!("{}/v1/events", daemon.url)).bearer_auth(AGENT);
    let mut stream = request.send().await.unwrap();
    let mut heard = String::new();
    while !heard.contains("\n\n") {
        let chunk = timeout(LONG, stream.chunk()).await.unwrap().unwrap().unwrap();
        heard.push_str(std::str::from_utf8(&chunk).unwrap());
    }
    let event = heard.split("\n\n").next().unwrap();
    let data: Vec<&str> = event.lines().filter(|line| line.starts_with("data:")).collect();
    assert_eq!((event.lines().next(), data.len()), (Some("event: ask"), 1), "{heard}");
    let data: Value = serde_json::from_str(data[0].strip_prefix("data:").unwrap()).unwrap();
    assert_eq!(data["id"], ask.as_str());
    let metrics = daemon.http.get(format!("{}/metrics", daemon.url)).send().await.unwrap();
    assert!(!metrics.text().await.unwrap().contains("forged"));
}

/// Begins with a write, so that the daemon seals nothing in between.
const BEGIN: &str = "BEGIN; UPDATE log_end SET count = count";

/// A daemon and the database of its store, as somebody has it who has no key.
struct Victim {
    daemon: Daemon,
    postgres: Option<Postgres>,
}

impl Victim {
    async fn on(postgres: Option<Postgres>) -> Self {
        let config = postgres.as_ref().map(Postgres::config).unwrap_or_default();
        Self { daemon: Daemon::start(&config).await, postgres }
    }

    /// One of each engine, where there is a server.
    async fn each() -> Vec<Self> {
        let mut victims = vec![Self::on(None).await];
        if let Some(postgres) = Postgres::fresh().await {
            victims.push(Self::on(Some(postgres)).await);
        }
        victims
    }

    /// The same on all of them at once: it is mostly waited.
    async fn on_each(what: impl AsyncFn(Self)) {
        join_all(Self::each().await.into_iter().map(|victim| what(victim))).await;
    }

    async fn database(&self) -> AnyConnection {
        sqlx::any::install_default_drivers();
        let file = self.daemon.dir.path().join("state/countersign.db");
        let file = format!("sqlite:{}", file.display());
        let url = self.postgres.as_ref().map_or(file, Postgres::url);
        AnyConnection::connect(&url).await.unwrap()
    }

    async fn execute(&self, sql: &str) {
        let mut database = self.database().await;
        sqlx::raw_sql(BEGIN).execute(&mut database).await.unwrap();
        sqlx::raw_sql(AssertSqlSafe(sql.to_owned())).execute(&mut database).await.unwrap();
        sqlx::raw_sql("COMMIT").execute(&mut database).await.unwrap();
        database.close().await.unwrap();
    }

    /// Calls that are answered, sealed.
    async fn works(&self, words: &str) {
        let ask = self.daemon.ask(&shell(&format!("git push {words}"))).await;
        let no = json!({"decision": "deny"});
        assert_eq!(self.daemon.answer(&ask, &no).await.0, 200);
        assert_eq!(run(&self.daemon, &["log", "head"]).await.code, Some(0));
    }

    async fn key(&self) -> String {
        run(&self.daemon, &["log", "key"]).await.stdout.trim().to_owned()
    }

    /// Changes rows, writes the chain anew from a row on, and takes the newest checkpoints away: in one
    /// transaction, or a daemon sees the first half.
    async fn rehash(&self, from: i64, change: &'static str) {
        let mut database = self.database().await;
        sqlx::raw_sql(BEGIN).execute(&mut database).await.unwrap();
        sqlx::raw_sql(change).execute(&mut database).await.unwrap();
        let store = "SELECT value FROM meta WHERE name = 'store_id'";
        let store: String = sqlx::query(store).fetch_one(&mut database).await.unwrap().get(0);
        let mut last = hash(&["countersign log 1", &store]);
        let rows = "SELECT seq, at, kind, coalesce(ask, '') AS ask, data FROM event \
             WHERE seq > 0 ORDER BY seq";
        let mut count: i64 = 0;
        for row in sqlx::query(rows).fetch_all(&mut database).await.unwrap() {
            count = row.get("seq");
            let (seq, at) = (count.to_string(), row.get::<i64, _>("at").to_string());
            let [kind, ask, data] = ["kind", "ask", "data"].map(|name| row.get::<String, _>(name));
            last = hash(&[&last, &seq, &at, &kind, &ask, &data]);
            let write = "INSERT INTO log_hash (seq, hash) VALUES ($1, $2) \
                 ON CONFLICT (seq) DO UPDATE SET hash = excluded.hash";
            let write = sqlx::query(write).bind(count).bind(last.clone());
            if count >= from {
                write.execute(&mut database).await.unwrap();
            }
        }
        let end = sqlx::query("UPDATE log_end SET count = $1, hash = $2 WHERE id = 1");
        end.bind(count).bind(last).execute(&mut database).await.unwrap();
        let cut = sqlx::query("DELETE FROM log_checkpoint WHERE seq >= $1");
        cut.bind(from).execute(&mut database).await.unwrap();
        sqlx::raw_sql("COMMIT").execute(&mut database).await.unwrap();
        database.close().await.unwrap();
    }

    /// Every surface says that the log is broken, and how.
    async fn all_say(&self, says: &str, key: &str) {
        let daemon = &self.daemon;
        let ready = daemon.until("/readyz", |ready| ready["log"].is_array()).await;
        assert!(ready["log"][0]["problem"].as_str().unwrap().contains(says), "{ready}");
        for command in ["status", "doctor"] {
            let told = run(daemon, &[command]).await;
            assert_eq!(told.code, Some(1), "{command}: {told:?}");
            assert!(told.stdout.contains(says), "{command}: {told:?}");
        }
        let metrics = daemon.http.get(format!("{}/metrics", daemon.url)).send().await.unwrap();
        assert!(metrics.text().await.unwrap().contains("\ncountersign_log_broken 1\n"));
        self.is_not_proven(says, key).await;
    }

    async fn is_not_proven(&self, says: &str, key: &str) {
        let verdict = run(&self.daemon, &["log", "verify", "--key", key]).await;
        assert_eq!(verdict.code, Some(6), "{verdict:?}");
        assert!(verdict.stdout.contains(says), "{verdict:?}");
        let file = self.daemon.dir.path().join("export.jsonl");
        let _ = std::fs::remove_file(&file);
        let file = file.to_str().unwrap();
        assert_eq!(run(&self.daemon, &["log", "export", file]).await.code, Some(0));
        let verdict = run(&self.daemon, &["log", "verify", file, "--key", key]).await;
        assert_eq!(verdict.code, Some(6), "{verdict:?}");
        let script = concat!(env!("CARGO_MANIFEST_DIR"), "/docs/verify_log.py");
        let script = tokio::process::Command::new("python3").args([script, file, key]).output();
        assert!(!script.await.is_ok_and(|said| said.status.success()), "the script disagrees");
    }

    async fn is_proven(&self, keys: &[&str]) {
        let keys = keys.iter().flat_map(|key| ["--key", key]);
        let words: Vec<&str> = ["log", "verify"].into_iter().chain(keys).collect();
        let verdict = run(&self.daemon, &words).await;
        assert_eq!(verdict.code, Some(0), "{verdict:?}");
        let ready = self.daemon.get("/readyz", AGENT).await.1;
        assert_eq!(ready["log"], Value::Null, "{ready}");
    }

    async fn end(self) {
        let Self { daemon, postgres } = self;
        drop(daemon);
        if let Some(postgres) = postgres {
            postgres.drop().await;
        }
    }
}

fn hash(fields: &[&str]) -> String {
    let bytes: String = fields.iter().map(|field| format!("{}:{field},", field.len())).collect();
    hex::encode(Sha256::digest(bytes.as_bytes()))
}

/// What somebody does who can write to the database, and what the daemon says of it.
#[derive(Debug, Clone, Copy)]
enum Attack {
    WrittenAnew,
    Copied,
    Forgot,
    CutOff,
}

impl Attack {
    const ALL: [Self; 4] = [Self::WrittenAnew, Self::Copied, Self::Forgot, Self::CutOff];

    async fn on(self, victim: &Victim) {
        match self {
            Self::WrittenAnew => {
                let change = "UPDATE event SET data = replace(data, 'deny', 'allow') WHERE seq > 1";
                victim.rehash(2, change).await;
            }
            Self::Copied => {
                victim
                    .execute(
                        "INSERT INTO event (at, kind, ask, data, proof) SELECT at, kind, ask, \
                         data, proof FROM event WHERE kind = 'answered' AND seq > 0",
                    )
                    .await;
            }
            Self::Forgot => {
                victim
                    .execute(
                        "UPDATE log_end SET forgotten = 3, forgotten_hash = \
                         (SELECT hash FROM log_hash WHERE seq = 3); \
                         DELETE FROM event WHERE seq <= 3; DELETE FROM log_hash WHERE seq <= 3; \
                         DELETE FROM log_checkpoint WHERE seq <= 3; \
                         INSERT INTO event (at, kind, data) SELECT max(at), 'forgot', \
                         '{\"rows\":3,\"newest\":0,\"keep_ms\":3600000}' FROM event",
                    )
                    .await;
            }
            Self::CutOff => {
                victim
                    .execute(
                        "DELETE FROM event WHERE seq > 3; DELETE FROM log_hash WHERE seq > 3; \
                         DELETE FROM log_checkpoint WHERE seq > 3; UPDATE log_end SET count = 3, \
                         hash = (SELECT hash FROM log_hash WHERE seq = 3)",
                    )
                    .await;
            }
        }
    }

    fn says(self) -> &'static str {
        match self {
            Self::WrittenAnew => "rows were written that no daemon of this log sealed",
            Self::Copied => "a row was added, copied or changed by something other than a daemon",
            Self::Forgot => "rows at the beginning of the log were deleted before their time",
            Self::CutOff => "the end of the log was cut off",
        }
    }
}

#[tokio::test]
async fn row_14_what_is_done_to_the_database_of_a_running_daemon_is_an_alarm_that_stays() {
    for attack in Attack::ALL {
        Victim::on_each(async |mut victim| {
            victim.works("one").await;
            victim.works("two").await;
            let key = victim.key().await;
            victim.is_proven(&[&key]).await;
            let witness = run(&victim.daemon, &["log", "head"]).await.stdout;
            attack.on(&victim).await;
            victim.all_say(attack.says(), &key).await;
            victim.works("three").await;
            // Nothing that is sealed later launders it, nor does a restart.
            assert!(victim.daemon.stop().await);
            victim.daemon.run().await;
            victim.works("four").await;
            victim.all_say(attack.says(), &key).await;
            let witnessed =
                run(&victim.daemon, &["log", "verify", "--witness", witness.trim()]).await;
            assert_eq!(witnessed.code, Some(6), "{witnessed:?}");
            // An approver ends the alarm; the verdict stays.
            let accepted = run(&victim.daemon, &["log", "key", "--accept"]).await;
            assert_eq!(accepted.code, Some(0), "{accepted:?}");
            assert_eq!(victim.daemon.get("/readyz", AGENT).await.1["log"], Value::Null);
            victim.is_not_proven(attack.says(), &key).await;
            victim.end().await;
        })
        .await;
    }
}

#[tokio::test]
async fn row_14_what_is_done_to_the_database_at_rest_is_an_alarm_that_stays() {
    for attack in Attack::ALL {
        Victim::on_each(async |mut victim| {
            victim.works("one").await;
            victim.works("two").await;
            let key = victim.key().await;
            assert!(victim.daemon.stop().await);
            attack.on(&victim).await;
            victim.daemon.run().await;
            victim.all_say(attack.says(), &key).await;
            victim.works("three").await;
            victim.all_say(attack.says(), &key).await;
            victim.end().await;
        })
        .await;
    }
}

#[tokio::test]
async fn row_14_what_happens_to_honest_people_leaves_the_log_proven() {
    for mut victim in Victim::each().await {
        victim.works("one").await;
        let copy = victim.daemon.dir.path().join("copy.db").display().to_string();
        if victim.postgres.is_none() {
            assert_eq!(run(&victim.daemon, &["backup", &copy]).await.code, Some(0));
        }
        let old = victim.key().await;
        for _ in 0..3 {
            // Killed at some moment between what was committed and what was sealed.
            let ask = victim.daemon.ask(&shell("git push killed")).await;
            victim.daemon.answer(&ask, &json!({"decision": "deny"})).await;
            victim.daemon.kill().await;
            victim.daemon.run().await;
            victim.is_proven(&[&old]).await;
        }
        assert_eq!(run(&victim.daemon, &["log", "key", "--rotate"]).await.code, Some(0));
        victim.works("two").await;
        let new = victim.key().await;
        victim.is_proven(&[&old, &new]).await;
        assert!(victim.daemon.stop().await);
        victim.daemon.run().await;
        victim.is_proven(&[&old, &new]).await;
        if victim.postgres.is_none() {
            assert!(victim.daemon.stop().await);
            assert_eq!(run(&victim.daemon, &["restore", &copy]).await.code, Some(0));
            victim.daemon.run().await;
            victim.works("three").await;
            victim.is_proven(&[&old, &new]).await;
        }
        victim.end().await;
    }
}

#[tokio::test]
async fn row_14_three_daemons_make_one_log_and_who_pins_two_of_their_keys_is_told_of_the_third() {
    let Some(postgres) = Postgres::fresh().await else { return };
    let config = postgres.config();
    let first = Victim::on(Some(postgres)).await;
    first.works("one").await;
    let mut keys = vec![first.key().await];
    let mut others = Vec::new();
    for name in ["second", "third"] {
        let mut other = Daemon::start(&config).await;
        let ask = other.ask(&shell(&format!("git push {name}"))).await;
        other.answer(&ask, &json!({"decision": "deny"})).await;
        keys.push(run(&other, &["log", "key"]).await.stdout.trim().to_owned());
        assert_eq!(run(&other, &["log", "head"]).await.code, Some(0));
        other.kill().await;
        other.run().await;
        others.push(other);
        first.works(&format!("after {name}")).await;
    }
    let pinned: Vec<&str> = keys.iter().map(String::as_str).collect();
    first.is_proven(&pinned).await;
    let two = run(&first.daemon, &["log", "verify", "--key", pinned[0], "--key", pinned[1]]).await;
    assert_eq!(two.code, Some(6), "{two:?}");
    assert!(two.stdout.contains(pinned[2]), "{two:?}");
    // What is done to the database, each of them says.
    Attack::WrittenAnew.on(&first).await;
    first.daemon.until("/readyz", |ready| ready["log"].is_array()).await;
    for other in &others {
        other.until("/readyz", |ready| ready["log"].is_array()).await;
    }
    drop(others);
    first.end().await;
}

#[tokio::test]
async fn row_14_a_clock_that_goes_back_leaves_the_log_proven() {
    let mut daemon = Daemon::prepared("", "", &[]);
    daemon.late_by(7_200);
    if !daemon.run_by_late_clock().await {
        return;
    }
    let mut victim = Victim { daemon, postgres: None };
    victim.works("one").await;
    victim.daemon.late_by(-7_200);
    victim.works("two").await;
    let key = victim.key().await;
    victim.is_proven(&[&key]).await;
    assert!(victim.daemon.stop().await);
    assert!(victim.daemon.run_by_late_clock().await);
    victim.works("three").await;
    victim.is_proven(&[&key]).await;
}
