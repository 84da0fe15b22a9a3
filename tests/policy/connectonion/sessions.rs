//! What a session remembers, and for how long.

use countersign_policy::Call;
use countersign_profiles::connectonion::{
    AnswerOutcome, CheckOutcome, PermissionMode, PromptAnswer, Requester,
};
use serde_json::json;

use super::{names, session, vectors};
use crate::support::Kind;

#[test]
fn old_names_of_profiles_are_known() {
    vectors().each("profile_aliases.jsonl", |row, check| {
        let word = row["value"].as_str().unwrap();
        let mut session = session(&json!({}), Requester::Local, true, check.kind);
        let before = session.mode();
        if row["via"] == "restored session" {
            session.restore(word);
        } else {
            assert_eq!(session.wants(word, None), None, "{row}");
        }
        let unchanged = row["profile"] == "unchanged" && session.mode() == before;
        let got = if unchanged { "unchanged".to_owned() } else { session.mode().to_string() };
        (row["profile"].clone(), got.into()).into()
    });
}

#[test]
fn profile_changes_are_told_when_something_changed() {
    vectors().each("modes_poll.jsonl", |row, check| {
        let config = json!({ "profile": row["start"] });
        let mut session = session(&config, Requester::Local, true, check.kind);
        let frames = names(&row["frames"]);
        let sent = frames.iter().filter_map(|word| session.wants(word, None)).count();
        (json!([row["end"], row["sent"]]), json!([session.mode().to_string(), sent])).into()
    });
}

#[test]
fn skills_grants_end_with_their_turn_and_peoples_stay() {
    vectors().each("skill_lifecycle.jsonl", |row, check| {
        let before = row.get("before").cloned().unwrap_or_else(|| json!([]));
        let config = json!({ "permissions": before });
        let mut session = session(&config, Requester::Local, true, check.kind);
        for step in row["steps"].as_array().unwrap() {
            let (op, value) = step.as_object().unwrap().iter().next().unwrap();
            match op.as_str() {
                "grant" => session.skill(&names(value)),
                "turn_died" => session.turn_begins(),
                "end_turn" => session.turn_ends(),
                "user_session" => {
                    let call = Call::new(value.as_str().unwrap(), json!({}));
                    let yes = PromptAnswer::read(&json!({ "approved": true, "scope": "session" }));
                    assert_eq!(session.answered(&call, yes), AnswerOutcome::Run);
                }
                other => panic!("{other}"),
            }
        }
        let left: Vec<&str> = session.permissions().iter().map(|one| one.key.text()).collect();
        (row["left"].clone(), json!(left)).into()
    });
}

#[test]
fn full_access_ends_with_its_turns() {
    let mut session = session(&json!({}), Requester::Admin, true, Kind::Strict);
    let call = Call::new("my_tool", json!({}));
    assert_eq!(session.wants(":danger-full-access", None), Some(PermissionMode::ReadOnly));
    session.wants("ulw", Some(2));
    for left in [2, 1, 0] {
        let step = session.check(&call).unwrap();
        assert_eq!(step == CheckOutcome::Run, left > 0, "{left} turns left");
        session.turn_ends();
    }
}
