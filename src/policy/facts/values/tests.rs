use proptest::prelude::*;
use serde_json::json;

use crate::Call;
use crate::facts::values::{MOST, MOST_BYTES, Values};

proptest! {
    /// Reference: the list before it had a set, which compared every value with the others in
    /// order.
    #[test]
    fn each_value_is_there_once_where_it_came_first(
        paths in prop::collection::vec("[ab]{0,2}", 0..40),
        resolved in prop::collection::vec("[ab]{0,2}", 0..20),
    ) {
        let mut wanted: Vec<&String> = Vec::new();
        for text in paths.iter().chain(&resolved) {
            if !wanted.contains(&text) {
                wanted.push(text);
            }
        }
        let call =
            Call { resolved: resolved.clone(), ..Call::new("Read", json!({ "paths": paths })) };
        let values = Values::of(&call);
        let found: Vec<&String> = values.list.iter().map(|value| &value.text).collect();
        prop_assert_eq!(found, wanted);
    }
}

fn seen(call: &Call) -> (usize, usize) {
    let values = Values::of(call);
    let (seen, beyond) = values.in_view();
    (seen.len(), beyond.len())
}

#[test]
fn rules_look_at_so_many_values_and_bytes_and_no_more() {
    let paths = |count: usize| (0..count).map(|n| format!("f{n}")).collect::<Vec<_>>();
    let read = |paths: Vec<String>| Call::new("Read", json!({ "paths": paths }));
    assert_eq!(seen(&read(paths(MOST))), (MOST, 0));
    assert_eq!(seen(&read(paths(MOST + 1))), (MOST, 1));
    let long = ["a".repeat(MOST_BYTES - 1), "b".to_owned(), "c".to_owned()];
    assert_eq!(seen(&read(long.to_vec())), (2, 1));
    assert_eq!(seen(&read(vec!["a".repeat(MOST_BYTES + 1)])), (0, 1));
    // Every path is joined with the folder.
    let folder = Call { cwd: Some("d".repeat(MOST_BYTES / 10)), ..read(paths(20)) };
    assert_eq!(seen(&folder), (9, 11));
}
