//! The port's promises.

use crate::fake::{self, ANA, FORUM, GROUP, Person, Telegram as Server};
use crate::room::{adapter, number, target};
use countersign_port::{Adapter, MessageRef, Presser, Target};
use countersign_port_testkit::{
    FakePlatform, Injected, PlatformFault, VisibleMessage, conformance,
};
use std::sync::Arc;

struct Chat(Server);

fn person(presser: &Presser) -> Person {
    Person { id: presser.id.parse().unwrap(), name: "Ana" }
}

fn chat_of(message: &MessageRef) -> i64 {
    message.0.split_once('/').unwrap().0.parse().unwrap()
}

#[countersign_port::async_trait]
impl FakePlatform for Chat {
    fn adapter(&self) -> Arc<dyn Adapter> {
        adapter(&self.0)
    }

    fn somebody(&self) -> Presser {
        Presser { id: "4211".to_owned(), name: "Ana".to_owned(), roles: vec![] }
    }

    fn target(&self) -> Target {
        target(GROUP)
    }

    fn thread_target(&self) -> Option<Target> {
        Some(target(FORUM))
    }

    async fn delete_thread(&self, thread: &Target) {
        let (_, topic) = thread.0.split_once('/').unwrap();
        self.0.delete_topic(topic.parse().unwrap());
    }

    async fn shown(&self, message: &MessageRef) -> VisibleMessage {
        let chat = chat_of(message);
        let card = self.0.message(chat, number(message));
        let mut files = Vec::new();
        let mut above = card.reply_to;
        while let Some(id) = above {
            let message = self.0.message(chat, id);
            files.extend(message.file.map(|(_, content)| content));
            above = message.reply_to;
        }
        let mut buttons = card.buttons.concat();
        buttons.retain(|label| label != "More…");
        VisibleMessage { text: card.text, buttons, files }
    }

    async fn press(&self, message: &MessageRef, label: &str, presser: &Presser) -> Option<String> {
        Some(self.0.press(chat_of(message), number(message), label, person(presser)).await.text)
    }

    async fn give_text(&self, _: &MessageRef, text: &str, presser: &Presser) -> Option<String> {
        Some(self.0.give_text(GROUP, text, person(presser)).await)
    }

    async fn inject(&self, fault: PlatformFault) -> Injected {
        let (method, fault) = match fault {
            PlatformFault::Limited(after) => {
                ("sendMessage", fake::Fault::RetryAfter(after.as_secs()))
            }
            PlatformFault::AnswerLost => ("sendMessage", fake::Fault::DropAfter),
            PlatformFault::Disconnected => ("getUpdates", fake::Fault::DropBefore),
        };
        self.0.fail(method, fault, 1);
        if method == "getUpdates" {
            // The pull that is under way brings this; the next one fails.
            self.0.say(GROUP, "/nothing", ANA);
        }
        Injected::Once
    }
}

#[tokio::test]
async fn the_adapter_keeps_the_contract() {
    let chat = Chat(Server::start().await);
    conformance(&chat).await;
    assert_eq!(chat.0.violations(), Vec::<String>::new());
}
