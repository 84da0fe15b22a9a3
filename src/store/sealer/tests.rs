#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "tests fail by panicking"
)]
use super::*;
use crate::testkit::engines::on_both;
use std::os::unix::fs::PermissionsExt;

#[test]
fn what_is_known_reads_back_and_every_changed_byte_is_found() {
    let key = SigningKey::read(&SigningKey::generate().unwrap()).unwrap();
    let other = SigningKey::read(&SigningKey::generate().unwrap()).unwrap();
    let head = |count| Some(LogHead { count, hash: "ab".repeat(32) });
    let says = "row 3 was changed".to_owned();
    let broken = LogBreak { row: 3, at: 77, says, accepted: false };
    let accepted = LogBreak { accepted: true, ..broken.clone() };
    let folder = tempfile::tempdir().unwrap();
    assert_eq!(LogState::read(folder.path()), StateFile::Gone);
    for broken in [None, Some(broken), Some(accepted)] {
        let known = LogState {
            store: "k3f0ab12".to_owned(),
            head: head(7),
            forgotten: head(2),
            keys: [other.public()].into(),
            broken,
        };
        known.write(folder.path(), &key).unwrap();
        let holds = StateFile::Holds(known, key.public());
        assert_eq!(LogState::read(folder.path()), holds);
        assert_eq!(known_head(folder.path()), head(7));
    }
    let file = folder.path().join(HEAD);
    let bytes = fs::read(&file).unwrap();
    for at in 0..bytes.len() {
        let mut changed = bytes.clone();
        changed.iter_mut().skip(at).take(1).for_each(|byte| *byte ^= 1);
        fs::write(&file, changed).unwrap();
        assert_eq!(LogState::read(folder.path()), StateFile::Unusable, "byte {at}");
    }
    fs::write(&file, format!("7:{}\n{}\n", "ab".repeat(32), key.public())).unwrap();
    assert_eq!(LogState::read(folder.path()), StateFile::Unusable, "nobody signed it");
}

#[tokio::test]
async fn the_key_is_made_once_for_its_owner_alone_and_never_replaced() {
    on_both(async |store| {
        let state = tempfile::tempdir().unwrap();
        let first = LogSealer::open(store.clone(), state.path()).unwrap();
        let again = LogSealer::open(store.clone(), state.path()).unwrap();
        assert_eq!(first.public(), again.public());
        let file = state.path().join(KEY);
        assert_eq!(file.metadata().unwrap().permissions().mode() & 0o777, 0o600);
        for broken in ["", "x", "AAAA"] {
            fs::write(&file, broken).unwrap();
            let error = LogSealer::open(store.clone(), state.path()).unwrap_err();
            assert!(matches!(error, StoreError::LogKey { .. }), "{broken:?}: {error}");
            assert_eq!(fs::read_to_string(&file).unwrap(), broken);
        }
    })
    .await;
}

#[tokio::test]
async fn a_daemon_that_does_not_know_any_more_where_its_log_ended_says_so() {
    for damage in ["gone", "changed"] {
        on_both(async |store| {
            let (log, state) = store.sealed().await;
            store.note(1, "one", None, &Value::Null).await.unwrap();
            log.seal().await.unwrap();
            let file = state.path().join("log.head");
            match damage {
                "gone" => fs::remove_file(&file).unwrap(),
                _ => fs::write(&file, "1:ab\n").unwrap(),
            }
            let again = LogSealer::open(store.clone(), state.path()).unwrap();
            again.check_known().await.unwrap();
            let broken = store.log_broken().unwrap();
            assert!(broken.says.starts_with("log.head"), "{broken:?}");
            let noted = store.events_after(0, 9).await.unwrap().pop().unwrap();
            assert_eq!(noted.kind, BROKEN);
            // An approver who has seen it ends the alarm, for good.
            again.accept(&json!({"name": "Ana"})).await.unwrap();
            assert_eq!(store.log_broken(), None);
            let again = LogSealer::open(store.clone(), state.path()).unwrap();
            again.check_known().await.unwrap();
            assert_eq!(store.log_broken(), None);
        })
        .await;
    }
}

/// What the events about keys say: how, and whether the key is ours.
async fn told(store: &Store, ours: &PublicKey) -> Vec<(String, bool)> {
    let events = store.events_after(0, 99).await.unwrap().into_iter();
    let told = events.filter(|event| event.kind == EVENT).map(|event| {
        let text = |name: &str| event.data.get(name).unwrap().as_str().unwrap().to_owned();
        (text("how"), text("key") == ours.to_string())
    });
    told.collect()
}

/// A start: the sealer, what it makes of its key, and a row that it signs.
async fn started(store: &Store, state: &Path) -> LogSealer {
    let sealer = LogSealer::open(store.clone(), state).unwrap();
    sealer.check_known().await.unwrap();
    sealer.check_key().await.unwrap();
    store.note(1, "one", None, &Value::Null).await.unwrap();
    sealer.seal().await.unwrap();
    sealer
}

#[tokio::test]
async fn a_key_that_is_gone_or_another_is_noted_once_and_a_problem_until_it_is_accepted() {
    on_both(async |store| {
        let state = tempfile::tempdir().unwrap();
        let first = started(&store, state.path()).await;
        assert_eq!(first.problem(), None);
        assert_eq!(started(&store, state.path()).await.problem(), None);
        assert_eq!(told(&store, &first.public()).await, [], "nothing has changed");
        let file = state.path().join(KEY);
        let kept = fs::read(&file).unwrap();
        fs::remove_file(&file).unwrap();
        let second = started(&store, state.path()).await;
        let problem = second.problem().unwrap();
        assert!(problem.says.contains("nobody rotated it"), "{problem:?}");
        let noted = [("unexplained".to_owned(), true)];
        assert_eq!(told(&store, &second.public()).await, noted);
        // Signed with the new key by now, and still a problem at the next start.
        assert_eq!(started(&store, state.path()).await.problem(), Some(problem));
        assert_eq!(told(&store, &second.public()).await, noted, "noted once");
        second.accept(&json!({"name": "Ana"})).await.unwrap();
        assert_eq!(second.problem(), None);
        assert_eq!(started(&store, state.path()).await.problem(), None);
        // The first key comes back, which nobody rotated either.
        fs::write(&file, kept).unwrap();
        let third = started(&store, state.path()).await;
        assert_eq!(third.public(), first.public());
        assert!(third.problem().is_some(), "an accepted key was replaced");
    })
    .await;
}

#[tokio::test]
async fn the_key_of_before_is_no_problem_once_it_is_back_whenever_that_was_noticed() {
    on_both(async |store| {
        let state = tempfile::tempdir().unwrap();
        let first = started(&store, state.path()).await;
        let file = state.path().join(KEY);
        let kept = fs::read(&file).unwrap();
        make_key(&file).unwrap();
        let second = started(&store, state.path()).await;
        assert!(second.problem().is_some());
        fs::write(&file, kept).unwrap();
        let third = started(&store, state.path()).await;
        assert_eq!((third.public(), third.problem()), (first.public(), None));
        let noted = [("unexplained".to_owned(), false), ("restored".to_owned(), true)];
        assert_eq!(told(&store, &third.public()).await, noted);
        assert_eq!(started(&store, state.path()).await.problem(), None);
    })
    .await;
}

#[tokio::test]
async fn a_rotation_is_signed_by_the_old_key_and_is_no_problem_at_the_next_start() {
    on_both(async |store| {
        let state = tempfile::tempdir().unwrap();
        let sealer = started(&store, state.path()).await;
        let old = sealer.public();
        let new = sealer.rotate(&json!({"name": "Ana"})).await.unwrap();
        assert_ne!(old, new);
        assert_eq!((sealer.public(), sealer.problem()), (new.clone(), None));
        assert_eq!(told(&store, &new).await, [("rotated".to_owned(), true)]);
        assert_eq!(store.newest_signer().await.unwrap(), Some(old.to_string()));
        let again = started(&store, state.path()).await;
        assert_eq!((again.public(), again.problem()), (new.clone(), None));
        assert_eq!(store.newest_signer().await.unwrap(), Some(new.to_string()));
        assert_eq!(sealer.look_again().await, None);
        let mode = state.path().join(KEY).metadata().unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
    })
    .await;
}

#[tokio::test]
async fn a_file_that_changes_while_the_daemon_runs_is_noticed_at_a_reload_and_noted_once() {
    on_both(async |store| {
        let state = tempfile::tempdir().unwrap();
        let sealer = started(&store, state.path()).await;
        let file = state.path().join(KEY);
        let kept = fs::read(&file).unwrap();
        assert_eq!(sealer.look_again().await, None);
        fs::remove_file(&file).unwrap();
        for _ in 0..2 {
            let problem = sealer.look_again().await.unwrap();
            assert!(problem.says.contains("is gone"), "{problem:?}");
        }
        assert_eq!(told(&store, &sealer.public()).await, [("file".to_owned(), true)]);
        make_key(&file).unwrap();
        let problem = sealer.look_again().await.unwrap();
        assert!(problem.says.contains("holds another key"), "{problem:?}");
        fs::write(&file, "nonsense").unwrap();
        assert!(sealer.look_again().await.unwrap().says.contains("cannot be used"));
        fs::write(&file, &kept).unwrap();
        assert_eq!(sealer.look_again().await, None);
        // A rotation writes the file anew.
        fs::remove_file(&file).unwrap();
        assert!(sealer.look_again().await.is_some());
        sealer.rotate(&Value::Null).await.unwrap();
        assert_eq!((sealer.problem(), sealer.look_again().await), (None, None));
        assert_eq!(started(&store, state.path()).await.problem(), None);
    })
    .await;
}

#[tokio::test]
async fn the_files_alone_tell_of_a_key_that_is_gone_or_another() {
    on_both(async |store| {
        let state = tempfile::tempdir().unwrap();
        assert_eq!(super::super::log_key_problem(state.path()), None, "before the first start");
        started(&store, state.path()).await;
        let problem = || super::super::log_key_problem(state.path());
        assert_eq!(problem(), None);
        let file = state.path().join(KEY);
        make_key(&file).unwrap();
        assert!(problem().unwrap().says.contains("holds another key"));
        fs::remove_file(&file).unwrap();
        assert!(problem().unwrap().says.contains("is missing"));
    })
    .await;
}
