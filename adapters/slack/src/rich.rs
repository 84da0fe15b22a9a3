//! Text as Slack shows it literally: the elements of a `rich_text` block.
//!
//! SECURITY: a text in it is shown as it is. Slack looks for no mark-up, mention, link or emoji in
//! it, whereas `mrkdwn` can be escaped against mentions and links, but not against `*` or `` ` ``.

use countersign_port::{BotCommand, CommandReply, ReplyPiece, respelled};
use serde_json::{Value, json};

/// How words look.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum TextLook {
    /// Like any text.
    Plain,
    /// What stands out.
    Bold,
    /// The card's own remark among other words.
    Italic,
}

/// A text while it is written, line by line.
#[derive(Debug, Clone, Default)]
pub(crate) struct RichText {
    elements: Vec<Value>,
    line: Vec<Value>,
    characters: usize,
}

impl RichText {
    /// Words on the current line.
    pub(crate) fn write(&mut self, text: &str, weight: TextLook) {
        if text.is_empty() {
            return;
        }
        self.characters += text.chars().count();
        let mut element = json!({"type": "text", "text": text});
        let style = match weight {
            TextLook::Plain => None,
            TextLook::Bold => Some(json!({"bold": true})),
            TextLook::Italic => Some(json!({"italic": true})),
        };
        if let (Some(style), Some(element)) = (style, element.as_object_mut()) {
            element.insert("style".to_owned(), style);
        }
        self.line.push(element);
    }

    /// A member, whom Slack tells of the message.
    pub(crate) fn mention(&mut self, user: &str) {
        self.characters += user.chars().count();
        self.line.push(json!({"type": "user", "user_id": user}));
    }

    /// A time of day on the current line, in the reader's zone.
    pub(crate) fn add_time(&mut self, seconds: i64) {
        self.characters += 8;
        let hour = seconds.rem_euclid(86_400) / 3_600;
        let minute = seconds.rem_euclid(3_600) / 60;
        self.line.push(json!({"type": "date", "timestamp": seconds, "format": "{time}",
            "fallback": format!("{hour:02}:{minute:02} UTC")}));
    }

    /// Ends the current line.
    pub(crate) fn end_line(&mut self) {
        if self.line.last().is_some_and(|element| !is_break(element)) {
            self.write("\n", TextLook::Plain);
        }
    }

    /// A text with its lines, in the typeface of programs.
    pub(crate) fn code(&mut self, text: &str) {
        self.boxed("rich_text_preformatted", text);
    }

    /// A text with its lines, as a quotation.
    pub(crate) fn quote(&mut self, text: &str) {
        self.boxed("rich_text_quote", text);
    }

    /// The words on their lines, without boxes.
    pub(crate) fn plain(&self) -> String {
        let text = |element: &Value| element.get("text").and_then(Value::as_str).map(str::to_owned);
        let plain: String = self.line.iter().filter_map(text).collect();
        plain.trim_end().to_owned()
    }

    /// Its length, as far as Slack's limits are concerned.
    pub(crate) fn characters(&self) -> usize {
        self.characters
    }

    /// The block; `None` where there is no text.
    pub(crate) fn block(mut self) -> Option<Value> {
        self.end_section();
        let some = !self.elements.is_empty();
        some.then(|| json!({"type": "rich_text", "elements": self.elements}))
    }

    fn boxed(&mut self, kind: &str, text: &str) {
        self.end_section();
        if text.is_empty() {
            return;
        }
        self.characters += text.chars().count();
        let elements = json!([{"type": "text", "text": text}]);
        self.elements.push(json!({"type": kind, "elements": elements}));
    }

    fn end_section(&mut self) {
        // A line break before a box would be an empty line.
        if self.line.last().is_some_and(is_break) {
            self.line.pop();
        }
        if !self.line.is_empty() {
            let elements = std::mem::take(&mut self.line);
            self.elements.push(json!({"type": "rich_text_section", "elements": elements}));
        }
    }
}

fn is_break(element: &Value) -> bool {
    element.get("text").is_some_and(|text| text == "\n")
}

/// Some words of the bridge's own.
pub(crate) fn words(sentence: &str) -> RichText {
    let mut text = RichText::default();
    text.write(sentence, TextLook::Plain);
    text
}

/// The most of an answer to a command.
const ROOM: usize = 2_800;

/// How a command begins where people write one.
const COMMAND: &str = "/countersign ";

/// An answer to a command with the bridge's commands as Slack takes them. An agent's text in it
/// stays as it is.
pub(crate) fn reply_in_slack(mut reply: CommandReply, commands: &[BotCommand]) -> CommandReply {
    for piece in reply.lines.iter_mut().flatten() {
        if let ReplyPiece::Words(words) = piece {
            *words = respelled(words, commands, COMMAND);
        }
    }
    reply
}

/// What the bot says to a command; what does not fit is counted.
pub(crate) fn spoken(reply: &CommandReply) -> RichText {
    let mut text = RichText::default();
    for (at, line) in reply.lines.iter().enumerate() {
        let pieces = line.iter().map(ReplyPiece::plain);
        let line: String = pieces.collect();
        if text.characters() + line.chars().count() > ROOM {
            let more = format!("… and {} lines more.", reply.lines.len() - at);
            text.write(&more, TextLook::Italic);
            break;
        }
        text.write(&line, TextLook::Plain);
        text.end_line();
    }
    text
}

/// What Slack reads as mark-up where it takes plain text, escaped: mentions and links need `<`.
pub(crate) fn escape(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests fail by panicking")]
    use super::*;
    use countersign_port::Outcome;

    #[test]
    fn words_boxes_and_times_become_one_block() {
        let mut text = RichText::default();
        text.write("🔔 ", TextLook::Plain);
        text.write("rm *x* <!channel>", TextLook::Bold);
        text.end_line();
        text.write("until ", TextLook::Plain);
        text.add_time(1_795_221_291);
        text.end_line();
        text.code("a\nb");
        text.quote("");
        text.write("end", TextLook::Italic);
        let block = json!({"type": "rich_text", "elements": [
            {"type": "rich_text_section", "elements": [
                {"type": "text", "text": "🔔 "},
                {"type": "text", "text": "rm *x* <!channel>", "style": {"bold": true}},
                {"type": "text", "text": "\n"},
                {"type": "text", "text": "until "},
                {"type": "date", "timestamp": 1_795_221_291, "format": "{time}",
                 "fallback": "00:34 UTC"}]},
            {"type": "rich_text_preformatted", "elements": [{"type": "text", "text": "a\nb"}]},
            {"type": "rich_text_section", "elements": [
                {"type": "text", "text": "end", "style": {"italic": true}}]}]});
        assert_eq!(text.block(), Some(block));
        assert_eq!(RichText::default().block(), None);
    }

    #[test]
    fn what_does_not_fit_into_an_answer_is_counted() {
        let lines = vec![vec![ReplyPiece::Literal("`*".repeat(500))]; 5];
        let block = spoken(&CommandReply { outcome: Outcome::Noted, lines }).block().unwrap();
        let text = block.to_string();
        assert!(text.contains("… and 3 lines more.") && text.len() < 4_000, "{text}");
    }

    #[test]
    fn plain_text_holds_no_mention_and_no_link() {
        assert_eq!(
            escape("<!channel> <https://evil|docs> a && b"),
            "&lt;!channel&gt; &lt;https://evil|docs&gt; a &amp;&amp; b"
        );
    }
}
