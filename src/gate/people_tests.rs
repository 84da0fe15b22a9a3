#![allow(clippy::unwrap_used, clippy::panic, reason = "tests fail by panicking")]
//! What people bring about at the gate, and what they do not: rules that they save, votes that count
//! by their roles, and what a call has to say before anybody is asked.

use crate::{
    ApproverError, Gate, PauseOutcome, Reply, Revoked, RoleSource, RuleSaved, SubmitError,
    SubmitOutcome, Told,
    answer::{Action, EditStep, TextPurpose},
    approvers::Who,
    ask::{Ask, By, GrantScope, Scope, Silence, deadline::PauseMode, requirement::VoteCount},
    call::Call,
    grants::{
        ALLOWED, ALLOWS_ONLY, ANSWER_RULES, CRITICAL, NAMELESS, NEVER, ONE_STAR, PAUSED, PROFILE,
        TOO_WIDE,
    },
    rules::{AnswerRule, AskConditions},
    testkit::{RULES, ana, appeal, asked, command, gate, pause, question, who},
};
use countersign_policy::{Rule, Verdict};
use countersign_port::async_trait;
use countersign_profiles::{OnDeny, Profile};
use countersign_store::{Grant, testkit::engines::on_both};
use countersign_tokens::clock;
use serde_json::json;
use std::{
    collections::HashMap,
    sync::{Arc, Mutex},
};
use tokio_util::sync::CancellationToken;

pub(crate) fn shell(pattern: &str) -> Rule {
    Rule::allow("Bash", pattern)
}

/// Who saved what for how long, or why it was not saved.
async fn saved(gate: &Arc<Gate>, rule: Rule, who: Who) -> Result<String, String> {
    match gate.save_rule(rule, who).await.unwrap() {
        RuleSaved::Saved(grant) => {
            assert_eq!(grant.scope, GrantScope::Always);
            Ok(format!(
                "{}: {} ({}), by {}",
                grant.agent, grant.rule.pattern, grant.rule.tool, grant.by
            ))
        }
        RuleSaved::Refused(why) => Err(why),
        RuleSaved::NotAllowed(stranger) => Err(stranger.0.to_owned()),
    }
}

#[tokio::test]
async fn a_rule_is_saved_as_a_card_would_offer_it_by_a_person_with_a_name_and_nothing_else_is() {
    on_both(async |store| {
        let several = AnswerRule { approvals: 2, ..AnswerRule::default() };
        let (standard, _kept) = gate(&store, Profile::Standard, Vec::new());
        let (of_several, _also_kept) = gate(&store, Profile::Standard, vec![several]);
        let (molf, _kept_too) = gate(&store, Profile::Molf, Vec::new());
        let build = || shell("cargo build *");
        let stranger = "You may not answer this: you are not on the list of approvers.";
        let denied = "A deny is not lifted here: ";
        for (gate, rule, who, why) in [
            (&standard, build(), who("chat", "3", &[]), stranger),
            (&standard, build(), who("chat", "2", &[]), NAMELESS),
            (&of_several, build(), ana(), ANSWER_RULES),
            (&molf, build(), ana(), PROFILE),
            (&standard, Rule { verdict: Verdict::Deny, ..build() }, ana(), ALLOWS_ONLY),
            (&standard, shell("git * push"), ana(), ONE_STAR),
            (&standard, shell("cargo publish *"), ana(), denied),
            (&standard, shell("rm -rf / *"), ana(), CRITICAL),
            (&standard, shell("git status"), ana(), ALLOWED),
            (&standard, shell("cargo *"), ana(), TOO_WIDE),
            (&standard, shell("eval \"$(cat x)\""), ana(), NEVER),
        ] {
            let said = saved(gate, rule.clone(), who).await.unwrap_err();
            assert!(said == why || why == denied && said.starts_with(denied), "{rule}: {said}");
        }
        pause(&store).await;
        assert_eq!(saved(&standard, build(), ana()).await, Err(PAUSED.to_owned()));
        assert_eq!(store.grants(clock::now_ms()).await.unwrap(), [], "nothing was saved");

        store.end_pause(&By::Caller, clock::now_ms()).await.unwrap();
        let by = "the Rules page: cargo build * (shell_exec), by Ana (chat)";
        assert_eq!(saved(&standard, build(), ana()).await, Ok(by.to_owned()));
        let whole = Rule::allow("mcp__db__list", "*");
        let by = "the Rules page: * (mcp__db__list), by Ana (chat)";
        assert_eq!(saved(&standard, whole, ana()).await, Ok(by.to_owned()));
        assert_eq!(store.grants(clock::now_ms()).await.unwrap().len(), 2);
        let run = standard.submit(command("cargo build --release"), false).await.unwrap();
        let SubmitOutcome::Ruled(ruling) = run else { panic!("{run:?}") };
        assert_eq!(ruling.verdict, Verdict::Allow);
    })
    .await;
}

/// What a platform says of its roles: of whom it says nothing, it does not know anything new.
#[derive(Debug, Default)]
struct Roles {
    now: Mutex<HashMap<String, Result<Vec<String>, String>>>,
    asked: Mutex<Vec<String>>,
}

impl Roles {
    fn say(&self, person: &str, roles: Result<&[&str], &str>) {
        let roles = roles.map(|it| it.iter().map(|&role| role.to_owned()).collect());
        self.now.lock().unwrap().insert(person.to_owned(), roles.map_err(str::to_owned));
    }
}

#[async_trait]
impl RoleSource for Roles {
    async fn roles_now(
        &self,
        platform: &str,
        person: &str,
        of: &[String],
    ) -> Result<Option<Vec<String>>, String> {
        let asked = format!("{platform} {person} {}", of.join(","));
        self.asked.lock().unwrap().push(asked);
        self.now.lock().unwrap().get(person).cloned().transpose()
    }
}

#[tokio::test]
async fn a_vote_counts_while_its_voter_has_the_role_and_decides_nothing_where_that_is_unknown() {
    on_both(async |store| {
        let three = AnswerRule {
            group: Some("ops".to_owned()),
            approvals: 3,
            count: VoteCount::Accounts,
            ..AnswerRule::default()
        };
        let (gate, _kept) = gate(&store, Profile::Standard, vec![three]);
        let roles = Arc::new(Roles::default());
        gate.ask_roles_of(roles.clone());
        let ask = asked(&gate, command("make all")).await;
        let press = async |who: Who| {
            let ask = store.ask(&ask.id).await.unwrap().unwrap();
            let once = Action::Approve { scope: Scope::Once };
            let reply = gate.answer(ask, who, once).await;
            (reply.told, reply.sentence)
        };
        let member = |id| who("radio", id, &["7"]);
        let counts =
            |many: u32| (Told::Voted, format!("Your vote counts: {many} of 3 approvals of ops."));
        assert_eq!(press(ana()).await, counts(1));
        assert_eq!(press(member("5")).await, counts(2));
        let asked_of = || std::mem::take(&mut *roles.asked.lock().unwrap());
        assert_eq!(asked_of(), [""; 0], "Ana's vote counts without a role");

        let silent = "radio does not say who has which role";
        roles.say("5", Err(silent));
        assert_eq!(press(member("6")).await, (Told::Fault, silent.to_owned()));
        roles.say("5", Ok(&[]));
        assert_eq!(press(member("6")).await, counts(2), "5 is no member any more");
        assert_eq!(asked_of(), ["radio 5 7", "radio 5 7"]);
        for stranger in [who("chat", "2", &[]), who("chat", "3", &[])] {
            assert_eq!(press(stranger).await.0, Told::NotAllowed);
        }
        assert_eq!(asked_of(), [""; 0], "nothing is asked for those whose answer does not count");
        let events = store.events_after(0, 99).await.unwrap().into_iter();
        let refused: Vec<_> = events.filter(|it| it.kind == "refused").map(|it| it.data).collect();
        let noted = |id| json!({"platform": "chat", "id": id, "name": "somebody"});
        assert_eq!(refused, [noted("2"), noted("3")]);

        roles.say("6", Ok(&["7"]));
        assert_eq!(press(member("8")).await, (Told::Applied, "Approved once.".to_owned()));
        assert_eq!(asked_of(), ["radio 6 7"]);
    })
    .await;
}

#[tokio::test]
async fn a_call_that_does_not_say_why_is_denied_where_a_rule_wants_that_of_it() {
    on_both(async |store| {
        let tools = ["shell_exec", "ask_user"];
        let reason = AnswerRule {
            name: "say why".to_owned(),
            when: AskConditions {
                tool: tools.map(str::to_owned).into(),
                ..AskConditions::default()
            },
            needs_reason: true,
            ..AnswerRule::default()
        };
        let (gate, _kept) = gate(&store, Profile::Standard, vec![reason]);
        let outcome = async |call: Call| match gate.submit(call, false).await.unwrap() {
            SubmitOutcome::Asked(..) => "asked".to_owned(),
            SubmitOutcome::Ruled(ruling) => ruling.reason,
        };
        let denied = "the rule say why needs a reason, and this call has none: repeat it with a \
                      `description` or `reason`";
        let said = Some("for the release".to_owned());
        for (call, wanted) in [
            (command("make all"), denied),
            (Call { reason: said.clone(), ..command("make all") }, "asked"),
            (Call { description: said, ..command("make all") }, "asked"),
            (Call::new("a", "s", "notify", json!({})), "asked"),
            (question(), "asked"),
            (appeal("make all"), "asked"),
        ] {
            assert_eq!(outcome(call.clone()).await, wanted, "{call:?}");
        }
        pause(&store).await;
        assert_eq!(outcome(command("git status")).await, "asked", "it is held, and nobody answers");
    })
    .await;
}

#[tokio::test]
async fn in_a_pause_only_a_denial_counts_and_who_approves_is_told_so() {
    on_both(async |store| {
        let (gate, _kept) = gate(&store, Profile::Standard, Vec::new());
        let one = asked(&gate, command("make a")).await;
        let late = command("make b");
        let late = asked(&gate, late).await;
        store.shift(&late.id, 600_000).await;
        let _ = gate.expire_overdue().await.unwrap();
        pause(&store).await;
        let press = async |ask: &Ask, action: Action| {
            let ask = store.ask(&ask.id).await.unwrap().unwrap();
            let reply = gate.answer(ask, ana(), action).await;
            (reply.told, reply.sentence)
        };
        for (ask, approve) in [
            (&one, Action::Approve { scope: Scope::Once }),
            (&one, Action::Approve { scope: Scope::Session }),
            (&late, Action::ApproveNext),
        ] {
            let (told, sentence) = press(ask, approve).await;
            assert_eq!(told, Told::Unfit, "{sentence}");
            let words = ": only a denial counts until somebody resumes.";
            assert!(sentence.starts_with("Paused by Ana (chat) since "), "{sentence}");
            assert!(sentence.ends_with(words), "{sentence}");
        }
        let deny = Action::Deny { reason: None, then: None };
        assert_eq!(press(&one, deny).await, (Told::Applied, "Denied.".to_owned()));
        assert_eq!(store.grants(clock::now_ms()).await.unwrap(), []);
    })
    .await;
}

#[tokio::test]
async fn an_answer_that_grants_something_can_be_undone_for_ten_minutes_and_no_other_can() {
    on_both(async |store| {
        let (gate, _kept) = gate(&store, Profile::Standard, Vec::new());
        for (text, action, lasts) in [
            ("make a", Action::Approve { scope: Scope::Session }, Some(600_000)),
            ("make b", Action::Approve { scope: Scope::Once }, None),
            ("make c", Action::Deny { reason: None, then: None }, None),
        ] {
            let ask = asked(&gate, command(text)).await;
            let reply = gate.answer(ask, ana(), action).await;
            let answer = reply.ask.as_ref().and_then(Ask::answer).unwrap();
            assert_eq!(answer.stored.undo_until.map(|until| until - answer.at), lasts);
        }
    })
    .await;
}

#[tokio::test]
async fn a_change_is_judged_again_when_it_is_approved() {
    on_both(async |store| {
        let (gate, folder) = gate(&store, Profile::Standard, Vec::new());
        let ask = asked(&gate, command("make a")).await;
        let press = async |action: Action| {
            let ask = store.ask(&ask.id).await.unwrap().unwrap();
            let reply = gate.answer(ask, ana(), action).await;
            (reply.told, reply.sentence)
        };
        let propose =
            |text: &str| Action::Words { wanted: TextPurpose::Edit, text: Some(text.to_owned()) };
        let (told, sentence) = press(propose("cargo publish x")).await;
        assert_eq!(told, Told::Unfit);
        assert!(sentence.starts_with("The rules deny that change: "), "{sentence}");
        let proposed = "Proposed. The card shows the change: approve it there.".to_owned();
        assert_eq!(press(propose("make b")).await, (Told::Noted, proposed));

        let denied = r#"{"shell_exec": {"*": "ask", "make b": "deny"}}"#;
        std::fs::write(folder.path().join("rules.jsonc"), denied).unwrap();
        for step in [EditStep::Approve, EditStep::Confirm] {
            let (told, sentence) = press(Action::Edit { nth: 1, step }).await;
            assert_eq!(told, Told::Unfit);
            assert!(sentence.starts_with("The rules deny that change: "), "{sentence}");
        }
        std::fs::write(folder.path().join("rules.jsonc"), RULES).unwrap();
        let approve = Action::Edit { nth: 1, step: EditStep::Approve };
        assert_eq!(press(approve).await.0, Told::Applied);
    })
    .await;
}

#[tokio::test]
async fn nobody_makes_a_call_that_needs_other_people_of_one_that_they_may_answer() {
    on_both(async |store| {
        let of = |name: &str, command: &str| AnswerRule {
            name: name.to_owned(),
            when: AskConditions { command: vec![command.to_owned()], ..AskConditions::default() },
            approvals: 1,
            deny: 1,
            ..AnswerRule::default()
        };
        let pushes = AnswerRule { group: Some("ops".to_owned()), ..of("pushes", "git push *") };
        let wipes = AnswerRule { approvals: 2, ..of("wipes", "rm *") };
        let (gate, _kept) = gate(&store, Profile::Standard, vec![pushes, wipes]);
        let propose = async |call: &str, text: &str, who: Who| {
            let ask = asked(&gate, command(call)).await;
            let text = Some(text.to_owned());
            let reply = gate.answer(ask, who, Action::Words { wanted: TextPurpose::Edit, text });
            let Reply { told, sentence, .. } = reply.await;
            (told, sentence)
        };
        let nameless = || who("chat", "2", &[]);
        let needs = |rule: &str| {
            let why = "needs more for that change: deny this, and say what should run instead.";
            (Told::Unfit, format!("The answer rule {rule} {why}"))
        };
        assert_eq!(propose("make a", "git push origin", nameless()).await, needs("pushes"));
        assert_eq!(propose("make b", "rm -rf b", ana()).await, needs("wipes"));
        assert_eq!(propose("git push b", "git push b && rm b", ana()).await, needs("wipes"));
        for (call, text) in
            [("make c", "make d"), ("git push a", "git push b"), ("git push c", "make c")]
        {
            assert_eq!(propose(call, text, ana()).await.0, Told::Noted, "{call}");
        }
    })
    .await;
}

#[tokio::test]
async fn a_grant_ends_the_open_asks_of_its_session_that_it_covers_where_the_system_does_so() {
    on_both(async |store| {
        for (profile, text, ends) in [
            (Profile::Standard, "cargo build --release", true),
            (Profile::Wcore, "cargo test --release", false),
        ] {
            let (gate, folder) = gate(&store, profile, Vec::new());
            let all = r#"{"*": "allow", "shell_exec": "ask"}"#;
            std::fs::write(folder.path().join("rules.jsonc"), all).unwrap();
            let of = |session: &str| Call { session: session.to_owned(), ..command(text) };
            for (scope, ends) in [(Scope::Once, false), (Scope::Always, ends)] {
                let session = format!("{profile:?} {scope:?}");
                let first = asked(&gate, of(&session)).await;
                let second = asked(&gate, of(&session)).await;
                let edited = asked(&gate, of(&session)).await;
                let change = Action::Words {
                    wanted: TextPurpose::Edit,
                    text: Some("make other".to_owned()),
                };
                assert_eq!(gate.answer(edited.clone(), ana(), change).await.told, Told::Noted);
                let appeal = Call { appeal: appeal("").appeal, ..of(&session) };
                let calls = json!({"for_s": 60, "calls": [{"tool": "shell_exec",
                    "args": {"command": text}}]});
                let budget = Call::new("a", &session, "budget", json!({}));
                let budget = Call { budget: serde_json::from_value(calls).unwrap(), ..budget };
                let by_people = [
                    asked(&gate, budget).await,
                    asked(&gate, Call { session, ..question() }).await,
                    asked(&gate, appeal).await,
                    edited,
                ];
                let reply = gate.answer(first, ana(), Action::Approve { scope }).await;
                assert_eq!(reply.told, Told::Applied, "{reply:?}");
                let second = store.ask(&second.id).await.unwrap().unwrap();
                assert_eq!(!second.is_open(), ends, "{profile:?} {scope:?}");
                for ask in &by_people {
                    let ask = store.ask(&ask.id).await.unwrap().unwrap();
                    assert!(ask.is_open(), "a person answers it: {ask:?}");
                }
            }
        }
    })
    .await;
}

#[tokio::test]
async fn no_rule_answers_a_question_or_an_appeal_and_what_is_denied_stays_so() {
    on_both(async |store| {
        let (gate, folder) = gate(&store, Profile::Standard, Vec::new());
        let all = r#"{"*": "allow", "shell_exec": {"*": "allow", "make b": "deny"}}"#;
        std::fs::write(folder.path().join("rules.jsonc"), all).unwrap();
        let outcome = async |call: Call| match gate.submit(call, false).await.unwrap() {
            SubmitOutcome::Asked(ask, _) => ask.body.why,
            SubmitOutcome::Ruled(ruling) => ruling.verdict.to_string(),
        };
        let only = |call: Call| Call { rules_only: true, ..call };
        for (call, wanted) in [
            (command("make a"), "allow"),
            (only(command("make a")), "ask"),
            (question(), "A question is answered by a person."),
            (only(question()), "A question is answered by a person."),
            (appeal("make a"), "a guard blocked this: why."),
            (appeal("make b"), "deny"),
            (only(appeal("make c")), "a guard blocked this: why."),
        ] {
            assert_eq!(outcome(call.clone()).await, wanted, "{call:?}");
        }
        let others = [Profile::Wcore, Profile::Connectonion, Profile::Molf, Profile::Ohmypi];
        for profile in others.into_iter().chain([Profile::Zeptoclaw]) {
            let (gate, _kept) = crate::testkit::gate(&store, profile, Vec::new());
            let body = asked(&gate, question()).await.body;
            assert_eq!((body.deny, &body.effects[..]), (OnDeny::GoOn, &[][..]), "{profile:?}");
            let session = format!("{profile:?}");
            let blocked = Call { session, ..appeal("cargo test --release") };
            let body = asked(&gate, blocked).await.body;
            let stops = profile == Profile::Connectonion;
            assert_eq!(body.deny == OnDeny::Stop, stops, "{profile:?}");
            assert_eq!([body.always, body.exact, body.prefix], [[], [], []], "{profile:?}");
        }
        gate.stop();
        let refused = gate.submit(command("make a"), false).await.unwrap_err();
        assert!(matches!(refused, SubmitError::Stopping), "{refused:?}");
    })
    .await;
}

#[tokio::test]
async fn only_who_waits_for_an_open_ask_is_its_caller() {
    on_both(async |store| {
        let (gate, _kept) = gate(&store, Profile::Standard, Vec::new());
        let keyed = || Call { key: Some("k".to_owned()), ..command("make a") };
        let waits = async |attended| match gate.submit(keyed(), attended).await.unwrap() {
            SubmitOutcome::Asked(ask, caller) => {
                let waits = caller.is_some();
                caller.into_iter().for_each(crate::AttachedCaller::leave);
                (*ask, waits)
            }
            SubmitOutcome::Ruled(ruling) => panic!("ruled: {ruling:?}"),
        };
        assert!(!waits(false).await.1);
        let (ask, waiting) = waits(true).await;
        assert!(waiting);
        let deny = Action::Deny { reason: None, then: None };
        let now = store.ask(&ask.id).await.unwrap().unwrap();
        assert_eq!(gate.answer(now, ana(), deny).await.told, Told::Applied);
        assert!(!waits(true).await.1, "it is answered");
    })
    .await;
}

#[tokio::test]
async fn silence_approves_nothing_ahead_and_no_rule_and_no_choice_is_offered_with_it() {
    on_both(async |store| {
        let (gate, _kept) = gate(&store, Profile::Standard, Vec::new());
        let notify = Call::new("a", "s", "notify", json!({}));
        let plain = asked(&gate, notify.clone()).await.body;
        assert_eq!((plain.silence, plain.choices.is_empty()), (Silence::Approve, false));
        let blocked = Call { appeal: appeal("").appeal, ..notify };
        let calls = json!({"for_s": 60, "calls": [{"tool": "shell_exec",
            "args": {"command": "cargo build --release"}}]});
        let budget = serde_json::from_value(calls).unwrap();
        let budget = Call { budget, ..Call::new("a", "s", "budget", json!({})) };
        for call in [blocked, budget] {
            let body = asked(&gate, call).await.body;
            assert_eq!(body.silence, Silence::Deny);
            assert_eq!(body.choices, []);
            assert_eq!([body.always, body.exact, body.prefix], [[], [], []]);
        }
    })
    .await;
}

#[tokio::test]
async fn a_resumption_approves_what_was_held_and_is_still_allowed_and_nothing_else() {
    on_both(async |store| {
        let (gate, folder) = gate(&store, Profile::Standard, Vec::new());
        let write = |text: &str| std::fs::write(folder.path().join("rules.jsonc"), text).unwrap();
        write(r#"{"shell_exec": {"*": "ask", "make *": "allow"}}"#);
        let open = asked(&gate, command("git push")).await;
        let _counted = asked(&gate, Call::new("a", "s", "notify", json!({}))).await;
        assert!(!gate.monotonic.is_empty());
        let switched = async |mode| match gate.pause(mode, ana()).await.unwrap() {
            PauseOutcome::Switched(_) => "switched",
            PauseOutcome::Unchanged(_) => "unchanged",
        };
        assert_eq!(switched(PauseMode::Deny).await, "switched");
        assert_eq!(switched(PauseMode::Hold).await, "switched");
        assert_eq!(switched(PauseMode::Hold).await, "unchanged");
        let held = asked(&gate, command("make a")).await;
        let denied = asked(&gate, command("make b")).await;
        write(r#"{"shell_exec": {"*": "allow", "make b": "deny"}}"#);
        let stranger = gate.resume(who("chat", "3", &[])).await;
        assert!(matches!(stranger, Err(ApproverError::NotAllowed(_))), "{stranger:?}");
        let open_now = async |ask: &Ask| store.ask(&ask.id).await.unwrap().unwrap().is_open();
        assert!(open_now(&held).await);
        let resumed = gate.resume(ana()).await.unwrap();
        assert!(matches!(resumed, PauseOutcome::Switched(_)), "{resumed:?}");
        assert_eq!(
            [open_now(&held).await, open_now(&denied).await, open_now(&open).await],
            [false, true, true]
        );
        assert!(gate.monotonic.is_empty(), "a pause is no time that people had");
    })
    .await;
}

#[tokio::test]
async fn a_rule_that_the_file_denies_is_not_stored_and_a_grant_of_it_is_void() {
    on_both(async |store| {
        let (gate, folder) = gate(&store, Profile::Standard, Vec::new());
        let write = |text: &str| std::fs::write(folder.path().join("rules.jsonc"), text).unwrap();
        let kept = |pattern: &str| {
            let rule = Rule::allow("shell_exec", pattern);
            Grant::new(rule, GrantScope::Always, By::Caller, 1)
        };
        let in_force = async || {
            let grants = store.grants(clock::now_ms()).await.unwrap().into_iter();
            grants.map(|it| it.rule.pattern).collect::<Vec<_>>()
        };
        assert!(store.save_grant(&kept("git push *")).await.unwrap());
        // A later line outranks the deny, so the call asks.
        write(r#"{"shell_exec": {"cargo build *": "deny", "*": "ask"}}"#);
        let ask = asked(&gate, command("cargo build --release")).await;
        let reply = gate.answer(ask, ana(), Action::Approve { scope: Scope::Always }).await;
        assert_eq!(reply.told, Told::Applied, "{reply:?}");
        let not_stored = "Approved once. The rule could not be stored: ";
        assert!(reply.sentence.starts_with(not_stored), "{reply:?}");
        let undo_until = reply.ask.as_ref().and_then(Ask::answer).unwrap().stored.undo_until;
        assert_eq!(undo_until, None, "there is nothing to undo");
        assert_eq!(in_force().await, ["git push *"]);

        assert!(store.save_grant(&kept("cargo build *")).await.unwrap());
        let _ = asked(&gate, command("cargo build --release")).await;
        write(RULES);
        let run = gate.submit(command("cargo build --release"), false).await.unwrap();
        let SubmitOutcome::Ruled(ruling) = run else { panic!("{run:?}") };
        assert_eq!(ruling.verdict, Verdict::Allow, "once the file does not deny it any more");
    })
    .await;
}

#[tokio::test]
async fn who_revokes_what_the_file_still_allows_is_told_so() {
    on_both(async |store| {
        let (gate, folder) = gate(&store, Profile::Standard, Vec::new());
        for (text, said) in [
            (r#"{"Bash": {"make *": "allow"}}"#, "a person wrote it to rules.jsonc"),
            (r#"{"Bash": {"make *": "ask"}}"#, "done"),
            (r#"{"Bash": {"make": "allow"}, "read_file": {"make *": "allow"}}"#, "done"),
        ] {
            std::fs::write(folder.path().join("rules.jsonc"), text).unwrap();
            let rule = Rule::allow("shell_exec", "make *");
            let grant = Grant::new(rule, GrantScope::Always, By::Caller, 1);
            assert!(store.save_grant(&grant).await.unwrap());
            let stranger = gate.revoke(&grant.id, who("chat", "3", &[])).await;
            assert!(matches!(stranger, Err(ApproverError::NotAllowed(_))), "{stranger:?}");
            let told = match gate.revoke(&grant.id, ana()).await.unwrap() {
                Revoked::Done(_) => "done".to_owned(),
                Revoked::FileKeepsIt(_, why) => why,
                other => panic!("{other:?}"),
            };
            assert_eq!(told, said, "{text}");
            assert_eq!(store.grants(clock::now_ms()).await.unwrap(), []);
        }
    })
    .await;
}

#[tokio::test]
async fn an_appeal_is_asked_though_its_retry_was_released_and_what_released_it_can_be_refused() {
    on_both(async |store| {
        let (gate, _kept) = gate(&store, Profile::Standard, Vec::new());
        let released = asked(&gate, appeal("make a")).await;
        let once = Action::Approve { scope: Scope::Once };
        assert_eq!(gate.answer(released.clone(), ana(), once).await.told, Told::Applied);
        let again = asked(&gate, appeal("make a")).await;
        let deny = Action::Deny { reason: None, then: None };
        assert_eq!(gate.answer(again.clone(), ana(), deny).await.told, Told::Applied);
        for (ask, noted) in [
            (&released, Some("the approval could not be carried out: no retry".to_owned())),
            (&again, None),
        ] {
            for _ in 0..2 {
                let now = gate.refused(&ask.id, "no retry").await.unwrap().unwrap();
                let overruled = now.answer().unwrap().overruled.clone();
                assert_eq!(overruled.map(|it| it.verdict.reason), noted);
            }
        }
        assert_eq!(gate.refused("unknown", "no retry").await.unwrap(), None);
    })
    .await;
}

#[tokio::test]
async fn a_rules_file_that_is_gone_or_that_others_can_write_loosens_nothing_and_cards_say_so() {
    use std::os::unix::fs::PermissionsExt;
    on_both(async |store| {
        let (gate, folder) = gate(&store, Profile::Standard, Vec::new());
        let path = folder.path().join("rules.jsonc");
        let mode = |mode| {
            std::fs::set_permissions(&path, std::fs::Permissions::from_mode(mode)).unwrap();
        };
        let said = async |text: &str| {
            let denied = gate.submit(command("cargo publish x"), false).await.unwrap();
            let SubmitOutcome::Ruled(denied) = denied else { panic!("{denied:?}") };
            assert_eq!(denied.verdict, Verdict::Deny);
            asked(&gate, command(text)).await.body.rules_problem
        };
        assert_eq!(said("make a").await, None);
        std::fs::remove_file(&path).unwrap();
        assert_eq!(said("make b").await, Some(format!("{} is gone", path.display())));
        std::fs::write(&path, r#"{"*": "allow"}"#).unwrap();
        mode(0o666);
        let open = format!("{0} can be written by others; run `chmod go-w {0}`", path.display());
        assert_eq!(said("make c").await, Some(open));
        std::fs::write(&path, RULES).unwrap();
        mode(0o600);
        assert_eq!(said("make d").await, None);
    })
    .await;
}

#[tokio::test]
async fn a_stored_grant_that_could_be_read_as_a_pattern_of_tools_covers_nothing() {
    on_both(async |store| {
        let (gate, _kept) = gate(&store, Profile::Standard, Vec::new());
        for tool in ["*", "shell_*", "category:*"] {
            let grant = Grant::new(Rule::allow(tool, "*"), GrantScope::Always, By::Caller, 1);
            assert!(store.save_grant(&grant).await.unwrap());
            let _ = asked(&gate, command("make a")).await;
        }
        let whole = Grant::new(Rule::allow("shell_exec", "*"), GrantScope::Always, By::Caller, 1);
        assert!(store.save_grant(&whole).await.unwrap());
        let run = gate.submit(command("make a"), false).await.unwrap();
        assert!(matches!(run, SubmitOutcome::Ruled(_)), "{run:?}");
    })
    .await;
}

#[tokio::test]
async fn a_grant_that_fewer_people_made_than_a_rule_wants_allows_nothing_and_lifts_no_deny() {
    on_both(async |store| {
        let two = AnswerRule {
            name: "two".to_owned(),
            when: AskConditions { command: vec!["make *".to_owned()], ..AskConditions::default() },
            approvals: 2,
            ..AnswerRule::default()
        };
        let (gate, folder) = gate(&store, Profile::Standard, vec![two]);
        let rules = r#"{"shell_exec": {"*": "ask", "make b": "deny"}}"#;
        std::fs::write(folder.path().join("rules.jsonc"), rules).unwrap();
        for pattern in ["make *", "cargo *"] {
            let rule = Rule::allow("shell_exec", pattern);
            let grant = Grant::new(rule, GrantScope::Always, By::Caller, 1);
            assert!(store.save_grant(&grant).await.unwrap());
        }
        let small = "the answer rule two needs more than the grant that would allow it";
        assert_eq!(asked(&gate, command("make a")).await.body.why, small);
        for (text, verdict) in [("make b", Verdict::Deny), ("cargo test", Verdict::Allow)] {
            let ruled = gate.submit(command(text), false).await.unwrap();
            let SubmitOutcome::Ruled(ruled) = ruled else { panic!("{ruled:?}") };
            assert_eq!(ruled.verdict, verdict, "{text}");
        }
        let stop = CancellationToken::new();
        stop.cancel();
        gate.allowed.keep_written(stop).await;
        let events = store.events_after(0, 99).await.unwrap().into_iter();
        let ruled = events.filter(|it| ["ruled", "allowed"].contains(&it.kind.as_str()));
        let ruled: Vec<_> = ruled.map(|it| it.kind).collect();
        assert_eq!(ruled, ["ruled", "allowed"]);
    })
    .await;
}
