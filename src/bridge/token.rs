//! Button tokens: `NONCE.STEP.CODE.STORE`, opaque to adapters, without authority.
//!
//! The nonce (128 random bits) names the card. The step is the question that the button belongs to,
//! so that a superseded button cannot answer the next one. The code says which button,
//! the store's id whose card it is, for daemons with different stores on one bot. Cards of earlier
//! versions have no store.

use countersign_domain::OnDeny;
use countersign_gate::ask::Scope;
use countersign_people::answer::{Action, EditStep, TextPurpose};

/// A button's meaning.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Pressed {
    /// Approve, with this scope.
    Approve(Scope),
    /// Deny, with what the ask says a plain denial does.
    Deny,
    /// Deny, and this too.
    DenyAnd(OnDeny),
    /// An option, by index.
    Choose(usize),
    /// The end of a multiple choice.
    Submit,
    /// Free text.
    Text,
    /// Words for the agent.
    Words(TextPurpose),
    /// What is done about the proposed edit; the step is which one.
    Edit(EditStep),
    /// A request of a bundle; the step says which.
    Page,
    /// All requests of a bundle.
    Overview,
    /// The choice of the rules that Always stores, with these chosen, a bit for each.
    ChooseParts(u32),
    /// Always, with these of its rules.
    StoreParts(u32),
    /// Back to the card itself.
    Back,
    /// Revoke what the answer stored.
    Undo,
    /// Approve the next try of a call that nobody answered in time.
    Next,
    /// The second step of a critical ask.
    Review,
    /// Approve what is critical, once; only the second step has it.
    Confirm,
}

/// So many rules can be chosen from: their bits fit into a token, and their buttons onto a card.
pub const MOST_PARTS: usize = 16;

/// The codes of the buttons that say everything; the others carry a number.
const CODES: &[(&str, Pressed)] = &[
    ("a", Pressed::Approve(Scope::Once)),
    ("w", Pressed::Approve(Scope::Always)),
    ("x", Pressed::Approve(Scope::Exact)),
    ("s", Pressed::Approve(Scope::Session)),
    ("m", Pressed::Approve(Scope::Timed(600))),
    ("h", Pressed::Approve(Scope::Timed(86_400))),
    ("p", Pressed::Approve(Scope::Prefix)),
    ("d", Pressed::Deny),
    ("k", Pressed::DenyAnd(OnDeny::GoOn)),
    ("z", Pressed::DenyAnd(OnDeny::Stop)),
    ("q", Pressed::DenyAnd(OnDeny::Explain)),
    ("e", Pressed::Submit),
    ("t", Pressed::Text),
    ("l", Pressed::Review),
    ("i", Pressed::Confirm),
    ("r", Pressed::Words(TextPurpose::Reason)),
    ("n", Pressed::Words(TextPurpose::Note)),
    ("c", Pressed::Words(TextPurpose::Edit)),
    ("v", Pressed::Edit(EditStep::Review)),
    ("y", Pressed::Edit(EditStep::Approve)),
    ("u", Pressed::Edit(EditStep::Drop)),
    ("g", Pressed::Page),
    ("b", Pressed::Overview),
    ("f", Pressed::Back),
    ("j", Pressed::Undo),
    ("nt", Pressed::Next),
];

/// A token that reads back.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ButtonToken {
    /// Names the card.
    pub nonce: String,
    /// The question it belongs to; 0 where there is none.
    pub step: usize,
    /// Which button.
    pub pressed: Pressed,
    /// The id of the store that holds the card.
    pub store: String,
}

impl ButtonToken {
    /// Reads a token as it came back, maybe forged.
    #[must_use]
    pub fn read(text: &str) -> Option<Self> {
        let mut parts = text.split('.');
        let nonce = parts.next()?;
        let step = parts.next()?;
        let code = parts.next()?;
        let store = parts.next()?;
        let whole = parts.next().is_none() && nonce.len() == 22 && is_store_id(store);
        let pressed = match CODES.iter().find(|(known, _)| *known == code) {
            Some((_, pressed)) => *pressed,
            None if code.starts_with('i') => Pressed::ChooseParts(mask(code)?),
            None if code.starts_with('l') => Pressed::StoreParts(mask(code)?),
            None => Pressed::Choose(code.strip_prefix('o')?.parse().ok()?),
        };
        let nonce = nonce.to_owned();
        let store = store.to_owned();
        let token = Self { nonce, step: step.parse().ok()?, pressed, store };
        // Only what this program writes is read: no `01`, no `+1`.
        (whole && token.write().as_deref() == Some(text)).then_some(token)
    }

    /// Writes the token; `None` for what has no button.
    #[must_use]
    pub fn write(&self) -> Option<String> {
        let code = match (CODES.iter().find(|it| it.1 == self.pressed), self.pressed) {
            (Some((code, _)), _) => code,
            (None, Pressed::ChooseParts(mask)) => &*format!("i{mask:x}"),
            (None, Pressed::StoreParts(mask)) => &*format!("l{mask:x}"),
            (None, Pressed::Choose(option)) => &*format!("o{option}"),
            (None, _) => return None,
        };
        Some(format!("{}.{}.{code}.{}", self.nonce, self.step, self.store))
    }

    /// What the press asks the gate to do; `None` where it only shows something else.
    #[must_use]
    pub fn action(&self, text: Option<String>) -> Option<Action> {
        let question = self.step;
        Some(match self.pressed {
            Pressed::Approve(scope) => Action::Approve { scope },
            Pressed::Deny => Action::Deny { reason: text, then: None },
            Pressed::DenyAnd(then) => Action::Deny { reason: text, then: Some(then) },
            Pressed::Choose(option) => Action::Choose { question, option },
            Pressed::Submit => Action::Submit { question },
            Pressed::Text => Action::Text { question, text },
            Pressed::Confirm => Action::Approve { scope: Scope::Once },
            Pressed::Words(wanted) => Action::Words { wanted, text },
            Pressed::Edit(step) => Action::Edit { nth: self.step, step },
            Pressed::ChooseParts(_) | Pressed::Review | Pressed::Back => Action::Look,
            Pressed::StoreParts(mask) => {
                let chosen = |at: &usize| mask & 1 << at != 0;
                Action::ApproveParts((0..MOST_PARTS).filter(chosen).collect())
            }
            Pressed::Undo => Action::Undo,
            Pressed::Next => Action::ApproveNext,
            Pressed::Page | Pressed::Overview => return None,
        })
    }
}

impl ButtonToken {
    /// What a press on Submit asks for together with the tokens of ticked options; `None` where
    /// this is no Submit, or one of them is no option of the same question on the same card.
    #[must_use]
    pub fn submits(&self, chosen: &[String]) -> Option<Action> {
        let option = |text: &String| {
            let token = Self::read(text)?;
            let Pressed::Choose(option) = token.pressed else { return None };
            (Self { pressed: Pressed::Submit, ..token } == *self).then_some(option)
        };
        let options = chosen.iter().map(option).collect::<Option<_>>()?;
        let is_submit = self.pressed == Pressed::Submit;
        is_submit.then_some(Action::SubmitOptions { question: self.step, options })
    }
}

/// The bits behind a code's letter; none beyond those that a card has buttons for.
fn mask(code: &str) -> Option<u32> {
    let bits = u32::from_str_radix(code.get(1..)?, 16).ok()?;
    (bits < 1 << MOST_PARTS).then_some(bits)
}

/// As [`countersign_store::Store::id`] is spelled: whatever reads back is fit for a log.
fn is_store_id(text: &str) -> bool {
    text.len() == 8 && text.bytes().all(|it| it.is_ascii_lowercase() || it.is_ascii_digit())
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests fail by panicking")]
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn tokens_fit_every_platform_and_read_back() {
        let pressed = [
            Pressed::Approve(Scope::Once),
            Pressed::Approve(Scope::Always),
            Pressed::Approve(Scope::Exact),
            Pressed::Approve(Scope::Session),
            Pressed::Approve(Scope::Timed(600)),
            Pressed::Approve(Scope::Timed(86_400)),
            Pressed::Approve(Scope::Prefix),
            Pressed::Deny,
            Pressed::DenyAnd(OnDeny::GoOn),
            Pressed::DenyAnd(OnDeny::Stop),
            Pressed::DenyAnd(OnDeny::Explain),
            Pressed::Choose(19),
            Pressed::Submit,
            Pressed::Text,
            Pressed::Words(TextPurpose::Reason),
            Pressed::Words(TextPurpose::Note),
            Pressed::Words(TextPurpose::Edit),
            Pressed::Edit(EditStep::Review),
            Pressed::Edit(EditStep::Approve),
            Pressed::Edit(EditStep::Drop),
            Pressed::Page,
            Pressed::Overview,
            Pressed::ChooseParts(0xffff),
            Pressed::StoreParts(0),
            Pressed::Back,
            Pressed::Undo,
            Pressed::Next,
            Pressed::Review,
            Pressed::Confirm,
        ];
        for pressed in pressed {
            let nonce = countersign_tokens::ids::nonce();
            let store = countersign_tokens::ids::ask_id();
            let token = ButtonToken { nonce, step: 9, pressed, store };
            let text = token.write().unwrap();
            assert!(text.len() <= 40, "{text}");
            assert_eq!(ButtonToken::read(&text), Some(token));
        }
    }

    #[test]
    fn only_options_of_the_same_question_on_the_same_card_are_submitted_with_it() {
        let token = |nonce: &str, step, pressed| ButtonToken {
            nonce: nonce.repeat(22),
            step,
            pressed,
            store: "k8xd8s4n".to_owned(),
        };
        let submit = token("k", 1, Pressed::Submit);
        let choose = |nonce, step, at| token(nonce, step, Pressed::Choose(at)).write().unwrap();
        let two = choose("k", 1, 2);
        let zero = choose("k", 1, 0);
        let options = |options: &[usize]| {
            let options = options.iter().copied().collect();
            Some(Action::SubmitOptions { question: 1, options })
        };
        assert_eq!(submit.submits(&[two.clone(), zero.clone(), two.clone()]), options(&[0, 2]));
        assert_eq!(submit.submits(&[]), options(&[]));
        for foreign in [choose("x", 1, 0), choose("k", 0, 0), submit.write().unwrap(), "?".into()] {
            assert_eq!(submit.submits(&[zero.clone(), foreign]), None);
        }
        assert_eq!(token("k", 1, Pressed::Deny).submits(&[zero]), None);
    }

    #[test]
    fn only_eight_plain_characters_are_the_id_of_a_store() {
        let card = "k3J9sQ0aZ_-b4LmX7yTn2w.0.a";
        let read = |store: &str| ButtonToken::read(&format!("{card}.{store}"));
        assert_eq!(read("k8xd8s4n").unwrap().store, "k8xd8s4n");
        assert_eq!(ButtonToken::read(card), None, "a token without a store");
        for bad in [
            "",
            "k8xd8s4",
            "k8xd8s4nn",
            "K8xd8s4n",
            "k8xd8s4\n",
            "k8xd8s4é",
            "k8xd-s4n",
            "k8xd8s4n.",
        ] {
            assert_eq!(read(bad), None, "{bad:?}");
        }
    }

    proptest! {
        #[test]
        fn what_reads_as_a_token_was_written_as_one(
            text in "[A-Za-z0-9_-]{22}[0-9a-z_.+-]{0,22}",
        ) {
            if let Some(token) = ButtonToken::read(&text) {
                prop_assert_eq!(token.write(), Some(text));
            }
        }
    }
}
