#![allow(clippy::unwrap_used, reason = "tests fail by panicking")]
use super::*;
use crate::Body;
use proptest::prelude::*;

fn call(json: &str) -> Call {
    serde_json::from_str(json).unwrap()
}

#[test]
fn the_digest_changes_with_what_would_run_and_not_with_the_words_around_it() {
    let base = call(r#"{"agent":"a","session":"s","tool":"shell_exec","args":{"command":"ls"}}"#);
    let said = Call { reason: Some("because".into()), ..base.clone() };
    let other = Call { args: serde_json::json!({"command": "ls -a"}), ..base.clone() };
    assert_eq!(base.digest(), said.digest());
    assert_ne!(base.digest(), other.digest());
}

#[test]
fn an_empty_tool_and_an_endless_name_are_refused_by_name() {
    let empty = call(r#"{"agent":"a","session":"s","tool":" "}"#);
    assert_eq!(empty.check(), Err(Malformed("`tool` is empty; it names who or what asks".into())));
    let long = Call { agent: "x".repeat(101), tool: "t".into(), ..empty };
    assert_eq!(
        long.check(),
        Err(Malformed("`agent` has 101 characters; at most 100 are allowed".into()))
    );
}

#[test]
fn a_call_that_is_nested_too_deeply_to_be_read_back_is_refused_by_name() {
    let nested = |levels: usize| {
        let args = format!("{}1{}", r#"{"a":["#.repeat(levels / 2), "]}".repeat(levels / 2));
        call(&format!(r#"{{"agent":"a","session":"s","tool":"t","args":{args}}}"#))
    };
    let reads_back = |call: Call| {
        let text = serde_json::to_string(&Body::new(call, "no rule")).unwrap();
        serde_json::from_str::<Body>(&text).is_ok()
    };
    assert_eq!((nested(100).check(), reads_back(nested(100))), (Ok(()), true));
    let refused =
        |field: &str| Err(Malformed(format!("`{field}` is nested more than 100 levels deep")));
    assert_eq!((nested(126).check(), reads_back(nested(126))), (refused("args"), false));
    let deep = nested(102).args;
    let shallow = nested(2);
    let meta = Call { meta: Some(deep.clone()), ..shallow.clone() };
    assert_eq!(meta.check(), refused("meta"));
    let behind = Batch::Calls(vec![Behind { tool: "t".into(), arguments: deep }]);
    let batch = Call { batch_remaining: Some(behind), ..shallow };
    assert_eq!(batch.check(), refused("batch_remaining"));
}

/// Numbers as agents may write them. Those that do not fit any type are refused when they are
/// parsed.
fn number() -> impl Strategy<Value = Value> {
    let spelled = "-?(0|[1-9][0-9]{0,24})(\\.[0-9]{1,24})?([eE][+-]?[0-9]{1,3})?";
    let exact = any::<f64>().prop_filter("JSON has none", |n| n.is_finite());
    prop_oneof![
        spelled.prop_filter_map("too large", |text| serde_json::from_str(&text).ok()),
        exact.prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<u64>().prop_map(Value::from),
    ]
}

fn anything() -> impl Strategy<Value = Value> {
    let text = prop_oneof![any::<String>(), "[\\x00-\\x7f]{0,20}"];
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        number(),
        text.prop_map(Value::from),
    ];
    leaf.prop_recursive(6, 40, 8, |inner| {
        let list = prop::collection::vec(inner.clone(), 0..8).prop_map(Value::from);
        let map = prop::collection::vec((any::<String>(), inner), 0..8)
            .prop_map(|fields| Value::Object(fields.into_iter().collect()));
        prop_oneof![list, map]
    })
}

proptest! {
    #[test]
    fn a_call_reads_back_with_the_digest_that_it_was_written_with(
        args in anything(),
        [agent, session, tool, question] in any::<[String; 4]>(),
        [worker, cwd, label] in any::<[Option<String>; 3]>(),
    ) {
        let mut call = Call { worker, cwd, ..Call::new(agent, session, tool, args) };
        call.questions.extend(label.map(|label| Question {
            question,
            header: None,
            multi_select: false,
            options: vec![Choice { label, description: None, preview: None }],
        }));
        let text = serde_json::to_string(&call).unwrap();
        let back: Call = serde_json::from_str(&text).unwrap();
        prop_assert_eq!(back.digest(), call.digest());
        prop_assert_eq!(back, call);
    }

    #[test]
    fn two_amounts_that_differ_in_one_digit_are_never_one_call(
        digits in "[1-9][0-9]{0,40}", point in prop::option::of(0_usize..40),
        (at, digit) in (0_usize..41, 1_u8..10),
    ) {
        let at = at % digits.len();
        let changed: String = digits
            .bytes()
            .enumerate()
            .map(|(here, byte)| if here == at { b'0' + (byte - b'0' + digit) % 10 } else { byte })
            .map(char::from)
            .collect();
        // Each amount is read from its text, as the API reads it, or refused.
        let digest = |digits: &str| {
            let (whole, fraction) = match point.filter(|point| *point < digits.len() && *point > 0) {
                Some(point) => digits.split_at(point),
                None => (digits, "0"),
            };
            let whole = whole.trim_start_matches('0');
            let whole = if whole.is_empty() { "0" } else { whole };
            let text = format!(r#"{{"agent":"a","session":"s","tool":"t","args":[{whole}.{fraction}]}}"#);
            crate::exact_json::from_str::<Call>(&text).ok().map(|call| call.digest())
        };
        if let (Some(one), Some(other)) = (digest(&digits), digest(&changed)) {
            prop_assert_ne!(one, other, "{} {}", digits, changed);
        }
    }
}

#[test]
fn handle_and_secret_both_count_and_the_secret_is_not_kept() {
    let by = |handle: &str| Owner::by(handle);
    let owner = by("tcp:agent").with("a-secret");
    assert_eq!(owner, by("tcp:agent").with("a-secret"));
    for other in [
        by("tcp:agent"),
        by("unix:agent").with("a-secret"),
        by("tcp:agent").with("another"),
        by("tcp:agent").with(""),
    ] {
        assert_ne!(owner, other);
    }
    assert!(!owner.as_str().contains("a-secret"));
}

#[test]
fn an_owner_is_of_its_handle_whatever_its_secret() {
    let handle = Owner::by("tcp:agent");
    assert!(handle.is_of_handle(&handle) && handle.clone().with("a").is_of_handle(&handle));
    assert!(handle.clone().with("a").is_of_handle(&handle.clone().with("b")));
    for other in ["tcp:agent2", "tcp", "", "unix:agent"] {
        assert!(!Owner::by(other).with("a").is_of_handle(&handle), "{other}");
    }
}
#[test]
fn only_an_agents_own_token_has_an_id() {
    let owner = Owner::by_token("abc");
    assert_eq!([owner.token(), owner.clone().with("s").token()], [Some("abc"); 2]);
    assert_eq!([Owner::by("tcp:agent").token(), Owner::by("").token()], [None; 2]);
    assert!(!owner.is_of_handle(&Owner::by_token("abcd")));
}
