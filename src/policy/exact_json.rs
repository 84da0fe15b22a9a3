//! JSON that says the same to every reader: each number is kept to its last digit, and no object
//! has a name twice.
//!
//! A number is read as 64 bits. Everyday ones survive that in value, whatever their spelling (`0.1`,
//! `1e-3`, `1.0`, `-0`, every 64-bit integer); `2^256-1` and a fraction of 25 digits do not.

use serde::{
    Deserialize, Deserializer,
    de::{DeserializeOwned, Error as _, MapAccess, SeqAccess, Visitor},
};
use serde_json::{Error, Number};
use std::{collections::HashSet, fmt};

/// Reads JSON that somebody else wrote, and that an agent may run.
///
/// # Errors
/// The mistake and its position, or the number or name that would not arrive as it was sent.
// SECURITY: everything behind this works on the value: digest, card, rules, budget and reply. So
// two texts with different numbers are never the same call.
pub fn from_slice<T: DeserializeOwned>(json: &[u8]) -> Result<T, Error> {
    serde_json::from_slice::<NamedOnce>(json)?;
    if let Some(number) = changed_number(json) {
        let shown: String = number.chars().take(100).collect();
        let dots = if shown.len() < number.len() { "…" } else { "" };
        return Err(Error::custom(format_args!(
            "the number {shown}{dots} has more digits than are kept; send it as a text"
        )));
    }
    serde_json::from_slice(json)
}

/// [`from_slice`] for what has to be an object.
///
/// # Errors
/// As there, and for anything else.
// FAIL-CLOSED: serde reads a list as the fields of a type, in their order in our source.
pub fn object_from_slice<T: DeserializeOwned>(json: &[u8]) -> Result<T, Error> {
    if !json.trim_ascii_start().starts_with(b"{") {
        serde_json::from_slice::<NamedOnce>(json)?;
        return Err(Error::custom("it is not a JSON object"));
    }
    from_slice(json)
}

/// [`from_slice`] for a text.
///
/// # Errors
/// As there.
pub fn from_str<T: DeserializeOwned>(json: &str) -> Result<T, Error> {
    from_slice(json.as_bytes())
}

/// The first number of valid JSON that would be written with another value than it was read with.
fn changed_number(json: &[u8]) -> Option<&str> {
    let is_part = |byte: &u8| matches!(byte, b'0'..=b'9' | b'-' | b'+' | b'.' | b'e' | b'E');
    let mut rest = json;
    loop {
        let start = rest.iter().position(|byte| matches!(byte, b'"' | b'-' | b'0'..=b'9'))?;
        rest = rest.get(start..)?;
        if let Some(text) = rest.strip_prefix(b"\"") {
            rest = after_text(text)?;
            continue;
        }
        let end = rest.iter().position(|byte| !is_part(byte)).unwrap_or(rest.len());
        let (number, left) = rest.split_at_checked(end)?;
        rest = left;
        // FAIL-CLOSED: a number that is no text has not been understood.
        match std::str::from_utf8(number) {
            Ok(number) if survives(number) => {}
            Ok(number) => return Some(number),
            Err(_) => return Some("of odd bytes"),
        }
    }
}

/// What follows the text whose inside begins here.
fn after_text(mut inside: &[u8]) -> Option<&[u8]> {
    loop {
        let at = inside.iter().position(|byte| matches!(byte, b'"' | b'\\'))?;
        match inside.get(at..)? {
            [b'"', rest @ ..] => return Some(rest),
            [_, _, rest @ ..] => inside = rest,
            _ => return None,
        }
    }
}

fn survives(number: &str) -> bool {
    // A double holds every 15 digits.
    if number.len() <= 15 && !number.contains(['e', 'E']) {
        return true;
    }
    let read = serde_json::from_str::<Number>(number);
    read.is_ok_and(|read| Decimal::of(&read.to_string()) == Decimal::of(number))
}

/// The value of a number as it is written: `0.0120` and `12e-3` are the same.
#[derive(PartialEq)]
struct Decimal {
    negative: bool,
    digits: String,
    /// `None` beyond 64 bits, which equals nothing that we write.
    exponent: Option<i64>,
}

impl Decimal {
    fn of(number: &str) -> Self {
        let (negative, number) = match number.strip_prefix('-') {
            Some(number) => (true, number),
            None => (false, number),
        };
        let (mantissa, exponent) = number.split_once(['e', 'E']).unwrap_or((number, "0"));
        let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
        let all = format!("{whole}{fraction}");
        let all = all.trim_start_matches('0');
        let digits = all.trim_end_matches('0');
        if digits.is_empty() {
            return Self { negative, digits: String::new(), exponent: Some(0) };
        }
        let length = |text: &str| i64::try_from(text.len()).ok();
        let exponent = exponent.parse::<i64>().ok().and_then(|exponent| {
            let zeros = length(all)?.checked_sub(length(digits)?)?;
            exponent.checked_sub(length(fraction)?)?.checked_add(zeros)
        });
        Self { negative, digits: digits.to_owned(), exponent }
    }
}

/// Any JSON in which no object has a name twice: readers differ in which of the two counts.
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
        while let Some(name) = map.next_key::<String>()? {
            map.next_value::<NamedOnce>()?;
            if let Some(name) = names.replace(name) {
                let shown: String = name.chars().take(100).collect();
                return Err(A::Error::custom(format_args!("the name {shown:?} comes twice")));
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
    #![allow(clippy::unwrap_used, reason = "tests fail by panicking")]
    use super::*;
    use proptest::prelude::*;
    use serde_json::{Value, json};

    #[test]
    fn everyday_numbers_are_read_in_every_spelling() {
        for (text, value) in [
            ("0.1", json!(0.1)),
            ("1e-3", json!(0.001)),
            ("1E5", json!(1e5)),
            ("1.0", json!(1.0)),
            ("10.00", json!(10.0)),
            ("-0", json!(-0.0)),
            ("0e99999999999999999999", json!(0.0)),
            ("0.30000000000000004", json!(0.1 + 0.2)),
            ("1764000000.123456", json!(1_764_000_000.123_456)),
            ("5e-324", json!(5e-324)),
            ("18446744073709551615", json!(u64::MAX)),
            ("-9223372036854775808", json!(i64::MIN)),
            // As JavaScript and Python write doubles.
            ("18446744073709552000", json!(2_f64.powi(64))),
            ("1.157920892373162e+77", json!(1.157_920_892_373_162e77)),
        ] {
            let read: Value = from_str(text).unwrap();
            assert_eq!((read.to_string(), text), (value.to_string(), text));
        }
    }

    #[test]
    fn a_number_that_would_arrive_as_another_is_refused_by_name() {
        let most = "115792089237316195423570985008687907853269984665640564039457584007913129639935";
        for number in [
            most,
            "18446744073709551616",
            "-9223372036854775809",
            "0.1000000000000000055511151231257827",
            "3.14159265358979323846",
            "9007199254740993.0",
            "1e-400",
            "4.9e-324",
            "1e99999999999999999999",
        ] {
            for json in [number.to_owned(), format!("{{\"a\\\"\": [1, \"\\\\\", {number}]}}")] {
                let why = from_str::<Value>(&json).map_err(|error| error.to_string());
                let digits =
                    format!("the number {number} has more digits than are kept; send it as a text");
                let range = why.as_ref().is_err_and(|why| why.contains("out of range"));
                assert!(range || why == Err(digits), "{json}: {why:?}");
            }
        }
        // In a text it is a text.
        let text = json!({ most: most, "\"": format!("\\\"{most}") });
        assert_eq!(from_str::<Value>(&text.to_string()).unwrap(), text);
    }

    #[test]
    fn a_list_is_never_read_as_the_fields_of_a_type() {
        #[derive(Debug, Deserialize)]
        struct OneField {
            mode: String,
        }
        let mode = |json: &str| object_from_slice::<OneField>(json.as_bytes()).map(|it| it.mode);
        assert_eq!(mode(" \n{\"mode\": \"hold\"}").unwrap(), "hold");
        for other in ["[\"hold\"]", "[]", "null", " 5", "\"hold\""] {
            assert_eq!(mode(other).unwrap_err().to_string(), "it is not a JSON object", "{other}");
        }
        assert!(mode("[\"hold\"").unwrap_err().is_eof());
    }

    #[test]
    fn a_name_that_comes_twice_is_found_at_any_depth() {
        for once in ["{}", "[]", "null", "1.5", r#"{"a": {"a": [{"a": -1}, {"a": true}]}}"#] {
            assert!(from_str::<Value>(once).is_ok(), "{once}");
        }
        for twice in [r#"{"a": 1, "a": 1}"#, r#"[{"b": [{"a": 1, "\u0061": 2}]}]"#] {
            let why = from_str::<Value>(twice).unwrap_err().to_string();
            assert!(why.starts_with("the name \"a\" comes twice at line 1"), "{why}");
        }
        assert!(from_str::<Value>("{").unwrap_err().is_eof());
    }

    proptest! {
        #[test]
        fn a_number_that_is_read_has_the_value_of_its_text(
            whole in "-?(0|[1-9][0-9]{0,25})", fraction in "(\\.[0-9]{1,20})?",
            exponent in "([eE][+-]?[0-9]{1,3})?"
        ) {
            let text = format!("{whole}{fraction}{exponent}");
            if let Ok(read) = from_str::<Value>(&text) {
                prop_assert!(Decimal::of(&read.to_string()) == Decimal::of(&text), "{read} {text}");
            }
        }

        #[test]
        fn every_double_and_every_integer_of_64_bits_is_read(
            bits in any::<u64>(), signed in any::<i64>()
        ) {
            let double = f64::from_bits(bits);
            prop_assume!(double.is_finite());
            for value in [json!(double), json!(bits), json!(signed)] {
                prop_assert_eq!(&from_str::<Value>(&value.to_string()).unwrap(), &value);
            }
        }
    }
}
