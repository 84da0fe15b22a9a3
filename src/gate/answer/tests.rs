#![allow(clippy::unwrap_used, clippy::panic, reason = "tests fail by panicking")]
use super::*;
use crate::{
    approvers::{Approvers, Local, Who},
    ask::{Body, State},
    call::Call,
};
use countersign_policy::{Rule, Verdict};
use countersign_profiles::OnDeny;
use serde_json::{Map, Value, json};

fn approver() -> Approver {
    let approvers = Approvers { local: Local::On, ..Approvers::default() };
    let who = Who { platform: "inbox", id: "local".into(), name: "Ana".into(), roles: vec![] };
    approvers.admit(who).unwrap()
}

fn ask(call: Value, always: bool) -> Ask {
    let call: Call = serde_json::from_value(call).unwrap();
    let rule = Rule { tool: "t".into(), pattern: "*".into(), verdict: Verdict::Allow };
    let digest = call.digest();
    let body = Body {
        always: always.then_some(rule).into_iter().collect(),
        ..Body::new(call.spell_out().unwrap(), "no rule")
    };
    Ask { deadline_at: Some(1_000), ..Ask::opened("a", digest, body, 0) }
}

fn permission(always: bool) -> Ask {
    ask(json!({"agent": "a", "session": "s", "tool": "t", "args": {}}), always)
}

fn questions() -> Ask {
    ask(
        json!({"agent": "a", "session": "s", "tool": "AskUserQuestion", "args": {"questions": [
            {"question": "One?", "options": [{"label": "A"}, {"label": "B"}]},
            {"question": "Many?", "multiSelect": true, "options": [{"label": "C"}, {"label": "D"}]}
        ]}}),
        false,
    )
}

fn unfit(ask: &Ask, action: Action) -> String {
    match apply(ask, &approver(), action, 10) {
        Err(Refusal::Unfit(sentence)) => sentence,
        other => format!("not unfit: {other:?}"),
    }
}

fn go(ask: &Ask, action: Action) -> Ask {
    match apply(ask, &approver(), action, 10).unwrap() {
        Change::Go(progress) => Ask { progress, ..ask.clone() },
        other => Ask { id: format!("{other:?}"), ..ask.clone() },
    }
}

#[test]
fn an_approval_closes_the_ask_and_names_its_approver() {
    let by = By::Person { platform: "inbox".into(), id: "local".into(), name: "Ana".into() };
    let change = apply(&permission(false), &approver(), Action::Approve { scope: Scope::Once }, 10);
    let answer = Answer { scope: Some(Scope::Once), ..Answer::new(Decision::Approve, by, 10) };
    assert_eq!(change, Ok(Change::Close(Box::new(answer))));
}

#[test]
fn what_remembers_needs_a_rule_to_remember() {
    for scope in [Scope::Session, Scope::Always, Scope::Timed(600)] {
        let refused = unfit(&permission(false), Action::Approve { scope });
        assert!(refused.starts_with("There is no rule to remember"), "{refused}");
        let taken = apply(&permission(true), &approver(), Action::Approve { scope }, 10);
        assert!(matches!(taken, Ok(Change::Close(_))));
    }
}

#[test]
fn at_the_deadline_it_is_too_late_even_if_the_row_is_still_open() {
    let approve = || Action::Approve { scope: Scope::Once };
    assert!(apply(&permission(false), &approver(), approve(), 999).is_ok());
    let late = apply(&permission(false), &approver(), approve(), 1_000);
    assert_eq!(late, Err(Refusal::Late(clock::short(1_000))));
}

#[test]
fn a_question_is_never_approved_and_a_permission_never_answered() {
    let approved = unfit(&questions(), Action::Approve { scope: Scope::Once });
    assert!(approved.starts_with("This is a question"), "{approved}");
    let answered = unfit(&permission(false), Action::Answers(Map::new()));
    assert_eq!(answered, "This is no question: approve it or deny it.");
    let chosen = unfit(&permission(false), Action::Choose { question: 0, option: 0 });
    assert_eq!(chosen, "There is no such question.");
}

#[test]
fn questions_are_answered_one_after_the_other_and_the_last_closes_the_ask() {
    let asked = go(&questions(), Action::Choose { question: 0, option: 1 });
    assert_eq!(asked.progress.current(), 1);
    let stale = unfit(&asked, Action::Choose { question: 0, option: 0 });
    assert!(stale.starts_with("That question has been answered already"), "{stale}");
    let nothing = unfit(&asked, Action::Submit { question: 1 });
    assert!(nothing.starts_with("Nothing is chosen yet"), "{nothing}");
    let asked = go(&asked, Action::Choose { question: 1, option: 1 });
    let asked = go(&asked, Action::Choose { question: 1, option: 0 });
    let asked = go(&asked, Action::Choose { question: 1, option: 1 });
    let Change::Close(answer) =
        apply(&asked, &approver(), Action::Submit { question: 1 }, 10).unwrap()
    else {
        panic!("the last answer closes the ask")
    };
    assert_eq!(Value::from(answer.answers.unwrap()), json!({"One?": "B", "Many?": ["C"]}));
}

#[test]
fn ticked_options_count_as_they_were_ticked_and_none_of_them_may_be_wrong() {
    let asked = go(&questions(), Action::Choose { question: 0, option: 1 });
    // Chosen on another surface, where nobody submitted it.
    let asked = go(&asked, Action::Choose { question: 1, option: 0 });
    let submit = |question, options: &[usize]| Action::SubmitOptions {
        question,
        options: options.iter().copied().collect(),
    };
    assert_eq!(unfit(&asked, submit(1, &[1, 99])), "There is no such option.");
    assert!(unfit(&asked, submit(1, &[])).starts_with("Nothing is chosen yet"));
    let single = unfit(&questions(), submit(0, &[0]));
    assert_eq!(single, "There is no such option.", "it takes one choice");
    let Change::Close(answer) = apply(&asked, &approver(), submit(1, &[1]), 10).unwrap() else {
        panic!("the last answer closes the ask")
    };
    assert_eq!(Value::from(answer.answers.unwrap()), json!({"One?": "B", "Many?": ["D"]}));
}

#[test]
fn free_text_is_asked_for_and_then_taken_and_never_empty() {
    let asked = apply(&questions(), &approver(), Action::Text { question: 0, text: None }, 10);
    assert_eq!(asked, Ok(Change::WantText("One?".into())));
    let empty = unfit(&questions(), Action::Text { question: 0, text: Some(" \n".into()) });
    assert_eq!(empty, "The answer is empty; nothing was changed.");
    let asked = go(&questions(), Action::Text { question: 0, text: Some("neither".into()) });
    assert_eq!(asked.progress.answered, [QuestionAnswer::Text("neither".into())]);
}

#[test]
fn a_denial_does_what_the_ask_says_unless_the_presser_says_otherwise() {
    let mut ask = permission(false);
    ask.body.deny = OnDeny::Stop;
    let denied = |then| match apply(&ask, &approver(), Action::Deny { reason: None, then }, 10) {
        Ok(Change::Close(answer)) => answer.then,
        other => panic!("{other:?}"),
    };
    assert_eq!(denied(None), OnDeny::Stop);
    assert_eq!(denied(Some(OnDeny::GoOn)), OnDeny::GoOn);
    assert_eq!(denied(Some(OnDeny::Explain)), OnDeny::Explain);
}

#[test]
fn a_scope_that_the_profile_does_not_offer_is_refused() {
    let mut ask = permission(true);
    ask.body.choices = vec![];
    let always = Action::Approve { scope: Scope::Always };
    assert!(matches!(apply(&ask, &approver(), always, 10), Err(Refusal::Unfit(_))));
}

/// The ask as an approval of this kind left it at 10, with its rules stored.
fn stored(action: Action) -> Ask {
    let ask = permission(true);
    match apply(&ask, &approver(), action, 10) {
        Ok(Change::Close(mut answer)) => {
            let any = !ask.body.stored_rules(&answer).is_empty();
            answer.stored.undo_until = any.then_some(10 + countersign_store::UNDO_MS);
            Ask { state: State::Answered(*answer), ..ask }
        }
        other => panic!("{other:?}"),
    }
}

#[test]
fn an_answer_is_undone_once_and_in_time_and_only_where_it_stored_something() {
    let undo = |ask: &Ask, now| apply(ask, &approver(), Action::Undo, now);
    let always = stored(Action::Approve { scope: Scope::Always });
    let undone = Undone { by: person(&approver()), at: 20 };
    assert_eq!(undo(&always, 20), Ok(Change::Undo(undone.clone())));
    let late = undo(&always, 10 + countersign_store::UNDO_MS).unwrap_err();
    assert!(late.to_string().starts_with("Too late: an answer can be undone for 10 minutes."));
    let mut twice = always.clone();
    if let State::Answered(answer) = &mut twice.state {
        answer.stored.undo_until = None;
        answer.stored.undone = Some(undone);
    }
    let again = undo(&twice, 30).unwrap_err().to_string();
    assert!(again.starts_with("Already undone by Ana at "), "{again}");
    let nothing = undo(&stored(Action::Approve { scope: Scope::Once }), 20).unwrap_err();
    let sentence = "This answer stored no rule, so there is nothing to undo.";
    assert_eq!(nothing, Refusal::Unfit(sentence.into()));
    assert!(matches!(undo(&permission(true), 20), Err(Refusal::Unfit(_))));
}

#[test]
fn chosen_parts_are_stored_alone_and_one_that_does_not_exist_is_refused() {
    let mut ask = permission(true);
    ask.body.always.push(Rule::allow("t", "two"));
    let parts = |parts: &[usize]| apply(&ask, &approver(), Action::ApproveParts(parts.into()), 10);
    let scope_and_parts = |change| match change {
        Ok(Change::Close(answer)) => (answer.scope, answer.stored.parts.clone()),
        other => panic!("{other:?}"),
    };
    assert_eq!(scope_and_parts(parts(&[1])), (Some(Scope::Always), Some(vec![1])));
    assert_eq!(scope_and_parts(parts(&[1, 0, 1])), (Some(Scope::Always), None), "all of them");
    assert_eq!(scope_and_parts(parts(&[])), (Some(Scope::Once), None));
    for wrong in [&[2][..], &[0, usize::MAX]] {
        assert!(matches!(parts(wrong), Err(Refusal::Unfit(_))), "{wrong:?}");
    }
    let none = apply(&permission(false), &approver(), Action::ApproveParts(vec![]), 10);
    assert!(matches!(none, Err(Refusal::Unfit(_))));
    assert_eq!(apply(&ask, &approver(), Action::Look, 10), Ok(Change::Nothing));
}

/// A call with a proposed change, as policy looked at it.
fn with_edit(critical: bool, reviewed: bool) -> Ask {
    let call = json!({"agent": "a", "session": "s", "tool": "shell_exec",
        "args": {"command": "make deploy"}, "accepts": ["updated_input"]});
    let mut ask = ask(call, true);
    ask.progress.edit = Some(ProposedEdit {
        nth: 1,
        args: json!({"command": "make check"}),
        digest: "d2".to_owned(),
        by: "Ana".to_owned(),
        effects: Vec::new(),
        critical,
        reviewed,
    });
    ask
}

#[test]
fn while_a_change_is_proposed_the_call_as_it_was_is_not_approved() {
    let proposed = with_edit(false, false);
    for action in [
        Action::Approve { scope: Scope::Once },
        Action::Approve { scope: Scope::Always },
        Action::ApproveParts(vec![0]),
        Action::Words { wanted: TextPurpose::Note, text: Some("go".to_owned()) },
        Action::Words { wanted: TextPurpose::Note, text: None },
    ] {
        let refused = unfit(&proposed, action);
        assert!(refused.starts_with("A change is proposed"), "{refused}");
    }
    let deny = apply(&proposed, &approver(), Action::Deny { reason: None, then: None }, 10);
    assert!(matches!(deny, Ok(Change::Close(_))), "{deny:?}");
    // Without it, it is.
    let mut dropped = proposed;
    dropped.progress.edit = None;
    let approve = apply(&dropped, &approver(), Action::Approve { scope: Scope::Once }, 10);
    assert!(matches!(approve, Ok(Change::Close(_))), "{approve:?}");
}

#[test]
fn a_critical_change_is_approved_only_after_its_review_and_no_other_than_the_one_that_was_seen() {
    let step = |nth, step| Action::Edit { nth, step };
    let refused = unfit(&with_edit(true, false), step(1, EditStep::Approve));
    assert!(refused.contains("review it first"), "{refused}");
    let reviewed = go(&with_edit(true, false), step(1, EditStep::Review));
    assert!(reviewed.progress.edit.as_ref().unwrap().reviewed);
    for ask in [reviewed, with_edit(false, false)] {
        let closed = apply(&ask, &approver(), step(1, EditStep::Approve), 10).unwrap();
        let Change::Close(answer) = closed else { panic!("{closed:?}") };
        assert_eq!(answer.updated.map(|it| it.digest).as_deref(), Some("d2"));
        assert!(unfit(&ask, step(2, EditStep::Approve)).contains("not proposed any more"));
    }
}
