//! The second step of a critical ask: what will happen, once more.

use super::{buttons, draw, origin::Origin};
use countersign_gate::ask::Ask;
use countersign_port::{Block, Card, DiffLine, DiffSide, excerpt};

/// A text that is longer is cut in the second step: the first step has shown it, and no platform
/// has to look it up.
const REVIEWED: usize = 6_000;
/// The same of a change: so many lines, and so much of each.
const LINES: usize = 100;
const LINE: usize = 160;

/// Draws the second step: what will happen, on the button that approves.
#[must_use]
pub fn review(ask: &Ask, origin: Origin<'_>) -> Card {
    let mut card = draw(ask, origin);
    // What was submitted cannot be approved while a change of it is proposed, or in a pause.
    if !ask.is_open() || ask.progress.edit.is_some() || ask.stopped.is_some() {
        return card;
    }
    card.blocks.retain(|block| !matches!(block, Block::Details { .. }));
    card.blocks.iter_mut().for_each(shorten);
    let text = "Approve this, once? There is no second question.".to_owned();
    card.blocks.push(Block::Note { text });
    (card.buttons, card.more) = (buttons::review(ask, origin), Vec::new());
    card
}

/// Cuts what is long in the middle.
// SECURITY: what is cut is counted where it was, and the end is kept: the dangerous part likes it.
fn shorten(block: &mut Block) {
    match block {
        Block::Code { text, .. } | Block::Quote { text, .. } => {
            let cut = excerpt(text, REVIEWED);
            if let Some(tail) = cut.tail {
                let hidden = format!("⋮ {} characters; ‹ Back shows them", cut.hidden);
                *text = format!("{}\n{hidden}\n{tail}", cut.head);
            }
        }
        Block::Diff { lines, .. } => {
            let over = lines.len().saturating_sub(LINES);
            if over > 0 {
                let text = format!("{over} more lines of the change; ‹ Back shows them");
                let from = LINES - LINES / 3;
                let cut = DiffLine { side: DiffSide::Skipped, text };
                lines.splice(from..from + over, [cut]);
            }
            lines.iter_mut().for_each(|line| shorten_line(&mut line.text));
        }
        _ => {}
    }
}

fn shorten_line(text: &mut String) {
    let cut = excerpt(text, LINE);
    if let Some(tail) = cut.tail {
        *text = format!("{} ⋯{} characters⋯ {tail}", cut.head, cut.hidden);
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "tests fail by panicking")]
    use super::*;
    use countersign_gate::{ask::Body, call::Call};
    use countersign_port::diff_text;
    use serde_json::json;

    const CARD: Origin<'_> = Origin { nonce: "k3J9sQ0aZ_-b4LmX7yTn2w", store: "0wn5t0re" };

    fn reviewed(tool: &str, args: serde_json::Value) -> String {
        let call = Call::new("a", "s", tool, args);
        let body = Body { critical: true, ..Body::new(call, "no rule allows it") };
        let card = review(&Ask::opened("one", body.call.digest(), body, 0), CARD);
        let text = |block: &Block| match block {
            Block::Code { text, .. } => Some(text.clone()),
            Block::Diff { lines, .. } => Some(diff_text(lines)),
            _ => None,
        };
        card.blocks.iter().filter_map(text).max_by_key(String::len).unwrap()
    }

    #[test]
    fn a_long_change_keeps_its_end_and_says_how_many_lines_are_cut() {
        let new: Vec<_> = (1..=500).map(|n| format!("line {n}")).collect();
        let args = json!({"file_path": "/x", "old_string": "", "new_string": new.join("\n")});
        let text = reviewed("Edit", args);
        let lines: Vec<_> = text.lines().collect();
        let cut = "⋮ 400 more lines of the change; ‹ Back shows them";
        assert_eq!(
            (lines.len(), lines[66], lines[67], lines[68]),
            (101, "+ line 67", cut, "+ line 468")
        );
        assert_eq!((lines[0], lines[100]), ("+ line 1", "+ line 500"));
        let short =
            json!({"file_path": "/x", "old_string": "", "new_string": new[..100].join("\n")});
        assert_eq!(reviewed("Edit", short).lines().last(), Some("+ line 100"));
    }

    #[test]
    fn a_long_line_of_a_change_keeps_its_end_and_says_how_much_is_cut() {
        let new = format!("{};rm -rf ~", "x".repeat(1_000));
        let text =
            reviewed("Edit", json!({"file_path": "/x", "old_string": "", "new_string": new}));
        assert!(text.contains("x ⋯849 characters⋯ x") && text.ends_with(";rm -rf ~"), "{text}");
    }

    #[test]
    fn a_long_command_keeps_its_end_and_says_how_much_is_cut() {
        let command = format!("echo {};rm -rf ~", "x".repeat(7_000));
        let text = reviewed("Bash", json!({"command": command}));
        assert!(text.contains("\n⋮ 1014 characters; ‹ Back shows them\n"), "{text}");
        assert!(text.starts_with("echo x") && text.ends_with(";rm -rf ~"), "{text}");
    }
}
