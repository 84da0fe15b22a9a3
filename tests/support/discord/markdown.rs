//! Renders markdown to the text that a person reads, by Discord's rules.

/// The text that Discord shows. A mention, link or emoji is put in «…», and formatting marks
/// vanish, so that a text that is not shown literally is not found.
pub fn read(content: &str) -> String {
    let (mut out, mut rest, mut line_start) = (String::new(), content, true);
    while !rest.is_empty() {
        let mark = if line_start { line_mark(rest) } else { None };
        let read = mark.unwrap_or_else(|| span(rest, &mut out));
        let end = rest.char_indices().nth(read).map_or(rest.len(), |(at, _)| at);
        line_start = rest[..end].ends_with('\n');
        rest = &rest[end..];
    }
    out
}

/// The length of a mark at the beginning of a line.
fn line_mark(rest: &str) -> Option<usize> {
    let indent = rest.len() - rest.trim_start_matches(' ').len();
    let body = &rest[indent..];
    for mark in ["> ", ">>> ", "# ", "## ", "### ", "- ", "* ", "-# "] {
        if body.starts_with(mark) {
            return Some(indent + mark.len());
        }
    }
    let digits = body.len() - body.trim_start_matches(|c: char| c.is_ascii_digit()).len();
    (digits > 0 && body[digits..].starts_with(". ")).then_some(indent + digits + 2)
}

/// Renders one element; returns the number of characters read.
fn span(rest: &str, out: &mut String) -> usize {
    let first = rest.chars().next().unwrap();
    if let Some((text, length)) = code_block(rest).or_else(|| inline_code(rest)) {
        out.push_str(&text);
        return length;
    }
    let second = rest.chars().nth(1);
    match first {
        // A backslash escapes punctuation only.
        '\\' if second.is_some_and(|c| !c.is_ascii_alphanumeric() && !c.is_whitespace()) => {
            out.push(second.unwrap());
            return 2;
        }
        '*' | '_' => return 1,
        '~' | '|' if second == Some(first) => return 2,
        '<' => {
            // Mentions of users and channels, emoji and timestamps.
            let tag = rest.chars().nth(1).is_some_and(|c| matches!(c, '@' | '#' | ':' | 't' | 'a'));
            if tag && let Some(end) = rest.find('>') {
                out.push_str(&format!("«{}»", &rest[1..end]));
                return rest[..=end].chars().count();
            }
        }
        ':' => {
            let name = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '+';
            let inner = &rest[1..];
            let end = inner.find(|c| !name(c));
            if let Some(end) = end.filter(|end| *end > 0 && inner[*end..].starts_with(':')) {
                out.push_str("«emoji»");
                return end + 2;
            }
        }
        _ => {}
    }
    for mark in ["@everyone", "@here", "https://", "http://", "discord.gg/"] {
        if rest.starts_with(mark) {
            out.push_str(&format!("«{mark}»"));
            return mark.len();
        }
    }
    out.push(first);
    1
}

fn code_block(rest: &str) -> Option<(String, usize)> {
    let inner = rest.strip_prefix("```")?;
    let end = inner.find("```")?;
    let mut text = &inner[..end];
    if let Some((language, body)) = text.split_once('\n') {
        let word = |c: char| c.is_ascii_alphanumeric() || "_+-.#".contains(c);
        if !language.is_empty() && language.chars().all(word) {
            text = body;
        }
    }
    let shown = text.trim_matches('\n');
    (!shown.is_empty()).then(|| (shown.to_owned(), inner[..end].chars().count() + 6))
}

fn inline_code(rest: &str) -> Option<(String, usize)> {
    let ticks = rest.len() - rest.trim_start_matches('`').len();
    if ticks == 0 {
        return None;
    }
    let (fence, inner) = rest.split_at(ticks);
    let mut from = 0;
    while let Some(found) = inner[from..].find(fence).map(|found| from + found) {
        let run = inner[found..].len() - inner[found..].trim_start_matches('`').len();
        if run == ticks && found > 0 {
            return Some((inner[..found].to_owned(), inner[..found].chars().count() + 2 * ticks));
        }
        from = found + run;
    }
    None
}
