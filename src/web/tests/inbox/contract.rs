//! The contract of the port, with the HTTP side of the page as the platform.

use crate::support::{Desk, cards::command, visitor::Visitor};
use countersign_port::{
    Adapter, Block, Card, MessageRef, Posting, Presser, Receiving, SendError, Target, Tone,
    async_trait, diff_text,
};
use countersign_port_testkit::{
    FakePlatform, Injected, PlatformFault, VisibleMessage, conformance,
};
use serde_json::Value;
use std::sync::Arc;

/// The inbox as a platform of the conformance kit. The page is served by the inbox itself, so a
/// restart of its adapter is one of `run`.
struct Web(Visitor, countersign_web::Inbox);

impl Web {
    async fn board_card(&self, message: &MessageRef) -> Value {
        self.0.follow().await.card(|card| card["card"]["id"] == *message.0).await
    }
}

#[async_trait]
impl FakePlatform for Web {
    fn adapter(&self) -> Arc<dyn Adapter> {
        Arc::new(self.1.clone())
    }

    fn somebody(&self) -> Presser {
        Presser { id: "local".to_owned(), name: "the local inbox".to_owned(), roles: vec![] }
    }

    fn target(&self) -> Target {
        Target("inbox".to_owned())
    }

    async fn shown(&self, message: &MessageRef) -> VisibleMessage {
        let card: Card =
            serde_json::from_value(self.board_card(message).await["card"].clone()).unwrap();
        let critical = if card.tone == Tone::Critical { "CRITICAL" } else { "" };
        let mut text = format!("{critical}{}\n{}\n", card.title, card.origin);
        card.blocks.iter().for_each(|block| read(block, &mut text));
        let buttons = card.buttons.iter().flatten().map(|button| button.label.clone()).collect();
        VisibleMessage { text, buttons, files: vec![] }
    }

    async fn press(&self, message: &MessageRef, label: &str, _: &Presser) -> Option<String> {
        Some(self.0.press_label(&self.board_card(message).await, label, None).await)
    }

    async fn give_text(&self, message: &MessageRef, text: &str, _: &Presser) -> Option<String> {
        Some(self.0.press_label(&self.board_card(message).await, "Other…", Some(text)).await)
    }

    // It sends nothing over a network of its own.
    async fn inject(&self, _: PlatformFault) -> Injected {
        Injected::Never
    }
}

fn read(block: &Block, text: &mut String) {
    match block {
        Block::Diff { lines, .. } => text.push_str(&diff_text(lines)),
        Block::Details { blocks } => blocks.iter().for_each(|block| read(block, text)),
        Block::Code { text: it, .. } | Block::Quote { text: it, .. } => text.push_str(it),
        Block::Note { text: it } | Block::Outcome { text: it } => text.push_str(it),
        Block::Fields { .. } => {}
    }
    text.push('\n');
}

#[tokio::test]
async fn the_inbox_keeps_the_contract() {
    let desk = Desk::closed("127.0.0.1:0").await;
    let web = Web(desk.visitor().await, desk.inbox.clone());
    assert_eq!(desk.inbox.signals().receiving(), Receiving::Starting);
    conformance(&web).await;
    let ended = desk.inbox.signals().receiving();
    assert!(matches!(ended, Receiving::Deaf { why, .. } if why == "the inbox has stopped"));
    assert!(!desk.inbox.keeps_messages());
}

#[tokio::test]
async fn another_target_or_another_cards_message_is_refused() {
    let desk = Desk::open().await;
    let card = command("one", "ls");
    assert_eq!(
        desk.inbox.post(&Target("-100/7".to_owned()), &card, Posting::First).await,
        Err(SendError::TargetGone(
            "the inbox has one target, `inbox`; there is no `-100/7`".to_owned()
        ))
    );
    assert_eq!(
        desk.inbox.update(&MessageRef("two".to_owned()), &card).await,
        Err(SendError::Refused("the message `two` is not of the card `one`".to_owned()))
    );
}
