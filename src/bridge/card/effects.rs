//! What a call touches, in plain words, the worst first.

use super::sheet::Sheet;
use countersign_gate::ask::Ask;
use countersign_policy::effects::is_restated;
use countersign_port::{brief, line};

/// How many effects the card shows at once, how many in its details, and how much of each.
const FEW: usize = 3;
const MOST: usize = 40;
const LENGTH: usize = 72;

/// Writes them; those that find no room on the card are in its details.
pub(super) fn draw(ask: &Ask, sheet: &mut Sheet, details: &mut Sheet) {
    let effects = &ask.body.effects;
    let told = effects.iter().filter(|effect| !is_restated(effect, effects));
    let mut words = told.map(|effect| plain(effect));
    words.by_ref().take(FEW).for_each(|effect| sheet.note(format!("→ {effect}")));
    let rest: Vec<String> = words.collect();
    match rest.len() {
        0 => {}
        1 => rest.iter().for_each(|effect| sheet.note(format!("→ {effect}"))),
        count => {
            sheet.note(format!("→ and {count} more, none of them worse; see the details"));
            rest.iter().take(MOST).for_each(|effect| details.note(format!("→ {effect}")));
            let more = count.saturating_sub(MOST);
            if more > 0 {
                details.note(format!("→ and {more} more, none of them worse"));
            }
        }
    }
}

/// An effect as a sentence; no long name takes the room of another effect.
fn plain(effect: &str) -> String {
    let effect = line(effect);
    let mut letters = effect.chars();
    let first = letters.next().map(|first| first.to_uppercase().to_string());
    brief(&format!("{}{}", first.unwrap_or_default(), letters.as_str()), LENGTH)
}

/// The worst effect as an order, such as `delete /`; for the button that approves what is critical.
pub(super) fn order(ask: &Ask) -> Option<String> {
    let effects = &ask.body.effects;
    // `sudo rm -rf /` runs as another user first of all; what that does is what counts.
    let does = effects.iter().find(|effect| !effect.starts_with("runs "));
    let worst = does.or(effects.first())?;
    let (verb, what) = worst.split_once(' ').unwrap_or((worst, ""));
    let verb = VERBS.iter().find(|(third, _)| *third == verb).map(|(_, order)| *order)?;
    let what = what.split_once(" (").map_or(what, |(what, _)| what);
    Some(line(format!("{verb} {what}").trim()))
}

/// How effects begin, and the same as an order.
const VERBS: &[(&str, &str)] = &[
    ("deletes", "delete"),
    ("publishes", "publish"),
    ("pushes", "push"),
    ("writes", "write"),
    ("moves", "move"),
    ("reads", "read"),
    ("reaches", "reach"),
    ("changes", "change"),
    ("runs", "run"),
];
