//! `$'…'`: escapes as in C.

use std::borrow::Cow;
use std::iter::Peekable;
use std::str::Chars;

/// Decodes the body of `$'…'`. Returns `None` for an unknown escape and for bytes that are not
/// valid text.
pub(super) fn decode(body: &str) -> Option<Cow<'_, str>> {
    if !body.contains('\\') {
        return Some(Cow::Borrowed(body));
    }
    // bash ends the value at a NUL, so text behind it vanishes. Only `$'\0'` alone is read;
    // `escape` refuses a NUL anywhere else.
    if body == "\\0" {
        return Some(Cow::Borrowed(""));
    }
    let mut out = String::with_capacity(body.len());
    let mut chars = body.chars().peekable();
    while let Some(c) = chars.next() {
        let value = if c == '\\' { escape(&mut chars)? } else { c };
        out.push(value);
    }
    Some(Cow::Owned(out))
}

fn escape(chars: &mut Peekable<Chars<'_>>) -> Option<char> {
    let value = match chars.next()? {
        'a' => '\x07',
        'b' => '\x08',
        'e' | 'E' => '\x1b',
        'f' => '\x0c',
        'n' => '\n',
        'r' => '\r',
        't' => '\t',
        'v' => '\x0b',
        c @ ('\\' | '\'' | '"' | '?') => c,
        first @ '0'..='7' => byte(digits(chars, 8, 2, first.to_digit(8)?))?,
        'x' => {
            // bash keeps a `\x` without a digit as text; such a string is refused instead.
            chars.peek()?.to_digit(16)?;
            byte(digits(chars, 16, 2, 0))?
        }
        'u' => {
            chars.peek()?.to_digit(16)?;
            char::from_u32(digits(chars, 16, 4, 0))?
        }
        'U' => {
            chars.peek()?.to_digit(16)?;
            char::from_u32(digits(chars, 16, 8, 0))?
        }
        _ => return None,
    };
    (value != '\0').then_some(value)
}

/// Accepts ASCII only: a byte above 0x7f is a fragment of a UTF-8 character.
fn byte(code: u32) -> Option<char> {
    char::from_u32(code).filter(char::is_ascii)
}

/// Reads up to `limit` more digits and adds them to `first`.
fn digits(chars: &mut Peekable<Chars<'_>>, radix: u32, limit: usize, first: u32) -> u32 {
    let mut value = first;
    for _ in 0..limit {
        let Some(digit) = chars.peek().and_then(|c| c.to_digit(radix)) else { break };
        chars.next();
        // Eight hexadecimal digits fill a `u32` exactly, so nothing wraps around.
        value = value.wrapping_mul(radix) + digit;
    }
    value
}

#[cfg(test)]
mod tests {
    use super::decode;

    #[test]
    fn escapes_become_the_characters_they_stand_for() {
        assert_eq!(decode("\\162m").as_deref(), Some("rm"));
        assert_eq!(decode("a\\x62\\u0063\\n\\'").as_deref(), Some("abc\n'"));
    }

    #[test]
    fn unknown_escapes_bytes_and_nul_are_refused() {
        for body in ["\\q", "\\xff", "a\\0b", "\\cA", "\\x", "\\"] {
            assert_eq!(decode(body), None, "{body}");
        }
    }
}
