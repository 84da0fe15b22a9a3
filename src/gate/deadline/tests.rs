#![allow(clippy::unwrap_used, clippy::panic, reason = "tests fail by panicking")]
use super::*;
use crate::{
    Choices, Gate, GateSettings, Policy, SubmitOutcome, Take, Told,
    answer::{Action, EditStep, TextPurpose},
    approvers::{Approvers, Local, Who},
    testkit,
};
use countersign_domain::{
    Scope,
    call::Appeal,
    deadline::{Pause, PauseMode},
};
use countersign_policy::Guardrail;
use countersign_profiles::Profile;
use countersign_store::{Store, testkit::engines::on_both};
use serde_json::json;

const LONG: Duration = Duration::from_secs(20);
const MINUTES: i64 = 60_000;

#[test]
fn a_reaper_that_could_not_settle_everything_rests_before_it_tries_again() {
    let good = Ok(Expiry::Settled);
    let later = Ok(Expiry::Later);
    let bad = Err(StoreError::Late);
    let due = Some(Duration::ZERO);
    let soon = Some(Duration::from_secs(5));
    let pauses = |next| [&good, &later, &bad].map(|expired| pause(expired, next));
    assert_eq!(pauses(due), [Duration::ZERO, AGAIN, AGAIN]);
    assert_eq!(pauses(soon), [Duration::from_secs(5); 3]);
    assert_eq!(pauses(None), [ROUND; 3]);
}

/// A daemon at which silence approves `notify` after so long.
fn gate(store: &Store, daemon: &str, timeout_ms: i64) -> Arc<Gate> {
    gate_with(store, daemon, timeout_ms, None)
}

/// The same with this file of rules.
fn gate_with(
    store: &Store,
    daemon: &str,
    timeout_ms: i64,
    rules: Option<&std::path::Path>,
) -> Arc<Gate> {
    let policy = Policy::open(Profile::Standard, rules, None, Guardrail::default(), false);
    let approvers = Approvers { local: Local::On, ..Approvers::default() };
    let mut choices = Choices { approvers, ..testkit::choices(policy.unwrap()) };
    choices.settings = GateSettings {
        late_yes_s: 3_600,
        timeout_ms,
        on_timeout: OnTimeout::Approve(vec!["notify".into()]),
        daemon: daemon.into(),
        keep_ms: MINUTES,
        ..choices.settings
    };
    Gate::new(store.clone(), choices)
}

async fn ask(gate: &Arc<Gate>) -> String {
    let call = json!({"agent": "a", "session": "s", "tool": "notify", "args": {"text": "hi"}});
    match gate.submit(serde_json::from_value(call).unwrap(), false).await.unwrap() {
        SubmitOutcome::Asked(ask, _) => ask.id,
        SubmitOutcome::Ruled(ruling) => panic!("ruled: {ruling:?}"),
    }
}

async fn read(store: &Store, id: &str) -> Ask {
    store.ask(id).await.unwrap().unwrap()
}

async fn looked_at(gate: &Arc<Gate>, id: &str) -> Expiry {
    let ask = read(&gate.store, id).await;
    gate.expire(&ask, gate.timer()).await.unwrap()
}

async fn kinds(store: &Store) -> Vec<String> {
    store.events_after(0, 99).await.unwrap().into_iter().map(|event| event.kind).collect()
}

/// Milliseconds until its deadline.
async fn left(store: &Store, id: &str) -> i64 {
    read(store, id).await.deadline_at.unwrap() - clock::now_ms()
}

#[tokio::test]
async fn silence_approves_only_what_is_listed_and_what_has_the_whole_time() {
    on_both(async |store| {
        let gate = gate(&store, "one", 10 * MINUTES);
        let call = |tool: &str| Call::new("a", "s", tool, json!({}));
        let silence = |call: &Call| gate.silence(call, false);
        assert_eq!(silence(&call("notify")), Silence::Approve);
        assert_eq!(gate.silence(&call("notify"), true), Silence::Deny);
        assert_eq!(silence(&call("shell_exec")), Silence::Deny);
        for (seconds, said) in [(599, Silence::Deny), (600, Silence::Approve)] {
            let seconds = Some(seconds);
            assert_eq!(silence(&Call { expires_in_s: seconds, ..call("notify") }), said);
            assert_eq!(silence(&Call { waits_s: seconds, ..call("notify") }), said);
        }
        let question = json!([{"question": "Which?", "options": []}]);
        let questions = serde_json::from_value(question).unwrap();
        assert_eq!(silence(&Call { questions, ..call("notify") }), Silence::Deny);
    })
    .await;
}

#[tokio::test]
async fn a_deadline_is_the_first_that_anybody_set_and_a_week_away_at_most() {
    on_both(async |store| {
        let gate = gate(&store, "one", 10 * MINUTES);
        let deadline = |expires_in_s, waits_s| {
            let call = Call::new("a", "s", "notify", json!({}));
            gate.deadline(&Call { expires_in_s, waits_s, ..call }, 5)
        };
        assert_eq!(deadline(None, None), Some(10 * MINUTES + 5));
        assert_eq!(deadline(Some(60), None), Some(MINUTES + 5));
        assert_eq!(deadline(Some(60), Some(30)), Some(30_005));
        assert_eq!(deadline(None, Some(3_600)), Some(10 * MINUTES + 5));
        assert_eq!(deadline(Some(u64::MAX), None), Some(7 * 24 * 60 * MINUTES + 5));
    })
    .await;
}

#[tokio::test]
async fn a_clock_that_jumps_forward_approves_nothing_and_the_row_gets_the_time_that_is_left() {
    on_both(async |store| {
        let gate = gate(&store, "one", 5 * MINUTES);
        let id = ask(&gate).await;
        store.shift(&id, 60 * MINUTES).await;
        assert_eq!(looked_at(&gate, &id).await, Expiry::Settled);
        let ask = read(&store, &id).await;
        assert!(ask.is_open() && ask.version == 2, "{ask:?}");
        let left = left(&store, &id).await;
        assert!((4 * MINUTES..=5 * MINUTES).contains(&left), "{left}");
        assert_eq!(kinds(&store).await, ["asked", "postponed"]);
        assert_eq!(gate.until_next_deadline().await.map(|left| left > AGAIN), Some(true));
    })
    .await;
}

#[tokio::test]
async fn the_cards_of_an_ask_that_got_more_time_are_redrawn() {
    on_both(async |store| {
        let gate = gate(&store, "one", 5 * MINUTES);
        let id = ask(&gate).await;
        let fence = store.take_lease("chat", "one", LONG).await.unwrap().unwrap();
        let due = async || {
            let page = store.due_cards("chat", "room", i64::MAX, &fence, "", 9).await.unwrap();
            page.due.into_iter().map(|due| due.ask.unwrap().version).collect::<Vec<_>>()
        };
        let card = store.cards_of(&id).await.unwrap().into_iter().next().unwrap();
        let shown = countersign_store::Shown {
            nonce: card.nonce,
            ask: id.clone(),
            message: "m".into(),
            version: 1,
            muted: false,
            seen: countersign_store::Seen::Yes,
            drawn: None,
        };
        assert!(store.cards_shown(&[shown], &fence).await.unwrap());
        assert!(due().await.is_empty());
        store.shift(&id, 60 * MINUTES).await;
        let _ = looked_at(&gate, &id).await;
        assert_eq!(due().await, [2]);
    })
    .await;
}

#[tokio::test]
async fn after_a_jump_silence_approves_once_the_true_wait_is_over() {
    on_both(async |store| {
        let gate = gate(&store, "one", 1_500);
        let began = Instant::now();
        let id = ask(&gate).await;
        store.shift(&id, MINUTES).await;
        let ask = gate.wait(&id, LONG).await.unwrap().unwrap();
        assert!(began.elapsed() >= Duration::from_millis(1_490), "{:?}", began.elapsed());
        let answer = ask.answer().unwrap();
        assert_eq!((ask.state.name(), answer.decision), ("expired", Decision::Approve));
        let reason = answer.reason.as_deref().unwrap();
        assert!(
            reason.starts_with("Timed out after ") && reason.contains(": approved"),
            "{reason}"
        );
        assert_eq!(kinds(&store).await, ["asked", "postponed", "expired"]);
    })
    .await;
}

#[tokio::test]
async fn where_no_clock_jumps_silence_approves_at_the_deadline_and_nothing_is_moved() {
    on_both(async |store| {
        let gate = gate(&store, "one", 300);
        let id = ask(&gate).await;
        let ask = gate.wait(&id, LONG).await.unwrap().unwrap();
        assert_eq!(ask.answer().unwrap().decision, Decision::Approve);
        assert_eq!(kinds(&store).await, ["asked", "expired"]);
        assert!(gate.monotonic.is_empty(), "nothing is kept of what is closed");
    })
    .await;
}

#[tokio::test]
async fn while_a_change_is_proposed_silence_does_not_approve_what_was_submitted() {
    on_both(async |store| {
        for (drops, decision) in [(false, Decision::Deny), (true, Decision::Approve)] {
            let gate = gate(&store, "one", 400);
            let call = Call::new("a", "s", "notify", json!({"content": "hi", "drops": drops}));
            let submitted = gate.submit(call, false).await.unwrap();
            let SubmitOutcome::Asked(ask, _) = submitted else { panic!("{submitted:?}") };
            let who = Who { platform: "api", id: "api".into(), name: "Ben".into(), roles: vec![] };
            let text = Some("bye".to_owned());
            let change = Action::Words { wanted: TextPurpose::Edit, text };
            let reply = gate.answer(*ask.clone(), who.clone(), change).await;
            assert_eq!(reply.told, Told::Noted, "{reply:?}");
            if drops {
                let drop = Action::Edit { nth: 1, step: EditStep::Drop };
                assert_eq!(gate.answer(reply.ask.unwrap(), who, drop).await.told, Told::Noted);
            }
            let ask = gate.wait(&ask.id, LONG).await.unwrap().unwrap();
            let answer = ask.answer().unwrap();
            assert_eq!((ask.state.name(), answer.decision), ("expired", decision));
        }
    })
    .await;
}

#[tokio::test]
async fn an_ask_of_an_earlier_process_gets_its_whole_time_anew_before_silence_approves() {
    on_both(async |store| {
        if store.is_shared() {
            return;
        }
        let id = ask(&gate(&store, "before", 5 * MINUTES)).await;
        store.shift(&id, 60 * MINUTES).await;
        let now = gate(&store, "now", 400);
        let began = Instant::now();
        let ask = now.wait(&id, LONG).await.unwrap().unwrap();
        assert!(began.elapsed() >= Duration::from_millis(396), "{:?}", began.elapsed());
        assert_eq!(ask.answer().unwrap().decision, Decision::Approve);
        assert_eq!(kinds(&store).await, ["asked", "postponed", "expired"]);
    })
    .await;
}

#[tokio::test]
async fn a_person_may_deny_after_a_jump_though_no_timer_has_looked_yet() {
    on_both(async |store| {
        for opened_here in [true, false] {
            let here = gate(&store, "here", 5 * MINUTES);
            let opener = if opened_here { here.clone() } else { gate(&store, "there", MINUTES) };
            let id = ask(&opener).await;
            store.shift(&id, 60 * MINUTES).await;
            let who = Who { platform: "api", id: "api".into(), name: "Ben".into(), roles: vec![] };
            let deny = Action::Deny { reason: None, then: None };
            let reply = here.answer(read(&store, &id).await, who, deny).await;
            assert_eq!(reply.told, Told::Applied, "{reply:?}");
            let ask = read(&store, &id).await;
            let answer = ask.answer().unwrap();
            assert_eq!((ask.state.name(), answer.decision), ("answered", Decision::Deny));
        }
    })
    .await;
}

#[tokio::test]
async fn of_several_daemons_the_one_that_opened_an_ask_judges_its_time_first() {
    on_both(async |store| {
        if !store.is_shared() {
            return;
        }
        let one = gate(&store, "one", 5 * MINUTES);
        let two = gate(&store, "two", 5 * MINUTES);
        let id = ask(&one).await;
        store.shift(&id, 60 * MINUTES).await;
        assert_eq!(looked_at(&two, &id).await, Expiry::Later);
        assert_eq!(two.expire_overdue().await.unwrap(), Expiry::Later);
        assert!(left(&store, &id).await < 0, "the other one leaves it alone");
        assert_eq!(looked_at(&one, &id).await, Expiry::Settled);
        assert!(left(&store, &id).await > 4 * MINUTES);
    })
    .await;
}

#[tokio::test]
async fn silence_that_denies_goes_by_the_wall_clock_alone() {
    on_both(async |store| {
        let gate = gate(&store, "one", 5 * MINUTES);
        let call = json!({"agent": "a", "session": "s", "tool": "publish", "args": {}});
        let call = serde_json::from_value(call).unwrap();
        let SubmitOutcome::Asked(asked, _) = gate.submit(call, false).await.unwrap() else {
            panic!("it is ruled on");
        };
        store.shift(&asked.id, 60 * MINUTES).await;
        assert_eq!(looked_at(&gate, &asked.id).await, Expiry::Settled);
        assert_eq!(read(&store, &asked.id).await.answer().unwrap().decision, Decision::Deny);
    })
    .await;
}

/// How long asks have waited by the monotonic clock.
mod waits {
    use super::*;
    use countersign_domain::{Body, call::Call};
    use serde_json::json;
    use tokio::time::advance;

    const MINUTE: Duration = Duration::from_secs(60);

    fn ask(deadline_at: i64) -> Ask {
        let call = json!({"agent": "a", "session": "s", "tool": "notify", "args": {}});
        let call: Call = serde_json::from_value(call).unwrap();
        let opened = Ask::opened("one", call.digest(), Body::new(call, "no rule"), 0);
        Ask { deadline_at: Some(deadline_at), ..opened }
    }

    #[tokio::test(start_paused = true)]
    async fn an_ask_that_was_opened_here_has_waited_enough_when_its_time_is_over() {
        let waits = MonotonicWaits::default();
        waits.count("one", Instant::now(), 10 * MINUTE);
        advance(4 * MINUTE).await;
        for looker in [Looker::First, Looker::OneOfSeveral] {
            assert_eq!(waits.judge(&ask(1), looker), Waited::TooShort(6 * MINUTE));
        }
        advance(6 * MINUTE).await;
        assert_eq!(waits.judge(&ask(1), Looker::OneOfSeveral), Waited::Enough(10 * MINUTE));
    }

    #[tokio::test(start_paused = true)]
    async fn clocks_may_differ_by_a_hundredth_and_no_more() {
        let waits = MonotonicWaits::default();
        waits.count("one", Instant::now(), 100 * MINUTE);
        advance(98 * MINUTE).await;
        assert_eq!(waits.judge(&ask(1), Looker::First), Waited::TooShort(2 * MINUTE));
        advance(MINUTE).await;
        assert_eq!(waits.judge(&ask(1), Looker::First), Waited::Enough(99 * MINUTE));
    }

    #[tokio::test(start_paused = true)]
    async fn an_ask_of_another_process_never_has_waited_enough_and_is_left_to_it_for_a_while() {
        let waits = MonotonicWaits::default();
        assert_eq!(waits.judge(&ask(1), Looker::OneOfSeveral), Waited::Elsewhere);
        assert_eq!(waits.judge(&ask(1), Looker::First), Waited::Uncounted);
        advance(MINUTE).await;
        assert_eq!(waits.judge(&ask(1), Looker::OneOfSeveral), Waited::Uncounted);
        // The other one gave it more time; that it is overdue again is for the other one to see.
        assert_eq!(waits.judge(&ask(2), Looker::OneOfSeveral), Waited::Elsewhere);
        advance(MINUTE).await;
        assert_eq!(waits.judge(&ask(2), Looker::OneOfSeveral), Waited::Uncounted);
    }

    #[tokio::test(start_paused = true)]
    async fn what_is_closed_here_or_elsewhere_is_forgotten() {
        let waits = MonotonicWaits::default();
        waits.count("one", Instant::now(), MINUTE);
        waits.count("two", Instant::now(), MINUTE);
        waits.forget("one");
        waits.tidy();
        assert_eq!(waits.0.len(), 1);
        advance(MINUTE + KEPT).await;
        waits.tidy();
        assert!(waits.0.is_empty());
    }
}

fn command(text: &str) -> Call {
    Call::new("a", "s", "shell_exec", json!({ "command": text }))
}

fn ana() -> Who {
    Who { platform: "inbox", id: "local".into(), name: "Ana".into(), roles: vec![] }
}

/// Submits a call; the id of its ask, or the reason for which it may run.
async fn submitted(gate: &Arc<Gate>, call: Call) -> Result<String, String> {
    match gate.submit(call, false).await.unwrap() {
        SubmitOutcome::Asked(ask, _) => Ok(ask.id),
        SubmitOutcome::Ruled(ruling) => Err(ruling.reason.clone()),
    }
}

/// Submits a call that nobody answers in time.
async fn expired(gate: &Arc<Gate>, call: Call) -> Ask {
    let id = submitted(gate, call).await.unwrap();
    gate.store.shift(&id, 60 * MINUTES).await;
    assert_eq!(looked_at(gate, &id).await, Expiry::Settled);
    read(&gate.store, &id).await
}

#[tokio::test]
async fn a_late_yes_lets_exactly_the_same_call_run_once() {
    on_both(async |store| {
        let gate = gate(&store, "one", MINUTES);
        let ask = expired(&gate, command("make deploy")).await;
        assert!(ask.takes_next_try());
        let late = async |ask: &Ask| gate.answer(ask.clone(), ana(), Action::ApproveNext).await;
        let reply = late(&ask).await;
        let words = "Approved: the same call may run once when it comes again within 60 minutes.";
        assert_eq!((reply.told, reply.sentence.as_str()), (Told::Applied, words));
        let again = late(&ask).await;
        assert_eq!(again.told, Told::Expired, "{again:?}");
        assert!(again.sentence.starts_with("Ana approved the next try at "), "{again:?}");

        // One byte, another session, another folder: nothing passes that was not shown.
        let other = [
            command("make deploy "),
            Call { session: "t".into(), ..command("make deploy") },
            Call { cwd: Some("/elsewhere".into()), ..command("make deploy") },
        ];
        for call in other {
            assert!(submitted(&gate, call).await.is_ok());
        }
        let allowed = submitted(&gate, command("make deploy")).await.unwrap_err();
        assert!(allowed.starts_with("approved ahead by Ana, once (grant "), "{allowed}");
        assert!(submitted(&gate, command("make deploy")).await.is_ok(), "it is spent");
        let kinds = kinds(&store).await;
        assert!(kinds.contains(&"next_try_approved".to_owned()), "{kinds:?}");
    })
    .await;
}

#[tokio::test]
async fn a_late_yes_that_is_revoked_lets_nothing_run() {
    on_both(async |store| {
        let gate = gate(&store, "one", MINUTES);
        let ask = expired(&gate, command("make deploy")).await;
        let reply = gate.answer(ask, ana(), Action::ApproveNext).await;
        assert_eq!(reply.told, Told::Applied);
        let grants = store.grants(clock::now_ms()).await.unwrap();
        let [grant] = grants.as_slice() else { panic!("{grants:?}") };
        assert!(store.revoke_grant(&grant.id, None, clock::now_ms()).await.unwrap().is_some());
        assert!(submitted(&gate, command("make deploy")).await.is_ok());
    })
    .await;
}

#[tokio::test]
async fn only_what_nobody_answered_and_one_person_may_approve_ahead_gets_a_late_yes() {
    on_both(async |store| {
        let gate = gate(&store, "one", MINUTES);
        let late = async |ask: Ask| gate.answer(ask, ana(), Action::ApproveNext).await.told;
        let critical = expired(&gate, command("rm -rf /")).await;
        assert!(!critical.takes_next_try());
        assert_eq!(late(critical).await, Told::Unfit);

        let open = submitted(&gate, command("make one")).await.unwrap();
        let open = read(&store, &open).await;
        assert_eq!(late(open.clone()).await, Told::Unfit);
        let no = Action::Deny { reason: None, then: None };
        let denied = gate.answer(open, ana(), no).await.ask.unwrap();
        assert_eq!(late(denied).await, Told::Already);
        assert_eq!(store.grants(clock::now_ms()).await.unwrap(), []);
    })
    .await;
}

/// A call that a machine blocked.
fn appeal(text: &str) -> Call {
    let against = "Claude Code's auto mode".into();
    let reason = "[Data Exfiltration] x".into();
    Call { appeal: Some(Appeal { against, reason }), ..command(text) }
}

async fn ahead(gate: &Arc<Gate>, call: Call, take: Take) -> bool {
    gate.approved_ahead(call, take).await.unwrap().is_some()
}

/// Appeals, and approves it; a critical one as the second press of its card does.
async fn released(gate: &Arc<Gate>, call: Call) -> Ask {
    let id = submitted(gate, call).await.unwrap();
    let ask = read(&gate.store, &id).await;
    let reply = gate.answer(ask, ana(), Action::Approve { scope: Scope::Once }).await;
    assert_eq!(reply.told, Told::Applied, "{reply:?}");
    reply.ask.unwrap()
}

#[tokio::test]
async fn an_appeal_is_asked_whatever_the_rules_allow_and_lets_the_retry_run_once() {
    on_both(async |store| {
        let gate = gate(&store, "one", 5 * MINUTES);
        let id = submitted(&gate, command("ls")).await.unwrap();
        let session = Action::Approve { scope: Scope::Session };
        let _ = gate.answer(read(&store, &id).await, ana(), session).await;
        assert!(submitted(&gate, command("ls")).await.is_err(), "a grant allows it");
        for text in ["ls", "scp a b:c", "rm -rf /"] {
            let ask = released(&gate, appeal(text)).await;
            let blocked = "Claude Code's auto mode blocked this: [Data Exfiltration] x.";
            assert!(ask.body.why.starts_with(blocked), "{}", ask.body.why);
            assert_eq!((&ask.body.always[..], &ask.body.exact[..]), (&[][..], &[][..]));
            let described = |words: &str| {
                let args = json!({"command": text, "description": words});
                Call { args, ..command(text) }
            };
            let other = Call { session: "t".into(), ..command(text) };
            assert!(!ahead(&gate, other, Take::Spend).await);
            assert!(!ahead(&gate, command(&format!("{text} ")), Take::Spend).await);
            assert!(ahead(&gate, described("one"), Take::Look).await);
            assert!(ahead(&gate, described("two"), Take::Spend).await);
            assert!(!ahead(&gate, described("two"), Take::Spend).await, "once");
        }
    })
    .await;
}

#[tokio::test]
async fn an_appeal_that_nobody_allowed_lets_nothing_run() {
    on_both(async |store| {
        let gate = gate(&store, "one", 5 * MINUTES);
        let id = submitted(&gate, appeal("scp a b:c")).await.unwrap();
        assert!(!ahead(&gate, command("scp a b:c"), Take::Spend).await, "it is open");
        let no = Action::Deny { reason: None, then: None };
        let _ = gate.answer(read(&store, &id).await, ana(), no).await;
        assert!(!ahead(&gate, command("scp a b:c"), Take::Spend).await);

        let late = expired(&gate, appeal("scp d e:f")).await;
        assert!(!ahead(&gate, command("scp d e:f"), Take::Spend).await);
        assert_eq!(gate.answer(late, ana(), Action::ApproveNext).await.told, Told::Applied);
        assert!(ahead(&gate, command("scp d e:f"), Take::Look).await, "a late yes");

        let undone = released(&gate, appeal("scp g h:i")).await;
        assert_eq!(gate.answer(undone, ana(), Action::Undo).await.told, Told::Applied);
        assert!(!ahead(&gate, command("scp g h:i"), Take::Spend).await);
    })
    .await;
}

/// The call under this id at its agent.
fn under(id: &str, call: Call) -> Call {
    Call { meta: Some(json!({"tool_use_id": id})), ..call }
}

fn overruled(ask: &Ask) -> Option<&str> {
    Some(&ask.answer()?.overruled.as_ref()?.verdict.reason)
}

#[tokio::test]
async fn what_its_machine_blocked_although_it_was_approved_says_both_and_is_not_asked_again() {
    on_both(async |store| {
        let gate = gate(&store, "one", 5 * MINUTES);
        let id = submitted(&gate, under("t1", command("make a"))).await.unwrap();
        let approve = Action::Approve { scope: Scope::Once };
        let _ = gate.answer(read(&store, &id).await, ana(), approve).await;
        // Another call of the same words is no sign of what became of this one.
        let other = submitted(&gate, under("t2", appeal("make a"))).await.unwrap();
        assert_eq!(overruled(&read(&store, &id).await), None);
        let no = Action::Deny { reason: None, then: None };
        let _ = gate.answer(read(&store, &other).await, ana(), no).await;
        let stranger = Call { session: "t".into(), ..under("t1", appeal("make b")) };
        assert!(submitted(&gate, stranger).await.is_ok());
        assert_eq!(overruled(&read(&store, &id).await), None, "another session");

        for _ in 0..2 {
            let why = submitted(&gate, under("t1", appeal("make a"))).await.unwrap_err();
            assert_eq!(why, "Ana approved it, but Claude Code's auto mode still blocked it");
        }
        let ask = read(&store, &id).await;
        assert_eq!(overruled(&ask), Some("[Data Exfiltration] x"));
        assert_eq!(ask.answer().unwrap().decision, Decision::Approve, "the approval stays");
        let events = store.events_after(0, 100).await.unwrap();
        let noted = events.iter().filter(|event| event.kind == "overruled").count();
        assert_eq!(noted, 1);
    })
    .await;
}

#[tokio::test]
async fn a_retry_that_is_blocked_again_says_so_at_the_appeal_that_released_it() {
    on_both(async |store| {
        let gate = gate(&store, "one", 5 * MINUTES);
        let released = released(&gate, under("t1", appeal("scp a b:c"))).await;
        assert!(ahead(&gate, under("t2", command("scp a b:c")), Take::Spend).await);
        let started = read(&store, &released.id).await;
        let execution = started.answer().unwrap().execution.clone().unwrap();
        assert_eq!(execution.as_call.as_deref(), Some("t2"), "its card says that it started");
        let why = submitted(&gate, under("t2", appeal("scp a b:c"))).await.unwrap_err();
        assert_eq!(why, "Ana approved it, but Claude Code's auto mode still blocked it");
        assert_eq!(overruled(&read(&store, &released.id).await), Some("[Data Exfiltration] x"));
        // The block that was appealed against is not one of what it released.
        assert!(submitted(&gate, under("t3", appeal("scp a b:c"))).await.is_ok());
    })
    .await;
}

#[tokio::test]
async fn one_call_has_one_card_however_often_it_is_blocked_and_asked_for() {
    on_both(async |store| {
        let gate = gate(&store, "one", 5 * MINUTES);
        let first = submitted(&gate, under("t1", appeal("scp a b:c"))).await.unwrap();
        let why = submitted(&gate, under("t2", appeal("scp a b:c"))).await.unwrap_err();
        assert_eq!(why, format!("a person is asked about it already ({first})"));
        let other = submitted(&gate, appeal("scp  a b:c")).await.unwrap();
        // The third block in a row is a prompt, whose answer needs no retry.
        let args = json!({"command": "scp a b:c", "description": "Copy"});
        let prompt = submitted(&gate, Call { args, ..command("") }).await.unwrap();
        let state = async |id: &str| read(&store, id).await.state.name();
        assert_eq!(state(&first).await, "cancelled");
        assert_eq!(state(&other).await, "open", "it is for another call");
        assert_eq!(state(&prompt).await, "open");
    })
    .await;
}

fn ruled_only(text: &str) -> Call {
    Call { rules_only: true, ..command(text) }
}

#[tokio::test]
async fn without_a_rules_file_only_what_the_built_in_rules_hold_is_kept_from_the_other_judge() {
    on_both(async |store| {
        let gate = gate_with(&store, "one", 5 * MINUTES, None);
        let outcome = async |call: Call| match gate.submit(call, false).await.unwrap() {
            SubmitOutcome::Asked(..) => "asked",
            SubmitOutcome::Ruled(ruling) => match ruling.verdict {
                countersign_policy::Verdict::Allow => "allowed",
                countersign_policy::Verdict::Ask => "left",
                countersign_policy::Verdict::Deny => "denied",
            },
        };
        let file = |path: &str| {
            let call = ruled_only("");
            Call { tool: "Write".into(), args: json!({"file_path": path, "content": ""}), ..call }
        };
        let questions = json!([{"question": "Which?", "options": []}]);
        let questions = serde_json::from_value(questions).unwrap();
        let budget = json!({"for_s": 60, "calls": [{"tool": "shell_exec",
            "args": {"command": "make b"}}]});
        let budget = Call {
            budget: serde_json::from_value(budget).unwrap(),
            rules_only: true,
            ..Call::new("a", "s", "budget", json!({}))
        };
        let question =
            Call { questions, rules_only: true, ..Call::new("a", "s", "ask_user", json!({})) };
        for (call, wanted) in [
            (ruled_only("make a"), "left"),
            (command("make a"), "asked"),
            (Call { rules_only: true, ..appeal("make a") }, "asked"),
            (question, "asked"),
            (budget, "asked"),
            (ruled_only("rm -rf /"), "asked"),
            (ruled_only("eval \"$(cat x)\""), "asked"),
            (file("/home/ana/shop/a"), "left"),
            (file("/home/ana/shop/.env"), "denied"),
        ] {
            assert_eq!(outcome(call.clone()).await, wanted, "{call:?}");
        }
    })
    .await;
}

#[tokio::test]
async fn what_no_rule_asks_for_is_left_to_the_callers_other_judge_unless_people_have_spoken() {
    on_both(async |store| {
        let folder = tempfile::TempDir::new().unwrap();
        let rules = folder.path().join("rules.jsonc");
        let text = r#"{"*": "ask", "shell_exec": {"git push *": "ask", "curl *": "deny"}}"#;
        std::fs::write(&rules, text).unwrap();
        let gate = gate_with(&store, "one", 5 * MINUTES, Some(&rules));
        let outcome = async |call: Call| match gate.submit(call, false).await.unwrap() {
            SubmitOutcome::Asked(..) => "asked",
            SubmitOutcome::Ruled(ruling) => match ruling.verdict {
                countersign_policy::Verdict::Allow => "allowed",
                countersign_policy::Verdict::Ask => "left",
                countersign_policy::Verdict::Deny => "denied",
            },
        };
        assert_eq!(outcome(ruled_only("make a")).await, "left");
        assert_eq!(outcome(command("make a")).await, "asked");
        assert_eq!(outcome(ruled_only("make a && git push x y")).await, "asked");
        assert_eq!(outcome(ruled_only("curl x")).await, "denied");
        // What is critical, and what cannot be read, asks.
        assert_eq!(outcome(ruled_only("rm -rf /")).await, "asked");
        assert_eq!(outcome(ruled_only("eval \"$(cat x)\"")).await, "asked");
        // What a person released runs, once.
        let _ = released(&gate, appeal("make b")).await;
        assert_eq!(outcome(ruled_only("make b")).await, "allowed");
        assert_eq!(outcome(ruled_only("make b")).await, "left");
        // In a pause nothing is left to anybody.
        let by = By::Person { platform: "inbox".into(), id: "local".into(), name: "Ana".into() };
        let pause = Pause { mode: PauseMode::Hold, by, since: clock::now_ms() };
        store.set_pause(&pause).await.unwrap();
        assert_eq!(outcome(ruled_only("make c")).await, "asked");
    })
    .await;
}

/// What a call that nobody is asked about comes to.
async fn ruled(gate: &Arc<Gate>, call: Call) -> countersign_policy::Decision {
    match gate.submit(call, false).await.unwrap() {
        SubmitOutcome::Ruled(ruling) => *ruling,
        SubmitOutcome::Asked(ask, _) => panic!("asked: {ask:?}"),
    }
}

/// A file of rules by which everything asks.
fn all_ask(folder: &std::path::Path) -> std::path::PathBuf {
    let rules = folder.join("rules.jsonc");
    std::fs::write(&rules, r#"{"*": "ask"}"#).unwrap();
    rules
}

#[tokio::test]
async fn what_people_said_of_the_same_call_is_a_verdict_of_no_rule_and_noted_as_one() {
    on_both(async |store| {
        let folder = tempfile::TempDir::new().unwrap();
        let gate = gate_with(&store, "one", 5 * MINUTES, Some(&all_ask(folder.path())));
        let said = |ruling: countersign_policy::Decision| {
            (ruling.verdict, ruling.rule.is_none(), ruling.reason)
        };
        let id = submitted(&gate, command("make a")).await.unwrap();
        let ask = read(&store, &id).await;
        assert!(ask.body.rule.is_some());
        let no = Action::Deny { reason: Some("not now".into()), then: None };
        assert_eq!(gate.answer(ask, ana(), no).await.told, Told::Applied);
        let denied = "Denied a moment ago by Ana: not now".to_owned();
        let verdict = countersign_policy::Verdict::Deny;
        assert_eq!(said(ruled(&gate, command("make a")).await), (verdict, true, denied));

        let first = submitted(&gate, appeal("make b")).await.unwrap();
        let again = format!("a person is asked about it already ({first})");
        assert_eq!(said(ruled(&gate, appeal("make b")).await), (verdict, true, again));

        let late = expired(&gate, command("make c")).await;
        assert_eq!(gate.answer(late, ana(), Action::ApproveNext).await.told, Told::Applied);
        let (verdict, ruleless, why) = said(ruled(&gate, command("make c")).await);
        assert_eq!((verdict, ruleless), (countersign_policy::Verdict::Allow, true));
        assert!(why.starts_with("approved ahead by Ana, once (grant "), "{why}");

        let stop = CancellationToken::new();
        stop.cancel();
        gate.allowed.keep_written(stop).await;
        let events = store.events_after(0, 99).await.unwrap();
        let noted = events.iter().filter(|it| ["allowed", "ruled"].contains(&it.kind.as_str()));
        let noted: Vec<_> = noted.map(|it| (it.kind.as_str(), it.data.get("verdict"))).collect();
        let deny = json!("deny");
        assert_eq!(noted, [("ruled", Some(&deny)), ("ruled", Some(&deny)), ("allowed", None)]);
    })
    .await;
}

#[tokio::test]
async fn a_key_names_one_call_and_its_caller_comes_back_to_its_ask_whatever_was_said_since() {
    on_both(async |store| {
        let gate = gate(&store, "one", 5 * MINUTES);
        let keyed = |key: &str, text: &str| Call { key: Some(key.into()), ..command(text) };
        let id = submitted(&gate, keyed("k", "make a")).await.unwrap();
        assert_eq!(submitted(&gate, keyed("k", "make a")).await, Ok(id.clone()));
        let blocked = Call { key: Some("b".into()), ..appeal("make a") };
        let appealed = submitted(&gate, blocked.clone()).await.unwrap();
        assert_eq!(submitted(&gate, blocked).await, Ok(appealed), "its own appeal, not another's");
        let other = gate.submit(keyed("k", "make b"), false).await.unwrap_err();
        assert_eq!(
            other.to_string(),
            "the key `k` was used in this session for another call; a key names exactly one call"
        );
        let by = By::Person { platform: "inbox".into(), id: "local".into(), name: "Ana".into() };
        let pause = Pause { mode: PauseMode::Deny, by, since: clock::now_ms() };
        store.set_pause(&pause).await.unwrap();
        assert_eq!(submitted(&gate, keyed("k", "make a")).await, Ok(id.clone()));
        let new = ruled(&gate, keyed("l", "make a")).await;
        assert_eq!((new.verdict, new.rule), (countersign_policy::Verdict::Deny, None));
        assert!(new.reason.ends_with(": nothing runs until it is resumed"), "{}", new.reason);
        assert_eq!(ruled(&gate, command("make a")).await.verdict, new.verdict);

        let no = Action::Deny { reason: None, then: None };
        assert_eq!(gate.answer(read(&store, &id).await, ana(), no).await.told, Told::Applied);
        assert_eq!(submitted(&gate, keyed("k", "make a")).await, Ok(id), "though it was denied");
    })
    .await;
}

#[tokio::test]
async fn only_a_call_whose_agent_can_be_stopped_offers_that() {
    on_both(async |store| {
        let gate = gate(&store, "one", 5 * MINUTES);
        let stops = async |call: Call| {
            let ask = read(&store, &submitted(&gate, call).await.unwrap()).await;
            ask.body.choices.contains(&countersign_profiles::PromptChoice::DenyAndStop)
        };
        let accepts = vec![countersign_domain::call::Accepts::Stop];
        let stoppable = |call: Call| Call { accepts: accepts.clone(), ..call };
        let questions = json!([{"question": "Which?", "options": []}]);
        let questions = serde_json::from_value(questions).unwrap();
        assert!(stops(stoppable(command("make a"))).await);
        assert!(!stops(command("make b")).await);
        let question = Call { questions, ..Call::new("a", "s", "ask_user", json!({})) };
        assert!(!stops(stoppable(question)).await);
    })
    .await;
}

#[tokio::test]
async fn what_was_approved_ahead_does_not_run_while_its_agent_is_paused() {
    on_both(async |store| {
        let gate = gate(&store, "one", 5 * MINUTES);
        let new = countersign_store::NewAgentToken {
            id: "t".into(),
            name: "a".into(),
            hash: countersign_tokens::secret::TokenHash::of("secret"),
            reads: countersign_store::Reads::Own,
            by: By::Caller,
            expires_at: None,
            limits: Default::default(),
            scope: Default::default(),
        };
        let token = store.add_agent_token(new, clock::now_ms()).await.unwrap().unwrap();
        let owner = Some(countersign_domain::Owner::by_token("t"));
        let owned = || Call { owner: owner.clone(), ..command("make a") };
        let late = expired(&gate, owned()).await;
        assert_eq!(gate.answer(late, ana(), Action::ApproveNext).await.told, Told::Applied);
        assert!(ahead(&gate, owned(), Take::Look).await);
        let limit = countersign_store::AgentLimit::Open(1);
        let denial = gate.over_limit(&owned(), &token, limit).await.unwrap();
        assert_eq!(denial.verdict, countersign_policy::Verdict::Deny);
        assert!(!ahead(&gate, owned(), Take::Spend).await);
        assert!(store.resume_agent("a", &By::Caller, clock::now_ms()).await.unwrap());
        assert!(ahead(&gate, owned(), Take::Spend).await, "it was not spent");
    })
    .await;
}

#[tokio::test]
async fn silence_approves_only_where_the_card_said_so_and_the_operator_still_does() {
    on_both(async |store| {
        let patient = gate(&store, "one", 10 * MINUTES);
        let hasty = gate(&store, "one", MINUTES);
        let minute = || {
            let call = Call::new("a", "s", "notify", json!({}));
            Call { expires_in_s: Some(60), ..call }
        };
        for (opens, looks, said) in
            [(&hasty, &patient, Silence::Approve), (&patient, &hasty, Silence::Deny)]
        {
            let id = submitted(opens, minute()).await.unwrap();
            assert_eq!(read(&store, &id).await.body.silence, said);
            store.shift(&id, 2 * MINUTES).await;
            assert_eq!(looked_at(looks, &id).await, Expiry::Settled);
            let ask = read(&store, &id).await;
            assert!(matches!(ask.state, State::Expired(_)), "{ask:?}");
            assert_eq!(ask.answer().unwrap().decision, Decision::Deny);
        }
    })
    .await;
}

#[tokio::test]
async fn an_ask_keeps_its_time_and_one_that_nobody_was_shown_says_so() {
    on_both(async |store| {
        let gate = gate(&store, "one", MINUTES);
        let id = submitted(&gate, command("make a")).await.unwrap();
        let open = read(&store, &id).await;
        assert_eq!(looked_at(&gate, &id).await, Expiry::Settled);
        assert_eq!(read(&store, &id).await, open);
        let ask = expired(&gate, command("make b")).await;
        let answer = ask.answer().unwrap();
        let reason = "No approver was reachable for 60 min: not approved".to_owned();
        assert_eq!((&answer.by, answer.reason.clone()), (&By::NoApprover, Some(reason)));
    })
    .await;
}

#[tokio::test]
async fn what_was_approved_ahead_does_not_run_after_a_denial_nor_in_a_pause() {
    on_both(async |store| {
        let gate = gate(&store, "one", 5 * MINUTES);
        let approved = async |text: &str| {
            let late = expired(&gate, command(text)).await;
            let open = submitted(&gate, command(text)).await.unwrap();
            assert_eq!(gate.answer(late, ana(), Action::ApproveNext).await.told, Told::Applied);
            assert!(ahead(&gate, command(text), Take::Look).await);
            read(&store, &open).await
        };
        let open = approved("make a").await;
        let no = Action::Deny { reason: None, then: None };
        assert_eq!(gate.answer(open, ana(), no).await.told, Told::Applied);
        assert!(!ahead(&gate, command("make a"), Take::Spend).await, "denied a moment ago");

        approved("make b").await;
        let by = By::Person { platform: "inbox".into(), id: "local".into(), name: "Ana".into() };
        let pause = Pause { mode: PauseMode::Hold, by, since: clock::now_ms() };
        store.set_pause(&pause).await.unwrap();
        assert!(!ahead(&gate, command("make b"), Take::Spend).await, "everything is paused");
    })
    .await;
}
