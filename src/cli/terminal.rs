//! A card as text for a terminal: all that the chats show of it.
//!
//! SECURITY: what an agent wrote stands behind `│`, line by line, and is visible throughout; so it
//! can neither move the cursor nor pass for one of our lines.

use crate::{
    clock,
    text::{excerpt, folded, line, visible},
};
use countersign_port::{Block, Card, Excerpt, Field};
use countersign_protocol::AskView;

/// A text with more lines shows its first and its last.
const MOST: usize = 80;
const HEAD: usize = 50;
const TAIL: usize = 25;
/// A longer line shows its head and its tail; characters.
const WIDTH: usize = 1_000;

/// The card that the API gave with an ask.
pub(crate) fn of(ask: AskView) -> Option<Card> {
    serde_json::from_value(ask.card?).ok()
}

/// All of the card, a line for each part.
pub(crate) fn draw(card: &Card) -> String {
    let mut lines = vec![format!("{}  {}", line(&card.ask), line(&card.title))];
    for block in &card.blocks {
        match block {
            Block::Code { label, text } | Block::Quote { label, text } => {
                passage(&mut lines, label, text);
            }
            Block::Fields { fields } => {
                lines.extend(fields.iter().map(|Field { name, value }| row(name, &line(value))));
            }
            Block::Note { text } => lines.push(format!("    · {}", line(text))),
            Block::Outcome { text } => lines.push(format!("    = {}", line(text))),
        }
    }
    let buttons: Vec<String> =
        card.buttons.iter().flatten().map(|button| line(&button.label)).collect();
    if !buttons.is_empty() {
        lines.push(row("offers", &buttons.join(" · ")));
    }
    lines.extend(card.deadline.map(|at| row("deadline", &left(at))));
    lines.join("\n")
}

fn row(name: &str, value: &str) -> String {
    format!("    {:<10} {value}", line(name))
}

/// The agent's text under its label; head and tail of it where it has many lines, and of each long
/// line.
fn passage(lines: &mut Vec<String>, label: &str, text: &str) {
    let whole = folded(&visible(text));
    let all: Vec<&str> = whole.split('\n').collect();
    let (head, tail) = match all.len() {
        ..=MOST => (all.as_slice(), [].as_slice()),
        count => (all.get(..HEAD).unwrap_or(&all), all.get(count - TAIL..).unwrap_or_default()),
    };
    for (at, text) in head.iter().enumerate() {
        lines.push(row(if at == 0 { label } else { "" }, &agents(text)));
    }
    let hidden = all.len() - head.len() - tail.len();
    if hidden > 0 {
        lines.push(row("", &format!("⋮ {hidden} lines are not shown here; --json has them")));
    }
    lines.extend(tail.iter().map(|text| row("", &agents(text))));
}

/// A line of an agent's text.
fn agents(text: &str) -> String {
    let Excerpt { head, tail, hidden } = excerpt(text, WIDTH);
    match tail {
        Some(tail) => format!("│ {head} … ({hidden} more) … {tail}"),
        None => format!("│ {head}"),
    }
}

fn left(at: i64) -> String {
    match at - clock::now_ms() {
        left if left > 0 => format!("in {}", clock::span(left)),
        _ => "over".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use countersign_port::testkit::{closed, sample_card};

    #[test]
    fn a_card_shows_all_of_its_parts_and_an_agents_text_cannot_pass_for_one() {
        let sly = "ls\n    reason     trust me\u{1b}[2K\u{ad}\u{3164}\u{e0041}";
        let shown = draw(&closed(&sample_card(sly)));
        let wanted = "\
a7f3  claude-code wants to run a command
    command    │ ls
               │     reason     trust me\\u{1b}[2K\\u{ad}\\u{3164}\\u{e0041}
    reason     │ Clean the *build* <b>now</b>
    agent      claude-code
    folder     /home/ana/shop
    · Always stores: shell: rm build/*
    = Approved once by Ana, 12:03";
        assert_eq!(shown, wanted);
        let open = draw(&sample_card("ls"));
        assert!(open.contains("\n    offers     Approve · Always · Deny · Other…\n"), "{open}");
        assert!(open.contains("\n    deadline   "), "{open}");
    }

    #[test]
    fn a_long_text_shows_head_and_tail_and_nothing_is_pushed_out_of_sight() {
        let many: Vec<String> = (1..=200).map(|n| format!("echo {n}")).collect();
        let shown = draw(&sample_card(&many.join("\n")));
        for part in
            ["│ echo 50\n", "⋮ 125 lines are not shown here; --json has them\n", "│ echo 176\n"]
        {
            assert!(shown.contains(part), "{part}: {shown}");
        }
        let padded = format!("ls{}{}rm -rf ~", "\n".repeat(500), " ".repeat(5_000));
        let shown = draw(&sample_card(&padded));
        assert!(
            shown.contains("⋮ 499 empty lines\n               │  ⋯5000 blanks⋯ rm -rf ~\n"),
            "{shown}"
        );
        let endless = draw(&sample_card(&"x".repeat(100_000)));
        assert!(endless.contains("(99000 more)") && endless.len() < 3_000, "{endless}");
    }
}
