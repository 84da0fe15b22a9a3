#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "tests fail by panicking"
)]
use super::*;
use crate::{LogSealer, Store, testkit::engines::on_both};
use futures::future::join_all;

const ROW: ProvenRow<'_> = ProvenRow { at: 1, kind: "asked", ask: None, data: "{}" };

fn key() -> SigningKey {
    SigningKey::read(&SigningKey::generate().unwrap()).unwrap()
}

#[test]
fn a_row_is_ours_once_and_a_copy_a_change_and_a_strangers_row_are_not() {
    let rows = LogRows::new("store".into(), key());
    let (number, proof) = rows.prove(&ROW);
    let proof: RowProof = proof.parse().unwrap();
    assert_eq!(rows.origin(Some(&proof), &ROW), RowOrigin::Ours(1));
    let changed = ProvenRow { kind: "answered", ..ROW };
    assert_eq!(rows.origin(Some(&proof), &changed), RowOrigin::Foreign);
    assert_eq!(rows.origin(None, &ROW), RowOrigin::Foreign);
    assert!(rows.unsealed().is_empty(), "it may have been rolled back");
    rows.committed(&[number]);
    assert!(rows.unsealed().into_iter().eq([number]));
    rows.settled(&[number]);
    assert_eq!(rows.origin(Some(&proof), &ROW), RowOrigin::Foreign, "a copy");
    let others = LogRows::new("store".into(), key());
    let (_, theirs) = others.prove(&ROW);
    assert_eq!(rows.origin(theirs.parse().ok().as_ref(), &ROW), RowOrigin::Theirs);
}

#[test]
fn rows_of_an_earlier_run_and_of_an_earlier_key_are_ours() {
    let pkcs8 = SigningKey::generate().unwrap();
    let read = || SigningKey::read(&pkcs8).unwrap();
    let earlier = LogRows::new("store".into(), read());
    let (_, proof) = earlier.prove(&ROW);
    let proof: RowProof = proof.parse().unwrap();
    let rows = LogRows::new("store".into(), key());
    assert_eq!(rows.origin(Some(&proof), &ROW), RowOrigin::Theirs);
    rows.know(read());
    assert_eq!(rows.origin(Some(&proof), &ROW), RowOrigin::Earlier);
    let (_, before) = rows.prove(&ROW);
    rows.prove_with(Arc::new(key()));
    assert_eq!(rows.origin(before.parse().ok().as_ref(), &ROW), RowOrigin::Ours(1));
}

async fn note(store: &Store, at: i64, kind: &str, times: usize) {
    let notes = (0..times).map(|_| store.note(at, kind, None, &Value::Null));
    join_all(notes).await.into_iter().for_each(|noted| noted.unwrap());
}

async fn forget_all(log: &LogSealer, before: i64) -> usize {
    let mut forgotten = 0;
    loop {
        match log.forget_before(before, 0).await.unwrap() {
            0 => return forgotten,
            some => forgotten += some,
        }
    }
}

#[tokio::test]
async fn events_are_forgotten_by_age_and_a_page_at_a_time() {
    on_both(async |store| {
        let (log, _state) = store.sealed().await;
        let page = usize::try_from(EVENTS).unwrap();
        note(&store, 1, "ruled", page + 3).await;
        log.seal().await.unwrap();
        note(&store, 5, "ruled", 2).await;
        log.seal().await.unwrap();
        assert_eq!(log.forget_before(1, 0).await.unwrap(), 0);
        let first = log.forget_before(5, 0).await.unwrap();
        assert!((1..=page).contains(&first), "{first}");
        assert_eq!(forget_all(&log, 5).await, page + 3 - first);
        let left = store.events_after(0, 99).await.unwrap();
        let left: Vec<_> = left.iter().filter(|event| event.kind != "forgot").collect();
        assert!(left.len() == 2 && left.iter().all(|event| event.at == 5), "{left:?}");
    })
    .await;
}

#[tokio::test]
async fn no_counter_falls_when_events_are_forgotten() {
    on_both(async |store| {
        let (log, _state) = store.sealed().await;
        note(&store, 1, "asked", 2).await;
        note(&store, 1, "ruled", 3).await;
        log.seal().await.unwrap();
        let counts = async || {
            let mut counts = store.event_counts().await.unwrap();
            counts.retain(|(kind, _)| kind != "forgot");
            counts
        };
        let all = [("asked".to_owned(), 2), ("ruled".to_owned(), 3)];
        assert_eq!(counts().await, all);
        assert_eq!(store.newest_forgotten().await.unwrap(), 0);
        let newest = store.events_after(0, 99).await.unwrap().last().unwrap().id;
        assert_eq!(log.forget_before(2, 0).await.unwrap(), 5);
        assert_eq!(counts().await, all);
        assert_eq!(store.newest_forgotten().await.unwrap(), newest);
        note(&store, 1, "ruled", 1).await;
        log.seal().await.unwrap();
        // Behind the row that says what was forgotten, which is young.
        assert_eq!(log.forget_before(2, 0).await.unwrap(), 0);
        note(&store, 3, "ruled", 1).await;
        assert_eq!(counts().await, [("asked".to_owned(), 2), ("ruled".to_owned(), 5)]);
    })
    .await;
}

#[tokio::test]
async fn a_time_that_somebody_changed_makes_no_row_older() {
    on_both(async |store| {
        let (log, _state) = store.sealed().await;
        note(&store, 100, "ruled", 9).await;
        log.seal().await.unwrap();
        store.execute(sqlx::query("UPDATE event SET at = 1 WHERE seq < 5")).await.unwrap();
        assert_eq!(log.forget_before(50, 0).await.unwrap(), 0);
        assert!(store.log_broken().is_none(), "a part of what was sealed together is no proof");
        store.execute(sqlx::query("UPDATE event SET at = 1 WHERE seq < 10")).await.unwrap();
        assert_eq!(log.forget_before(50, 0).await.unwrap(), 0);
        let says = store.log_broken().unwrap().says;
        assert_eq!(says, "rows that are to be forgotten are not as they were sealed");
        assert_eq!(store.events_after(0, 99).await.unwrap().len(), 10, "none is gone");
    })
    .await;
}

#[tokio::test]
async fn rows_that_a_destination_has_not_taken_wait_within_a_bound_and_then_are_told() {
    on_both(async |store| {
        let (log, _state) = store.sealed().await;
        let week = 7 * 86_400_000;
        let taken = |seq| {
            let store = store.clone();
            async move { store.note_log_sent("file a", seq).await.unwrap() }
        };
        store.note_log_tried("file a", Some("the disk is full")).await.unwrap();
        for at in [10, 20, 30] {
            note(&store, at, "ruled", 1).await;
            log.seal().await.unwrap();
        }
        assert_eq!(log.forget_before(40, 0).await.unwrap(), 0);
        let one = store.log_destinations().await.unwrap().remove(0);
        assert_eq!((one.waiting, one.why.as_deref()), (3, Some("the disk is full")));
        taken(1).await;
        assert_eq!(log.forget_before(40, 0).await.unwrap(), 1);
        // Longer than that nothing waits: the row says so, and the destination's state.
        assert_eq!(log.forget_before(week + 25, 0).await.unwrap(), 1);
        let rows = store.events_after(0, 99).await.unwrap();
        let forgot = rows.iter().filter(|row| row.kind == "forgot");
        let undelivered: Vec<_> = forgot.map(|row| row.data.get("undelivered")).collect();
        assert_eq!(undelivered, [None, Some(&json!(1))]);
        let one = store.log_destinations().await.unwrap().remove(0);
        assert_eq!((one.lost, one.since), (1, None));
        let told: Vec<_> = store.log_troubles().await.into_iter().map(|it| it.says).collect();
        assert_eq!(told, ["file a: 1 rows of the log were deleted before it took them"]);
    })
    .await;
}
