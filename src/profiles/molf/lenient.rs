//! Reads JSONC as molf's parser does, which never fails and skips what it cannot use. For `compat`
//! only; a strict reader refuses such a file.

use serde_json::{Map, Value};

/// Depth limit; deeper values are left out.
const MAX_DEPTH: usize = 100;

/// Returns the value that can be recognized in the text.
#[must_use]
pub fn read(text: &str) -> Option<Value> {
    let mut reader =
        JsoncReader { rest: text.trim_start_matches('\u{feff}'), token: JsoncToken::End };
    reader.next();
    reader.value(0)
}

#[derive(Clone, Debug, PartialEq)]
enum JsoncToken {
    Open(char),
    Close(char),
    Comma,
    Colon,
    Text(String),
    Word(String),
    End,
}

struct JsoncReader<'t> {
    rest: &'t str,
    token: JsoncToken,
}

impl JsoncReader<'_> {
    /// Reads a value; returns `None` when none starts here.
    fn value(&mut self, depth: usize) -> Option<Value> {
        let value = match &mut self.token {
            JsoncToken::Open(_) if depth > MAX_DEPTH => return None,
            JsoncToken::Open('{') => return Some(self.object(depth)),
            JsoncToken::Open(_) => return Some(self.array(depth)),
            JsoncToken::Text(text) => Value::String(std::mem::take(text)),
            JsoncToken::Word(word) => word.parse().ok()?,
            JsoncToken::Close(_) | JsoncToken::Comma | JsoncToken::Colon | JsoncToken::End => {
                return None;
            }
        };
        self.next();
        Some(value)
    }

    fn object(&mut self, depth: usize) -> Value {
        let mut object = Map::new();
        self.next();
        while !matches!(self.token, JsoncToken::Close('}') | JsoncToken::End) {
            match std::mem::replace(&mut self.token, JsoncToken::Comma) {
                JsoncToken::Comma => {
                    self.next();
                    continue;
                }
                JsoncToken::Text(key) => {
                    self.next();
                    if self.token == JsoncToken::Colon {
                        self.next();
                        match self.value(depth + 1) {
                            Some(value) => {
                                object.insert(key, value);
                            }
                            None => self.skip_to('}'),
                        }
                    } else {
                        self.skip_to('}');
                    }
                }
                other => {
                    self.token = other;
                    self.skip_to('}');
                }
            }
        }
        self.next();
        Value::Object(object)
    }

    fn array(&mut self, depth: usize) -> Value {
        let mut array = Vec::new();
        self.next();
        while !matches!(self.token, JsoncToken::Close(']') | JsoncToken::End) {
            if self.token == JsoncToken::Comma {
                self.next();
                continue;
            }
            match self.value(depth + 1) {
                Some(value) => array.push(value),
                None => self.skip_to(']'),
            }
        }
        self.next();
        Value::Array(array)
    }

    fn skip_to(&mut self, close: char) {
        // Up to the next comma or bracket, as molf's parser drops the rest of a broken entry.
        while !matches!(self.token, JsoncToken::Comma | JsoncToken::End)
            && self.token != JsoncToken::Close(close)
        {
            self.next();
        }
    }

    fn next(&mut self) {
        self.blanks_and_comments();
        let mut chars = self.rest.chars();
        let token = match chars.next() {
            None => JsoncToken::End,
            Some(open @ ('{' | '[')) => JsoncToken::Open(open),
            Some(close @ ('}' | ']')) => JsoncToken::Close(close),
            Some(',') => JsoncToken::Comma,
            Some(':') => JsoncToken::Colon,
            Some('"') => {
                self.rest = chars.as_str();
                self.token = self.text();
                return;
            }
            Some(_) => {
                let ends = |c: char| c.is_whitespace() || "{}[],:\"/".contains(c);
                // A slash that starts no comment is a word of its own.
                let length = self.rest.find(ends).unwrap_or(self.rest.len()).max(1);
                let (word, rest) = self.rest.split_at_checked(length).unwrap_or((self.rest, ""));
                self.rest = rest;
                self.token = JsoncToken::Word(word.to_owned());
                return;
            }
        };
        self.rest = chars.as_str();
        self.token = token;
    }

    fn blanks_and_comments(&mut self) {
        loop {
            self.rest = self.rest.trim_start();
            if let Some(comment) = self.rest.strip_prefix("//") {
                self.rest =
                    comment.find(['\n', '\r']).and_then(|at| comment.get(at..)).unwrap_or("");
            } else if let Some(comment) = self.rest.strip_prefix("/*") {
                self.rest = comment.split_once("*/").map_or("", |(_, rest)| rest);
            } else {
                return;
            }
        }
    }

    /// Reads a string behind its quote; the end of the line ends it too.
    fn text(&mut self) -> JsoncToken {
        let mut text = String::new();
        let mut chars = self.rest.chars();
        loop {
            let before = chars.as_str();
            match chars.next() {
                None | Some('"') => break,
                Some('\n' | '\r') => {
                    chars = before.chars();
                    break;
                }
                Some('\\') => text.extend(escaped(&mut chars)),
                Some(other) => text.push(other),
            }
        }
        self.rest = chars.as_str();
        JsoncToken::Text(text)
    }
}

/// Returns the character behind a backslash; `None` when it is not an escape.
fn escaped(chars: &mut std::str::Chars<'_>) -> Option<char> {
    Some(match chars.next()? {
        'n' => '\n',
        'r' => '\r',
        't' => '\t',
        'b' => '\u{8}',
        'f' => '\u{c}',
        'u' => {
            let digits = chars.as_str().get(..4)?;
            let unit = u32::from_str_radix(digits, 16).ok()?;
            *chars = chars.as_str().get(4..)?.chars();
            // Half of a surrogate pair is not a character.
            char::from_u32(unit).unwrap_or('\u{fffd}')
        }
        same @ ('"' | '\\' | '/') => same,
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::read;

    #[test]
    fn a_broken_text_is_read_as_far_as_it_goes() {
        for (text, value) in [
            ("{ \"a\": \"allow\", ", Some(json!({"a": "allow"}))),
            ("{ \"a\": \"allow", Some(json!({"a": "allow"}))),
            ("{ \"a\" \"b\", \"c\": \"d\" }", Some(json!({"c": "d"}))),
            ("{ \"a\": , \"c\": { \"d\": 1 ", Some(json!({"c": {"d": 1}}))),
            ("[{\"a\": 1} {\"b\": 2}]", Some(json!([{"a": 1}, {"b": 2}]))),
            ("{ \"a\": \"x // y\", } // end", Some(json!({"a": "x // y"}))),
            ("{ /* no */ \"\\u0041\\n\": [] }", Some(json!({"A\n": []}))),
            ("null", Some(Value::Null)),
            ("not json at all {{{", None),
            ("", None),
        ] {
            assert_eq!(read(text), value, "{text}");
        }
    }
}
