//! A text with formatting that no text can break.

use reqwest::Url;
use std::collections::BTreeMap;
use std::ops::Range;
use teloxide::types::{MessageEntity, MessageEntityKind};

/// A message's text as a row of pieces, each in one style; pieces never nest. Some of them may
/// are in one fold.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Page {
    pieces: Vec<(Style, String)>,
    /// Where those lead that are links.
    links: BTreeMap<usize, Url>,
    /// Which pieces are folded.
    folded: Range<usize>,
}

/// How a piece looks. Only the first three may hold the bridge's own words; Telegram makes no links,
/// mentions or commands out of the others, so agents' text goes there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Style {
    Plain,
    Link,
    Bold,
    Code,
    Pre,
    /// As `Pre`, with the colours of a change where a client has them.
    Diff,
}

/// The language of a change, as clients know it.
const DIFF: &str = "diff";

impl Page {
    pub(crate) fn add(&mut self, style: Style, text: impl Into<String>) {
        let text = text.into();
        let next = self.pieces.len();
        match self.pieces.last_mut() {
            _ if text.is_empty() => {}
            // Two neighbours of one style are one, but for the first in a fold.
            Some((last, before))
                if *last == style
                    && style != Style::Link
                    && next != self.folded.start
                    && next != self.folded.end =>
            {
                before.push_str(&text);
            }
            _ => self.pieces.push((style, text)),
        }
    }

    /// A link of our own by its label, where Telegram makes it one; by its address elsewhere.
    pub(crate) fn link(&mut self, label: &str, url: &str) {
        match Url::parse(url) {
            // The host that Telegram accepts has a dot.
            Ok(to) if to.host_str().is_some_and(|host| host.contains('.')) => {
                self.links.insert(self.pieces.len(), to);
                self.pieces.push((Style::Link, label.to_owned()));
            }
            _ => self.add(Style::Plain, url),
        }
    }

    /// What follows is folded, until [`Page::unfold`].
    pub(crate) fn fold(&mut self) {
        self.folded = self.pieces.len()..usize::MAX;
    }

    /// What follows is in the fold that has just ended, or in a new one, until [`Page::unfold`].
    /// Returns false where it cannot be: there is one fold, and something follows it.
    pub(crate) fn refold(&mut self) -> bool {
        if self.folded.is_empty() {
            self.add(Style::Plain, "\n");
            self.fold();
            return true;
        }
        let ends_here = self.folded.end == self.pieces.len();
        if ends_here {
            self.folded.end = usize::MAX;
        }
        ends_here
    }

    /// The end of the fold.
    pub(crate) fn unfold(&mut self) {
        self.trim_fold();
        self.folded.end = self.pieces.len();
    }

    /// A fold begins with words, not with an empty line.
    fn trim_fold(&mut self) {
        if let Some((_, first)) = self.pieces.get_mut(self.folded.start) {
            *first = first.trim_start_matches('\n').to_owned();
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
        for (at, (style, text)) in self.pieces.iter().enumerate() {
            if at == self.folded.start && !self.folded.is_empty() {
                html.push_str("<blockquote expandable>");
            }
            let text = escape(text);
            match style {
                _ if text.is_empty() => {}
                Style::Plain => html.push_str(&text),
                Style::Link => {
                    let url = self.links.get(&at).map(Url::as_str).unwrap_or_default();
                    html.extend(["<a href=\"", &*escape(url), "\">", &*text, "</a>"]);
                }
                Style::Bold => html.extend(["<b>", &text, "</b>"]),
                Style::Code => html.extend(["<code>", &text, "</code>"]),
                Style::Pre => html.extend(["<pre>", &text, "</pre>"]),
                Style::Diff => {
                    let language = ["<pre><code class=\"language-", DIFF, "\">"];
                    html.extend(language.into_iter().chain([&*text, "</code></pre>"]));
                }
            }
            if at + 1 == self.folded.end && at >= self.folded.start {
                html.push_str("</blockquote>");
            }
        }
        html
    }

    /// The same formatting without any parsing, beside [`Page::text`].
    pub(crate) fn entities(&self) -> Vec<MessageEntity> {
        let mut entities = Vec::new();
        let mut offset = 0;
        let mut fold = 0;
        for (at, (style, text)) in self.pieces.iter().enumerate() {
            let length = text.encode_utf16().count();
            if at == self.folded.start {
                fold = offset;
            }
            let kind = match style {
                Style::Plain => None,
                Style::Link => {
                    let url = self.links.get(&at).cloned();
                    url.map(|url| MessageEntityKind::TextLink { url })
                }
                Style::Bold => Some(MessageEntityKind::Bold),
                Style::Code => Some(MessageEntityKind::Code),
                Style::Pre => Some(MessageEntityKind::Pre { language: None }),
                Style::Diff => Some(MessageEntityKind::Pre { language: Some(DIFF.to_owned()) }),
            };
            let kind = kind.filter(|_| length > 0);
            entities.extend(kind.map(|kind| MessageEntity::new(kind, offset, length)));
            offset += length;
            if at + 1 == self.folded.end && at >= self.folded.start {
                let kind = MessageEntityKind::ExpandableBlockquote;
                entities.push(MessageEntity::new(kind, fold, offset - fold));
            }
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

    #[test]
    fn what_is_folded_stands_in_one_quote() {
        let mut page = Page::default();
        page.add(Style::Plain, "a");
        page.fold();
        page.add(Style::Plain, "\nb: ");
        page.add(Style::Code, "</blockquote>");
        page.unfold();
        page.add(Style::Plain, "c");
        let html = "a<blockquote expandable>b: <code>&lt;/blockquote&gt;</code></blockquote>c";
        assert_eq!(page.html(), html);
        let kind = MessageEntityKind::ExpandableBlockquote;
        let quote = MessageEntity::new(kind, 1, 16);
        assert_eq!(page.entities(), [MessageEntity::code(4, 13), quote]);
        let mut empty = Page::default();
        empty.add(Style::Plain, "a");
        empty.fold();
        empty.unfold();
        assert_eq!((empty.html().as_str(), empty.entities()), ("a", vec![]));
    }
}
