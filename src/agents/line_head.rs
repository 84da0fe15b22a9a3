//! The heads of JSON-RPC lines, as a reader at the other end may see them that takes more than we
//! do: numbers out of range, halves of surrogate pairs, deep nesting, bytes that are no UTF-8.

use serde::{
    Deserialize, Deserializer,
    de::{Error, IgnoredAny, MapAccess, SeqAccess, Visitor},
};
use serde_json::Value;
use std::fmt;

/// What a line is.
#[derive(Debug, Clone, PartialEq)]
pub enum LineHead {
    /// No JSON, to any reader.
    NotJson,
    /// JSON in which another reader may find another message than we do.
    Ambiguous,
    /// The message, or those of a batch.
    Messages(Vec<MessageHead>),
}

/// The fields that say what a message is; of what is no object, none.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct MessageHead {
    /// The method.
    pub method: Option<String>,
    /// The id, which may be null.
    pub id: Option<Value>,
}

/// The fields that readers go by.
const FIELDS: [&str; 6] = ["jsonrpc", "id", "method", "params", "result", "error"];

impl LineHead {
    /// Reads a line.
    // SECURITY: a reader may take the first of two equal fields where we take the last, or compare
    // names without case.
    pub fn read(line: &[u8]) -> Self {
        if serde_json::from_slice::<IgnoredAny>(line).is_err() {
            return Self::NotJson;
        }
        let heads = match line.trim_ascii_start().first() {
            Some(b'[') => serde_json::from_slice(line),
            _ => serde_json::from_slice(line).map(|head| vec![head]),
        };
        heads.map_or(Self::Ambiguous, Self::Messages)
    }
}

/// Returns whether the field differs from one of these names in case only.
pub fn is_misspelt(field: &str, names: &[&str]) -> bool {
    names.iter().any(|name| field != *name && folded(field) == *name)
}

/// The text in lower case, as a comparison without case folds it: `K` may be the sign of kelvin,
/// and `s` the long one.
fn folded(text: &str) -> String {
    text.to_lowercase().replace('\u{17f}', "s")
}

impl<'de> Deserialize<'de> for MessageHead {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(HeadVisitor)
    }
}

struct HeadVisitor;

impl<'de> Visitor<'de> for HeadVisitor {
    type Value = MessageHead;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a message")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<MessageHead, A::Error> {
        let mut head = MessageHead::default();
        let mut seen = Vec::new();
        while let Some(field) = map.next_key::<String>()? {
            if is_misspelt(&field, &FIELDS) || seen.contains(&field) {
                return Err(A::Error::custom("a field twice"));
            }
            match field.as_str() {
                "id" => head.id = Some(map.next_value()?),
                "method" => head.method = map.next_value::<Value>()?.as_str().map(str::to_owned),
                _ => drop(map.next_value::<IgnoredAny>()?),
            }
            if FIELDS.contains(&field.as_str()) {
                seen.push(field);
            }
        }
        Ok(head)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<MessageHead, A::Error> {
        while list.next_element::<IgnoredAny>()?.is_some() {}
        Ok(MessageHead::default())
    }

    fn visit_str<E>(self, _: &str) -> Result<MessageHead, E> {
        Ok(MessageHead::default())
    }

    fn visit_bool<E>(self, _: bool) -> Result<MessageHead, E> {
        Ok(MessageHead::default())
    }

    fn visit_i64<E>(self, _: i64) -> Result<MessageHead, E> {
        Ok(MessageHead::default())
    }

    fn visit_u64<E>(self, _: u64) -> Result<MessageHead, E> {
        Ok(MessageHead::default())
    }

    fn visit_f64<E>(self, _: f64) -> Result<MessageHead, E> {
        Ok(MessageHead::default())
    }

    fn visit_unit<E>(self) -> Result<MessageHead, E> {
        Ok(MessageHead::default())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn head(line: &str) -> LineHead {
        LineHead::read(line.as_bytes())
    }

    #[test]
    fn a_head_is_read_though_the_rest_of_the_line_is_out_of_our_reach() {
        let deep = format!("{}1{}", "[".repeat(500), "]".repeat(500));
        for rest in ["1e999", "\"\\ud800\"", &deep] {
            let line = format!("{{\"id\": 7, \"params\": {{\"x\": {rest}}}, \"method\": \"m\"}}");
            assert!(serde_json::from_str::<Value>(&line).is_err(), "{rest}");
            let one = MessageHead { method: Some("m".to_owned()), id: Some(json!(7)) };
            assert_eq!(head(&line), LineHead::Messages(vec![one.clone()]), "{rest}");
            let batch = format!("[{line}, 5, [], \"text\", null]");
            let none = MessageHead::default();
            let all = vec![one, none.clone(), none.clone(), none.clone(), none];
            assert_eq!(head(&batch), LineHead::Messages(all), "{rest}");
        }
        let bytes = b"{\"method\": \"m\", \"params\": \"\xff\"}";
        let one = MessageHead { method: Some("m".to_owned()), id: None };
        assert_eq!(LineHead::read(bytes), LineHead::Messages(vec![one]));
    }

    #[test]
    fn two_readers_of_one_line_may_differ() {
        for line in [
            r#"{"method": "a", "method": "b"}"#,
            r#"{"method": "a", "Method": "b"}"#,
            r#"{"Id": 1}"#,
            "{\"param\u{17f}\": 1}",
            r#"{"id": 1e999}"#,
            r#"{"method": "\ud800"}"#,
            r#"[{"method": "a", "method": "b"}]"#,
        ] {
            assert_eq!(head(line), LineHead::Ambiguous, "{line}");
        }
        for line in ["", "noise", "{", "{} {}", "{\"a\": 1,}"] {
            assert_eq!(head(line), LineHead::NotJson, "{line}");
        }
    }
}
