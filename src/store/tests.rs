#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::panic,
    reason = "tests fail by panicking"
)]
use super::{
    testkit::engines::{Fresh, on_both},
    *,
};
use countersign_domain::{
    Answer, Ask, Body, By, Decision, GrantScope, Owner, Scope, State,
    call::Call,
    question::{Progress, QuestionAnswer},
};
use countersign_domain::{Rule, Verdict};
use serde_json::json;
use sqlx::AssertSqlSafe;
use std::time::Duration;

pub(super) fn new_ask(id: &str, key: Option<&str>, deadline_at: Option<i64>) -> Ask {
    let call: Call = serde_json::from_value(json!({"agent": "a", "session": "s", "key": key,
        "tool": "shell_exec", "args": {"command": id}}))
    .unwrap();
    Ask { deadline_at, ..Ask::opened(id, call.digest(), Body::new(call, "no rule"), 1) }
}

/// An ask of this session.
pub(super) fn new_ask_in(session: &str, id: &str) -> Ask {
    let call = Call::new("a", session, "t", json!({"x": id}));
    Ask { digest: call.digest(), body: Body::new(call, "no rule"), ..new_ask(id, None, None) }
}

async fn leading(store: &Store) -> Fence {
    store.take_lease("chat", "me", Duration::from_secs(60)).await.unwrap().unwrap()
}

fn card(nonce: &str, target: &str) -> NewCard {
    NewCard { nonce: nonce.into(), adapter: "chat".into(), target: target.into() }
}

/// The first card that is due.
async fn next(store: &Store, target: &str, now: i64, fence: &Fence) -> Option<CardRow> {
    let due = store.due_cards("chat", target, now, fence, "", 9).await.unwrap();
    due.due.into_iter().next().map(|due| due.card)
}

async fn shown(store: &Store, nonce: &str, message: &str, version: i64, fence: &Fence) -> bool {
    store.cards_shown(&[is_shown(nonce, message, version)], fence).await.unwrap()
}

fn is_shown(nonce: &str, message: &str, version: i64) -> Shown {
    let nonce = nonce.into();
    let message = message.into();
    Shown { nonce, ask: "one".into(), message, version, muted: false, seen: Seen::No, drawn: None }
}

pub(super) fn answer(decision: Decision, by: By, at: i64) -> Answer {
    Answer::new(decision, by, at)
}

pub(super) fn answered(decision: Decision, at: i64) -> State {
    State::Answered(answer(decision, By::Timeout, at))
}

fn yes(at: i64) -> State {
    let scope = Some(Scope::Once);
    State::Answered(Answer { scope, ..answer(Decision::Approve, By::Timeout, at) })
}

async fn stored(store: &Store, new: &Ask, cards: &[NewCard]) -> Ask {
    match store.insert_ask(new, cards, None).await.unwrap() {
        Inserted::New(ask) => ask,
        other => panic!("it was known: {other:?}"),
    }
}

#[tokio::test]
async fn an_ask_reads_back_as_it_was_stored() {
    on_both(async |store| {
        let ask = stored(&store, &new_ask("one", Some("k"), Some(9)), &[]).await;
        assert_eq!(store.ask("one").await.unwrap(), Some(ask.clone()));
        assert_eq!((ask.version, ask.state, ask.deadline_at), (1, State::Open, Some(9)));
        assert_eq!(store.ask("two").await.unwrap(), None);
    })
    .await;
}

#[tokio::test]
async fn a_key_is_stored_once_and_is_free_again_after_a_cancellation() {
    on_both(async |store| {
        let first = stored(&store, &new_ask("one", Some("k"), None), &[]).await;
        let again = store.insert_ask(&new_ask("two", Some("k"), None), &[], None).await.unwrap();
        assert!(matches!(again, Inserted::Known(ask) if ask.id == "one"));
        let end = State::Cancelled(answer(Decision::Deny, By::Caller, 2));
        assert!(matches!(store.close_ask(&first, &end, &[]).await.unwrap(), Closed::Won(_)));
        stored(&store, &new_ask("three", Some("k"), None), &[]).await;
    })
    .await;
}

#[tokio::test]
async fn of_many_that_close_an_ask_at_once_exactly_one_wins() {
    on_both(async |store| {
        for round in 0..20 {
            let ask = stored(&store, &new_ask(&format!("ask{round}"), None, None), &[]).await;
            let tries = (0..8).map(|n| {
                let store = store.clone();
                let ask = ask.clone();
                tokio::spawn(async move { store.close_ask(&ask, &yes(n), &[]).await.unwrap() })
            });
            let mut won = 0;
            for tried in futures::future::join_all(tries).await {
                won += usize::from(matches!(tried.unwrap(), Closed::Won(_)));
            }
            assert_eq!(won, 1);
        }
    })
    .await;
}

#[tokio::test]
async fn an_answer_after_the_deadline_loses_even_while_the_row_is_open() {
    on_both(async |store| {
        let ask = stored(&store, &new_ask("one", None, Some(100)), &[]).await;
        assert!(matches!(store.close_ask(&ask, &yes(100), &[]).await.unwrap(), Closed::Lost(_)));
        let early = State::Expired(answer(Decision::Deny, By::Timeout, 99));
        assert!(matches!(store.close_ask(&ask, &early, &[]).await.unwrap(), Closed::Lost(_)));
        let due = State::Expired(answer(Decision::Deny, By::Timeout, 100));
        let Closed::Won(ask) = store.close_ask(&ask, &due, &[]).await.unwrap() else {
            panic!("it was due")
        };
        assert_eq!(ask.state, due);
    })
    .await;
}

#[tokio::test]
async fn progress_counts_only_on_what_was_seen() {
    on_both(async |store| {
        let ask = stored(&store, &new_ask("one", None, None), &[]).await;
        let further = Progress::default().answer(QuestionAnswer::Text("x".into()));
        let noted = store.note_progress(&ask, &further, 5).await.unwrap();
        assert!(matches!(&noted, Closed::Won(now) if now.progress == further && now.version == 2));
        let stale = store.note_progress(&ask, &Progress::default(), 5).await.unwrap();
        assert!(matches!(stale, Closed::Lost(now) if now.progress == further));
        assert!(matches!(store.close_ask(&ask, &yes(5), &[]).await.unwrap(), Closed::Lost(_)));
    })
    .await;
}

#[tokio::test]
async fn a_card_is_found_by_its_nonce_unless_its_message_holds_another() {
    on_both(async |store| {
        let fence = leading(&store).await;
        for id in ["one", "two"] {
            stored(&store, &new_ask(id, None, None), &[card(id, "here")]).await;
        }
        shown(&store, "one", "m1", 1, &fence).await;
        let found = async |nonce, adapter, message| {
            let ask = store.ask_of_card(nonce, adapter, message).await.unwrap();
            ask.map(|ask| ask.id)
        };
        assert_eq!(found("one", "chat", Some("m1")).await.as_deref(), Some("one"));
        assert_eq!(found("one", "chat", Some("m2")).await.as_deref(), Some("one"), "a copy");
        assert_eq!(found("two", "chat", None).await.as_deref(), Some("two"));
        assert_eq!(found("two", "chat", Some("m1")).await, None, "that message is another's");
        assert_eq!(found("one", "mail", Some("m1")).await, None);
        assert_eq!(found("three", "chat", Some("m1")).await, None);
    })
    .await;
}

#[tokio::test]
async fn cards_are_due_until_they_show_what_is_wanted_and_new_ones_go_first() {
    on_both(async |store| {
        let fence = leading(&store).await;
        let one = stored(&store, &new_ask("one", None, None), &[card("n1", "here")]).await;
        let due = next(&store, "here", 10, &fence).await.unwrap();
        assert_eq!((due.nonce.as_str(), due.message), ("n1", None));
        shown(&store, "n1", "m1", 1, &fence).await;
        assert_eq!(next(&store, "here", 10, &fence).await, None);

        assert!(matches!(store.close_ask(&one, &yes(5), &[]).await.unwrap(), Closed::Won(_)));
        stored(&store, &new_ask("two", None, None), &[card("n2", "here")]).await;
        let due = next(&store, "here", 10, &fence).await.unwrap();
        assert_eq!(due.nonce, "n2", "an ask that nobody has seen comes before a redraw");
        store.card_failed("n2", 50).await.unwrap();
        let due = next(&store, "here", 10, &fence).await.unwrap();
        assert_eq!((due.nonce.as_str(), due.message.as_deref()), ("n1", Some("m1")));
        shown(&store, "n1", "m1", 2, &fence).await;
        assert_eq!(store.next_due("chat", "here").await.unwrap(), Some(50));
        store.card_gone("n2", "kicked").await.unwrap();
        assert_eq!(store.next_due("chat", "here").await.unwrap(), None);
        assert_eq!(store.why_gone("two").await.unwrap(), ["chat: kicked"]);
    })
    .await;
}

#[tokio::test]
async fn a_start_makes_up_for_cards_that_a_crash_or_a_new_target_left_out() {
    on_both(async |store| {
        let fence = leading(&store).await;
        stored(&store, &new_ask("one", None, None), &[card("n1", "here")]).await;
        shown(&store, "n1", "m1", 1, &fence).await;
        store.reconcile("chat", "here", true, Belongs::Everything).await.unwrap();
        assert_eq!(next(&store, "here", 1, &fence).await, None, "it is posted already");
        store.reconcile("chat", "there", true, Belongs::Everything).await.unwrap();
        let new = next(&store, "there", 1, &fence).await.unwrap();
        assert_eq!((new.ask.as_str(), new.message), ("one", None));
        let posted = store.posted_cards("chat", "here", None, 9).await.unwrap().due.remove(0);
        let at = (posted.card.nonce.as_str(), posted.card.message.as_deref());
        assert_eq!(at, ("n1", Some("m1")));
        let ask = posted.ask.unwrap();
        assert_eq!(store.posted_cards("chat", "here", Some(&ask), 9).await.unwrap().due.len(), 0);
        store.card_gone("n1", "no room").await.unwrap();
        store.reconcile("chat", "here", false, Belongs::Everything).await.unwrap();
        assert_eq!(store.posted_cards("chat", "here", None, 9).await.unwrap().due.len(), 0);
        let again = next(&store, "here", 1, &fence).await.unwrap();
        assert_eq!((again.nonce.as_str(), again.message), ("n1", None), "it is tried anew");
    })
    .await;
}

#[tokio::test]
async fn grants_hold_until_they_expire_or_are_revoked() {
    on_both(async |store| {
        let ask = stored(&store, &new_ask("one", None, None), &[]).await;
        let rule = Rule {
            tool: "shell_exec".into(),
            pattern: "git push *".into(),
            verdict: Verdict::Allow,
        };
        let grant = |id: &str, scope, expires_at| Grant {
            id: id.into(),
            ask: "one".into(),
            rule: rule.clone(),
            scope,
            agent: "a".into(),
            session: "s".into(),
            owner: Some(Owner::by("tcp:agent").with("secret")),
            folder: None,
            by: By::Person { platform: "inbox".into(), id: "local".into(), name: "Ana".into() },
            created_at: 5,
            expires_at,
            digest: None,
            in_file: scope == GrantScope::Always,
        };
        let grants = [
            grant("timed", GrantScope::Timed, Some(100)),
            grant("session", GrantScope::Session, None),
            grant("always", GrantScope::Always, None),
        ];
        let closed = store.close_ask(&ask, &yes(5), &grants).await.unwrap();
        assert!(matches!(closed, Closed::Won(_)));
        let held = async |now| {
            let grants = store.grants(now).await.unwrap();
            grants.into_iter().map(|grant| grant.id).collect::<Vec<_>>()
        };
        assert_eq!(held(99).await, ["always", "session", "timed"]);
        assert_eq!(held(100).await, ["always", "session"]);
        assert_eq!(store.grants(99).await.unwrap()[2], grants[0], "a grant reads back as it was");
        let given = async |session, now| {
            let context = store.session_context("a", session, now).await.unwrap();
            let grants = context.grants.into_iter().map(|grant| grant.id).collect::<Vec<_>>();
            (context.mode, grants.join(" "))
        };
        assert_eq!(given("s", 99).await, (None, "always session timed".into()));
        assert_eq!(given("other", 99).await, (None, "always".into()));
        store.set_session_mode("a", "s", "yolo", 6).await.unwrap();
        assert_eq!(given("s", 100).await, (Some("yolo".into()), "always session".into()));
        assert_eq!(store.unwritten_grants().await.unwrap().len(), 1);
        store.grant_written("always").await.unwrap();
        assert_eq!(store.unwritten_grants().await.unwrap(), []);
        assert!(store.revoke_grant("session", None, 101).await.unwrap().is_some());
        assert!(store.revoke_grant("session", None, 102).await.unwrap().is_none());
        assert_eq!(held(103).await, ["always"]);
        assert!(store.revoke_grant("always", None, 104).await.unwrap().is_some());
        assert_eq!(given("s", 105).await, (Some("yolo".into()), String::new()));
        assert_eq!(given("other", 105).await, (None, String::new()));
    })
    .await;
}

#[tokio::test]
async fn what_happens_is_noted_in_order_and_old_asks_are_forgotten() {
    on_both(async |store| {
        let ask = stored(&store, &new_ask("one", None, None), &[card("n1", "here")]).await;
        assert!(matches!(store.close_ask(&ask, &yes(5), &[]).await.unwrap(), Closed::Won(_)));
        let kinds = store.events_after(0, 10).await.unwrap().into_iter().map(|event| event.kind);
        assert_eq!(kinds.collect::<Vec<_>>(), ["asked", "answered"]);
        assert_eq!(store.forget_closed(5).await.unwrap(), 0);
        assert_eq!(store.forget_closed(6).await.unwrap(), 1);
        assert_eq!(store.ask("one").await.unwrap(), None);
    })
    .await;
}

#[tokio::test]
async fn a_lease_has_one_holder_and_its_epoch_rises_with_every_one() {
    on_both(async |store| {
        let long = Duration::from_secs(60);
        let over = Duration::ZERO;
        let take = async |who: &str, length| store.take_lease("chat", who, length).await.unwrap();
        let first = take("a", long).await.unwrap();
        assert_eq!(first.epoch, 1);
        assert_eq!(take("b", long).await, None, "it is held");
        assert!(store.renew_lease(&first, over).await.unwrap(), "and ends now");
        let second = take("b", long).await.unwrap();
        assert_eq!(second.epoch, 2);
        assert!(!store.renew_lease(&first, long).await.unwrap(), "the first is deposed");
        assert!(store.renew_lease(&second, long).await.unwrap());
        let leaders = store.leaders().await.unwrap();
        assert_eq!(leaders, [Leader { lease: "chat".into(), holder: "b".into(), epoch: 2 }]);
        store.release_lease(&second).await.unwrap();
        assert_eq!(store.leaders().await.unwrap(), []);
    })
    .await;
}

#[tokio::test]
async fn what_a_deposed_leader_showed_is_redrawn_and_it_is_given_nothing_more_to_do() {
    on_both(async |store| {
        stored(&store, &new_ask("one", None, None), &[card("n1", "here")]).await;
        let first = leading(&store).await;
        store.release_lease(&first).await.unwrap();
        let second = leading(&store).await;
        assert_eq!(next(&store, "here", 10, &first).await, None);
        assert!(shown(&store, "n1", "m1", 1, &second).await);
        assert_eq!(next(&store, "here", 10, &second).await, None);
        assert!(!shown(&store, "n1", "m2", 1, &first).await, "it comes too late");
        let again = next(&store, "here", 10, &second).await.unwrap();
        assert_eq!(again.message.as_deref(), Some("m1"));
    })
    .await;
}

#[tokio::test]
async fn what_another_daemon_was_asked_gets_a_card_here_once() {
    on_both(async |store| {
        let fence = leading(&store).await;
        stored(&store, &new_ask("one", None, None), &[card("n1", "there")]).await;
        for _ in 0..2 {
            store.add_cards("chat", "here", vec!["one".into(), "gone".into()]).await.unwrap();
        }
        assert_eq!(store.cards_of("one").await.unwrap().len(), 2);
        assert!(next(&store, "here", 1, &fence).await.is_some());
    })
    .await;
}

/// These run after every change. A store may hold a year of asks, 100,000 of them open.
#[tokio::test]
async fn what_is_looked_for_after_each_change_is_found_without_reading_every_ask() {
    let fresh = Fresh::sqlite();
    let store = Store::open(&fresh.database).await.unwrap();
    let looks = [
        (asks::NEXT_STEP, "ask_step"),
        (outbox::DUE_REMINDERS, "card_reminder"),
        (outbox::LATE_CARDS, "card_unseen"),
    ];
    for (look, index) in looks {
        let look = (1..=5).fold(look.to_owned(), |look, n| look.replace(&format!("${n}"), "1"));
        let plan = AssertSqlSafe(format!("EXPLAIN QUERY PLAN {look}"));
        let plan = store.all(sqlx::query(plan)).await.unwrap();
        let first: String = plan[0].try_get("detail").unwrap();
        assert!(first.contains(&format!("INDEX {index}")), "{first}");
    }
}

#[tokio::test]
async fn old_asks_are_forgotten_in_batches_and_the_log_is_kept() {
    on_both(async |store| {
        for n in 0..250 {
            let id = format!("ask{n}");
            let ask = stored(&store, &new_ask(&id, None, None), &[card(&id, "here")]).await;
            assert!(matches!(store.close_ask(&ask, &yes(5), &[]).await.unwrap(), Closed::Won(_)));
        }
        let mut batches = vec![];
        while let forgotten @ 1.. = store.forget_closed(6).await.unwrap() {
            batches.push(forgotten);
        }
        assert_eq!(batches, [200, 50]);
        assert_eq!(store.events_after(0, 1000).await.unwrap().len(), 500);
    })
    .await;
}

#[tokio::test]
async fn a_card_that_may_stand_unknown_is_known_as_such_also_once_its_ask_is_closed() {
    on_both(async |store| {
        let fence = leading(&store).await;
        for (id, created_at) in [("one", 1), ("two", 11_000), ("three", 22_000)] {
            let new = Ask { created_at, ..new_ask(id, None, None) };
            stored(&store, &new, &[card(id, "here")]).await;
        }
        let one = store.ask("one").await.unwrap().unwrap();
        let attempts = async |ask| store.cards_of(ask).await.unwrap().remove(0).attempts;
        store.reconcile("chat", "here", true, Belongs::Everything).await.unwrap();
        assert_eq!((attempts("one").await, attempts("two").await), (1, 0), "one at most was sent");
        assert!(matches!(store.close_ask(&one, &yes(5), &[]).await.unwrap(), Closed::Won(_)));
        assert_eq!(attempts("one").await, 1);
        store.reconcile("chat", "here", true, Belongs::Everything).await.unwrap();
        assert_eq!((attempts("two").await, attempts("three").await), (1, 0), "the next in turn");
        shown(&store, "one", "m1", 2, &fence).await;
        assert_eq!(attempts("one").await, 0);
    })
    .await;
}

#[tokio::test]
async fn a_card_that_was_on_its_way_is_doubted_though_an_older_one_was_committed_since() {
    on_both(async |store| {
        let fence = leading(&store).await;
        for (id, created_at) in [("sent", 500), ("late", 100), ("same", 500), ("young", 20_000)] {
            let new = Ask { created_at, ..new_ask(id, None, None) };
            stored(&store, &new, &[card(id, "here")]).await;
        }
        store.reconcile("chat", "here", true, Belongs::Everything).await.unwrap();
        let due = store.due_cards("chat", "here", 30_000, &fence, "", 9).await.unwrap();
        let mut doubted: Vec<_> =
            due.due.into_iter().map(|due| (due.card.nonce, due.card.attempts)).collect();
        doubted.sort();
        let as_said = [("late", 1), ("same", 1), ("sent", 1), ("young", 0)];
        assert_eq!(doubted, as_said.map(|(id, attempts)| (id.to_owned(), attempts)));
    })
    .await;
}

#[tokio::test]
async fn an_answer_is_undone_with_exactly_its_own_grants_and_once() {
    on_both(async |store| {
        let rule = Rule { tool: "t".into(), pattern: "x".into(), verdict: Verdict::Allow };
        let grant = |id: &str, ask: &Ask, scope| Grant {
            id: id.into(),
            ask: ask.id.clone(),
            rule: rule.clone(),
            scope,
            agent: "a".into(),
            session: "s".into(),
            owner: None,
            folder: None,
            by: By::Timeout,
            created_at: 5,
            expires_at: None,
            digest: None,
            in_file: scope == GrantScope::Always,
        };
        let card = NewCard { nonce: "n".into(), adapter: "x".into(), target: "t".into() };
        let mut asks = Vec::new();
        for id in ["one", "two"] {
            let card = NewCard { nonce: id.into(), ..card.clone() };
            let ask = stored(&store, &new_ask(id, None, None), &[card]).await;
            let grants = [
                grant(&format!("{id}-always"), &ask, GrantScope::Always),
                grant(&format!("{id}-session"), &ask, GrantScope::Session),
            ];
            let Closed::Won(ask) = store.close_ask(&ask, &yes(5), &grants).await.unwrap() else {
                panic!("{id} was closed before")
            };
            asks.push(ask);
        }
        assert_eq!(store.next_undo_over().await.unwrap(), Some(5 + UNDO_MS));
        let undone = countersign_domain::Undone { by: By::Timeout, at: 9 };
        let Closed::Won(ask) = store.undo(&asks[0], &undone).await.unwrap() else {
            panic!("not undone")
        };
        assert_eq!(store.ask("one").await.unwrap(), Some(ask.clone()));
        assert_eq!(ask.answer().unwrap().stored.undone, Some(undone.clone()));
        assert!(matches!(store.undo(&asks[0], &undone).await.unwrap(), Closed::Lost(_)));
        let left: Vec<_> = store.grants(10).await.unwrap().into_iter().map(|it| it.id).collect();
        assert_eq!(left, ["two-always", "two-session"]);
        // What may be in the rules file is to be taken out of it by any daemon.
        let gone = store.unremoved_grants().await.unwrap();
        assert_eq!(gone.iter().map(|it| it.id.as_str()).collect::<Vec<_>>(), ["one-always"]);
        store.grant_written("one-always").await.unwrap();
        assert_eq!(store.unremoved_grants().await.unwrap().len(), 1, "a late note changes nothing");
        store.grant_removed("one-always").await.unwrap();
        assert_eq!(store.unremoved_grants().await.unwrap(), []);
        let wanted = store.cards_of("one").await.unwrap();
        assert_eq!(wanted.len(), 1);
        // The time in which the other can be undone ends with a redraw.
        assert_eq!(store.undo_over(4 + UNDO_MS).await.unwrap(), Vec::<String>::new());
        assert_eq!(store.undo_over(5 + UNDO_MS).await.unwrap(), ["two"]);
        let Closed::Won(two) = store.end_undo(&asks[1], true).await.unwrap() else {
            panic!("its time does not end")
        };
        assert_eq!(two.version, asks[1].version + 1);
        assert_eq!(store.next_undo_over().await.unwrap(), None);
        assert_eq!(store.grants(10).await.unwrap().len(), 2, "its grants hold on");
    })
    .await;
}

#[tokio::test]
async fn a_failed_copy_tells_its_cause_once() {
    let fresh = Fresh::sqlite();
    Store::open(&fresh.database).await.unwrap().close().await;
    let folder = tempfile::tempdir().unwrap();
    let copy = folder.path().join("missing/copy.db");
    let error = back_up(&fresh.database, &copy).await.unwrap_err();
    // Who tells an error with its causes would tell this one twice.
    assert!(std::error::Error::source(&error).is_none(), "{error:?}");
    assert!(error.to_string().ends_with("No such file or directory (os error 2)"), "{error}");
}
