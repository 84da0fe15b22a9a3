//! Limits on the depth and the number of values in a call's field.

use super::malformed::Malformed;
use serde_json::Value;

/// The largest nesting depth. serde_json reads 127 levels, and the store wraps a call in another
/// value.
const DEEPEST: usize = 100;
/// The largest number of values in one field, including nested ones.
const MOST: usize = 200_000;

/// Checks the value of a field.
///
/// # Errors
/// A sentence that names the field and the limit.
pub(super) fn check(field: &str, value: &Value) -> Result<(), Malformed> {
    if is_deeper(value, DEEPEST) {
        return Err(Malformed(format!(
            "`{field}` is nested more than {DEEPEST} levels deep; no more are taken"
        )));
    }
    // Counted after the depth is known, which bounds the recursion.
    match left(value, MOST) {
        Some(_) => Ok(()),
        None => Err(Malformed(format!(
            "`{field}` holds more than {MOST} values; no more are taken: hand it in as several \
             calls"
        ))),
    }
}

/// Returns whether a value has more than this many levels.
fn is_deeper(value: &Value, levels: usize) -> bool {
    let Some(left) = levels.checked_sub(1) else { return value.is_array() || value.is_object() };
    match value {
        Value::Array(values) => values.iter().any(|value| is_deeper(value, left)),
        Value::Object(values) => values.values().any(|value| is_deeper(value, left)),
        _ => false,
    }
}

/// Subtracts the number of values in this one from `most`; `None` if there are more.
fn left(value: &Value, most: usize) -> Option<usize> {
    let most = most.checked_sub(1)?;
    match value {
        Value::Array(values) => values.iter().try_fold(most, |most, value| left(value, most)),
        Value::Object(values) => values.values().try_fold(most, |most, value| left(value, most)),
        _ => Some(most),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_field_with_more_values_than_are_taken_is_refused_by_name_and_none_is_left_out() {
        let too_many = Err(Malformed(
            "`args` holds more than 200000 values; no more are taken: hand it in as several calls"
                .into(),
        ));
        // The list itself is a value too.
        let list = |values: usize| json!(vec![0; values]);
        assert_eq!(check("args", &list(MOST - 1)), Ok(()));
        assert_eq!(check("args", &list(MOST)), too_many);
        let keys = |keys: usize| (0..keys).map(|n| (n.to_string(), Value::Null)).collect();
        assert_eq!(check("args", &Value::Object(keys(MOST - 1))), Ok(()));
        assert_eq!(check("args", &Value::Object(keys(MOST))), too_many);
        let spread = json!({ "a": list(MOST / 2), "b": [list(MOST / 2)] });
        assert_eq!(check("args", &spread), too_many);
    }
}
