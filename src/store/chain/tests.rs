#![allow(clippy::unwrap_used, reason = "tests fail by panicking")]
use super::*;
use crate::{
    LogSealer,
    engines::{Fresh, on_both},
    known_head,
};
use countersign_domain::log::{LogCheck, LogProblem, ProvenLog};
use countersign_tokens::clock;
use futures::future::join_all;
use serde_json::json;
use sqlx::AssertSqlSafe;

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
