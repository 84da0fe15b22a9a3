#![allow(clippy::unwrap_used, clippy::panic, reason = "tests fail by panicking")]
use super::*;
use crate::{
    Closed,
    testkit::engines::on_both,
    tests::{answer, answered, new_ask},
};
use countersign_domain::{
    Body, Execution, GrantScope,
    deadline::{Pause, PauseMode},
};

fn uses(used: u64, last_at: i64, last_call: &str) -> GrantUse {
    GrantUse { used, last_at, last_call: last_call.to_owned() }
}

#[tokio::test]
async fn uses_add_up_and_are_forgotten_with_their_grant() {
    on_both(async |store| {
        for id in ["one", "two"] {
            let new = "INSERT INTO grants (id, ask, tool, pattern, scope, agent, session, \
                 granted_by, created_at, written) \
                 VALUES ($1, 'a', 'Bash', '*', 'always', 'a', 's', \
                 '{\"kind\":\"timeout\"}', 1, 1)";
            store.execute(sqlx::query(new).bind(id)).await.unwrap();
        }
        assert_eq!(store.grant_uses().await.unwrap(), HashMap::new());
        let none = ("none".to_owned(), uses(1, 1, ""));
        let first = vec![("one".to_owned(), uses(2, 10, "ls")), none];
        store.add_grant_uses(first).await.unwrap();
        store.add_grant_uses(vec![("one".to_owned(), uses(3, 20, "ls src"))]).await.unwrap();
        store.add_grant_uses(vec![("two".to_owned(), uses(1, 30, "pwd"))]).await.unwrap();
        let two = ("two".to_owned(), uses(1, 30, "pwd"));
        let all = [("one".to_owned(), uses(5, 20, "ls src")), two];
        assert_eq!(store.grant_uses().await.unwrap(), HashMap::from(all.clone()));
        store.revoke_grant("two", None, 40).await.unwrap();
        let [one, _] = all;
        assert_eq!(store.grant_uses().await.unwrap(), HashMap::from([one]));
    })
    .await;
}

async fn granted(store: &Store, id: &str) -> Grant {
    let crate::Inserted::New(ask) =
        store.insert_ask(&new_ask(id, None, None), &[], None).await.unwrap()
    else {
        panic!("known")
    };
    let grant = Grant {
        id: format!("g-{id}"),
        ask: id.to_owned(),
        rule: Rule::allow("shell_exec", "make"),
        scope: GrantScope::Budget,
        agent: "a".to_owned(),
        session: "s".to_owned(),
        owner: Some(Owner::by("tcp:agent")),
        folder: None,
        by: By::Timeout,
        created_at: 10,
        expires_at: Some(1_000),
        digest: Some("d1".to_owned()),
        in_file: false,
    };
    let yes = answered(Decision::Approve, 10);
    let closed = store.close_ask(&ask, &yes, std::slice::from_ref(&grant)).await.unwrap();
    assert!(matches!(closed, Closed::Won(_)));
    grant
}

#[tokio::test]
async fn of_many_at_once_one_spends_a_grant_and_none_does_in_a_pause_or_after_its_end() {
    on_both(async |store| {
        let grant = granted(&store, "one").await;
        let owner = Owner::by("tcp:agent");
        let found = store.budget_for("d1", Some(&owner), 20).await.unwrap();
        assert_eq!(found, std::slice::from_ref(&grant));
        for other in [None, Some(&Owner::by("unix:agent"))] {
            assert_eq!(store.budget_for("d1", other, 20).await.unwrap(), []);
        }
        assert_eq!(store.budget_for("d1", Some(&owner), 1_000).await.unwrap(), [], "over");
        assert_eq!(store.budget_for("d2", Some(&owner), 20).await.unwrap(), [], "another call");
        let rules = store.session_context("a", "s", 20).await.unwrap().grants;
        assert_eq!(rules, [], "it is no rule");
        assert!(!store.spend(&grant, "make", &started(1_000)).await.unwrap(), "over");
        let pause = Pause { mode: PauseMode::Hold, by: By::Timeout, since: 20 };
        store.set_pause(&pause).await.unwrap();
        assert!(!store.spend(&grant, "make", &started(30)).await.unwrap(), "paused");
        store.end_pause(&By::Timeout, 40).await.unwrap();
        let tries = (0..8).map(|_| {
            let store = store.clone();
            let grant = grant.clone();
            tokio::spawn(async move { store.spend(&grant, "make", &started(50)).await.unwrap() })
        });
        let tried = futures::future::join_all(tries).await;
        assert_eq!(tried.into_iter().filter(|it| *it.as_ref().unwrap()).count(), 1);
        assert_eq!(store.grants(60).await.unwrap(), [], "spent is not in force");

        let revoked = granted(&store, "two").await;
        store.revoke_grant(&revoked.id, None, 20).await.unwrap().unwrap();
        assert!(!store.spend(&revoked, "make", &started(30)).await.unwrap(), "revoked");
    })
    .await;
}

const MOST: OpenReviews = OpenReviews { of_agent: 2, of_all: 3 };

fn review(id: &str, agent: &str, tightening: Tightening) -> Ask {
    let new = new_ask(id, None, Some(100));
    let review = CallReview {
        agent: agent.to_owned(),
        session: "s".to_owned(),
        owner: None,
        worker: None,
        digest: "d".to_owned(),
        at: 1,
        through: "a rule".to_owned(),
        tightening,
    };
    Ask { body: Body { review: Some(Box::new(review)), ..new.body }, ..new }
}

fn asks(pattern: &str) -> Tightening {
    let rule = Rule { verdict: countersign_domain::Verdict::Ask, ..Rule::allow("t", pattern) };
    Tightening::Ask { rule }
}

fn ana() -> By {
    By::Person { platform: "api".into(), id: "1".into(), name: "Ana".into() }
}

async fn close(store: &Store, ask: &Ask, decision: Decision, at: i64) {
    let end = State::Answered(answer(decision, ana(), at));
    let Closed::Won(_) = store.close_ask(ask, &end, &[]).await.unwrap() else {
        panic!("{} was closed before", ask.id)
    };
}

#[tokio::test]
async fn so_many_reviews_are_open_at_once_and_no_more() {
    on_both(async |store| {
        let open = async |id: &str, agent: &str| {
            store.insert_review(&review(id, agent, asks("*")), &[], MOST).await.unwrap()
        };
        let first = open("one", "a").await.unwrap();
        assert!(open("two", "a").await.is_some());
        assert_eq!(open("three", "a").await, None);
        assert!(open("four", "b").await.is_some());
        assert_eq!(open("five", "c").await, None);
        close(&store, &first, Decision::Approve, 5).await;
        assert!(open("six", "c").await.is_some());
        assert_eq!(store.ask("three").await.unwrap(), None);
        assert!(store.open_by_session().await.unwrap().is_empty(), "they count for nobody");
        let context = store.session_context("a", "s", 9).await.unwrap();
        assert!(context.reviewed.is_empty() && context.grants.is_empty());
    })
    .await;
}

#[tokio::test]
async fn a_denial_stores_its_rule_once_for_every_session_and_as_no_grant() {
    on_both(async |store| {
        for (n, id) in ["one", "two"].into_iter().enumerate() {
            let new = review(id, "a", asks("x"));
            let ask = store.insert_review(&new, &[], MOST).await.unwrap().unwrap();
            close(&store, &ask, Decision::Deny, i64::try_from(n).unwrap() + 2).await;
        }
        let context = store.session_context("other", "elsewhere", 9).await.unwrap();
        assert!(context.grants.is_empty());
        let [rule] = context.reviewed.as_slice() else { panic!("{context:?}") };
        assert_eq!((rule.id.as_str(), rule.scope), ("one", GrantScope::Review));
        let Tightening::Ask { rule: wanted } = asks("x") else { return };
        assert_eq!(rule.rule, wanted);
        store.end_session(REVIEWER, "", 10).await.unwrap();
        assert_eq!(store.grants(11).await.unwrap().len(), 1, "no session ends it");
        assert!(store.unwritten_grants().await.unwrap().is_empty(), "no file has it");
        assert!(store.revoke_grant("one", Some(ana()), 12).await.unwrap().is_some());
        assert!(store.unremoved_grants().await.unwrap().is_empty());
        let context = store.session_context("a", "s", 13).await.unwrap();
        assert!(context.reviewed.is_empty());
    })
    .await;
}

/// A start at this time.
fn started(at: i64) -> Execution {
    Execution { started_at: at, as_call: None, end: None }
}
