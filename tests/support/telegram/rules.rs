//! The checks that the real server applies to texts and keyboards.

use super::world::{Refusal, refuse};
use serde_json::{Map, Value, json};

/// A message's text after parsing and cleaning, or the error.
pub(super) fn text(parameters: &Map<String, Value>) -> Result<String, Refusal> {
    let raw = parameters.get("text").and_then(Value::as_str).unwrap_or_default();
    if raw.len() > 32_768 {
        return refuse(400, "Bad Request: text is too long");
    }
    let plain = match parameters.get("parse_mode").and_then(Value::as_str) {
        None => raw.to_owned(),
        Some("HTML") => plain(raw)
            .or_else(|why| refuse(400, &format!("Bad Request: can't parse entities: {why}")))?,
        Some(_) => return refuse(400, "Bad Request: unsupported parse_mode"),
    };
    // As Telegram cleans texts: CR and U+2028 to U+202E vanish, other control characters become
    // spaces.
    let clean: String = plain
        .chars()
        .filter(|c| *c != '\r' && !('\u{2028}'..='\u{202e}').contains(c))
        .map(|c| if c < ' ' && c != '\n' { ' ' } else { c })
        .collect();
    let clean = clean.trim_end().trim_start_matches([' ', '\n']);
    match clean.chars().count() {
        0 => refuse(400, "Bad Request: message text is empty"),
        1..=4096 => Ok(clean.to_owned()),
        _ => refuse(400, "Bad Request: message is too long"),
    }
}

/// The links in a message's text, as entities; people are no links.
pub(super) fn links(parameters: &Map<String, Value>) -> Vec<Value> {
    let raw = parameters.get("text").and_then(Value::as_str).unwrap_or_default();
    let (mut found, mut rest, mut at) = (Vec::new(), raw, 0);
    while let Some((before, link)) = rest.split_once("<a href=\"") {
        let (url, inner) = link.split_once("\">").unwrap_or_default();
        let (inner, after) = inner.split_once("</a>").unwrap_or_default();
        let length = |html: &str| plain_part(html).encode_utf16().count();
        at += length(before);
        if !url.starts_with("tg://user") {
            let url = plain_part(url);
            found.push(
                json!({"type": "text_link", "offset": at, "length": length(inner), "url": url}),
            );
        }
        at += length(inner);
        rest = after;
    }
    found
}

/// A part of a text without its tags, which need not be closed in it.
fn plain_part(html: &str) -> String {
    let tags = html.split('<').enumerate();
    let texts = tags.map(|(at, part)| if at == 0 { part } else { part.split_once('>').unwrap().1 });
    plain(&texts.collect::<String>()).unwrap()
}

/// Telegram's HTML without its tags.
pub(super) fn plain(html: &str) -> Result<String, String> {
    let (mut out, mut open, mut rest) = (String::new(), Vec::new(), html);
    while let Some(c) = rest.chars().next() {
        if c == '<' {
            let end = rest.find('>').ok_or("Unclosed start tag")?;
            let (tag, after) = (&rest[1..end], &rest[end + 1..]);
            rest = after;
            if let Some(closing) = tag.strip_prefix('/') {
                if open.pop() != Some(closing.to_owned()) {
                    return Err(format!("Unmatched end tag \"{closing}\""));
                }
                continue;
            }
            let (name, attribute) = tag.split_once(' ').unwrap_or((tag, ""));
            let known = ["a", "b", "i", "u", "s", "code", "pre", "blockquote", "tg-spoiler"];
            if !known.contains(&name) {
                return Err(format!("Unsupported start tag \"{name}\""));
            }
            let fits = match name {
                "a" => attribute.starts_with("href=\""),
                "code" => attribute.is_empty() || attribute.starts_with("class=\"language-"),
                "blockquote" => attribute.is_empty() || attribute == "expandable",
                _ => attribute.is_empty(),
            };
            if !fits {
                return Err(format!("Unexpected attribute of \"{name}\""));
            }
            open.push(name.to_owned());
            continue;
        }
        let named = [("&lt;", '<'), ("&gt;", '>'), ("&amp;", '&'), ("&quot;", '"')];
        let (meant, length) = named
            .into_iter()
            .find(|(name, _)| rest.starts_with(name))
            .map_or((c, c.len_utf8()), |(name, meant)| (meant, name.len()));
        out.push(meant);
        rest = &rest[length..];
    }
    if open.is_empty() { Ok(out) } else { Err(format!("Can't find end tag of {open:?}")) }
}

/// The checks of `setMyCommands`.
pub(super) fn check_commands(commands: &Value) -> Result<(), Refusal> {
    let Some(commands) = commands.as_array() else {
        return refuse(400, "Bad Request: can't parse BotCommand: expected an Array");
    };
    if commands.len() > 100 {
        return refuse(400, "Bad Request: BOT_COMMANDS_TOO_MUCH");
    }
    for command in commands {
        let name = command["command"].as_str().unwrap_or_default();
        let plain = |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'_';
        if !(1..=32).contains(&name.len()) || !name.bytes().all(plain) {
            return refuse(400, "Bad Request: BOT_COMMAND_INVALID");
        }
        let about = command["description"].as_str().unwrap_or_default();
        if !(1..=256).contains(&about.chars().count()) {
            return refuse(400, "Bad Request: BOT_COMMAND_DESCRIPTION_INVALID");
        }
    }
    Ok(())
}

pub(super) fn check_keyboard(markup: &Value) -> Result<(), Refusal> {
    let rows = markup["inline_keyboard"].as_array().cloned().unwrap_or_default();
    for button in rows.iter().flat_map(|row| row.as_array().cloned().unwrap_or_default()) {
        if button["text"].as_str().is_none_or(str::is_empty) {
            return refuse(400, "Bad Request: button text must be non-empty");
        }
        let data = button["callback_data"].as_str().unwrap_or_default();
        if data.is_empty() {
            return refuse(
                400,
                "Bad Request: can't parse inline keyboard button: Text buttons are unallowed in the inline \
                 keyboard",
            );
        }
        if data.len() > 64 {
            return refuse(400, "Bad Request: BUTTON_DATA_INVALID");
        }
    }
    if rows.iter().any(|row| row.as_array().is_none_or(|row| row.len() > 8)) {
        return refuse(400, "Bad Request: reply markup is too long");
    }
    Ok(())
}
