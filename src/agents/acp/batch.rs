//! Lines with one message, and with several.

use crate::hosted::{Forward, Step};
use countersign_domain::exact_json;
use serde_json::Value;

/// Handles the message of a line, or each of a batch. What is left of a batch that loses messages
/// is passed on by the first step, which `rest` makes.
pub(super) fn each(
    bytes: &[u8],
    rest: fn(String) -> Step,
    mut handle: impl FnMut(&Value) -> (Forward, Vec<Step>),
) -> (Forward, Vec<Step>) {
    match exact_json::from_slice::<Value>(bytes) {
        Ok(Value::Array(batch)) => {
            let (mut left, mut steps) = (Vec::new(), Vec::new());
            let all = batch.len();
            for message in batch {
                let (forward, todo) = handle(&message);
                steps.extend(todo);
                if forward == Forward::On {
                    left.push(message);
                }
            }
            if left.len() == all {
                // Byte for byte, as it came.
                return (Forward::On, steps);
            }
            if !left.is_empty() {
                steps.insert(0, rest(Value::Array(left).to_string()));
            }
            (Forward::Stays, steps)
        }
        Ok(message) => handle(&message),
        // What is no JSON is not ours to judge.
        Err(_) => (Forward::On, Vec::new()),
    }
}
