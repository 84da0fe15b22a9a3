//! The contract of the port, with the HTTP side of the page as the platform.

use crate::support::{Desk, cards::command, visitor::Visitor};
use countersign_port::{
    Adapter, CancellationToken, Card, MessageRef, Press, Presser, Presses, Receipt, Receiving,
    SendError, Signals, Target, async_trait,
    testkit::{self, Platform, Shown},
};
use serde_json::Value;
use std::sync::Arc;

/// The inbox as a platform of the conformance kit.
struct Web(Visitor);

impl Web {
    async fn standing(&self, message: &MessageRef) -> Value {
        self.0.follow().await.card(|card| card["card"]["id"] == *message.0).await
    }
}

#[async_trait]
impl Platform for Web {
    fn target(&self) -> Target {
        Target("inbox".to_owned())
    }

    async fn shown(&self, message: &MessageRef) -> Shown {
        let card: Card =
            serde_json::from_value(self.standing(message).await["card"].clone()).unwrap();
        let mut text = card.title.clone();
        for block in &card.blocks {
            let block = serde_json::to_value(block).unwrap();
            text.push_str(block["text"].as_str().unwrap_or_default());
            text.push('\n');
        }
        let buttons = card.buttons.iter().flatten().map(|button| button.label.clone()).collect();
        Shown { text, buttons, files: vec![] }
    }

    async fn press(&self, message: &MessageRef, label: &str, _: &Presser) -> Option<String> {
        Some(self.0.press_label(&self.standing(message).await, label, None).await)
    }

    async fn give_text(&self, message: &MessageRef, text: &str, _: &Presser) -> Option<String> {
        Some(self.0.press_label(&self.standing(message).await, "Other…", Some(text)).await)
    }
}

/// The inbox as the kit expects it: the kit's person has the id that the inbox gives everybody.
struct AsAna(countersign_inbox::Inbox);

#[async_trait]
impl Adapter for AsAna {
    fn name(&self) -> &'static str {
        self.0.name()
    }
    fn signals(&self) -> &Signals {
        self.0.signals()
    }
    async fn post(&self, target: &Target, card: &Card) -> Result<MessageRef, SendError> {
        self.0.post(target, card).await
    }
    async fn update(&self, message: &MessageRef, card: &Card) -> Result<(), SendError> {
        self.0.update(message, card).await
    }
    async fn run(&self, presses: Arc<dyn Presses>, stop: CancellationToken) {
        self.0.run(Arc::new(Renamed(presses)), stop).await;
    }
}

struct Renamed(Arc<dyn Presses>);

#[async_trait]
impl Presses for Renamed {
    async fn press(&self, mut press: Press) -> Receipt {
        assert_eq!(press.presser.id, "local", "everybody at the inbox is the local person");
        assert_eq!(press.presser.name, "the local inbox");
        press.presser.id = "4211".to_owned();
        self.0.press(press).await
    }
}

#[tokio::test]
async fn the_inbox_keeps_the_contract() {
    let desk = Desk::closed("127.0.0.1:0").await;
    let web = Web(desk.visitor().await);
    let adapter = Arc::new(AsAna(desk.inbox.clone()));
    assert_eq!(adapter.signals().receiving(), Receiving::Starting);
    testkit::conformance(adapter.clone(), &web).await;
    let ended = adapter.signals().receiving();
    assert!(matches!(ended, Receiving::Deaf { why, .. } if why == "the inbox has stopped"));
    assert!(!desk.inbox.keeps_messages());
}

#[tokio::test]
async fn another_target_or_another_cards_message_is_refused() {
    let desk = Desk::open().await;
    let card = command("one", "ls");
    assert_eq!(
        desk.inbox.post(&Target("-100/7".to_owned()), &card).await,
        Err(SendError::TargetGone(
            "the inbox has one target, `inbox`; there is no `-100/7`".to_owned()
        ))
    );
    assert_eq!(
        desk.inbox.update(&MessageRef("two".to_owned()), &card).await,
        Err(SendError::Refused("the message `two` is not of the card `one`".to_owned()))
    );
}
