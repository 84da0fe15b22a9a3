//! How far a value of a call may reach: how deep, and how many values are in it.

use super::malformed::Malformed;
use serde_json::Value;

/// How deep values may be nested. JSON is read to 127 levels, and the store puts a call into
/// another value.
const DEEPEST: usize = 100;
/// How many values one field may hold, those inside of others included.
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
    match left(value, MOST) {
        Some(_) => Ok(()),
        None => Err(Malformed(format!(
            "`{field}` holds more than {MOST} values; no more are taken: hand it in as several calls"
        ))),
    }
}

/// Whether a value has more than so many levels.
fn is_deeper(value: &Value, levels: usize) -> bool {
    let Some(left) = levels.checked_sub(1) else { return value.is_array() || value.is_object() };
    match value {
        Value::Array(values) => values.iter().any(|value| is_deeper(value, left)),
        Value::Object(values) => values.values().any(|value| is_deeper(value, left)),
        _ => false,
    }
}

/// How many of so many values are left after those of this one; `None` where it has more.
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
