#![allow(clippy::unwrap_used, clippy::panic, reason = "tests fail by panicking")]
use super::*;
use crate::{
    AgentLimit, AgentLimits, AgentScope, Closed, NewAgentToken, Reads,
    engines::on_both,
    tests::{answered, new_ask},
};
use countersign_domain::{Body, Decision, State, call::Call};
use countersign_tokens::{ids, secret::TokenHash};

async fn limited(store: &Store, limits: AgentLimits) -> AgentToken {
    let hash = TokenHash::of("x");
    let (id, name, by) = ("t1".to_owned(), "bot".to_owned(), By::Timeout);
    let (reads, expires_at, scope) = (Reads::Own, None, AgentScope::default());
    let new = NewAgentToken { id, name, hash, reads, by, expires_at, limits, scope };
    store.add_agent_token(new, 1).await.unwrap().unwrap()
}

/// An ask of the agent, at this time.
fn of_bot(session: &str, created_at: i64) -> NewAsk {
    let call = Call::new("bot", session, "t", json!({ "n": ids::nonce() }));
    let (digest, body) = (call.digest(), Body::new(call, "no rule"));
    let limited = Some("t1".to_owned());
    NewAsk { digest, body, limited, created_at, ..new_ask(&ids::ask_id(), None, None) }
}

/// The ask that resumes it.
fn resumption() -> NewAsk {
    let new = of_bot("limits", 100);
    let body = Body { resumes: Some("t1".to_owned()), ..new.body };
    NewAsk { limited: None, body, ..new }
}

#[tokio::test]
async fn of_many_asks_at_once_exactly_as_many_are_stored_as_may_be_open() {
    on_both(async |store| {
        limited(&store, AgentLimits { open: Some(3), ..AgentLimits::default() }).await;
        let tries = (0..12).map(|_| {
            let store = store.clone();
            tokio::spawn(async move { store.insert_ask(&of_bot("s", 10), &[]).await.unwrap() })
        });
        let (mut stored, mut refused) = (0, 0);
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
        let limits = AgentLimits { per_minute: Some(2), per_task: Some(3), open: None };
        let token = limited(&store, limits).await;
        let insert =
            async |session: &str, at| store.insert_ask(&of_bot(session, at), &[]).await.unwrap();
        for at in [10, 20, 60_015] {
            assert!(matches!(insert("s", at).await, Inserted::New(_)), "{at}");
        }
        let over = insert("u", 60_016).await;
        assert!(matches!(over, Inserted::OverLimit(AgentLimit::PerMinute(2))), "{over:?}");
        let over = insert("s", 200_000).await;
        assert!(matches!(over, Inserted::OverLimit(AgentLimit::PerTask(3))), "{over:?}");
        assert!(matches!(insert("u", 200_000).await, Inserted::New(_)), "another task");

        let tries = (0..6).map(|_| {
            let (store, token) = (store.clone(), token.clone());
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
