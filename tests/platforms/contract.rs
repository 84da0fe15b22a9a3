//! The example's adapter keeps the contract.

use crate::{
    example::{ExamplePlatform, account},
    service::{Service, ServiceFault},
};
use countersign_port::{Adapter, MessageRef, Platform, Presser, Target, async_trait};
use countersign_port_testkit::{
    FakePlatform, Injected, PlatformFault, VisibleMessage, conformance,
};
use std::sync::Arc;

const TOKEN: &str = "contract";

struct Fake(Arc<Service>);

#[async_trait]
impl FakePlatform for Fake {
    fn adapter(&self) -> Arc<dyn Adapter> {
        ExamplePlatform.adapter(&account(TOKEN))
    }

    fn somebody(&self) -> Presser {
        Presser { id: "UANA".to_owned(), name: "Ana".to_owned(), roles: vec![] }
    }

    fn target(&self) -> Target {
        Target("#ops".to_owned())
    }

    async fn shown(&self, message: &MessageRef) -> VisibleMessage {
        let message = self.0.message(&message.0);
        let buttons = message.buttons.into_iter().map(|(label, _)| label).collect();
        VisibleMessage { text: message.text, buttons, files: message.files }
    }

    async fn press(&self, message: &MessageRef, label: &str, by: &Presser) -> Option<String> {
        Some(self.0.press(&message.0, label, &by.id, &by.name).await)
    }

    async fn give_text(&self, message: &MessageRef, text: &str, by: &Presser) -> Option<String> {
        Some(self.0.reply(&message.0, text, &by.id, &by.name).await)
    }

    async fn inject(&self, fault: PlatformFault) -> Injected {
        match fault {
            PlatformFault::Limited(after) => self.0.fail(ServiceFault::TooMany(after)),
            PlatformFault::AnswerLost => self.0.fail(ServiceFault::AnswerLost),
            PlatformFault::Disconnected => self.0.disconnect(),
        }
        Injected::Once
    }
}

#[tokio::test]
async fn the_example_keeps_the_contract() {
    conformance(&Fake(Service::at(TOKEN))).await;
}
