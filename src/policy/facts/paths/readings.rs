//! The paths for which a tool may take a text. Tools trim, strip quotes and schemes, decode, and
//! expand braces and variables, each in its own way; so every reading counts.

use std::borrow::Cow;

use crate::facts::paths::secrets::secret;
use crate::facts::paths::{Directories, clean};

/// Limit on the readings of one text.
const MOST: usize = 64;

/// Separators behind which another path may begin.
const SEPARATORS: &[char] =
    &[':', ',', ';', '|', '=', '(', '{', '[', '<', '>', '"', '\'', '`', '!', '@', '&', '\0'];

/// Returns the text and every other path for which a tool may take it. This is the one reading of
/// tools' paths for rules and for guardrails.
// FAIL-CLOSED: a text with too many readings may be any path.
pub(crate) fn readings<'t>(text: &'t str, dirs: Directories<'_>) -> Vec<Cow<'t, str>> {
    let mut all = vec![Cow::Borrowed(text)];
    // Nearly all paths have one reading.
    let odd = |c: char| {
        SEPARATORS.contains(&c)
            || matches!(c, '%' | '\\' | '$' | '#' | '?')
            || c.is_whitespace()
            || c.is_control()
    };
    if !text.contains(odd) && !text.ends_with(['.', '/']) {
        return all;
    }
    let mut at = 0;
    while let Some(one) = all.get(at).map(|one| one.to_string()) {
        at += 1;
        for other in others(&one, dirs) {
            if !other.is_empty() && !all.iter().any(|known| **known == *other) {
                all.push(Cow::Owned(other));
            }
            if all.len() > MOST {
                return vec![Cow::Borrowed(text), Cow::Borrowed("~"), Cow::Borrowed("/")];
            }
        }
    }
    all
}

/// Returns the readings that are one step away.
fn others(text: &str, dirs: Directories<'_>) -> Vec<String> {
    let mut found: Vec<String> = braces(text).into_iter().map(Cow::into_owned).collect();
    let blank = |c: char| c.is_whitespace() || c.is_control();
    found.push(text.trim_matches(blank).to_owned());
    // Some systems ignore dots and blanks at the end of a name.
    found.push(text.trim_end_matches(['/', '.', ' ']).to_owned());
    found.push(text.replace('\\', "/"));
    found.extend(decoded(text));
    // `$X/y` may be in any folder.
    found.extend(text.starts_with('$').then(|| ["~", text].concat()));
    // The name of the project itself may hold separators.
    let below = dirs.cwd.and_then(|cwd| text.strip_prefix(&*clean(cwd, Directories::default())));
    let rest = below.map_or(text, |rest| rest.trim_start_matches('/'));
    let ends = |c: char| blank(c) || SEPARATORS.contains(&c);
    let leads = |piece: &&str| piece.starts_with(['/', '~', '$']) || piece.starts_with("..");
    found.extend(rest.split(ends).skip(1).filter(leads).map(str::to_owned));
    // `auth.json#L1`
    let named = rest.split(|c| ends(c) || matches!(c, '#' | '?'));
    let named = named.filter(|piece| piece.len() < rest.len());
    found.extend(named.filter(|piece| secret(piece, Directories::default())).map(str::to_owned));
    found
}

/// Decodes `%2e`; `None` for a text without such escapes.
pub(crate) fn decoded(text: &str) -> Option<String> {
    if !text.contains('%') {
        return None;
    }
    let bytes = text.as_bytes();
    let mut at = 0;
    let mut out = Vec::with_capacity(text.len());
    while let Some(byte) = bytes.get(at) {
        let code = text.get(at + 1..at + 3).filter(|_| *byte == b'%');
        let code = code.and_then(|code| u8::from_str_radix(code, 16).ok());
        out.push(code.unwrap_or(*byte));
        at += if code.is_some() { 3 } else { 1 };
    }
    (out != bytes).then(|| String::from_utf8_lossy(&out).into_owned())
}

// Braces in a text that a shell or a tool may expand.

/// Stands for a part of a path that is known only at run time.
pub(crate) const UNKNOWN: char = '\0';

/// Limit on the alternatives that are looked at.
const MOST_ALTERNATIVES: usize = 128;

/// Expands `{a,b}`. Too many alternatives, or a range, become one text with `UNKNOWN` there.
pub(crate) fn braces(text: &str) -> Vec<Cow<'_, str>> {
    if !text.contains('{') {
        return vec![Cow::Borrowed(text)];
    }
    let mut done: Vec<Cow<'_, str>> = Vec::new();
    let mut open = vec![text.to_owned()];
    while let Some(next) = open.pop() {
        // Alternatives multiply: `{a,b}{a,b}…`.
        if done.len() + open.len() >= MOST_ALTERNATIVES {
            return vec![Cow::Owned(UNKNOWN.to_string())];
        }
        match group(&next) {
            Some((start, end, parts)) => {
                let head = next.get(..start).unwrap_or_default();
                let tail = next.get(end..).unwrap_or_default();
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
        let mut depth = 0usize;
        let mut cuts = vec![start];
        let mut end = None;
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

#[cfg(test)]
mod tests {
    use crate::facts::paths::outside;
    use crate::facts::paths::*;

    const AT: Directories<'_> =
        Directories { cwd: Some("/home/me/My (old) work, x"), home: Some("/home/me") };

    #[test]
    fn a_text_stands_for_every_path_that_a_tool_may_open() {
        for text in [
            " /etc/x",
            "/etc/x ",
            "\t/etc/x",
            "file:///etc/x",
            "FILE:/etc/x",
            "file://h/etc/x",
            "\"/etc/x\"",
            "@/etc/x",
            "%2fetc%2fx",
            "%252fetc",
            "a%2f..%2f..%2f..%2fx",
            "$HOME/x",
            "${HOME}/x",
            "$ANY/x",
            "~root/x",
            "\\etc\\x",
            "..\\..\\x",
            "C:\\x",
            "{/etc/*,x}",
            "x/{../../../*,y}",
            "+(/etc)/*",
            "[/]etc/*",
            "a\n/etc/x",
            "a,/etc/x",
            "src /etc/x",
            "/home/me/My (old) work, x/ /etc",
            "x\0/etc",
            "{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}",
        ] {
            assert!(
                readings(text, AT).iter().any(|one| outside(one, AT)),
                "{text}: {:?}",
                readings(text, AT)
            );
        }
        for text in [
            ".env ",
            " .env",
            ".en%76",
            ".env:1",
            "file:auth.json",
            "auth.json#L1",
            "{auth,x}.json",
            "auth.json.",
        ] {
            assert!(readings(text, AT).iter().any(|one| secret(one, AT)), "{text}");
        }
        for text in [
            "src/a.rs",
            "/home/me/My (old) work, x/src/a b/(group)/[id]/page.tsx",
            "a b.txt",
            "routes/$id.tsx",
            "src/",
            ".",
            "./a",
            "src/**/*.{ts,tsx}",
            "a,b",
            "@types/x",
            "50%.txt",
            "a%41",
            "src/[...all].ts",
            "!src/x",
            "a: b",
            "~/My (old) work, x/a",
        ] {
            let all = readings(text, AT);
            assert!(!all.iter().any(|one| outside(one, AT) || secret(one, AT)), "{text}: {all:?}");
        }
    }
}
