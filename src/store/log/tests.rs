#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "tests fail by panicking"
)]
use super::*;
use crate::{
    LogSealer, known_head,
    testkit::engines::{Fresh, on_both},
};
use countersign_domain::log::{LogCheck, LogProblem, ProvenLog};
use futures::future::join_all;
use serde_json::json;
use sqlx::{AnyConnection, Connection, Executor};

async fn kinds(tail: &mut Tail, store: &Store) -> Vec<String> {
    tail.next(store).await.unwrap().into_iter().map(|event| event.kind).collect()
}

#[tokio::test]
async fn every_event_is_told_once_and_in_order() {
    on_both(async |store| {
        let mut tail = Tail::after(0);
        assert_eq!(kinds(&mut tail, &store).await, [""; 0]);
        for kind in ["one", "two"] {
            store.note(1, kind, None, &Value::Null).await.unwrap();
        }
        assert_eq!(kinds(&mut tail, &store).await, ["one", "two"]);
        store.note(1, "three", None, &Value::Null).await.unwrap();
        assert_eq!(kinds(&mut tail, &store).await, ["three"]);
        assert_eq!(kinds(&mut tail, &store).await, [""; 0]);
    })
    .await;
}

#[tokio::test]
async fn however_many_events_are_forgotten_it_is_one_gap_at_most() {
    on_both(async |store| {
        let (log, _state) = store.sealed().await;
        for at in 1..=30 {
            store.note(at, "old", None, &Value::Null).await.unwrap();
        }
        log.seal().await.unwrap();
        let oldest = store.events_after(0, 1).await.unwrap().first().unwrap().id;
        store.note(50, "kept", None, &Value::Null).await.unwrap();
        log.seal().await.unwrap();
        assert_eq!(log.forget_before(40, 0).await.unwrap(), 30);
        let mut tail = Tail::after(oldest);
        assert_eq!(kinds(&mut tail, &store).await, ["kept", "forgot"]);
        assert_eq!(tail.gaps.len(), 1, "{tail:?}");
        let mut now = Tail::of_now(&store).await.unwrap();
        assert_eq!(kinds(&mut now, &store).await, [""; 0]);
    })
    .await;
}

#[tokio::test]
async fn a_reader_whose_place_is_gone_learns_it_and_goes_on_with_what_is_kept() {
    on_both(async |store| {
        let (log, _state) = store.sealed().await;
        for at in 1..=3 {
            store.note(at, "old", None, &Value::Null).await.unwrap();
        }
        log.seal().await.unwrap();
        let newest = store.events_after(0, 9).await.unwrap().last().unwrap().id;
        for kind in ["kept", "kept too"] {
            store.note(9, kind, None, &Value::Null).await.unwrap();
        }
        log.seal().await.unwrap();
        assert_eq!(log.forget_before(5, 0).await.unwrap(), 3);
        let Resumed::Forgotten(mut tail) = Tail::resume_after(&store, newest - 1).await.unwrap()
        else {
            panic!("the newest of the old ones is gone, and was not read");
        };
        assert_eq!(kinds(&mut tail, &store).await, ["kept", "kept too", "forgot"]);
        assert_eq!(tail.resume(newest + 2), newest + 2, "it awaits nothing that is gone");
        let Resumed::There(mut tail) = Tail::resume_after(&store, newest).await.unwrap() else {
            panic!("it has read all that is gone");
        };
        assert_eq!(kinds(&mut tail, &store).await, ["kept", "kept too", "forgot"]);
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn a_gap_is_filled_from_anywhere_in_it() {
    let until = Instant::now() + LONGEST_GAP;
    let mut tail = Tail::after(9);
    tail.gaps.push(Gap { first: 2, last: 6, until });
    for (id, awaited) in [(4, true), (4, false), (2, true), (7, false), (6, true)] {
        assert_eq!(tail.fill(id), awaited, "{id}");
    }
    let left: Vec<_> = tail.gaps.iter().map(|gap| (gap.first, gap.last)).collect();
    assert_eq!(left, [(3, 3), (5, 5)]);
    assert_eq!(tail.resume(9), 2);
}

/// Begins an event without committing it; returns the connection and the event's id.
async fn slow(store: &Store, kind: &str) -> (AnyConnection, i64) {
    let mut slow = store.engine.another().await.unwrap();
    slow.execute("BEGIN").await.unwrap();
    // The insert takes the next id, while other transactions commit higher ones.
    let insert = "INSERT INTO event (at, kind, data) VALUES ($1, $2, 'null') RETURNING id";
    let insert = sqlx::query(insert).bind(clock::now_ms()).bind(kind.to_owned());
    let id = slow.fetch_one(insert).await.unwrap().try_get("id").unwrap();
    (slow, id)
}

async fn commit(mut slow: AnyConnection) {
    slow.execute("COMMIT").await.unwrap();
    slow.close().await.unwrap();
}

#[tokio::test]
async fn an_event_that_is_committed_after_a_later_one_is_not_missed() {
    let Some(fresh) = Fresh::postgres().await else { return };
    let store = Store::open(&fresh.database).await.unwrap();
    let mut tail = Tail::after(0);
    let (early, id) = slow(&store, "early").await;
    store.note(clock::now_ms(), "late", None, &Value::Null).await.unwrap();
    let mut from_now = Tail::of_now(&store).await.unwrap();
    let late = tail.next(&store).await.unwrap();
    assert!(late.len() == 1 && late.iter().all(|event| event.id > id), "{late:?}");
    commit(early).await;
    assert_eq!(kinds(&mut tail, &store).await, ["early"]);
    assert_eq!(kinds(&mut tail, &store).await, [""; 0]);
    assert_eq!(kinds(&mut from_now, &store).await, ["early"]);
    store.close().await;
    fresh.drop().await;
}

#[tokio::test]
async fn a_reader_that_goes_on_where_it_is_told_misses_nothing_whenever_its_line_breaks() {
    let Some(fresh) = Fresh::postgres().await else { return };
    let store = Store::open(&fresh.database).await.unwrap();
    let note = async |kind| store.note(clock::now_ms(), kind, None, &Value::Null).await.unwrap();
    note("a").await;
    let (b, _) = slow(&store, "b").await;
    note("c").await;
    let (d, _) = slow(&store, "d").await;
    note("e").await;
    let mut tail = Tail::after(0);
    // The events read up to each point, and the id that a new reader resumes after.
    let mut read = Vec::new();
    let mut broken = Vec::new();
    for late in [None, Some(d), Some(b)] {
        if let Some(slow) = late {
            commit(slow).await;
        }
        for event in tail.next(&store).await.unwrap() {
            read.push(event.kind);
            broken.push((read.clone(), tail.resume(event.id)));
        }
    }
    assert_eq!(read, ["a", "c", "e", "d", "b"]);
    for (mut had, resume) in broken {
        had.extend(kinds(&mut Tail::after(resume), &store).await);
        for kind in ["a", "b", "c", "d", "e"] {
            assert!(had.iter().any(|had| had == kind), "{kind} is not among {had:?}");
        }
    }
    store.close().await;
    fresh.drop().await;
}

async fn note(store: &Store, at: i64, times: usize) {
    let notes = (0..times).map(|n| async move {
        store.note(at, "ruled", None, &json!({ "n": n, "text": "ü\u{1}\"" })).await.unwrap();
    });
    join_all(notes).await;
}

/// Checks the log as an export has it.
async fn check(store: &Store) -> Result<ProvenLog, Vec<LogProblem>> {
    check_with(store, Vec::new()).await
}

/// The same with pinned keys.
async fn check_with(store: &Store, keys: Vec<PublicKey>) -> Result<ProvenLog, Vec<LogProblem>> {
    let mut check = LogCheck::new(keys, Vec::new());
    let mut page = store.log_page(0, None).await.unwrap().unwrap();
    let until = page.header.count;
    check.line(format!("{}\n", page.header.line()).as_bytes());
    loop {
        page.lines.iter().for_each(|line| check.line(format!("{}\n", line.line()).as_bytes()));
        let Some(next) = page.next else { return check.end() };
        page = store.log_page(next, Some(until)).await.unwrap().unwrap();
    }
}

async fn execute(store: &Store, statement: &'static str) {
    store.execute(sqlx::query(statement)).await.unwrap();
}

#[tokio::test]
async fn every_event_joins_the_chain_once_and_an_export_of_many_pages_is_proven() {
    on_both(async |store| {
        assert_eq!(store.log_page(0, None).await.unwrap(), None);
        let (log, state) = store.sealed().await;
        assert_eq!(store.log_page(0, None).await.unwrap(), None);
        note(&store, 1, 3).await;
        log.seal().await.unwrap();
        assert_eq!(check(&store).await.unwrap().head.count, 3);
        note(&store, 2, 1_203).await;
        log.seal().await.unwrap();
        let proven = check(&store).await.unwrap();
        assert_eq!((proven.head.count, proven.forgotten), (1_206, 0));
        assert!(proven.keys.iter().eq([&log.public()]));
        assert_eq!(known_head(state.path()), Some(proven.head));
        assert_eq!(store.log_broken(), None);
    })
    .await;
}

#[tokio::test]
async fn what_somebody_does_to_the_tables_is_found() {
    on_both(async |store| {
        let (log, _state) = store.sealed().await;
        note(&store, 1, 5).await;
        log.seal().await.unwrap();
        assert!(check(&store).await.is_ok());
        execute(&store, "UPDATE event SET data = '{}' WHERE seq = 2").await;
        assert_eq!(check(&store).await, Err(vec![LogProblem::Changed(2)]));
        execute(&store, "DELETE FROM event WHERE seq = 2").await;
        assert_eq!(check(&store).await, Err(vec![LogProblem::Missing(2, 2)]));
        execute(&store, "UPDATE event SET seq = 2 WHERE seq = 3").await;
        execute(&store, "UPDATE event SET seq = 3 WHERE seq = 4").await;
        let found = check(&store).await.unwrap_err();
        let wanted = [LogProblem::Changed(2), LogProblem::Changed(3), LogProblem::Missing(4, 4)];
        assert_eq!(found, wanted);
        // The daemon finds it too when it looks through its log.
        log.look_through().await.unwrap();
        assert_eq!(store.log_broken().unwrap().says, "row 2 was changed or deleted");
        log.look_through().await.unwrap();
        log.seal().await.unwrap();
        let rows = store.events_after(0, 99).await.unwrap();
        assert_eq!(rows.iter().filter(|row| row.kind == "log_broken").count(), 1);
    })
    .await;
}

#[tokio::test]
async fn what_is_forgotten_leaves_its_hash_and_the_rest_is_proven() {
    on_both(async |store| {
        let (log, _state) = store.sealed().await;
        note(&store, 1, 203).await;
        log.seal().await.unwrap();
        note(&store, 9, 4).await;
        log.seal().await.unwrap();
        while log.forget_before(5, 3_600_000).await.unwrap() > 0 {}
        let proven = check(&store).await.unwrap();
        assert_eq!((proven.forgotten, proven.head.count), (203, 208), "signed at once");
        // A row that somebody else deletes is not forgotten.
        execute(&store, "DELETE FROM event WHERE seq = 204").await;
        assert_eq!(check(&store).await, Err(vec![LogProblem::Missing(204, 204)]));
    })
    .await;
}

#[tokio::test]
async fn daemons_that_seal_at_the_same_time_make_one_chain() {
    let Some(fresh) = Fresh::postgres().await else { return };
    let stores = join_all((0..3).map(|_| Store::open(&fresh.database))).await;
    let stores: Vec<_> = stores.into_iter().map(Result::unwrap).collect();
    let work = stores.iter().map(|store| async move {
        let (log, state) = store.sealed().await;
        for _ in 0..10 {
            note(store, clock::now_ms(), 7).await;
            log.seal().await.unwrap();
        }
        (log, state)
    });
    let logs = join_all(work).await;
    let keys: Vec<_> = logs.iter().map(|(log, _)| log.public()).collect();
    for (log, _) in &logs {
        log.seal().await.unwrap();
    }
    let first = stores.first().unwrap();
    let proven = check_with(first, keys.clone()).await.unwrap();
    let rows = first.events_after(0, 999).await.unwrap();
    assert_eq!(rows.iter().filter(|row| row.kind == "ruled").count(), 210);
    assert_eq!(proven.head.count, i64::try_from(rows.len()).unwrap(), "all are sealed");
    assert!(stores.iter().all(|store| store.log_broken().is_none()), "{:?}", rows.last());
    // Who pins only some of the keys is told of the others.
    assert!(check_with(first, keys.into_iter().take(2).collect()).await.is_err());
    for store in stores {
        store.close().await;
    }
    fresh.drop().await;
}

/// Writes the chain anew from this row on, as somebody does who has the database but no key, and
/// takes the newest checkpoints away.
async fn rehash(store: &Store, from: i64) {
    let rows = "SELECT event.seq, at, kind, ask, data, hash FROM event \
         JOIN log_hash ON log_hash.seq = event.seq WHERE event.seq > 0 ORDER BY event.seq";
    let mut last = LogRow::origin(store.id());
    let mut count = 0;
    for row in &store.all(sqlx::query(rows)).await.unwrap() {
        count = row.try_get("seq").unwrap();
        last = log_row(row, count).unwrap().hash(&last);
        if count >= from {
            let change = sqlx::query("UPDATE log_hash SET hash = $2 WHERE seq = $1");
            store.execute(change.bind(count).bind(last.clone())).await.unwrap();
        }
    }
    let end = sqlx::query("UPDATE log_end SET count = $1, hash = $2 WHERE id = 1");
    store.execute(end.bind(count).bind(last)).await.unwrap();
    let cut = sqlx::query("DELETE FROM log_checkpoint WHERE seq >= $1").bind(from);
    store.execute(cut).await.unwrap();
}

/// What an attack is, and what the daemon and a verification say of it afterwards.
async fn attacked(
    restarts: bool,
    attack: impl AsyncFn(&Store),
    says: &str,
) -> Vec<Vec<LogProblem>> {
    let verdicts = std::sync::Mutex::new(Vec::new());
    on_both(async |store| {
        let (mut log, state) = store.sealed().await;
        for at in 1..=3 {
            note(&store, at, 3).await;
            log.seal().await.unwrap();
        }
        attack(&store).await;
        if restarts {
            log = LogSealer::open(store.clone(), state.path()).unwrap();
            log.check_known().await.unwrap();
        }
        note(&store, 9, 2).await;
        log.seal().await.unwrap();
        assert!(store.log_broken().unwrap().says.contains(says), "{:?}", store.log_broken());
        let verdict = check_with(&store, vec![log.public()]).await.unwrap_err();
        // Nothing that comes later launders it, and a restart does not forget it.
        for _ in 0..2 {
            note(&store, 10, 2).await;
            log.seal().await.unwrap();
            log = LogSealer::open(store.clone(), state.path()).unwrap();
            log.check_known().await.unwrap();
            assert!(store.log_broken().unwrap().says.contains(says));
            assert_eq!(check_with(&store, vec![log.public()]).await.unwrap_err(), verdict);
        }
        let last = store.events_after(0, 99).await.unwrap();
        assert_eq!(last.iter().filter(|row| row.kind == "log_broken").count(), 1, "{last:?}");
        verdicts.lock().unwrap().push(verdict);
    })
    .await;
    verdicts.into_inner().unwrap()
}

fn broken(at: i64, says: &str) -> LogProblem {
    LogProblem::Broken(at, says.to_owned())
}

#[tokio::test]
async fn a_past_that_was_written_anew_is_not_signed_by_the_next_seal() {
    for restarts in [false, true] {
        let attack = async |store: &Store| {
            execute(store, "UPDATE event SET data = '{}' WHERE seq = 2").await;
            rehash(store, 2).await;
        };
        let says = "rows were written that no daemon of this log sealed";
        for verdict in attacked(restarts, attack, says).await {
            // The next row does not fit what was written anew, whoever signs it.
            let at = if restarts { 10 } else { 12 };
            for wanted in [LogProblem::Changed(10), broken(at, says)] {
                assert!(verdict.contains(&wanted), "{restarts}: {verdict:?}");
            }
        }
    }
}

#[tokio::test]
async fn rows_that_were_added_to_the_chain_are_taken_off_again() {
    for restarts in [false, true] {
        let attack = async |store: &Store| {
            execute(
                store,
                "INSERT INTO event (at, kind, ask, data, seq) VALUES (3, 'answered', 'x', '{}', 10)",
            )
            .await;
            execute(store, "INSERT INTO log_hash (seq, hash) VALUES (10, '')").await;
            rehash(store, 10).await;
        };
        let says = "rows were written that no daemon of this log sealed";
        let both = attacked_twice(restarts, attack, says).await;
        for (kinds, verdict) in both {
            assert!(verdict.iter().all(|it| matches!(it, LogProblem::Broken(..))), "{verdict:?}");
            assert!(!kinds.contains(&"answered".to_owned()), "{kinds:?}");
        }
    }
}

/// As [`attacked`], where the daemon finds more than one thing wrong; and the kinds of what is in
/// the chain.
async fn attacked_twice(
    restarts: bool,
    attack: impl AsyncFn(&Store),
    says: &str,
) -> Vec<(Vec<String>, Vec<LogProblem>)> {
    let verdicts = std::sync::Mutex::new(Vec::new());
    on_both(async |store| {
        let (mut log, state) = store.sealed().await;
        note(&store, 1, 9).await;
        log.seal().await.unwrap();
        attack(&store).await;
        if restarts {
            log = LogSealer::open(store.clone(), state.path()).unwrap();
            log.check_known().await.unwrap();
        }
        log.seal().await.unwrap();
        assert!(store.log_broken().unwrap().says.contains(says), "{:?}", store.log_broken());
        let verdict = check_with(&store, vec![log.public()]).await.unwrap_err();
        let page = store.log_page(0, None).await.unwrap().unwrap();
        let kinds = page.lines.into_iter().filter_map(|line| match line {
            LogLine::Row(row, _) => Some(row.kind),
            LogLine::Checkpoint(_) => None,
        });
        verdicts.lock().unwrap().push((kinds.collect(), verdict));
    })
    .await;
    verdicts.into_inner().unwrap()
}

#[tokio::test]
async fn an_event_that_no_daemon_wrote_or_a_copy_of_one_never_joins_the_chain() {
    let attacks = [
        "INSERT INTO event (at, kind, ask, data) VALUES (3, 'answered', 'x', '{}')",
        "INSERT INTO event (at, kind, ask, data, proof) \
         SELECT at, 'answered', ask, data, proof FROM event WHERE seq = 4",
        "INSERT INTO event (at, kind, ask, data, proof) \
         SELECT at, kind, ask, data, proof FROM event WHERE seq = 4",
    ];
    for restarts in [false, true] {
        for attack in attacks {
            let attack = async |store: &Store| execute(store, attack).await;
            let says = "a row was added, copied or changed by somebody who is no daemon";
            for (kinds, verdict) in attacked_twice(restarts, attack, says).await {
                assert!(matches!(verdict.as_slice(), [LogProblem::Broken(10, _)]), "{verdict:?}");
                let ruled = kinds.iter().filter(|kind| *kind == "ruled").count();
                assert_eq!((ruled, kinds.len()), (9, 10), "{kinds:?}");
            }
        }
    }
}

#[tokio::test]
async fn an_event_that_is_changed_or_deleted_before_it_is_sealed_is_missed() {
    let attacks = [
        ("UPDATE event SET data = '{}' WHERE seq IS NULL", "a row was added, copied or changed"),
        ("DELETE FROM event WHERE seq IS NULL", "rows were deleted before they were sealed: 2"),
    ];
    for (attack, says) in attacks {
        on_both(async |store| {
            let (log, _state) = store.sealed().await;
            note(&store, 1, 2).await;
            execute(&store, attack).await;
            log.seal().await.unwrap();
            assert!(store.log_broken().unwrap().says.contains(says), "{:?}", store.log_broken());
            note(&store, 1, 2).await;
            log.seal().await.unwrap();
            assert!(check(&store).await.is_err());
        })
        .await;
    }
}

#[tokio::test]
async fn rows_that_somebody_says_were_forgotten_stay_missing() {
    for restarts in [false, true] {
        let attack = async |store: &Store| {
            execute(
                store,
                "UPDATE log_end SET forgotten = 4, forgotten_hash = \
                 (SELECT hash FROM log_hash WHERE seq = 4) WHERE id = 1",
            )
            .await;
            for table in ["event", "log_hash", "log_checkpoint"] {
                let delete = AssertSqlSafe(format!("DELETE FROM {table} WHERE seq <= 4"));
                store.execute(sqlx::query(delete)).await.unwrap();
            }
        };
        let says = "rows at the beginning of the log were deleted before their time";
        for verdict in attacked(restarts, attack, says).await {
            let at = if restarts { 10 } else { 12 };
            let wanted = [LogProblem::Missing(1, 4), broken(at, says)];
            assert_eq!(verdict, wanted, "{restarts}");
        }
    }
}

#[tokio::test]
async fn a_log_that_was_cut_off_or_put_back_stays_so() {
    for restarts in [false, true] {
        let attack = async |store: &Store| {
            for table in ["event", "log_hash", "log_checkpoint"] {
                let delete = AssertSqlSafe(format!("DELETE FROM {table} WHERE seq > 6"));
                store.execute(sqlx::query(delete)).await.unwrap();
            }
            execute(
                store,
                "UPDATE log_end SET count = 6, \
                 hash = (SELECT hash FROM log_hash WHERE seq = 6) WHERE id = 1",
            )
            .await;
        };
        let says = "the end of the log was cut off";
        for verdict in attacked(restarts, attack, says).await {
            assert_eq!(verdict.first(), Some(&LogProblem::Missing(7, 9)), "{verdict:?}");
        }
        let attack = async |store: &Store| execute(store, "DELETE FROM log_end").await;
        for verdict in attacked(restarts, attack, "the end of the log was deleted").await {
            assert!(matches!(verdict.as_slice(), [LogProblem::Broken(..)]), "{verdict:?}");
        }
    }
}

#[tokio::test]
async fn a_missing_checkpoint_is_made_again_and_breaks_nothing() {
    on_both(async |store| {
        let (log, _state) = store.sealed().await;
        note(&store, 1, 3).await;
        log.seal().await.unwrap();
        execute(&store, "DELETE FROM log_checkpoint").await;
        log.seal().await.unwrap();
        assert_eq!((check(&store).await.unwrap().head.count, store.log_broken()), (3, None));
    })
    .await;
}

#[tokio::test]
async fn what_a_killed_daemon_left_is_sealed_by_its_next_run() {
    on_both(async |store| {
        let (log, state) = store.sealed().await;
        note(&store, 1, 3).await;
        log.seal().await.unwrap();
        let before = std::fs::read(state.path().join("log.head")).unwrap();
        note(&store, 1, 300).await;
        log.seal().await.unwrap();
        note(&store, 1, 5).await;
        // It was killed before it noted what it had sealed, and before it had sealed all.
        std::fs::write(state.path().join("log.head"), before).unwrap();
        drop(log);
        let again = Store::open_within(&store.database, store.engine.limits).await;
        // A file is this process's own: there the same store goes on.
        let store = again.unwrap_or_else(|_| store.clone());
        let log = LogSealer::open(store.clone(), state.path()).unwrap();
        log.check_known().await.unwrap();
        assert_eq!((check(&store).await.unwrap().head.count, store.log_broken()), (308, None));
    })
    .await;
}
