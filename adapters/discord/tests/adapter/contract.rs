//! The promises that every adapter keeps.

use crate::discord::{self, FakeDiscord, Person};
use crate::support::{adapter, target};
use countersign_port::{Adapter, MessageRef, Presser, Target, async_trait};
use countersign_port_testkit::{
    FakePlatform, Injected, PlatformFault, VisibleMessage, conformance,
};
use std::sync::Arc;

struct Chat(FakeDiscord);

fn person(presser: &Presser) -> Person {
    Person::new(&presser.id, &presser.name)
}

#[async_trait]
impl FakePlatform for Chat {
    fn adapter(&self) -> Arc<dyn Adapter> {
        adapter(&self.0)
    }

    fn somebody(&self) -> Presser {
        Presser { id: "4211".to_owned(), name: "Ana".to_owned(), roles: vec![] }
    }

    fn target(&self) -> Target {
        target()
    }

    fn thread_target(&self) -> Option<Target> {
        Some(target())
    }

    async fn delete_thread(&self, thread: &Target) {
        self.0.delete_thread(&thread.0);
    }

    async fn shown(&self, message: &MessageRef) -> VisibleMessage {
        let posted = self.0.message(&message.0).unwrap();
        let files = posted.files.into_iter().map(|(_, text)| text).collect();
        VisibleMessage { text: posted.text, buttons: posted.buttons, files }
    }

    async fn press(&self, message: &MessageRef, label: &str, by: &Presser) -> Option<String> {
        self.0.press(&message.0, label, &person(by)).await.words()
    }

    async fn give_text(&self, message: &MessageRef, text: &str, by: &Presser) -> Option<String> {
        self.0.give_text(&message.0, text, &person(by)).await.words()
    }

    async fn inject(&self, fault: PlatformFault) -> Injected {
        match fault {
            PlatformFault::Limited(after) => {
                let retry_after = after.as_secs_f64();
                let limited = discord::Fault::Limited { retry_after, global: false };
                self.0.fail("POST /channels", 1, limited);
            }
            PlatformFault::AnswerLost => {
                self.0.fail("POST /channels", 1, discord::Fault::DropAfter)
            }
            PlatformFault::Disconnected => self.0.drop_gateway(),
        }
        Injected::Once
    }
}

#[tokio::test]
async fn the_adapter_keeps_the_contract() {
    let fake = FakeDiscord::start().await;
    // Its own limits have tests of their own; the kit brings one when it wants one.
    fake.without_limits();
    conformance(&Chat(fake.clone())).await;
    assert_eq!(fake.violations(), Vec::<String>::new());
}
