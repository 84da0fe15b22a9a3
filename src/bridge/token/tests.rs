//! Tokens as they are written and read back.
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
        Pressed::Review,
        Pressed::Confirm,
    ];
    for pressed in pressed {
        let (nonce, store) = (countersign_tokens::ids::nonce(), countersign_tokens::ids::ask_id());
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
    let (two, zero) = (choose("k", 1, 2), choose("k", 1, 0));
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
    for bad in
        ["", "k8xd8s4", "k8xd8s4nn", "K8xd8s4n", "k8xd8s4\n", "k8xd8s4é", "k8xd-s4n", "k8xd8s4n."]
    {
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
