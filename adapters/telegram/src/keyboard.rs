//! A card's buttons.

use crate::fit::{one_line, short};
use countersign_port::{Button, ButtonStyle};
use serde::Serialize;

/// What a client shows of a label before it cuts it.
const LABEL: usize = 60;

/// An inline keyboard. teloxide's own cannot say how a button looks (Bot API 9.4); servers and
/// clients that do not know it either leave it out.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(crate) struct Keyboard {
    inline_keyboard: Vec<Vec<Key>>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
struct Key {
    text: String,
    callback_data: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    style: Option<&'static str>,
}

/// The keyboard for these rows; `None` where there is nothing to press.
pub(crate) fn keyboard(rows: &[Vec<Button>]) -> Option<Keyboard> {
    let rows = rows.iter().filter(|row| !row.is_empty());
    let inline_keyboard: Vec<Vec<Key>> = rows.map(|row| row.iter().map(key).collect()).collect();
    (!inline_keyboard.is_empty()).then_some(Keyboard { inline_keyboard })
}

fn key(button: &Button) -> Key {
    let label = short(&one_line(&button.label), LABEL);
    let text = match button.style {
        ButtonStyle::Chosen => format!("☑ {label}"),
        // Telegram drops a button without a label in silence.
        _ if label.is_empty() => "…".to_owned(),
        _ => label,
    };
    let style = match button.style {
        ButtonStyle::Approve => Some("success"),
        ButtonStyle::Deny => Some("danger"),
        ButtonStyle::Submit => Some("primary"),
        // Always is more than Approve, so it must not look like the easy choice.
        ButtonStyle::Always | ButtonStyle::Choice | ButtonStyle::Chosen | ButtonStyle::Text => None,
    };
    Key { text, callback_data: button.token.clone(), style }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests fail by panicking")]

    use super::*;
    use serde_json::json;

    fn button(label: &str, style: ButtonStyle) -> Button {
        Button { token: "k.1.a".into(), label: label.into(), style }
    }

    #[test]
    fn rows_labels_tokens_and_looks_are_kept() {
        let rows = [
            vec![button("Approve", ButtonStyle::Approve), button("Deny", ButtonStyle::Deny)],
            vec![],
            vec![button("two\nlines", ButtonStyle::Chosen), button(" ", ButtonStyle::Choice)],
        ];
        let expected = json!({"inline_keyboard": [
            [
                {"text": "Approve", "callback_data": "k.1.a", "style": "success"},
                {"text": "Deny", "callback_data": "k.1.a", "style": "danger"},
            ],
            [
                {"text": "☑ two lines", "callback_data": "k.1.a"},
                {"text": "…", "callback_data": "k.1.a"},
            ],
        ]});
        assert_eq!(serde_json::to_value(keyboard(&rows).unwrap()).unwrap(), expected);
    }

    #[test]
    fn nothing_to_press_is_no_keyboard() {
        assert_eq!(keyboard(&[vec![], vec![]]), None);
    }
}
