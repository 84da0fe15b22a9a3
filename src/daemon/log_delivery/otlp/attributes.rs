//! Attributes of spans and metrics.

use countersign_port::{brief, line};
use serde_json::{Value, json};

/// How much of a text of an agent an attribute has; characters.
const LONGEST: usize = 200;

/// An attribute with a value of OTLP's form.
pub(super) fn attribute(key: &str, value: Value) -> Value {
    json!({"key": key, "value": value})
}

/// A text as an attribute.
pub(super) fn text(key: &str, value: &str) -> Value {
    attribute(key, json!({"stringValue": brief(&line(value), LONGEST)}))
}
