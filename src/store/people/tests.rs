#![allow(clippy::unwrap_used, reason = "tests fail by panicking")]
use super::*;
use crate::testkit::engines::on_both;

fn new(id: &str, credential: &str, owner: &str) -> StoredPasskey {
    StoredPasskey {
        id: id.to_owned(),
        credential: credential.to_owned(),
        host: "approve.example".to_owned(),
        person: format!("chat:{owner}"),
        owner: owner.to_owned(),
        name: "a phone".to_owned(),
        handle: "h".to_owned(),
        public_key: "k".to_owned(),
        algorithm: -7,
        counter: 4,
        backup_eligible: true,
        created_at: 1,
        used_at: None,
    }
}

async fn kinds(store: &Store) -> Vec<String> {
    let events = store.events_after(0, 99).await.unwrap();
    events.into_iter().map(|event| event.kind).collect()
}

#[tokio::test]
async fn a_credential_is_one_persons_and_nobody_has_more_than_so_many() {
    on_both(async |store| {
        let by = By::Timeout;
        let ana = new("1", "c1", "Ana");
        assert_eq!(store.add_passkey(ana.clone(), 2, &by).await.unwrap(), PasskeyStored::Done);
        let bens = new("2", "c1", "Ben");
        assert_eq!(store.add_passkey(bens, 2, &by).await.unwrap(), PasskeyStored::Taken);
        let same_id = new("1", "c2", "Ben");
        assert_eq!(store.add_passkey(same_id, 2, &by).await.unwrap(), PasskeyStored::Taken);
        let second = new("3", "c3", "Ana");
        assert_eq!(store.add_passkey(second, 2, &by).await.unwrap(), PasskeyStored::Done);
        let third = new("4", "c4", "Ana");
        assert_eq!(store.add_passkey(third, 2, &by).await.unwrap(), PasskeyStored::TooMany);
        assert_eq!(store.passkey_of("c1").await.unwrap(), Some(ana.clone()));
        assert_eq!(store.passkey_of("c4").await.unwrap(), None);
        assert_eq!(store.passkeys().await.unwrap().len(), 2);
        assert_eq!(store.remove_passkey("1", &by, 9).await.unwrap(), Some(ana));
        assert_eq!(store.remove_passkey("1", &by, 9).await.unwrap(), None);
        assert_eq!(store.passkey_of("c1").await.unwrap(), None);
        let wanted = ["passkey_added", "passkey_added", "passkey_removed"];
        assert_eq!(kinds(&store).await, wanted);
    })
    .await;
}

#[tokio::test]
async fn a_counter_that_does_not_rise_is_refused_and_one_that_stays_zero_is_no_counter() {
    on_both(async |store| {
        let by = By::Timeout;
        let counts = new("1", "c1", "Ana");
        let never = StoredPasskey { counter: 0, ..new("2", "c2", "Ana") };
        for passkey in [&counts, &never] {
            let added = store.add_passkey(passkey.clone(), 9, &by).await.unwrap();
            assert_eq!(added, PasskeyStored::Done);
        }
        let shows =
            async |passkey, counter| store.use_passkey(passkey, counter, &by, 7).await.unwrap();
        for counter in [0, 3, 4] {
            assert_eq!(shows(&counts, counter).await, PasskeyUse::CounterRefused, "{counter}");
        }
        assert_eq!(shows(&counts, 5).await, PasskeyUse::Done);
        assert_eq!(shows(&counts, 5).await, PasskeyUse::CounterRefused, "once more");
        assert_eq!(shows(&counts, u32::MAX).await, PasskeyUse::Done);
        assert_eq!(shows(&never, 0).await, PasskeyUse::Done);
        assert_eq!(shows(&never, 0).await, PasskeyUse::Done);
        assert_eq!(shows(&never, 1).await, PasskeyUse::Done, "it begins to count");
        assert_eq!(shows(&never, 0).await, PasskeyUse::CounterRefused);
        assert_eq!(shows(&new("3", "c3", "Ben"), 9).await, PasskeyUse::Gone);
        let stored = store.passkey_of("c1").await.unwrap().unwrap();
        assert_eq!((stored.counter, stored.used_at), (u32::MAX, Some(7)));
        let refused = kinds(&store).await;
        let count = |kind: &str| refused.iter().filter(|it| *it == kind).count();
        assert_eq!((count("signed_in"), count("passkey_refused")), (5, 5));
    })
    .await;
}

#[tokio::test]
async fn a_person_is_away_until_their_time_is_over_or_they_are_back() {
    on_both(async |store| {
        store.set_absent("Ana", Absence::Away, 100, 0).await.unwrap();
        store.set_absent("Ana", Absence::Snoozed, 50, 0).await.unwrap();
        store.set_absent("Ben", Absence::Snoozed, 20, 0).await.unwrap();
        let names = async |now| {
            let AbsentPeople { away, snoozed } = store.absent(now).await.unwrap();
            (Vec::from_iter(away).join(" "), Vec::from_iter(snoozed).join(" "))
        };
        assert_eq!(names(10).await, ("Ana".to_owned(), "Ana Ben".to_owned()));
        assert_eq!(names(20).await, ("Ana".to_owned(), "Ana".to_owned()));
        assert_eq!(names(100).await, (String::new(), String::new()));
        store.set_absent("Ben", Absence::Snoozed, 90, 30).await.unwrap();
        assert!(store.set_back("Ana", 40).await.unwrap());
        assert!(!store.set_back("Ana", 40).await.unwrap());
        assert_eq!(names(40).await, (String::new(), "Ben".to_owned()));
    })
    .await;
}
