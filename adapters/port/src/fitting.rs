//! How much of a card a message holds.

use crate::Card;

/// No card has more blocks than this to read on a phone.
const BLOCKS: usize = 100;

/// The size of a platform's message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MessageSize {
    /// The most units that a message holds, in the platform's own unit.
    pub limit: usize,
    /// What a text is cut to before whole blocks are left out; characters.
    pub least: usize,
}

/// Composes as much of a card as a message holds: all of it, else with each text cut, else with
/// fewer blocks too. `compose` takes the number of blocks and the most characters of a text;
/// `units` measures what it composed.
pub fn fitted<T>(
    card: &Card,
    size: MessageSize,
    compose: impl Fn(usize, usize) -> T,
    units: impl Fn(&T) -> usize,
) -> T {
    let MessageSize { limit, least } = size;
    let fits = |composed: &T| units(composed) <= limit;
    // Room that cuts nothing which could fit: words beside what would run get half of it.
    let (all, whole) = (card.blocks.len().min(BLOCKS), 2 * limit);
    let composed = compose(all, whole);
    if fits(&composed) {
        return composed;
    }
    let blocks = most(0, all, |blocks| fits(&compose(blocks, least)));
    let room = most(least, whole, |room| fits(&compose(blocks, room)));
    compose(blocks, room)
}

/// The most of `from..=to` that fits, or `from`.
fn most(from: usize, to: usize, fits: impl Fn(usize) -> bool) -> usize {
    let (mut good, mut beyond) = (from, to + 1);
    while beyond - good > 1 {
        let middle = good.midpoint(beyond);
        if fits(middle) {
            good = middle;
        } else {
            beyond = middle;
        }
    }
    good
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Block, Tone};

    const SIZE: MessageSize = MessageSize { limit: 100, least: 10 };

    /// A card of so many blocks; what is composed of it are its blocks and their room.
    fn drawn(blocks: usize, length: usize) -> (usize, usize) {
        let card = Card {
            id: String::new(),
            ask: String::new(),
            revision: 1,
            tone: Tone::Open,
            title: String::new(),
            origin: String::new(),
            blocks: vec![Block::Note { text: String::new() }; blocks],
            buttons: vec![],
            more: vec![],
            deadline: None,
        };
        fitted(&card, SIZE, |blocks, room| (blocks, room), |(n, room)| n * length.min(*room))
    }

    #[test]
    fn texts_are_cut_before_blocks_are_left_out_and_no_more_than_it_takes() {
        assert_eq!(drawn(4, 25), (4, 200), "all of it fits");
        assert_eq!(drawn(4, 26), (4, 25), "each text gives up one");
        assert_eq!(drawn(10, 90), (10, 10), "each text is cut to the least");
        assert_eq!(drawn(11, 90), (10, 10), "then a block is left out");
        assert_eq!(drawn(400, 1), (100, 200), "nobody reads more than a hundred blocks");
    }
}
