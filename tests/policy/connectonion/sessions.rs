//! What a session remembers, and for how long.

use countersign_policy::Call;
use countersign_profiles::connectonion::{PermissionMode, Requester};
use serde_json::json;

use super::session::CheckOutcome;
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
