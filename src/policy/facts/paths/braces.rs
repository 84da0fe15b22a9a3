//! Braces in a text that a shell or a tool may expand.

use std::borrow::Cow;

/// Stands for a part of a path that is known only at run time.
pub(crate) const UNKNOWN: char = '\0';

/// Limit on the alternatives that are looked at.
const MOST: usize = 128;

/// Expands `{a,b}`. Too many alternatives, or a range, become one text with `UNKNOWN` there.
pub(crate) fn braces(text: &str) -> Vec<Cow<'_, str>> {
    if !text.contains('{') {
        return vec![Cow::Borrowed(text)];
    }
    let mut done: Vec<Cow<'_, str>> = Vec::new();
    let mut open = vec![text.to_owned()];
    while let Some(next) = open.pop() {
        // Alternatives multiply: `{a,b}{a,b}…`.
        if done.len() + open.len() >= MOST {
            return vec![Cow::Owned(UNKNOWN.to_string())];
        }
        match group(&next) {
            Some((start, end, parts)) => {
                let (head, tail) =
                    (next.get(..start).unwrap_or_default(), next.get(end..).unwrap_or_default());
                open.extend(parts.iter().map(|part| [head, part, tail].concat()));
            }
            None => done.push(Cow::Owned(next)),
        }
    }
    done
}

/// Returns the first closed brace group with alternatives: its range and the alternatives.
fn group(text: &str) -> Option<(usize, usize, Vec<String>)> {
    let bytes = text.as_bytes();
    let mut from = 0;
    while let Some(start) = text.get(from..)?.find('{').map(|at| at + from) {
        from = start + 1;
        // `${x}` is a variable, not a brace group.
        if start > 0 && bytes.get(start - 1) == Some(&b'$') {
            continue;
        }
        let (mut depth, mut cuts, mut end) = (0usize, vec![start], None);
        for (at, byte) in bytes.iter().enumerate().skip(start) {
            match byte {
                b'{' => depth += 1,
                b'}' if depth == 1 => {
                    end = Some(at);
                    break;
                }
                b'}' => depth -= 1,
                b',' if depth == 1 => cuts.push(at),
                _ => {}
            }
        }
        let Some(end) = end else { continue };
        let inner = text.get(start + 1..end)?;
        if cuts.len() == 1 {
            if inner.contains("..") {
                return Some((start, end + 1, vec![UNKNOWN.to_string()]));
            }
            continue;
        }
        cuts.push(end);
        let parts = cuts.windows(2).filter_map(|pair| match pair {
            [one, other] => text.get(one + 1..*other).map(str::to_owned),
            _ => None,
        });
        return Some((start, end + 1, parts.collect()));
    }
    None
}
