//! Text that Discord's markdown shows as it is.

use countersign_port::visible;

/// What Discord counts when it limits a message. It does not say whether it counts code points or
/// UTF-16 units; the latter are never fewer.
pub(crate) fn units(text: &str) -> usize {
    text.encode_utf16().count()
}

/// [`visible`], and line breaks and tabs visible too.
pub(crate) fn one_line(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in visible(text).chars() {
        if matches!(c, '\n' | '\t') {
            out.extend(c.escape_unicode());
        } else {
            out.push(c);
        }
    }
    out
}

/// A code block, or a quotation where the text holds the block's own end: Discord knows no longer
/// fence, and a character slipped in between would change what the person approves.
///
/// SECURITY: `text` cannot end the block, so nothing of it is read as markdown or as the card's
/// words.
pub(crate) fn code(text: &str) -> String {
    fenced("", text)
}

/// The same with the colours of a change.
pub(crate) fn diff(text: &str) -> String {
    fenced("diff", text)
}

fn fenced(language: &str, text: &str) -> String {
    if text.trim_matches('\n').is_empty() || text.contains("```") {
        return quote(text, "");
    }
    format!("```{language}\n{text}\n```")
}

/// A quotation: every line marked, and begun with this, everything in it escaped.
pub(crate) fn quote(text: &str, begun: &str) -> String {
    let line = |line: &str| format!("> {begun}{}", escape(line));
    let lines: Vec<String> = text.split('\n').map(line).collect();
    lines.join("\n")
}

/// Escapes what Discord reads as markup, mentions, links, emoji or timestamps.
///
/// SECURITY: the shown text is `text`, whatever it holds.
pub(crate) fn escape(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + text.len() / 8);
    let mut leading = true;
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        let means = match c {
            '\\' | '`' | '*' | '_' | '~' | '|' | '<' | '@' | '[' | ']' => true,
            // `https://…` and `:smile:`, but not `note: …`.
            ':' => chars.peek().is_some_and(|next| !next.is_whitespace()),
            // Names of hosts, such as invitations to another server.
            '.' if chars.peek().is_some_and(|next| next.is_alphanumeric()) => true,
            // Headings, lists, quotations and small print begin a line.
            '#' | '-' | '+' | '>' | '.' | ')' => leading,
            _ => false,
        };
        if means {
            out.push('\\');
        }
        out.push(c);
        leading = c == '\n' || leading && (c.is_whitespace() || c.is_ascii_digit());
    }
    out
}

/// [`escape`], but where the first line is an address and nothing else, it can be followed.
// SECURITY: the core's own words begin every sentence. Text of agents and people is never all of
// its first line.
pub(crate) fn sentence_with_link(sentence: &str) -> String {
    let (first, rest) = match sentence.split_once('\n') {
        Some((first, rest)) => (first, format!("\n{rest}")),
        None => (sentence, String::new()),
    };
    let plain = |c: char| c.is_ascii_graphic() && !matches!(c, '<' | '>' | '\\' | '`');
    let scheme = ["http://", "https://"].iter().any(|scheme| first.starts_with(scheme));
    if scheme && !rest.is_empty() && first.chars().all(plain) {
        format!("<{first}>{}", escape(&rest))
    } else {
        escape(sentence)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_that_is_all_of_the_first_line_can_be_followed_and_no_other() {
        let link = "http://127.0.0.1:7117/sign-in#a_b-c";
        let told = format!("{link}\nIt *works* once.");
        assert_eq!(sentence_with_link(&told), format!("<{link}>\nIt \\*works\\* once."));
        for other in [
            link.to_owned(),
            format!("Denied: {link}\nx"),
            format!("{link} x\nx"),
            format!("x\n{link}\nx"),
            "http://a>b\nx".to_owned(),
        ] {
            assert_eq!(sentence_with_link(&other), escape(&other), "{other}");
        }
    }

    #[test]
    fn markup_mentions_links_and_emoji_are_escaped() {
        assert_eq!(
            escape(
                "*a* _b_ ~~c~~ ||d|| `e` <@1> @everyone [t](https://x) :smile: note: ok. a.gg/b"
            ),
            "\\*a\\* \\_b\\_ \\~\\~c\\~\\~ \\|\\|d\\|\\| \\`e\\` \\<\\@1> \\@everyone \
             \\[t\\](https\\://x) \\:smile: note: ok. a\\.gg/b"
        );
    }

    #[test]
    fn what_begins_a_line_is_escaped_there_only() {
        assert_eq!(
            escape("# h\n  - a-b\n12. c. d\n> q > r"),
            "\\# h\n  \\- a-b\n12\\. c. d\n\\> q > r"
        );
    }

    #[test]
    fn code_that_holds_a_fence_is_quoted_instead() {
        assert_eq!(code("ls"), "```\nls\n```");
        assert_eq!(code("a\n```\n# b"), "> a\n> \\`\\`\\`\n> \\# b");
    }

    #[test]
    fn one_line_stays_one_line() {
        assert_eq!(one_line("a\nb\t*c*"), "a\\u{a}b\\u{9}*c*");
    }
}
