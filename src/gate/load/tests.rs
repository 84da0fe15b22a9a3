#![allow(clippy::unwrap_used, reason = "tests fail by panicking")]
use super::*;

const LIMITS: Limits = Limits {
    asks: 4,
    asks_per_agent: 2,
    asks_per_session: 1,
    asks_a_minute_per_agent: 3,
    asks_a_minute_per_session: 2,
    bytes: 100,
    bytes_per_agent: 60,
};

fn session(agent: &str, session: &str) -> SessionName {
    (agent.to_owned(), session.to_owned())
}

#[test]
fn every_limit_is_named_by_its_key() {
    let amount = |asks, bytes| Amount { asks, bytes };
    let who = session("a\u{202e}b", "s");
    let why = |all, mine, here, bytes| too_much(&LIMITS, [all, mine], here, &who, bytes).unwrap();
    for (why, key) in [
        (why(amount(2, 2), amount(2, 2), 0, 1), "open_asks_per_agent = 2"),
        (why(amount(2, 2), amount(1, 1), 1, 1), "open_asks_per_session = 1"),
        (why(amount(1, 60), amount(1, 60), 0, 1), "open_megabytes_per_agent)"),
        (why(amount(4, 4), amount(0, 0), 0, 1), "open_asks = 4"),
        (why(amount(3, 90), amount(1, 1), 0, 11), "open_megabytes)"),
    ] {
        assert!(why.contains(key) && !why.contains('\u{202e}'), "{why}");
    }
    let fits = too_much(&LIMITS, [amount(3, 90), amount(1, 50)], 0, &session("a", "s"), 10);
    assert_eq!(fits, None);
}

#[tokio::test(start_paused = true)]
async fn what_comes_too_fast_is_told_when_to_come_again() {
    let load = Load::default();
    let limits = Limits { asks: 9, asks_per_agent: 9, asks_per_session: 9, ..LIMITS };
    let take = |who: &SessionName| load.take(&limits, who, 1).map(Reservation::fill);
    let one = session("a", "1");
    let two = session("a", "2");
    let other = session("b", "1");
    assert_eq!([take(&one), take(&one), take(&two)], [Ok(()), Ok(()), Ok(())]);
    let agent = take(&two).unwrap_err();
    assert!(agent.why.contains("asks_per_minute_per_agent = 3"), "{agent}");
    assert_eq!(agent.after, Duration::from_secs(20));
    tokio::time::advance(agent.after).await;
    assert_eq!(take(&two), Ok(()));
    assert_eq!([take(&other), take(&other)], [Ok(()), Ok(())]);
    let session = take(&other).unwrap_err();
    assert!(session.why.contains("asks_per_minute_per_session = 2"), "{session}");
    assert_eq!(session.after, Duration::from_secs(30));
}

#[test]
fn room_that_was_not_filled_is_given_back() {
    let load = Load::default();
    let [a, b, c] = ["a", "b", "c"].map(|agent| session(agent, "s"));
    load.take(&LIMITS, &a, 60).unwrap().fill();
    assert!(load.take(&LIMITS, &a, 1).is_err());
    for _ in 0..5 {
        drop(load.take(&LIMITS, &b, 40).unwrap());
    }
    let room = load.take(&LIMITS, &b, 40).unwrap();
    assert!(load.take(&LIMITS, &c, 1).is_err());
    drop(room);
    locked(&load.0).less(&a, 60);
    let counted = locked(&load.0);
    assert_eq!((counted.all, counted.agents.len()), (Amount::default(), 0));
    assert_eq!(counted.sessions.len(), 0);
}

mod rates {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_minutes_asks_may_come_at_once_and_then_one_at_a_time() {
        let mut rates = Rates::default();
        for _ in 0..7 {
            assert_eq!(rates.fits(&"a", 7), Ok(()));
            rates.count("a", 7);
        }
        let wait = rates.fits(&"a", 7).unwrap_err();
        assert!(wait <= MINUTE / 7 && wait > MINUTE / 8, "{wait:?}");
        assert_eq!(rates.fits(&"b", 7), Ok(()), "everybody has their own");
        tokio::time::advance(wait).await;
        assert_eq!(rates.fits(&"a", 7), Ok(()));
        rates.count("a", 7);
        assert!(rates.fits(&"a", 7).is_err());
        rates.give_back(&"a", 7);
        assert_eq!(rates.fits(&"a", 7), Ok(()), "it came to nothing");
    }

    #[tokio::test(start_paused = true)]
    async fn a_caller_that_rests_is_forgotten() {
        let mut rates = Rates::default();
        (0..MANY).for_each(|n| rates.count(n, 60));
        tokio::time::advance(Duration::from_secs(2)).await;
        rates.count(MANY, 60);
        assert_eq!(rates.0.len(), 1);
    }
}
