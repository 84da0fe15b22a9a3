//! JSON in which an object has a name twice: readers differ in which of the two counts.

use serde::{
    Deserialize, Deserializer,
    de::{Error, MapAccess, SeqAccess, Visitor},
};
use std::{collections::HashSet, fmt};

/// Returns whether some object in this text has a name twice, or the text cannot be read.
pub fn repeats_a_name(json: &[u8]) -> bool {
    serde_json::from_slice::<NamedOnce>(json).is_err()
}

struct NamedOnce;

impl<'de> Deserialize<'de> for NamedOnce {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(NameVisitor)
    }
}

struct NameVisitor;

impl<'de> Visitor<'de> for NameVisitor {
    type Value = NamedOnce;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("JSON")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<NamedOnce, A::Error> {
        let mut names = HashSet::new();
        while let Some((name, NamedOnce)) = map.next_entry::<String, NamedOnce>()? {
            if !names.insert(name) {
                return Err(A::Error::custom("a name twice"));
            }
        }
        Ok(NamedOnce)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<NamedOnce, A::Error> {
        while let Some(NamedOnce) = list.next_element()? {}
        Ok(NamedOnce)
    }

    fn visit_str<E>(self, _: &str) -> Result<NamedOnce, E> {
        Ok(NamedOnce)
    }

    fn visit_bool<E>(self, _: bool) -> Result<NamedOnce, E> {
        Ok(NamedOnce)
    }

    fn visit_i64<E>(self, _: i64) -> Result<NamedOnce, E> {
        Ok(NamedOnce)
    }

    fn visit_u64<E>(self, _: u64) -> Result<NamedOnce, E> {
        Ok(NamedOnce)
    }

    fn visit_f64<E>(self, _: f64) -> Result<NamedOnce, E> {
        Ok(NamedOnce)
    }

    fn visit_unit<E>(self) -> Result<NamedOnce, E> {
        Ok(NamedOnce)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_that_comes_twice_is_found_at_any_depth() {
        for once in ["{}", "[]", "null", "1.5", r#"{"a": {"a": [{"a": -1}, {"a": true}]}}"#] {
            assert!(!repeats_a_name(once.as_bytes()), "{once}");
        }
        for twice in [r#"{"a": 1, "a": 1}"#, r#"[{"b": [{"a": 1, "\u0061": 2}]}]"#, "{"] {
            assert!(repeats_a_name(twice.as_bytes()), "{twice}");
        }
    }
}
