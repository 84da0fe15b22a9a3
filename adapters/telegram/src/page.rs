//! A text with formatting that no text can break.

use teloxide::types::{MessageEntity, MessageEntityKind};

/// A message's text as a row of pieces, each in one style; pieces never nest.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Page {
    pieces: Vec<(Style, String)>,
}

/// How a piece looks. Only the first two may hold the bridge's own words; Telegram makes no links,
/// mentions or commands out of the last two, so agents' text goes there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Style {
    Plain,
    Bold,
    Code,
    Pre,
}

impl Page {
    pub(crate) fn add(&mut self, style: Style, text: impl Into<String>) {
        let text = text.into();
        if !text.is_empty() {
            self.pieces.push((style, text));
        }
    }

    /// What a person reads, without formatting.
    pub(crate) fn text(&self) -> String {
        self.pieces.iter().map(|(_, text)| text.as_str()).collect()
    }

    /// For `parse_mode=HTML`.
    // SECURITY: every piece is escaped whole, so no text can open or close a tag.
    pub(crate) fn html(&self) -> String {
        let mut html = String::new();
        for (style, text) in &self.pieces {
            let text = escape(text);
            match style {
                Style::Plain => html.push_str(&text),
                Style::Bold => html.extend(["<b>", &text, "</b>"]),
                Style::Code => html.extend(["<code>", &text, "</code>"]),
                Style::Pre => html.extend(["<pre>", &text, "</pre>"]),
            }
        }
        html
    }

    /// The same formatting without any parsing, beside [`Page::text`].
    pub(crate) fn entities(&self) -> Vec<MessageEntity> {
        let mut entities = Vec::new();
        let mut offset = 0;
        for (style, text) in &self.pieces {
            let length = text.encode_utf16().count();
            let kind = match style {
                Style::Plain => None,
                Style::Bold => Some(MessageEntityKind::Bold),
                Style::Code => Some(MessageEntityKind::Code),
                Style::Pre => Some(MessageEntityKind::Pre { language: None }),
            };
            entities.extend(kind.map(|kind| MessageEntity::new(kind, offset, length)));
            offset += length;
        }
        entities
    }
}

/// Text for HTML, outside and inside of attributes.
pub(crate) fn escape(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            c => out.push(c),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn page() -> Page {
        let mut page = Page::default();
        page.add(Style::Bold, "👋 <b>");
        page.add(Style::Plain, "\n& ");
        page.add(Style::Code, "");
        page.add(Style::Pre, "</pre>&lt;");
        page
    }

    #[test]
    fn html_is_escaped_piece_by_piece() {
        assert_eq!(page().html(), "<b>👋 &lt;b&gt;</b>\n&amp; <pre>&lt;/pre&gt;&amp;lt;</pre>");
    }

    #[test]
    fn entities_count_in_utf16_and_say_the_same() {
        assert_eq!(page().text(), "👋 <b>\n& </pre>&lt;");
        assert_eq!(page().entities(), [MessageEntity::bold(0, 6), MessageEntity::pre(None, 9, 10)]);
    }
}
