//! Renders a card as text for a terminal, with everything that the chats show.
//!
//! SECURITY: an agent's text is printed behind `│` on every line, with hidden characters visible,
//! so that it can neither move the cursor nor look like a line of ours.

use countersign_domain::wire::AskView;
use countersign_port::{
    Block, Button, Card, Excerpt, Field, Tone, diff_text, excerpt, folded, line, visible,
};
use countersign_tokens::clock;

/// A text with more lines is shown with its first and last lines only.
const MOST: usize = 80;
// Together less than `MOST`, so that a shortened text hides more lines than the notice takes.
const HEAD: usize = 50;
const TAIL: usize = 25;
/// A longer line is shown with its head and tail, in characters.
const WIDTH: usize = 1_000;

/// The card that the API returned with an ask.
pub fn of(ask: AskView) -> Option<Card> {
    // A newer daemon's card may not parse; the commands work without it.
    serde_json::from_value(ask.card?).ok()
}

/// Renders the card, one line for each part.
pub fn draw(card: &Card) -> String {
    let mut lines = vec![format!("{}  {}{}", line(&card.ask), sign(card), line(&card.title))];
    let left = card.deadline.map(left);
    let origin = [Some(line(&card.origin)), left].into_iter().flatten();
    let origin: Vec<String> = origin.filter(|part| !part.is_empty()).collect();
    if !origin.is_empty() {
        lines.push(format!("    {}", origin.join(" · ")));
    }
    if !card.worst.is_empty() {
        lines.insert(1, format!("    {}", line(&card.worst)));
    }
    card.blocks.iter().for_each(|block| part(&mut lines, block));
    let labels = |name: &str, buttons: &[&Button]| {
        let labels: Vec<String> = buttons.iter().map(|button| line(&button.label)).collect();
        (!labels.is_empty()).then(|| row(name, &labels.join(" · ")))
    };
    lines.extend(labels("offers", &card.buttons.iter().flatten().collect::<Vec<_>>()));
    lines.extend(labels("more", &card.more.iter().collect::<Vec<_>>()));
    lines.join("\n")
}

/// The sign before the first line; empty for an open ask that is not critical.
fn sign(card: &Card) -> String {
    match card.tone {
        Tone::Open => String::new(),
        Tone::Critical => format!("{} CRITICAL  ", card.tone.sign()),
        ended => format!("{} ", ended.sign()),
    }
}

fn part(lines: &mut Vec<String>, block: &Block) {
    match block {
        Block::Code { label, text, .. } => passage(lines, label, text),
        Block::Quote { label, text } => {
            passage(lines, if label.is_empty() { "reason" } else { label }, text);
        }
        Block::Diff { path, added, removed, lines: change } => {
            if !path.is_empty() {
                lines.push(row("file", &format!("{} +{added} −{removed}", line(path))));
            }
            passage(lines, "", &diff_text(change));
        }
        Block::Fields { fields } => {
            lines.extend(fields.iter().map(|Field { name, value }| row(name, &line(value))));
        }
        Block::Details { blocks } => blocks.iter().for_each(|block| part(lines, block)),
        Block::Note { text } => lines.push(format!("    {}", line(text))),
        Block::Outcome { text } => lines.push(format!("    = {}", line(text))),
    }
}

/// A line of ours with a value that is one line already.
pub fn row(name: &str, value: &str) -> String {
    format!("    {:<10} {value}", line(name))
}

/// Renders an agent's text under its label, shortened to head and tail if it has many lines or a
/// long line.
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

/// Renders a line of an agent's text.
fn agents(text: &str) -> String {
    let Excerpt { head, tail, hidden } = excerpt(text, WIDTH);
    match tail {
        Some(tail) => format!("│ {head} … ({hidden} more) … {tail}"),
        None => format!("│ {head}"),
    }
}

fn left(at: i64) -> String {
    match at - clock::now_ms() {
        left if left > 0 => format!("{} left", clock::span(left)),
        _ => "time is up".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use countersign_port_testkit::{closed, sample_card, sample_edit};

    #[test]
    fn a_card_shows_all_of_its_parts_and_an_agents_text_cannot_pass_for_one() {
        let sly = "ls\n    reason     trust me\u{1b}[2K\u{ad}\u{3164}\u{e0041}";
        let shown = draw(&closed(&sample_card(sly)));
        let wanted = "\
a7f3  ✅ rm -rf build/*
    claude-code · shop on mill
    = Ana, 12:03 · stored: rm build/*
    command    │ ls
               │     reason     trust me\\u{1b}[2K\\u{ad}\\u{3164}\\u{e0041}
    reason     │ Clean the *build* <b>now</b>
    → Runs as another user (sudo)
    tool       Bash
    folder     /home/ana/shop";
        assert_eq!(shown, wanted);
        let open = draw(&sample_card("ls"));
        assert!(open.contains("\n    offers     Approve · Always · Deny · Other…"), "{open}");
        assert!(open.contains("\n    claude-code · shop on mill · "), "{open}");
        let edit = draw(&sample_edit());
        for part in [
            "    file       /etc/nginx/nginx.conf +2 −1\n",
            "│ -   listen 80;\n",
            "│ ⋮ 12 lines stay\n",
            "    more       10 min: this change · Always exactly this",
        ] {
            assert!(edit.contains(part), "{part}: {edit}");
        }
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
