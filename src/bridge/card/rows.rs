//! Rows of buttons.

use countersign_port::Button;

/// The buttons of a card.
#[derive(Debug, Default)]
pub(super) struct Buttons {
    pub rows: Vec<Vec<Button>>,
    pub more: Vec<Button>,
}

pub(super) fn row<const N: usize>(buttons: [Option<Button>; N]) -> Vec<Button> {
    buttons.into_iter().flatten().collect()
}
