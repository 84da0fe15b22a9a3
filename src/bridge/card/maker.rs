//! Buttons with the tokens of one card.

use super::{
    super::token::{ButtonToken, Pressed},
    origin::Origin,
};
use countersign_port::{Button, ButtonStyle};

/// What fits on a button on every platform; characters.
pub(super) const LABEL: usize = 34;

/// Makes buttons for one step of one card.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Maker<'a> {
    pub(crate) origin: Origin<'a>,
    pub(crate) step: usize,
}

impl Maker<'_> {
    /// A button; `None` if its token would be too long.
    pub(crate) fn button(
        self,
        label: &str,
        style: ButtonStyle,
        pressed: Pressed,
    ) -> Option<Button> {
        let Origin { nonce, store } = self.origin;
        let (nonce, store) = (nonce.to_owned(), store.to_owned());
        let token = ButtonToken { nonce, step: self.step, pressed, store }.write()?;
        Some(Button { token, label: label.to_owned(), style })
    }
}
