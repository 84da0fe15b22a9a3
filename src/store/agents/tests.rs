#![allow(clippy::unwrap_used, clippy::panic, reason = "tests fail by panicking")]
use super::*;
use crate::{
    Closed,
    testkit::engines::on_both,
    tests::{answered, new_ask, new_ask_in},
};
use countersign_domain::{Body, Decision, State};
use countersign_tokens::ids;

async fn limited(store: &Store, limits: TokenLimits) -> AgentToken {
    let new = NewAgentToken {
        id: "t1".to_owned(),
        name: "bot".to_owned(),
        hash: TokenHash::of("x"),
        reads: Reads::Own,
        by: By::Timeout,
        expires_at: None,
        limits,
        scope: TokenScope::default(),
    };
    store.add_agent_token(new, 1).await.unwrap().unwrap()
}

/// An ask of the agent, at this time.
fn of_bot(session: &str, created_at: i64) -> Ask {
    let call = Call::new("bot", session, "t", json!({ "n": ids::nonce() }));
    let digest = call.digest();
    let body = Body::new(call, "no rule");
    Ask { digest, body, created_at, ..new_ask(&ids::ask_id(), None, None) }
}

/// The ask that resumes it.
fn resumption() -> Ask {
    let new = of_bot("limits", 100);
    let body = Body { resumes: Some("t1".to_owned()), ..new.body };
    Ask { body, ..new }
}

#[tokio::test]
async fn of_many_asks_at_once_exactly_as_many_are_stored_as_may_be_open() {
    on_both(async |store| {
        limited(&store, TokenLimits { max_open: Some(3), ..TokenLimits::default() }).await;
        let tries = (0..12).map(|_| {
            let store = store.clone();
            tokio::spawn(async move {
                store.insert_ask(&of_bot("s", 10), &[], Some("t1")).await.unwrap()
            })
        });
        let mut stored = 0;
        let mut refused = 0;
        for tried in futures::future::join_all(tries).await {
            match tried.unwrap() {
                Inserted::New(_) => stored += 1,
                Inserted::OverLimit(AgentLimit::Open(3)) => refused += 1,
                other => panic!("{other:?}"),
            }
        }
        assert_eq!((stored, refused), (3, 9));
    })
    .await;
}

#[tokio::test]
async fn a_minute_and_a_task_are_counted_and_of_many_pauses_there_is_one() {
    on_both(async |store| {
        let limits = TokenLimits { per_minute: Some(2), per_task: Some(3), max_open: None };
        let token = limited(&store, limits).await;
        let insert = async |session: &str, at| {
            store.insert_ask(&of_bot(session, at), &[], Some("t1")).await.unwrap()
        };
        for at in [10, 20, 60_015] {
            assert!(matches!(insert("s", at).await, Inserted::New(_)), "{at}");
        }
        let over = insert("u", 60_016).await;
        assert!(matches!(over, Inserted::OverLimit(AgentLimit::PerMinute(2))), "{over:?}");
        let over = insert("s", 200_000).await;
        assert!(matches!(over, Inserted::OverLimit(AgentLimit::PerTask(3))), "{over:?}");
        assert!(matches!(insert("u", 200_000).await, Inserted::New(_)), "another task");

        let tries = (0..6).map(|_| {
            let store = store.clone();
            let token = token.clone();
            tokio::spawn(async move {
                store.pause_agent(&token, "why", &resumption(), &[]).await.unwrap()
            })
        });
        let tried = futures::future::join_all(tries).await;
        let mut asks: Vec<Ask> = tried.into_iter().filter_map(|it| it.unwrap()).collect();
        assert_eq!((asks.len(), store.paused_agents().await.unwrap()), (1, 1));
        let ask = asks.pop().unwrap();
        let over = insert("v", 400_000).await;
        assert!(matches!(over, Inserted::OverLimit(AgentLimit::Paused)), "{over:?}");

        // A no resumes nothing; a yes does, in the transaction of the answer.
        let no = store.close_ask(&ask, &answered(Decision::Deny, 300), &[]).await.unwrap();
        assert!(matches!(no, Closed::Won(_)));
        let paused = store.agent_token("t1").await.unwrap().unwrap().pause.unwrap();
        assert_eq!((paused.since, paused.why.as_str(), paused.ask), (100, "why", ask.id));
        assert!(store.resume_agent("bot", &By::Timeout, 400_000).await.unwrap());
        assert!(!store.resume_agent("bot", &By::Timeout, 400_000).await.unwrap());
        assert!(matches!(insert("s", 400_001).await, Inserted::New(_)), "it counts anew");

        let ask = store.pause_agent(&token, "why", &resumption(), &[]).await.unwrap().unwrap();
        let yes = answered(Decision::Approve, 500_000);
        assert!(matches!(yes, State::Answered(_)));
        assert!(matches!(store.close_ask(&ask, &yes, &[]).await.unwrap(), Closed::Won(_)));
        assert_eq!(store.agent_token("t1").await.unwrap().unwrap().pause, None);
    })
    .await;
}

async fn ask(store: &Store, id: &str, session: &str, created_at: i64) {
    let new = Ask { created_at, ..new_ask_in(session, id) };
    store.insert_ask(&new, &[], None).await.unwrap();
}

fn known(session: &str, last_seen: i64) -> KnownSession {
    let agent = "a".to_owned();
    let session = session.to_owned();
    KnownSession { agent, session, last_seen, ..KnownSession::default() }
}

#[tokio::test]
async fn a_session_is_known_by_what_is_open_in_it_by_its_mode_and_by_what_it_asked_last() {
    on_both(async |store| {
        ask(&store, "one", "busy", 10).await;
        ask(&store, "two", "busy", 40).await;
        ask(&store, "old", "over", 5).await;
        let old = store.ask("old").await.unwrap().unwrap();
        let end = answered(Decision::Deny, 20);
        assert!(matches!(store.close_ask(&old, &end, &[]).await.unwrap(), Closed::Won(_)));
        store.set_session_mode("a", "busy", "yolo", 15).await.unwrap();
        store.set_session_mode("a", "quiet", "plan", 30).await.unwrap();
        let busy = KnownSession {
            mode: Some("yolo".to_owned()),
            open: 2,
            asks: vec!["one".to_owned(), "two".to_owned()],
            latest: Some("two".to_owned()),
            ..known("busy", 40)
        };
        let quiet = KnownSession { mode: Some("plan".to_owned()), ..known("quiet", 30) };
        let over = KnownSession { latest: Some("old".to_owned()), ..known("over", 20) };
        assert_eq!(store.known_sessions().await.unwrap(), (vec![busy, quiet, over], false));
    })
    .await;
}

#[tokio::test]
async fn the_list_of_sessions_ends_with_the_latest_seen_and_says_that_there_are_more() {
    on_both(async |store| {
        for n in 0..=Store::SESSIONS {
            let at = i64::try_from(n).unwrap();
            store.set_session_mode("a", &format!("s{n}"), "plan", at).await.unwrap();
        }
        let (sessions, more) = store.known_sessions().await.unwrap();
        assert_eq!((sessions.len(), more), (Store::SESSIONS, true));
        let first = sessions.first().unwrap();
        let last = sessions.last().unwrap();
        assert_eq!((first.session.as_str(), last.session.as_str()), ("s100", "s1"));
    })
    .await;
}

#[tokio::test]
async fn a_token_that_was_rotated_without_an_overlap_is_over_by_every_clock() {
    on_both(async |store| {
        limited(&store, TokenLimits::default()).await;
        for (next, until, early) in [("y", Some(50), Some("x")), ("z", None, None)] {
            let hash = TokenHash::of(next);
            let rotated = store.rotate_agent_token("bot", &hash, until, &By::Timeout, 10).await;
            let token = rotated.unwrap().unwrap();
            let shown =
                |plain: &'static str, now| token.shown(now, |it| it.matches(plain)).cloned();
            assert_eq!(shown(next, i64::MIN), Some(hash));
            // A daemon whose clock is slow, and one whose clock is right.
            let former = if next == "y" { "x" } else { "y" };
            assert_eq!(shown(former, i64::MIN), early.map(TokenHash::of));
            assert_eq!(shown(former, 50), None);
        }
    })
    .await;
}
