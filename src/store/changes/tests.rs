#![allow(clippy::unwrap_used, clippy::panic, reason = "tests fail by panicking")]
use super::*;
use crate::{
    Inserted,
    testkit::engines::on_both,
    tests::{answered, new_ask},
};
use countersign_domain::Rule;
use countersign_domain::{
    Body, GrantScope, StoppedClock,
    deadline::{AskStep, StepAction},
};

fn ana() -> By {
    By::Person { platform: "telegram".into(), id: "4211".into(), name: "Ana".into() }
}

fn hold(since: i64) -> Pause {
    Pause { mode: PauseMode::Hold, by: ana(), since }
}

async fn opened(store: &Store, id: &str, deadline_at: Option<i64>) -> Ask {
    match store.insert_ask(&new_ask(id, None, deadline_at), &[], None).await.unwrap() {
        Inserted::New(ask) | Inserted::Known(ask) => ask,
        other @ Inserted::OverLimit(_) => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn while_paused_nothing_is_approved_and_deadlines_run_on_with_what_was_left() {
    on_both(async |store| {
        let short = opened(&store, "short", Some(1_000)).await;
        let endless = opened(&store, "endless", None).await;
        assert_eq!(store.pause().await.unwrap(), None);
        assert_eq!(store.set_pause(&hold(400)).await.unwrap(), None);
        assert_eq!(store.pause().await.unwrap(), Some(hold(400)));
        let new = opened(&store, "new", Some(2_000)).await;
        let read = async |id: &str| store.ask(id).await.unwrap().unwrap();
        let stopped = |left_ms| Some(StoppedClock { left_ms });
        let now = read(&short.id).await;
        assert_eq!((now.deadline_at, now.stopped), (None, stopped(Some(600))));
        assert_eq!(read(&endless.id).await.stopped, stopped(None));
        assert_eq!((new.deadline_at, new.stopped), (None, stopped(Some(1_999))));
        assert_eq!(read(&new.id).await, new);
        // Read before the pause or read now: neither can approve it.
        let yes = answered(Decision::Approve, 500);
        for seen in [&short, &now] {
            let closed = store.close_ask(seen, &yes, &[]).await.unwrap();
            assert!(matches!(closed, Closed::Lost(ask) if ask.is_open()));
        }
        let no = answered(Decision::Deny, 500);
        assert!(matches!(store.close_ask(&new, &no, &[]).await.unwrap(), Closed::Won(_)));
        // Another way, and the same pause.
        let deny = Pause { mode: PauseMode::Deny, ..hold(700) };
        assert_eq!(store.set_pause(&deny).await.unwrap(), Some(hold(400)));
        let since = Pause { since: 400, ..deny };
        assert_eq!(store.end_pause(&ana(), 10_000).await.unwrap(), Some(since));
        assert_eq!(store.end_pause(&ana(), 10_000).await.unwrap(), None);
        let after = read(&short.id).await;
        assert_eq!((after.deadline_at, after.stopped), (Some(10_600), None));
        assert_eq!(read(&endless.id).await.deadline_at, None);
        let yes = answered(Decision::Approve, 10_500);
        let closed = store.close_ask(&after, &yes, &[]).await.unwrap();
        assert!(matches!(closed, Closed::Won(ask) if matches!(ask.state, State::Answered(_))));
    })
    .await;
}

fn asked(id: &str, minutes: &[i64]) -> Ask {
    let step = |minute: &i64| AskStep { after_ms: minute * 60_000, action: StepAction::Remind };
    let new = new_ask(id, None, None);
    let steps = minutes.iter().map(step).collect();
    Ask { created_at: 0, body: Body { steps, ..new.body }, ..new }
}

async fn insert(store: &Store, new: &Ask) -> Ask {
    match store.insert_ask(new, &[], None).await.unwrap() {
        Inserted::New(ask) | Inserted::Known(ask) => ask,
        other @ Inserted::OverLimit(_) => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn of_all_who_take_a_step_one_does_and_only_when_it_is_due() {
    on_both(async |store| {
        let ask = insert(&store, &asked("one", &[1, 3])).await;
        let take = async |ask: &Ask, now| {
            let next = ask.between_steps().map(|later| now + later);
            store.take_step(ask, next, now, TakenStep::Reminder).await.unwrap()
        };
        assert!(store.due_steps(59_999).await.unwrap().is_empty());
        assert!(!take(&ask, 59_999).await, "before it is due");
        let due = store.due_steps(60_000).await.unwrap();
        assert_eq!(due.iter().map(|it| it.ask.id.as_str()).collect::<Vec<_>>(), ["one"]);
        assert!(take(&ask, 60_000).await);
        assert!(!take(&ask, 60_000).await, "another daemon has seen the same row");
        let ask = store.ask("one").await.unwrap().unwrap();
        assert_eq!((ask.steps_done, store.next_step_at().await.unwrap()), (1, Some(180_000)));
        assert!(take(&ask, 180_000).await);
        assert_eq!(store.next_step_at().await.unwrap(), None);
    })
    .await;
}

#[tokio::test]
async fn no_step_is_due_while_everything_is_paused_and_its_time_goes_on_after_that() {
    on_both(async |store| {
        let ask = insert(&store, &asked("one", &[1])).await;
        let mode = PauseMode::Hold;
        let by = By::Timeout;
        let pause = Pause { mode, by: by.clone(), since: 20_000 };
        store.set_pause(&pause).await.unwrap();
        let held = insert(&store, &asked("two", &[1])).await;
        assert!(store.due_steps(i64::MAX).await.unwrap().is_empty());
        for ask in [&ask, &held] {
            let taken = store.take_step(ask, None, i64::MAX, TakenStep::Reminder).await;
            assert!(!taken.unwrap());
        }
        store.end_pause(&by, 1_000_000).await.unwrap();
        assert_eq!(store.next_step_at().await.unwrap(), Some(1_040_000));
        let both = store.due_steps(1_060_000).await.unwrap();
        let ids: Vec<_> = both.iter().map(|it| (it.ask.id.as_str(), it.at)).collect();
        assert_eq!(ids, [("one", 1_040_000), ("two", 1_060_000)]);
    })
    .await;
}

#[tokio::test]
async fn a_change_of_which_one_part_fails_leaves_the_ask_its_cards_and_the_log_as_they_were() {
    on_both(async |store| {
        let card = NewCard { nonce: "n".into(), adapter: "chat".into(), target: "7".into() };
        let ask = match store.insert_ask(&new_ask("one", None, None), &[card], None).await.unwrap()
        {
            Inserted::New(ask) => ask,
            other => panic!("it was known: {other:?}"),
        };
        let grant = Grant {
            id: "g".to_owned(),
            ask: ask.id.clone(),
            rule: Rule::allow("shell_exec", "make"),
            scope: GrantScope::Session,
            agent: "a".to_owned(),
            session: "s".to_owned(),
            owner: None,
            folder: None,
            by: ana(),
            created_at: 10,
            expires_at: None,
            digest: None,
            in_file: false,
        };
        assert!(store.save_grant(&grant).await.unwrap());
        let before = store.cards_of("one").await.unwrap();
        let wanted = async || store.time("SELECT wanted FROM card").await.unwrap();
        let kinds = async || {
            let events = store.events_after(0, 9).await.unwrap();
            events.into_iter().map(|event| event.kind).collect::<Vec<_>>()
        };
        // A grant of this id is there already, so the last part of the change fails.
        let yes = answered(Decision::Approve, 20);
        store.close_ask(&ask, &yes, std::slice::from_ref(&grant)).await.unwrap_err();
        assert_eq!(store.ask("one").await.unwrap(), Some(ask.clone()));
        assert_eq!(store.cards_of("one").await.unwrap(), before);
        assert_eq!(
            (wanted().await, kinds().await),
            (Some(1), vec!["asked".into(), "saved".into()])
        );
        let closed = store.close_ask(&ask, &yes, &[]).await.unwrap();
        assert!(matches!(closed, Closed::Won(ask) if ask.version == 2));
        assert_eq!(wanted().await, Some(2));
        assert_eq!(kinds().await, ["asked", "saved", "answered"]);
    })
    .await;
}
