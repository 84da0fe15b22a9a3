//! A card's buttons.

use crate::fit::{one_line, short};
use countersign_port::{Button, ButtonStyle, Card};
use serde::Serialize;

/// What a client shows of a label before it cuts it.
const LABEL: usize = 60;

/// Which of a card's two keyboards.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Menu {
    /// The card's buttons, and *More…*.
    Main,
    /// What is behind *More…*, and *Back*.
    More,
}

impl Menu {
    /// What the button that opens it carries behind the card's id. Tokens of the core have no `:`.
    const fn mark(self) -> &'static str {
        match self {
            Self::Main => ":back",
            Self::More => ":more",
        }
    }

    /// The card and the keyboard that a button of ours opens; `None` for buttons of the core.
    pub(crate) fn opened(data: &str) -> Option<(&str, Self)> {
        [Self::Main, Self::More]
            .into_iter()
            .find_map(|menu| Some((data.strip_suffix(menu.mark())?, menu)))
    }
}

/// So many characters fit on each of two buttons in a row of a phone.
const HALF: usize = 17;

/// An inline keyboard. teloxide's own cannot say how a button looks (Bot API 9.4); servers and
/// clients that do not know it either leave it out.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(crate) struct Keyboard {
    inline_keyboard: Vec<Vec<KeyboardButton>>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
struct KeyboardButton {
    text: String,
    callback_data: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    style: Option<&'static str>,
}

/// The keyboard of a card; `None` where there is nothing to press.
pub(crate) fn keyboard(card: &Card, menu: Menu) -> Option<Keyboard> {
    let opener = |label: &str, menu: Menu| {
        let callback_data = format!("{}{}", card.id, menu.mark());
        vec![KeyboardButton { text: label.to_owned(), callback_data, style: None }]
    };
    let (mut inline_keyboard, last) = match menu {
        Menu::More if !card.more.is_empty() => {
            (paired(&card.more), Some(opener("‹ Back", Menu::Main)))
        }
        Menu::Main | Menu::More => {
            let rows = card.buttons.iter().filter(|row| !row.is_empty());
            let rows: Vec<Vec<KeyboardButton>> =
                rows.map(|row| row.iter().map(key).collect()).collect();
            (rows, (!card.more.is_empty()).then(|| opener("More…", Menu::More)))
        }
    };
    inline_keyboard.extend(last);
    (!inline_keyboard.is_empty()).then_some(Keyboard { inline_keyboard })
}

/// Two short buttons a row, or one that is long.
fn paired(buttons: &[Button]) -> Vec<Vec<KeyboardButton>> {
    let is_short = |button: &Button| button.label.chars().count() <= HALF;
    let mut rows: Vec<Vec<KeyboardButton>> = Vec::new();
    let mut open = false;
    for button in buttons {
        match rows.last_mut().filter(|_| open && is_short(button)) {
            Some(row) => {
                row.push(key(button));
                open = false;
            }
            None => {
                rows.push(vec![key(button)]);
                open = is_short(button);
            }
        }
    }
    rows
}

fn key(button: &Button) -> KeyboardButton {
    let label = short(&one_line(&button.label), LABEL);
    let text = match button.style {
        ButtonStyle::Chosen => format!("☑ {label}"),
        // Telegram drops a button without a label in silence.
        _ if label.is_empty() => "…".to_owned(),
        _ => label,
    };
    let style = match button.style {
        ButtonStyle::Approve => Some("success"),
        ButtonStyle::Deny | ButtonStyle::Confirm => Some("danger"),
        ButtonStyle::Submit => Some("primary"),
        // Always is more than Approve, so it must not look like the easy choice.
        ButtonStyle::Always
        | ButtonStyle::Choice
        | ButtonStyle::Chosen
        | ButtonStyle::Text
        | ButtonStyle::Open => None,
    };
    KeyboardButton { text, callback_data: button.token.clone(), style }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests fail by panicking")]

    use super::*;
    use countersign_port::testkit::sample_card;
    use serde_json::json;

    fn button(label: &str, style: ButtonStyle) -> Button {
        Button { token: "k.1.a".into(), label: label.into(), style }
    }

    #[test]
    fn rows_labels_tokens_and_looks_are_kept() {
        let buttons = vec![
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
        let card = Card { buttons, more: vec![], ..sample_card("ls") };
        let keyboard = keyboard(&card, Menu::Main).unwrap();
        assert_eq!(serde_json::to_value(keyboard).unwrap(), expected);
    }

    #[test]
    fn more_is_a_second_keyboard_that_leads_back() {
        let more = ["Session: cargo build *", "10 min", "24 h", "Skip"];
        let more = more.map(|label| button(label, ButtonStyle::Always)).to_vec();
        let buttons = vec![vec![button("Deny", ButtonStyle::Deny)]];
        let card = Card { id: "k".into(), buttons, more, ..sample_card("ls") };
        let labels = |menu| {
            let rows = keyboard(&card, menu).unwrap().inline_keyboard;
            let row =
                |row: Vec<KeyboardButton>| row.into_iter().map(|key| key.text).collect::<Vec<_>>();
            rows.into_iter().map(row).collect::<Vec<_>>()
        };
        assert_eq!(labels(Menu::Main), [["Deny"], ["More…"]]);
        let rows =
            [vec!["Session: cargo build *"], vec!["10 min", "24 h"], vec!["Skip"], vec!["‹ Back"]];
        assert_eq!(labels(Menu::More), rows);
        assert_eq!(Menu::opened("k:more"), Some(("k", Menu::More)));
        assert_eq!(Menu::opened("k:back"), Some(("k", Menu::Main)));
        assert_eq!(Menu::opened("k.1.a"), None);
    }

    #[test]
    fn nothing_to_press_is_no_keyboard() {
        let card = Card { buttons: vec![vec![], vec![]], more: vec![], ..sample_card("ls") };
        assert_eq!(keyboard(&card, Menu::Main), None);
    }
}
